import { randomUUID } from "node:crypto";
import { systemClock } from "@holdfast/core";
import { createMemoryDatabase, type Store } from "@holdfast/store";
import { beforeEach, expect, test } from "vitest";
import { logRow, newId, newRun, passJob, runDone } from "../../../packages/store/test/contract/harness.ts";
import { routeTable } from "./route-table.ts";

const DAY_MS = 86_400_000;
let store: Store;
let ask: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Record<string, unknown> }>;

beforeEach(() => {
  const secret = "ab".repeat(32);
  const options = { clock: systemClock, soon: setImmediate, newUuid: randomUUID, secret, virtualTime: true };
  store = createMemoryDatabase(options).open();
  const { app } = routeTable(store, { retentionCompletedMs: 10 * DAY_MS, retentionFailedMs: "off" });
  ask = async (method, path, body) => {
    const headers = { Host: "localhost", "Content-Type": "application/json" };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await app.request(path, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
});

async function ended(): Promise<string> {
  const run = newRun();
  const created = logRow("RUN_CREATED", "", { dataJson: '{"run":{"maxAttempts":1},"event":{"name":"shop/order"}}' });
  const event = { id: run.eventId, name: run.eventName, tsMs: 1, payloadJson: "{}" };
  await store.intake([{ event, runs: [{ run, log: [created], jobs: [passJob(run.id)] }] }]);
  await store.commit({ ...runDone({ runId: run.id, jobId: "" }), fence: null });
  return run.id;
}

test("old runs are counted first, then removed; periods may be others than the gateway's", async () => {
  const old = await ended();
  await store.skipTime(5 * DAY_MS);
  const young = await ended();
  expect((await ask("POST", "/v1/prune", { dryRun: true })).body).toMatchObject({ runs: 0, events: 0 });
  const other = { completed: "3d", failed: "off" };
  const { body } = await ask("POST", "/v1/prune", { ...other, dryRun: true });
  expect(body).toMatchObject({ runs: 1, events: 1, oldestRunMs: (await store.getRun(young))?.head.createdMs });
  expect(await store.getRun(old)).not.toBeNull();
  expect((await ask("POST", "/v1/prune")).body).toMatchObject({ state: "done", removedRuns: 0 });
  const pruned = await ask("POST", "/v1/prune", other);
  expect(pruned.body).toMatchObject({ state: "done", removedRuns: 1, removedEvents: 1, sinceMs: expect.any(Number) });
  expect(await store.getRun(old)).toBeNull();
  expect(await store.getRun(young)).not.toBeNull();
});

test("a run on hold says so, and stays until it is released", async () => {
  const id = await ended();
  const path = `/v1/runs/${id}/hold`;
  expect(await ask("PUT", path, { reason: "claim 4711" })).toMatchObject({
    status: 200,
    body: { reason: "claim 4711", heldAt: expect.stringMatching(/Z$/), heldMs: expect.any(Number) },
  });
  await store.skipTime(30 * DAY_MS);
  await ask("POST", "/v1/prune");
  expect((await ask("GET", `/v1/runs/${id}`)).body).toMatchObject({ hold: { reason: "claim 4711" } });
  expect((await ask("DELETE", path)).body).toEqual({ released: true });
  expect((await ask("DELETE", path)).body).toEqual({ released: false });
  expect((await ask("GET", `/v1/runs/${id}`)).body).toMatchObject({ hold: null });
  await ask("POST", "/v1/prune");
  expect((await ask("GET", `/v1/runs/${id}`)).status).toBe(404);
  expect((await ask("PUT", path)).status).toBe(404);
  expect((await ask("DELETE", `/v1/runs/${newId()}/hold`)).status).toBe(404);
});

test.each([
  ["POST", "/v1/prune", { completed: "soon" }, "DURATION_INVALID", "`completed`"],
  ["POST", "/v1/prune", { failed: 1 }, "DURATION_INVALID", "`failed` must be between"],
  ["POST", "/v1/prune", { failed: true }, "BODY_INVALID", '`failed` must be a duration such as "7d", or "off"'],
  ["POST", "/v1/prune", { dryRun: "yes" }, "BODY_INVALID", "`dryRun`"],
  ["POST", "/v1/prune", { since: 1 }, "BODY_INVALID", '"since"'],
  ["POST", "/v1/prune", { sinceMs: "1" }, "BODY_INVALID", "`sinceMs`"],
  ["PUT", "/v1/runs/x/hold", { reason: 7 }, "BODY_INVALID", "`reason`"],
])("%s %s refuses %j", async (method, path, given, code, text) => {
  const { status, body } = await ask(method, path, given);
  expect(status).toBe(400);
  expect(body).toMatchObject({ code, error: expect.stringContaining(text) });
});

test("metrics say how large the tables are and how old their oldest rows", async () => {
  await ended();
  const { tables } = (await ask("GET", "/v1/metrics")).body as { tables: { table: string; rows: number }[] };
  expect(tables.find(({ table }) => table === "runs")).toMatchObject({ rows: 1, oldestMs: expect.any(Number) });
});
