import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { rerunIdOf } from "../../src/dispatch/repair/bulk-names.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, runDetail, start, useGateway } from "./harness.ts";

const bench = useGateway();
const NO = { name: "Error", message: "no" };

interface Bulk {
  readonly id: string;
  readonly status: string;
  readonly total: number | null;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: readonly string[];
  readonly count?: number;
  readonly runIds?: readonly string[];
  readonly error?: string;
  readonly code?: string;
}

const post = async (gateway: Gateway, body: object, path = "/v1/bulk") =>
  (await call(gateway, path, { method: "POST", body: JSON.stringify(body) })) as Bulk;
const isOver = async (gateway: Gateway, id: string) => {
  const bulk = (await call(gateway, `/v1/bulk/${id}`)) as Bulk;
  return bulk.status === "RUNNING" ? undefined : bulk;
};
const over = (gateway: Gateway, id: string): Promise<Bulk> =>
  waitFor(() => isOver(gateway, id), { what: `bulk job ${id} to end` });
const listed = async (gateway: Gateway) =>
  ((await call(gateway, "/v1/runs?limit=1000")) as { runs: { id: string; status: string; functionId: string }[] }).runs;

/** Runs of which all have failed. */
async function failedRuns(gateway: Gateway, count: number): Promise<string[]> {
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", noRetry: true, value: NO }));
  const runIds = await start(gateway, count);
  for (const runId of runIds) await ended(gateway, runId);
  worker.answer(() => ({ status: "DONE", value: "repaired" }));
  return runIds;
}

test("a dry run says how many fit, and changes nothing", async () => {
  const gateway = await bench.gateway();
  const runIds = await failedRuns(gateway, 3);
  const preview = await post(gateway, { action: "rerun", filter: { functionId: "shop-order" }, dryRun: true });
  expect(preview).toEqual({ dryRun: true, count: 3, isMore: false, runIds: runIds.toSorted().reverse(), leftOut: 0 });
  const none = { functionId: "shop-order", after: "2099-01-01T00:00:00Z" };
  expect(await post(gateway, { action: "rerun", filter: none, dryRun: true })).toMatchObject({ count: 0 });
  const completed = { all: true, status: "completed" };
  expect(await post(gateway, { action: "rerun", filter: completed, dryRun: true })).toMatchObject({ count: 0 });
  const other = { eventName: "shop/other" };
  expect(await post(gateway, { action: "delete", filter: other, dryRun: true })).toMatchObject({ count: 0 });
  expect(await listed(gateway)).toHaveLength(3);
});

test("runs are found by event, key and a text in their error, and only these are taken", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", noRetry: true, value: NO }));
  const others = await start(gateway, 2);
  for (const runId of others) await ended(gateway, runId);
  worker.answer(() => ({ status: "DONE", noRetry: true, value: { name: "Error", message: 'Card "7" declined' } }));
  const body = JSON.stringify({ name: "shop/order", id: "order-7", data: {} });
  const { ids } = (await call(gateway, "/e/test", { method: "POST", body })) as { ids: string[] };
  const { runIds } = (await call(gateway, `/v1/events/${ids[0]}`)) as { runIds: string[] };
  await ended(gateway, runIds[0] ?? "");
  const fits = async (filter: object): Promise<readonly string[] | undefined> =>
    (await post(gateway, { action: "rerun", filter, dryRun: true })).runIds;
  expect(await fits({ eventId: ids[0] })).toEqual(runIds);
  expect(await fits({ key: "order-7" })).toEqual(runIds);
  expect(await fits({ key: "order-7", eventId: "another" })).toEqual([]);
  expect(await fits({ key: "order-8" })).toEqual([]);
  expect(await fits({ error: 'card "7"' })).toEqual(runIds);
  expect(await fits({ error: "declined", key: "order-8" })).toEqual([]);
  expect(await fits({ status: "FAILED" })).toHaveLength(1 + others.length);
  for (const filter of [{ error: 5 }, { key: "a\0" }, { eventName: "a\0" }])
    expect(await post(gateway, { action: "rerun", filter })).toMatchObject({ code: "BODY_INVALID" });
  const bulk = await post(gateway, { action: "rerun", filter: { error: 'card "7"', key: "order-7" } });
  expect(bulk).toMatchObject({ filter: { error: 'card "7"', eventIds: ids, status: ["FAILED"] } });
  expect(await over(gateway, bulk.id)).toMatchObject({ status: "DONE", total: 1, done: 1 });
  expect(await listed(gateway)).toHaveLength(4);
});

