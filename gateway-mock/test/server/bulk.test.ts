import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, onTestFinished, test } from "vitest";
import { rerunIdOf } from "../../src/dispatch/repair/bulk-jobs.ts";
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
  expect(preview).toEqual({ dryRun: true, count: 3, isMore: false, runIds: runIds.toSorted().reverse() });
  const none = { functionId: "shop-order", after: "2099-01-01T00:00:00Z" };
  expect(await post(gateway, { action: "rerun", filter: none, dryRun: true })).toMatchObject({ count: 0 });
  const completed = { all: true, status: "completed" };
  expect(await post(gateway, { action: "rerun", filter: completed, dryRun: true })).toMatchObject({ count: 0 });
  const other = { eventName: "shop/other" };
  expect(await post(gateway, { action: "delete", filter: other, dryRun: true })).toMatchObject({ count: 0 });
  expect(await listed(gateway)).toHaveLength(3);
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
  const runIds = await start(gateway, 30);
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

test("a job that is stopped goes no further", async () => {
  const gateway = await bench.gateway();
  await failedRuns(gateway, 60);
  const bulk = await post(gateway, { action: "delete", filter: { all: true } });
  const stopped = await post(gateway, {}, `/v1/bulk/${bulk.id}/stop`);
  expect(stopped).toMatchObject({ job: { id: bulk.id } });
  const sql = postgres(bench.db.url, { max: 1 });
  onTestFinished(() => sql.end());
  const left = async () => (await sql`SELECT id FROM holdfast.queue WHERE kind = 'bulk'`).length;
  await waitFor(async () => ((await left()) === 0 ? true : undefined), { what: "the stopped job to leave the queue" });
  expect((await listed(gateway)).length).toBeGreaterThan(0);
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
    { action: "rerun", filter: { all: true }, appVersion: 1 },
  ]) {
    expect([body, await post(gateway, body)]).toMatchObject([body, { code: "BODY_INVALID" }]);
  }
  expect(await call(gateway, "/v1/bulk/01JZ0000000000000000000000")).toMatchObject({ code: "NOT_FOUND" });
});
