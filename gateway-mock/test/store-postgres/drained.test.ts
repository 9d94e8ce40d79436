import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { DueBounds } from "../../src/store-postgres/queue/due-bounds.ts";
import { claim, nextDueInMs, recallJobs } from "../../src/store-postgres/queue/leases.ts";
import { claimLimited } from "../../src/store-postgres/queue/limited-claims.ts";

import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { fillLogs, fillQueue } from "./long-queues.ts";
import { pagesRead, type Statements } from "./pages-read.ts";

/** Jobs that are gone, and whose entries in the index a long transaction keeps. */
const DRAINED = 30_000;
const LEFT = 1_000;
const AT_ONCE = 100;

let db: TestDatabase;
let reader: postgres.Sql;
let end = (): void => {};
let ended: Promise<unknown>;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  await fillQueue(db, DRAINED + LEFT, {});
  await db.sql.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at)
SELECT run_id, 'fn', 'app', '1', 'PENDING', 1, 'e', 'e', now() FROM holdfast.queue`);
  await fillLogs(db);
  reader = postgres(db.url, { max: 1, onnotice: () => {} });
  await new Promise<void>((opened) => {
    ended = reader.begin("ISOLATION LEVEL REPEATABLE READ", async (tx) => {
      await tx`SELECT count(*) FROM holdfast.runs`;
      opened();
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
  });
  await db.sql.unsafe(`DELETE FROM holdfast.queue WHERE id IN
  (SELECT id FROM holdfast.queue ORDER BY available_at LIMIT ${DRAINED})`);
});

afterAll(async () => {
  end();
  await ended;
  await reader.end();
  await db.drop();
});

function claims() {
  let nowMs = 0;
  const bounds = new DueBounds(() => nowMs);
  const wants = [{ functionId: "fn", limit: AT_ONCE }];
  const take = (on: Statements, limit = AT_ONCE) =>
    claim(on, bounds, "claim", {
      gatewayId: "gateway",
      leaseMs: 60_000,
      wants: wants.map((one) => ({ ...one, limit })),
    });
  /** As on a slow machine: a look from the beginning takes a while. */
  const slowly = (on: Statements): Statements => ({
    ...on,
    query: async (text, params) => {
      nowMs += 100;
      return on.query(text, params);
    },
    retrying: (what, work) => on.retrying(what, (query, attempt) => work(slowly({ ...on, query }).query, attempt)),
  });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { bounds, take, slowly, pass };
}

const pagesOf = async (act: (on: Statements) => Promise<unknown>): Promise<number> =>
  (await pagesRead(db.sql, "force_generic_plan", act)).pages;

test("claims do not read again and again what a long transaction keeps of jobs that are gone", async () => {
  const { bounds, take, slowly, pass } = claims();
  const first = await pagesOf((on) => take(slowly(on)));
  // Everything from the beginning: also what is gone.
  expect(first).toBeGreaterThan(DRAINED / 100);
  const next = await pagesOf(async (on) => {
    expect(await take(on)).toHaveLength(AT_ONCE);
  });
  const due = await pagesOf((on) => nextDueInMs(on.query, bounds, ["fn"]));
  const shown = JSON.stringify({ first, next, due });
  expect(next, shown).toBeLessThan(AT_ONCE * 20);
  // Bounds lie two seconds before what was taken, which is two thousand jobs here.
  expect(due, shown).toBeLessThan(first / 10);
  pass(10_000);
  const later = await pagesOf((on) => take(on));
  expect(later, shown).toBeGreaterThan(next);
});

test("a job that comes to be due before those that were taken is found by the next look from the beginning", async () => {
  const { take, slowly, pass } = claims();
  await pagesOf(async (on) => {
    expect(await take(slowly(on), 10)).toHaveLength(10);
    const early = "(SELECT id FROM holdfast.queue WHERE epoch = 0 ORDER BY available_at DESC LIMIT 1)";
    await on.query(
      `UPDATE holdfast.queue SET available_at = now() - interval '2 hours', priority = 0 WHERE id = ${early}`,
    );
    const places = async (): Promise<number[]> => (await take(on, 10)).map(({ dueSinceMs }) => dueSinceMs);
    const bounded = await places();
    pass(10_000);
    const full = await places();
    expect(Math.min(...full)).toBeLessThan(Math.min(...bounded) - 3_000_000);
  });
});

test("jobs that are recalled are claimed next, although they are due since long before", async () => {
  const { bounds, take, slowly } = claims();
  await pagesOf(async (on) => {
    expect(await take(slowly(on), 10)).toHaveLength(10);
    await on.query(`UPDATE holdfast.queue SET epoch = 1, wanted_version = '1', available_at = now() + interval '1 hour',
created_at = now() - interval '3 hours' WHERE id = (SELECT id FROM holdfast.queue WHERE epoch = 0 ORDER BY id DESC LIMIT 1)`);
    expect(await recallJobs(on.query, bounds, [{ functionId: "fn", appVersion: "1", limit: 5 }])).toEqual([1]);
    const jobs = await take(on, 1);
    expect(jobs).toMatchObject([{ epoch: 2 }]);
  });
});

test("a job of a priority that none had before is found at once", async () => {
  const { take, slowly } = claims();
  await pagesOf(async (on) => {
    expect(await take(slowly(on), 10)).toHaveLength(10);
    const some = "(SELECT id FROM holdfast.queue WHERE epoch = 0 ORDER BY id DESC LIMIT 3)";
    await on.query(`UPDATE holdfast.queue SET priority = substr(id, 12)::int - 1 WHERE id IN ${some}`);
    const jobs = await take(on, LEFT);
    expect(jobs.filter(({ priority }) => priority !== 0)).toHaveLength(3);
  });
});

test("claims within limits look for due jobs from where they found the first one last", async () => {
  const { bounds, slowly } = claims();
  const limits = { slots: [1], throttle: null, shared: false };
  const wants = [{ functionId: "fn", limit: AT_ONCE, leaseMs: 60_000, limits }];
  const look = (on: Statements) => claimLimited(on, bounds, "claim", "0000", { gatewayId: "gateway", wants });
  const first = await pagesOf((on) => look(slowly(on)));
  expect(first).toBeGreaterThan(DRAINED / 100);
  await db.sql.unsafe("UPDATE holdfast.queue SET available_at = now() + interval '1 hour'");
  const bounded = await pagesOf((on) => look(on));
  expect(bounded, `${first} from the beginning`).toBeLessThan(first / 10);
});