test("a gateway of the version before leaves a job with a narrow filter to others", async () => {
  const gateway = await bench.gateway();
  await failedRuns(gateway, 1);
  const { id } = await post(gateway, { action: "rerun", filter: { error: "nothing has that" } });
  await over(gateway, id);
  const sql = postgres(bench.db.url, { max: 1 });
  onTestFinished(() => sql.end());
  const [row] = await sql<{ filter: string }[]>`SELECT filter FROM holdfast.bulk_jobs WHERE id = ${id}`;
  // It goes through a list of statuses, which is not there.
  expect(JSON.parse(row?.filter ?? "")).not.toHaveProperty("status");
});

test("BULK-1: failed runs are run again, each once, and what that makes is none of the job's business", async () => {
  const gateway = await bench.gateway();
  const runIds = await failedRuns(gateway, 45);
  const bulk = await post(gateway, { action: "rerun", filter: { all: true } });
  expect(bulk).toMatchObject({ status: "RUNNING", total: 45 });
  expect(await over(gateway, bulk.id)).toMatchObject({ status: "DONE", done: 45, skipped: 0, failed: 0 });
  for (const runId of runIds) {
    const again = await ended(gateway, rerunIdOf(bulk.id, runId));
    expect(again).toMatchObject({ rerunOf: runId, status: "COMPLETED" });
  }
  expect(await listed(gateway)).toHaveLength(90);
  expect(await call(gateway, "/v1/bulk")).toMatchObject({ jobs: [{ id: bulk.id, action: "rerun" }] });
});

test("BULK-4: failed runs are resumed; those that cannot be are counted with the reason", async () => {
  const gateway = await bench.gateway();
  const runIds = await failedRuns(gateway, 4);
  const bulk = await post(gateway, { action: "resume", filter: { functionId: "shop-order" } });
  expect(await over(gateway, bulk.id)).toMatchObject({ done: 4, failed: 0 });
  for (const runId of runIds) expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED" });
  const again = await post(gateway, { action: "resume", filter: { functionId: "shop-order" } });
  expect(await over(gateway, again.id)).toMatchObject({ done: 0, total: 0 });
  const wrong = { action: "rerun", filter: { status: "COMPLETED", all: true }, appVersion: "7" };
  const refused = await over(gateway, (await post(gateway, wrong)).id);
  expect(refused).toMatchObject({ done: 0, failed: 4 });
  expect(refused.errors[0]).toContain('no version "7"');
});

test("runs that go on are cancelled, ended ones deleted", async () => {
  const gateway = await bench.gateway();
  await bench.worker(gateway);
  const runIds = await start(gateway, 30);
  expect(runIds).toHaveLength(30);
  const other = await bench.worker(gateway, { functions: [{ id: "other", event: "shop/other" }] });
  other.answer(() => ({ status: "DONE", value: 1 }));
  const [kept = ""] = await start(gateway, 1, "shop/other");
  await ended(gateway, kept);
  const bulk = await post(gateway, { action: "cancel", filter: { eventName: "shop/order" } });
  expect(await over(gateway, bulk.id)).toMatchObject({ total: runIds.length, done: runIds.length });
  for (const runId of runIds) expect(await runDetail(gateway, runId)).toMatchObject({ status: "CANCELLED" });
  const deletion = await post(gateway, { action: "delete", filter: { functionId: "shop-order" } });
  expect(await over(gateway, deletion.id)).toMatchObject({ done: runIds.length });
  expect((await listed(gateway)).map(({ id }) => id)).toEqual([kept]);
});

test("BULK-1: runs made by a gateway whose clock is ahead are found, too; runs that a job makes are not", async () => {
  const gateway = await bench.gateway();
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 600_000);
  onTestFinished(() => clock.mockRestore());
  const runIds = await failedRuns(gateway, 3);
  clock.mockRestore();
  const bulk = await post(gateway, { action: "rerun", filter: { status: "FAILED", all: true } });
  expect(await over(gateway, bulk.id)).toMatchObject({ total: runIds.length, done: runIds.length });
  expect(await listed(gateway)).toHaveLength(2 * runIds.length);
});

