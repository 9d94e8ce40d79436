/**
 * Owns the sequence start, stop, restart, kill on one data directory and port, one call at a time. `postmaster.ts`
 * is one such server process.
 */
import {
  type Deferred,
  deferred,
  HoldfastError,
  type Log,
  messageOf,
  sleep,
  systemClock,
  systemTimers,
  unreachable,
} from "@holdfast/core";
import postgres from "postgres";
import type { Home } from "./home.ts";
import type { PostgresExit, StopMode } from "./options.ts";
import { findFreePort } from "./ports.ts";
import { type Postmaster, removeTraces, type StartFailure, startPostmaster } from "./postmaster.ts";
import type { Runtime } from "./runtime.ts";

interface LifecycleOptions {
  readonly home: Home;
  readonly runtime: Runtime;
  readonly settings: Readonly<Record<string, string>>;
  readonly login: { readonly user: string; readonly password: string };
  readonly database: string;
  readonly keep: boolean;
  readonly port: number;
  readonly portIsFixed: boolean;
  readonly startTimeoutMs: number;
  readonly log: Log;
}

interface LaunchOptions extends LifecycleOptions {
  readonly signal: AbortSignal;
}

/** How long the port of a server that is restarted may be in another's hands. */
const PORT_PATIENCE_MS = 15_000;
const PREDECESSOR_PATIENCE_MS = 20_000;
const MAX_PORT_TRIES = 10;
const RETRY_MS = 100;

interface Current {
  readonly postmaster: Postmaster;
  readonly closed: Deferred<PostgresExit>;
  expected: boolean;
  ended: boolean;
}

/** A sequence of server processes on one data directory and one port; calls take effect one after the other. */
export class Lifecycle {
  readonly #options: LifecycleOptions;
  #port: number;
  #current: Current | undefined;
  /** Aborted when it is stopped permanently. */
  readonly #over = new AbortController();
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  get url(): string {
    const { login, database } = this.#options;
    return `postgres://${login.user}:${login.password}@127.0.0.1:${this.#port}/${database}`;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#running().postmaster.pid;
  }

  get closed(): Promise<PostgresExit> {
    return this.#running().closed.promise;
  }

  start(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#launch(true);
      } catch (error) {
        await this.#halt("immediate");
        throw error;
      }
    });
  }

  restart(mode: StopMode = "fast"): Promise<void> {
    return this.#inTurn(async () => {
      this.#refuseOver();
      await this.#halt(mode);
      await this.#launch(false);
    });
  }

  kill(): Promise<void> {
    return this.#inTurn(async () => {
      this.#refuseOver();
      const killed = this.#running();
      if (killed.ended) return;
      killed.expected = true;
      await killed.postmaster.kill();
      await killed.closed.promise;
    });
  }

  /** Stops what runs, or abandons its start, permanently. */
  end(mode: StopMode = this.#options.keep ? "fast" : "immediate", limitMs?: number): Promise<void> {
    this.#over.abort();
    return this.#inTurn(async () => {
      await this.#halt(mode, limitMs);
      if (!this.#options.keep) await removeTraces(this.#options.home);
    });
  }

  async #launch(first: boolean): Promise<void> {
    const { signal } = this.#over;
    const started = await launchPatiently({ ...this.#options, signal }, this.#port, first);
    this.#port = started.port;
    this.#current = watch(started.postmaster, this.#options.log);
    await ensureDatabase({ ...this.#options, signal }, this.#port);
  }

  async #halt(mode: StopMode, limitMs?: number): Promise<void> {
    const current = this.#current;
    if (!current || current.ended) return;
    current.expected = true;
    await current.postmaster.stop(mode, limitMs);
    await current.closed.promise;
  }

  #running(): Current {
    if (this.#current) return this.#current;
    throw new HoldfastError("INTERNAL", "Postgres was not started yet.");
  }

  #refuseOver(): void {
    if (!this.#over.signal.aborted) return;
    throw new HoldfastError("INTERNAL", "This Postgres server was stopped and cannot be restarted; start a new one.");
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work, work);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }
}

function watch(postmaster: Postmaster, log: Log): Current {
  const current: Current = { postmaster, closed: deferred(), expected: false, ended: false };
  void postmaster.exited.then((code) => {
    current.ended = true;
    if (!current.expected) log("error", "Postgres has ended unexpectedly.", { pid: postmaster.pid, code });
    current.closed.resolve({ expected: current.expected, code });
  });
  return current;
}

/** A first start takes another port when another process was faster; a restart waits for its own. */
async function launchPatiently(
  options: LaunchOptions,
  firstPort: number,
  first: boolean,
): Promise<{ postmaster: Postmaster; port: number }> {
  const startMs = systemClock.monotonicMs();
  let port = firstPort;
  for (let tries = 1; ; tries += 1) {
    if (options.signal.aborted)
      throw new HoldfastError("POSTGRES_START_FAILED", "Postgres was stopped while it was starting.");
    const result = await startPostmaster({ ...options, port });
    if (!("kind" in result)) return { postmaster: result, port };
    const spentMs = systemClock.monotonicMs() - startMs;
    const remedy = remedyFor(result, { first, spentMs, tries, port, portIsFixed: options.portIsFixed });
    if (remedy === "other-port") port = await findFreePort();
    else await sleep(systemTimers, RETRY_MS, options.signal);
  }
}

interface Attempt {
  readonly first: boolean;
  readonly spentMs: number;
  readonly tries: number;
  readonly port: number;
  readonly portIsFixed: boolean;
}

function remedyFor(failure: StartFailure, attempt: Attempt): "other-port" | "wait" {
  const { first, spentMs, tries, port } = attempt;
  switch (failure.kind) {
    case "final":
      throw failure.error;
    case "predecessor":
      if (spentMs < PREDECESSOR_PATIENCE_MS) return "wait";
      throw new HoldfastError(
        "POSTGRES_START_FAILED",
        "Processes of an earlier Postgres server still use this data directory and do not end. Stop them and try again.",
      );
    case "port-busy":
      if (first && !attempt.portIsFixed && tries < MAX_PORT_TRIES) return "other-port";
      if (!first && spentMs < PORT_PATIENCE_MS) return "wait";
      throw new HoldfastError(
        "PORT_BUSY",
        `Port ${port} on 127.0.0.1, wanted for Postgres, is in use by another program.`,
      );
    default:
      return unreachable(failure);
  }
}

/** The first connection proves that the server answers, and makes the database when it is missing. */
async function ensureDatabase(options: LaunchOptions, port: number): Promise<void> {
  const { login, database, signal } = options;
  const sql = postgres({
    ...login,
    host: "127.0.0.1",
    port,
    database: "postgres",
    max: 1,
    connect_timeout: 30,
    // Its own query for types would be rejected outside of any promise of ours when the connection is abandoned.
    fetch_types: false,
    onnotice: () => {},
  });
  const giveUp = (): void => void sql.end({ timeout: 0 });
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const found = await sql`select 1 from pg_database where datname = ${database}`;
    if (found.length === 0) await sql.unsafe(`create database "${database}"`);
  } catch (cause) {
    throw new HoldfastError("POSTGRES_START_FAILED", `Postgres runs but does not answer: ${messageOf(cause)}`, {
      cause,
    });
  } finally {
    signal.removeEventListener("abort", giveUp);
    await sql.end({ timeout: signal.aborted ? 0 : 5 });
  }
}
