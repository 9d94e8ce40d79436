/** A pool of connections, opened anew once its sessions may be read-only although the server is not. */
import type postgres from "postgres";
import { codeOf, READ_ONLY } from "./pg-errors.ts";
import type { Param, Row } from "./query.ts";

/** Running statements on discarded connections may finish. */
const RENEWAL_SECONDS = 5;
const END_SECONDS = 1;

/** Several connections, as those who ask something see them. */
export interface PoolClient {
  run(text: string, params: readonly Param[]): Promise<Row[]>;
  begin<T>(work: (transaction: postgres.TransactionSql) => Promise<T>): Promise<T>;
  end(seconds: number): Promise<void>;
}

/**
 * Connections that are opened anew once they may be read-only, by what their sessions began with, though new ones are
 * not.
 */
export interface Pool {
  readonly client: PoolClient;
  /** A call was refused. */
  refused(error: unknown): void;
  /** New sessions can write. */
  writable(): void;
  /** All calls from now on are on new connections. */
  renew(): void;
  end(): Promise<void>;
}

export function openPool(open: () => PoolClient): Pool {
  let client = open();
  let readOnly = false;
  let ended = false;
  const renew = (): void => {
    if (ended) return;
    readOnly = false;
    const old = client;
    client = open();
    void old.end(RENEWAL_SECONDS);
  };
  return {
    get client() {
      return client;
    },
    refused(error) {
      readOnly ||= codeOf(error) === READ_ONLY;
    },
    writable() {
      if (readOnly) renew();
    },
    renew,
    end() {
      ended = true;
      return client.end(END_SECONDS);
    },
  };
}