test("a job that is stopped goes no further", async () => {
  const gateway = await bench.gateway();
  await failedRuns(gateway, 200);
  const bulk = await post(gateway, { action: "delete", filter: { all: true } });
  const stopped = await post(gateway, {}, `/v1/bulk/${bulk.id}/stop`);
  expect(stopped).toMatchObject({ job: { id: bulk.id } });
  const sql = postgres(bench.db.url, { max: 1 });
  onTestFinished(() => sql.end());
  const left = async () => (await sql`SELECT id FROM holdfast.queue WHERE kind = 'bulk'`).length;
  await waitFor(async () => ((await left()) === 0 ? true : undefined), { what: "the stopped job to leave the queue" });
  const { length } = await listed(gateway);
  expect(length).toBeGreaterThan(0);
  // What was under way when it was stopped is counted, too.
  expect(await call(gateway, `/v1/bulk/${bulk.id}`)).toMatchObject({ status: "STOPPED", done: 200 - length });
  expect(await post(gateway, {}, `/v1/bulk/${bulk.id}/stop`)).toMatchObject({ stopped: false });
});

test("BULK-2: a job goes on at another gateway when one is gone half-way: nothing twice, nothing left out", async () => {
  const first = await bench.gateway();
  const runIds = await failedRuns(first, 120);
  const bulk = await post(first, { action: "rerun", filter: { functionId: "shop-order" } });
  await waitFor(async () => (((await call(first, `/v1/bulk/${bulk.id}`)) as Bulk).done > 0 ? true : undefined), {
    what: "the job to have begun",
  });
  await first.close();
  const second = await bench.gateway();
  expect(await over(second, bulk.id)).toMatchObject({ status: "DONE", done: 120, skipped: 0, failed: 0 });
  const all = await listed(second);
  expect(all).toHaveLength(240);
  const made = new Set(all.map(({ id }) => id));
  for (const runId of runIds) expect(made.has(rerunIdOf(bulk.id, runId))).toBe(true);
});

test("BULK-3: a chunk that is done again makes nothing twice", async () => {
  const gateway = await bench.gateway();
  const runIds = await failedRuns(gateway, 25);
  const bulk = await post(gateway, { action: "rerun", filter: { all: true } });
  await over(gateway, bulk.id);
  // As if a gateway had been killed before it could say what it had done.
  const sql = postgres(bench.db.url, { max: 1 });
  onTestFinished(() => sql.end());
  await sql`UPDATE holdfast.bulk_jobs SET status = 'RUNNING', before_id = id, done = 0`;
  await sql`INSERT INTO holdfast.queue (id, run_id, kind, key, function_id, attempt, iteration, priority, epoch, available_at,
    created_at, lost) VALUES ('again', '', 'bulk', ${bulk.id}, 'holdfast/newer', 0, 0, 0, 0, now(), now(), false)`;
  expect(await over(gateway, bulk.id)).toMatchObject({ status: "DONE", done: 25 });
  expect(await listed(gateway)).toHaveLength(2 * runIds.length);
});

/** As if the gateway had been killed when it had done all of its chunk, before it could say so. */
async function goesOnAgain(bulkId: string): Promise<void> {
  const sql = postgres(bench.db.url, { max: 1 });
  onTestFinished(() => sql.end());
  const [job] = await sql<{ chunk: string }[]>`SELECT chunk FROM holdfast.bulk_jobs WHERE id = ${bulkId}`;
  expect(job?.chunk).toBe("[]");
  const rows = await sql<{ id: string }[]>`SELECT id FROM holdfast.runs ORDER BY id DESC`;
  const ids = JSON.stringify(chunks.get(bulkId) ?? rows.map(({ id }) => id));
  await sql`UPDATE holdfast.bulk_jobs SET status = 'RUNNING', before_id = id, done = 0, skipped = 0, chunk = ${ids}
    WHERE id = ${bulkId}`;
  await sql`INSERT INTO holdfast.queue (id, run_id, kind, key, function_id, attempt, iteration, priority, epoch, available_at,
    created_at, lost) VALUES (${bulkId}, '', 'bulk', ${bulkId}, 'holdfast/newer', 0, 0, 0, 0, now(), now(), false)`;
}
const chunks = new Map<string, readonly string[]>();

