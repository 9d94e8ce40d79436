/** A statement on a connection, and where the time in it comes from. */
import type postgres from "postgres";

export type Param = string | number | boolean | null;
export type Row = Record<string, unknown>;
/** Runs one prepared statement. */
export type Query = <R extends object = Row>(text: string, params?: readonly Param[]) => Promise<R[]>;

/** Where a store's statements take the time from. */
export interface TimeSource {
  /** The statement as it is sent. */
  sql(text: string): string;
  /** Runs `work`, but not while time is moved. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** The server's clock: nothing is changed and nothing waits. */
export const realTime: TimeSource = { sql: (text) => text, during: (work) => work() };

export function queryOn(sql: Pick<postgres.Sql, "unsafe">, time: TimeSource = realTime): Query {
  return async <R extends object>(text: string, params: readonly Param[] = []): Promise<R[]> =>
    await sql.unsafe<R[]>(time.sql(text), [...params], { prepare: true });
}
