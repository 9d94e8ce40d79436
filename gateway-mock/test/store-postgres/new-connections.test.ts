/** What becomes of a store when a new connection does not come up, or leads to another server, while others are open. */
import { silentLog, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import type { Store } from "@holdfast/store";
import { startTestPostgres, type TestPostgres, waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase } from "../../src/store-postgres/connection/database.ts";
import { KnownServer } from "../../src/store-postgres/connection/known-server.ts";
import { readServerIdentity } from "../../src/store-postgres/connection/server-identity.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { type CuttingProxy, openCuttingProxy } from "./cutting-proxy.ts";
import { createTestDatabase, seedLeased, type TestDatabase } from "./harness.ts";

let server: TestPostgres;
let db: TestDatabase;
let other: TestPostgres;
beforeAll(async () => {
  [server, other] = await Promise.all([startTestPostgres({ own: true }), startTestPostgres({ own: true })]);
  db = await createTestDatabase(server.url);
  // A copy would have the same.
  const sql = postgres(other.url, { max: 1 });
  await sql.unsafe(`ALTER USER CURRENT_USER PASSWORD '${new URL(server.url).password}'`);
  await sql.end();
});
afterAll(async () => {
  await db.drop();
  await Promise.all([server.stop(), other.stop()]);
});

/** Calls that cannot be answered end soon. */
const RETRY_FOR_MS = 2_000;

async function proxied(url: string): Promise<CuttingProxy> {
  const proxy = await openCuttingProxy(url);
  onTestFinished(() => proxy.close());
  return proxy;
}

function databaseAt(url: string, warn: (message: string) => void = () => {}): Database {
  const database = openDatabase({
    ...{ url, maxConnections: 8, retryForMs: RETRY_FOR_MS, timers: systemTimers, random: systemRandom },
    monotonicMs: systemClock.monotonicMs,
    log: (level, message) => (level === "warn" ? warn(message) : silentLog(level, message)),
  });
  onTestFinished(() => database.close());
  return database;
}

test("POOLED-1, POOLED-3: while new connections hang, reads, leases and commits go on over those that are open", async () => {
  const proxy = await proxied(db.url);
  const store: Store = openPostgresStore({ url: proxy.url, maxConnections: 8, retryForMs: RETRY_FOR_MS });
  onTestFinished(() => store.close());
  await store.migrate();
  const first = await seedLeased(store, "before", 60_000);
  // So one connection is open for reads.
  await store.loadRuns([first.runId]);
  proxy.hang(true);
  const reads = (): Promise<unknown> => Promise.all(Array.from({ length: 20 }, () => store.loadRuns([first.runId])));
  const lease = { jobId: first.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 60_000 };
  while (proxy.givenUp === 0) {
    await reads();
    expect(await store.extendLeases([lease])).toEqual([true]);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // Who had asked for the connection has given up: that is no doubt about those that are open.
  await seedLeased(store, "after", 60_000);
  await reads();
  expect(store.health()).toMatchObject({ ok: true, outages: 0 });
  proxy.hang(false);
  await reads();
});

test("where no place is left for a second connection of the writer, the database is compared over that of the first", async () => {
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  onTestFinished(() => admin.end());
  await admin.unsafe("CREATE ROLE limited LOGIN PASSWORD 'limited' CONNECTION LIMIT 7");
  await admin.unsafe("CREATE DATABASE limited OWNER limited");
  const url = new URL(server.url);
  Object.assign(url, { username: "limited", password: "limited", pathname: "/limited" });
  const store = openPostgresStore({ url: url.href, maxConnections: 8, retryForMs: RETRY_FOR_MS });
  onTestFinished(() => store.close());
  await store.migrate();
  store.onWake(() => {});
  const { runId, jobId } = await seedLeased(store, "limited", 60_000);
  await waitFor(
    async () => {
      await Promise.all(Array.from({ length: 30 }, () => store.loadRuns([runId])));
      return (await admin.unsafe("SELECT FROM pg_stat_activity WHERE usename = 'limited'")).length === 7;
    },
    { what: "all places to be taken" },
  );
  await admin.unsafe(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast-gateway pool' AND usename = 'limited' LIMIT 1",
  );
  const taken = postgres(url.href, { max: 1 });
  onTestFinished(() => taken.end());
  await taken`SELECT 1`;
  // Waits until the database was compared.
  const lease = { jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 60_000 };
  expect(await store.extendLeases([lease])).toEqual([true]);
});

test("SERVER-1, POOLED-2: no call is answered by another server than the one that is written to", async () => {
  const proxy = await proxied(server.url);
  const warnings: string[] = [];
  const database = databaseAt(proxy.url, (message) => warnings.push(message));
  const idOf = "SELECT (SELECT system_identifier FROM pg_control_system())::text AS id, pg_sleep(0.02)::text";
  const answers = async (): Promise<Set<string>> => {
    const rows = await Promise.all(Array.from({ length: 12 }, () => database.query<{ id: string }>(idOf)));
    return new Set(rows.map(([row]) => row?.id ?? ""));
  };
  database.server.set(await readServerIdentity(database.query));
  const known = database.server.identity?.system ?? "";
  // Only one connection is open so far.
  proxy.leadTo(other.url);
  const doubts = database.doubts.count;
  await waitFor(
    async () => {
      expect(await answers()).toEqual(new Set([known]));
      return warnings.length > 0;
    },
    { what: "another connection to be refused" },
  );
  expect(warnings[0]).toContain("leads to another server");
  expect(database.doubts.count).toBeGreaterThan(doubts);
  const { identity } = await identityAt(proxy.url);
  database.server.set(identity);
  expect(await answers()).toEqual(new Set([identity.system]));
});

async function identityAt(url: string) {
  const database = databaseAt(url);
  return { identity: await readServerIdentity(database.query) };
}

test("SERVER-2: a primary that was replaced is not used, and the error says so", async () => {
  const { identity } = await identityAt(server.url);
  const database = databaseAt(server.url);
  database.server.set({ ...identity, timeline: "00000007" });
  await expect(database.query("SELECT 1")).rejects.toThrow(
    /leads to a primary that was replaced: .*timeline 1, .*timeline 7/,
  );
});

test("SERVER-2: what a server is to the one that is written to", () => {
  const known = new KnownServer();
  const [first, promoted] = [
    { system: "7", timeline: "00000001" },
    { system: "7", timeline: "0000000A" },
  ];
  expect(known.relationOf(first)).toBe("same");
  let moves = 0;
  known.onMove(() => {
    moves += 1;
  });
  known.set(promoted);
  known.set({ system: null, timeline: null });
  expect(known.identity).toEqual(promoted);
  expect(moves).toBe(0);
  expect(known.relationOf(first)).toBe("earlier");
  expect(known.relationOf({ system: "7", timeline: "0000000B" })).toBe("other");
  expect(known.relationOf({ system: "8", timeline: "00000001" })).toBe("other");
  expect(known.relationOf({ system: "7", timeline: null })).toBe("same");
  known.set({ system: "8", timeline: "00000001" });
  expect(moves).toBe(1);
  expect(known.relationOf(promoted)).toBe("other");
});
