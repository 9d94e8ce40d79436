/** A pool of connections, opened anew once its sessions may be read-only although the server is not. */
import type postgres from "postgres";
import { codeOf, READ_ONLY } from "./pg-errors.ts";

/** Running statements on discarded connections may finish. */
const RENEWAL_SECONDS = 5;
const END_SECONDS = 1;

/**
 * Connections that are opened anew once they may be read-only, by what their sessions began with, though new ones are
 * not.
 */
export interface Pool {
  readonly sql: postgres.Sql;
  /** A call was refused. */
  refused(error: unknown): void;
  /** New sessions can write. */
  writable(): void;
  end(): Promise<void>;
}

export function openPool(open: () => postgres.Sql): Pool {
  let sql = open();
  let readOnly = false;
  let ended = false;
  return {
    get sql() {
      return sql;
    },
    refused(error) {
      readOnly ||= codeOf(error) === READ_ONLY;
    },
    writable() {
      if (!readOnly || ended) return;
      readOnly = false;
      const old = sql;
      sql = open();
      void old.end({ timeout: RENEWAL_SECONDS });
    },
    end() {
      ended = true;
      return sql.end({ timeout: END_SECONDS });
    },
  };
}
