import { createDatabase } from "@holdfast/testing";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { openPostgresStore, readSchemaState, readServerFacts } from "../../src/store-postgres/index.ts";
import { openSmallPooler } from "./small-pooler.ts";

let url = "";
beforeAll(async () => {
  const database = await createDatabase(inject("postgresUrl"));
  url = database.url;
  afterAll(() => database.drop());
});

test("a server's version, settings, clock and sessions are read as it says them", async () => {
  const sql = postgres(url, { max: 1 });
  onTestFinished(() => sql.end());
  const [shown] =
    await sql`SELECT current_setting('fsync') AS fsync, current_setting('server_version_num')::int AS number`;
  const facts = await readServerFacts(url);
  expect(facts).toMatchObject({
    versionNumber: shown?.number,
    settings: { fsync: shown?.fsync, synchronous_commit: "on", transaction_read_only: "off" },
    isInRecovery: false,
    mayCreate: true,
    sessions: "own",
    notifies: true,
    refusedSettings: null,
  });
  // One clock: no more apart than an answer takes.
  expect(Math.abs(facts.aheadMs)).toBeLessThan(facts.roundTripMs + 5);
});

test("settings of a user count as that user's connections have them", async () => {
  const sql = postgres(url, { max: 1 });
  const name = `reader_${process.pid}`;
  await sql
    .unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'reader'; ALTER ROLE ${name} SET default_transaction_read_only = on`)
    .simple();
  await sql.unsafe(`ALTER ROLE ${name} SET synchronous_commit = off`);
  onTestFinished(async () => {
    await sql.unsafe(`DROP ROLE ${name}`);
    await sql.end();
  });
  const target = new URL(url);
  target.username = name;
  target.password = "reader";
  expect(await readServerFacts(target.href)).toMatchObject({
    settings: { synchronous_commit: "off", transaction_read_only: "on" },
    mayCreate: false,
  });
});

test("a pooler is noticed: one that shares a session between clients, and one that does not", async () => {
  for (const [mode, sessions] of [
    ["transactions", "transactions"],
    ["session", "pooled"],
  ] as const) {
    const pooler = await openSmallPooler(url, mode);
    onTestFinished(() => pooler.close());
    expect([mode, (await readServerFacts(pooler.url)).sessions]).toEqual([mode, sessions]);
  }
});

test("a server that is not there is unreachable, and its password is not told", async () => {
  const nowhere = readServerFacts("postgres://u:s3cr3t@127.0.0.1:9/d");
  await expect(nowhere).rejects.toMatchObject({
    code: "DATABASE_UNREACHABLE",
    message: expect.not.stringContaining("s3cr3t"),
  });
});

test("a schema is read before and after it is migrated, and changed by neither", async () => {
  const before = await readSchemaState(url);
  expect([before.version, before.pending.length]).toEqual([0, before.known]);
  expect(await readSchemaState(url)).toEqual(before);
  const store = openPostgresStore({ url, maxConnections: 3 });
  onTestFinished(() => store.close());
  await store.migrate();
  expect(await readSchemaState(url)).toEqual({ version: before.known, known: before.known, pending: [] });
});
