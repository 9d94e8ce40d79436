/** A throwaway Postgres server for tests, or the one that `HOLDFAST_TEST_DATABASE_URL` names. */
import { HoldfastError } from "@holdfast/core";
import { register } from "./registry.ts";

/** Name of the variable that names a server of one's own: tests then use that and start none. */
export const TEST_DATABASE_URL = "HOLDFAST_TEST_DATABASE_URL";

export interface TestPostgresOptions {
  /**
   * Starts a server even when `HOLDFAST_TEST_DATABASE_URL` names one: for tests that restart or kill it. Default false.
   */
  readonly own?: boolean;
  /** Port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** Whether commits wait for the disk (fsync). Default false: faster, and a killed server loses nothing anyway. */
  readonly durable?: boolean;
  /** Further server settings, by their names in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A Postgres server for tests. Databases in it come from `createDatabase`. */
export interface TestPostgres {
  /** Connection string of a superuser, password included. */
  readonly url: string;
  readonly port: number;
  /** Stops the server and removes its files; a server of one's own goes on. */
  stop(): Promise<void>;
  /** Stops the server (if it runs) and starts it again on the same port and data. Not for a server of one's own. */
  restart(): Promise<void>;
  /** kill -9 of the server's main process, as if it had crashed; `restart` brings it back. Not for a server of one's own. */
  kill(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a throwaway server in a second or so. It stops and its files go when this process ends, also by kill -9.
 * With `HOLDFAST_TEST_DATABASE_URL` set it stands for that server instead, unless `own` is asked for.
 */
export async function startTestPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const given = process.env[TEST_DATABASE_URL];
  if (given && !options.own) return existingServer(given);
  const { port = 0, durable = false, settings = {} } = options;
  const { startPostgres } = await import("@holdfast/postgres-server");
  const server = await startPostgres({ keep: false, port, durable, settings: { max_connections: "200", ...settings } });
  const unregister = register("postgres", () => `Postgres on port ${server.port}`);
  const stop = (): Promise<void> => server.stop().finally(unregister);
  return {
    url: server.url,
    port: server.port,
    stop,
    restart: () => server.restart(),
    kill: () => server.kill(),
    [Symbol.asyncDispose]: stop,
  };
}

function existingServer(url: string): TestPostgres {
  if (!URL.canParse(url)) {
    throw new HoldfastError("OPTION_INVALID", `${TEST_DATABASE_URL}: "${url}" is not a connection string.`);
  }
  const refuse = async (): Promise<never> => {
    throw new HoldfastError(
      "OPTION_INVALID",
      `The server that ${TEST_DATABASE_URL} names cannot be restarted or killed; start one with { own: true }.`,
    );
  };
  const leave = async (): Promise<void> => {};
  return {
    url,
    port: Number(new URL(url).port || 5432),
    stop: leave,
    restart: refuse,
    kill: refuse,
    [Symbol.asyncDispose]: leave,
  };
}

/**
 * For Vitest's `globalSetup`: one server for all test files of a run, which `startTestPostgres` and `createDatabase`
 * find by `HOLDFAST_TEST_DATABASE_URL`. The result stops it.
 *
 * @example
 * // vitest.config.ts: test: { globalSetup: "./global-setup.ts" }
 * // global-setup.ts:  export { testPostgresGlobalSetup as setup } from "@holdfast/testing";
 */
export async function testPostgresGlobalSetup(): Promise<() => Promise<void>> {
  if (process.env[TEST_DATABASE_URL]) return async () => {};
  const server = await startTestPostgres();
  process.env[TEST_DATABASE_URL] = server.url;
  return async () => {
    delete process.env[TEST_DATABASE_URL];
    await server.stop();
  };
}