test("BULK-5: what was done of a chunk before a gateway was killed is counted as done", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", noRetry: true, value: NO }));
  await call(gateway, "/v1/functions/shop-order/pause", { method: "POST" });
  const runIds = (await start(gateway, 12)).toSorted().reverse();
  const cancelled = await post(gateway, { action: "cancel", filter: { all: true } });
  expect(await over(gateway, cancelled.id)).toMatchObject({ done: 12 });
  await goesOnAgain(cancelled.id);
  expect(await over(gateway, cancelled.id)).toMatchObject({ done: 12, skipped: 0, failed: 0 });
  await call(gateway, "/v1/functions/shop-order/resume", { method: "POST" });
  const resumed = await post(gateway, { action: "resume", filter: { status: "cancelled" } });
  await over(gateway, resumed.id);
  for (const runId of runIds) await ended(gateway, runId);
  await goesOnAgain(resumed.id);
  expect(await over(gateway, resumed.id)).toMatchObject({ done: 12, skipped: 0, failed: 0 });
  const again = await post(gateway, { action: "rerun", filter: { all: true } });
  expect(await over(gateway, again.id)).toMatchObject({ done: 12 });
  for (const runId of runIds) await ended(gateway, rerunIdOf(again.id, runId));
  const deleted = await post(gateway, { action: "delete", filter: { all: true } });
  chunks.set(
    deleted.id,
    [
      ...runIds
        .map((runId) => rerunIdOf(again.id, runId))
        .toSorted()
        .reverse(),
      ...runIds,
    ].slice(0, 20),
  );
  expect(await over(gateway, deleted.id)).toMatchObject({ done: 24 });
  await goesOnAgain(deleted.id);
  expect(await over(gateway, deleted.id)).toMatchObject({ done: 20, skipped: 0, failed: 0 });
});

test("BULK-5: what somebody else did is not counted as done, and what no longer fits is left alone", async () => {
  const gateway = await bench.gateway();
  const [first = "", second = ""] = await failedRuns(gateway, 2);
  const bulk = await post(gateway, { action: "delete", filter: { status: "cancelled" } });
  expect(await over(gateway, bulk.id)).toMatchObject({ done: 0 });
  chunks.set(bulk.id, [second, first]);
  await goesOnAgain(bulk.id);
  expect(await over(gateway, bulk.id)).toMatchObject({ done: 0, skipped: 2, failed: 0 });
  expect(await listed(gateway)).toHaveLength(2);
});

test("what it cannot do is refused before it begins", async () => {
  const gateway = await bench.gateway();
  for (const body of [
    {},
    { action: "explode", filter: { all: true } },
    { action: "cancel" },
    { action: "cancel", filter: {} },
    { action: "cancel", filter: { status: "FAILED" } },
    { action: "resume", filter: { status: ["COMPLETED"] } },
    { action: "rerun", filter: { functoinId: "x" } },
    { action: "rerun", filter: { after: "yesterday" } },
    { action: "delete", filter: { before: "2027-01-31T09:00:00" } },
    { action: "delete", filter: { before: "2027-02-31" } },
    { action: "delete", filter: { before: "2027-02-29T09:00:00Z" } },
    { action: "delete", filter: { before: "2027-13-01" } },
    { action: "delete", filter: { before: "2027-01-00" } },
    { action: "delete", filter: { before: "2027-01-31T25:00:00Z" } },
    { action: "delete", filter: { before: "Jan 5" } },
    { action: "delete", filter: { before: [2030] } },
    { action: "delete", filter: { before: null } },
    { action: "rerun", filter: { all: true }, appVersion: "1\0" },
    { action: "rerun", filter: { after: "2027-02-01T00:00:00Z", before: "2027-01-01T00:00:00Z" } },
    { action: "cancel", filter: { all: false } },
    { action: "cancel", filter: { all: null } },
    { action: "cancel", filter: { status: "" } },
    { action: "rerun", filter: { all: true }, appVersion: 1 },
  ]) {
    expect([body, await post(gateway, body)]).toMatchObject([body, { code: "BODY_INVALID" }]);
  }
  expect(await call(gateway, "/v1/bulk/01JZ0000000000000000000000")).toMatchObject({ code: "NOT_FOUND" });
});
