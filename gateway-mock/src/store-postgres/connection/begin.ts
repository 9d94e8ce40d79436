/** Transactions of the driver's, made safe for connections that end in the middle. */
import type postgres from "postgres";
import { troubleOf } from "./pg-errors.ts";

/**
 * Runs `work` in a transaction. When that fails the driver sends ROLLBACK, and on a connection that is gone it throws
 * outside of any promise, which ends the process. So it never learns of such a failure: the end of the connection rejects.
 */
export function begin<T>(sql: postgres.Sql, work: (transaction: postgres.TransactionSql) => Promise<T>): Promise<T> {
  const untold = (error: unknown): Promise<never> =>
    troubleOf(error) === "connection" ? new Promise(() => {}) : Promise.reject(error);
  return sql.begin((transaction) => work(transaction).catch(untold)) as Promise<T>;
}
