/** A database of a test's own on a Postgres server, dropped when it is done. */
import { createHash, randomBytes } from "node:crypto";
import { HoldfastError, sleep, systemClock, systemTimers } from "@holdfast/core";
import type postgres from "postgres";
import { register } from "./registry.ts";
import { TEST_DATABASE_URL } from "./test-postgres.ts";

/** A server: what `startTestPostgres` gives, or its connection string. Default: what `HOLDFAST_TEST_DATABASE_URL` names. */
export type ServerInput = { readonly url: string } | string;

export interface CreateDatabaseOptions {
  /** Database that is copied, with its tables and rows. Default: an empty one. */
  readonly template?: string;
  /** Default: a name of its own. */
  readonly name?: string;
}

/** A database that a test has for itself. */
export interface TestDatabase {
  readonly name: string;
  /** Connection string. */
  readonly url: string;
  /** Ends every session in it and removes it. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type Sql = postgres.Sql;

const OBJECT_IN_USE = "55006";
const TEMPLATE_PATIENCE_MS = 30_000;
const RETRY_MS = 25;
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Makes a database: `await using db = await createDatabase(server)` removes it at the end of the block.
 * A copy of a small template takes some 20 ms, migrations take longer.
 */
export async function createDatabase(server?: ServerInput, options: CreateDatabaseOptions = {}): Promise<TestDatabase> {
  const serverUrl = urlOf(server);
  const name = checkedName(options.name ?? `test_${randomBytes(8).toString("hex")}`);
  const template = checkedName(options.template ?? "template1");
  await asAdmin(serverUrl, (sql) => createFrom(sql, name, template));
  const url = withDatabase(serverUrl, name);
  const unregister = register("database", () => `database ${name}`);
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    dropped ??= asAdmin(serverUrl, async (sql) => {
      await sql.unsafe(`drop database if exists "${name}" with (force)`);
    }).finally(unregister);
    return dropped;
  };
  return { name, url, drop, [Symbol.asyncDispose]: drop };
}

/**
 * Makes a database once for `createDatabase(..., { template })`, for all callers, in any number of processes: the first
 * one builds it, the others wait for that.
 *
 * @param key names what is built; another content needs another key, such as a digest of the migrations
 * @param build fills the empty database at `url`, and has closed its connections when it is done
 * @returns the name of the database
 */
export async function createTemplate(
  server: ServerInput | undefined,
  key: string,
  build: (url: string) => Promise<void>,
): Promise<string> {
  const serverUrl = urlOf(server);
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 16);
  const name = `template_${digest}`;
  await asAdmin(serverUrl, async (sql) => {
    // The lock ends with the session, so a builder that dies leaves it to the next one.
    await sql`select pg_advisory_lock(hashtext(${name}))`;
    const [found] = await sql`select datistemplate as done from pg_database where datname = ${name}`;
    if (found?.done) return;
    await sql.unsafe(`drop database if exists "${name}" with (force)`);
    await createFrom(sql, name, "template1");
    await build(withDatabase(serverUrl, name));
    await sql.unsafe(`alter database "${name}" is_template true`);
  });
  return name;
}

/** A template may have no session while it is copied: others that copy it at the same time are waited for. */
async function createFrom(sql: Sql, name: string, template: string): Promise<void> {
  const endMs = systemClock.monotonicMs() + TEMPLATE_PATIENCE_MS;
  for (;;) {
    try {
      await sql.unsafe(`create database "${name}" template "${template}"`);
      return;
    } catch (error) {
      const inUse = (error as { code?: string }).code === OBJECT_IN_USE;
      if (!inUse || systemClock.monotonicMs() > endMs) throw error;
      await sleep(systemTimers, RETRY_MS);
    }
  }
}

async function asAdmin<T>(serverUrl: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  // A gateway in memory comes without the driver (docs/decisions/0046).
  const { default: connect } = await import("postgres");
  const sql = connect(serverUrl, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function urlOf(server: ServerInput | undefined): string {
  const url = (typeof server === "string" ? server : server?.url) ?? process.env[TEST_DATABASE_URL];
  if (url && URL.canParse(url)) return url;
  throw new HoldfastError(
    url ? "OPTION_INVALID" : "OPTION_MISSING",
    url
      ? "The server's connection string is not valid: it must look like postgres://user:password@host:port/database."
      : `There is no server to create a database on: pass one, or set ${TEST_DATABASE_URL}.`,
  );
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function checkedName(name: string): string {
  if (NAME.test(name)) return name;
  throw new HoldfastError(
    "OPTION_INVALID",
    `"${name}" is not a valid database name: use lower-case letters, digits and _.`,
  );
}
