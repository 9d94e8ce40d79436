import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { call, ended, op, runDetail, start, useGateway } from "./harness.ts";
import type { WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const HOUR_MS = 3_600_000;
const sha1 = (id: string): string => createHash("sha1").update(id).digest("hex");
const FAILURE = sha1("holdfast/failure");

const undoable = (id: string) => op("StepRun", id, { data: id, userland: { id }, opts: { compensate: true } });
const undone = (id: string) => op("StepRun", sha1(`holdfast/compensate:${id}`), { data: null });
const notUndone = (id: string) =>
  op("StepFailed", sha1(`holdfast/compensate:${id}`), { error: { name: "Error", message: "still there" } });

const retry = (url: string, runId: string) =>
  fetch(`${url}/v1/runs/${runId}/compensations/retry`, { method: "POST" }).then((response) => response.json());

describe.each([
  { name: "plain", options: { extensions: [] } },
  { name: "in place", options: {} },
] satisfies { name: string; options: Partial<WorkerOptions> }[])("Sagas, $name", ({ options }) => {
  test("when attempts are used up the steps are undone, and failed compensations can be retried through the API", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, {
      ...options,
      functions: [{ id: "order", event: "shop/order", retries: 0 }],
    });
    const [runId = ""] = await start(gateway);
    const first = await worker.request();
    await worker.replied(first.request, { value: [undoable("a")] });
    const second = await worker.request();
    await worker.replied(second.request, { status: "ERROR", value: { name: "Bad", message: "no", extra: { n: 1 } } });
    const third = await worker.request();
    expect(third.payload.steps[FAILURE]).toMatchObject({
      type: "data",
      data: { error: { name: "Bad", message: "no", extra: { n: 1 } } },
    });
    expect(await runDetail(gateway, runId)).toMatchObject({ compensating: true, endedMs: null });
    await worker.replied(third.request, { value: [notUndone("a")] });
    const fourth = await worker.request();
    const error = { name: "Bad", message: "no", compensation: { undone: [], failed: [{ stepId: "a" }], notRun: [] } };
    await worker.replied(fourth.request, { status: "DONE", noRetry: true, value: error });
    expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error });

    expect(await retry(gateway.url, runId)).toMatchObject({ retried: true, run: { status: "RUNNING", error: null } });
    expect(await retry(gateway.url, runId)).toMatchObject({ retried: false });
    const fifth = await worker.request();
    expect(Object.keys(fifth.payload.steps)).toEqual(["a", FAILURE]);
    await worker.replied(fifth.request, { value: [undone("a")] });
    const sixth = await worker.request();
    const over = { ...error, compensation: { undone: ["a"], failed: [], notRun: [] } };
    await worker.replied(sixth.request, { status: "DONE", noRetry: true, value: over });
    expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: over });
    expect(await retry(gateway.url, runId)).toMatchObject({ retried: false });
  });
});

test("when a gateway dies while steps are undone, another one continues after the last undone step", async () => {
  const first = await bench.gateway();
  const worker = await bench.worker(first, { functions: [{ id: "order", event: "shop/order", retries: 0 }] });
  const [runId = ""] = await start(first);
  const pass = await worker.request();
  worker.checkpoint(pass.request, 1, [undoable("a"), undoable("b")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  await worker.replied(pass.request, { status: "ERROR", value: { name: "Error", message: "no" } });
  const undoing = await worker.request();
  worker.checkpoint(undoing.request, 1, [undone("b")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  const second = await bench.gateway();
  await first.close();
  const other = await bench.worker(second);
  const again = await other.request();
  expect(Object.keys(again.payload.steps)).toEqual(["a", "b", FAILURE, sha1("holdfast/compensate:b")]);
  const compensation = { undone: ["b", "a"], failed: [], notRun: [] };
  other.checkpoint(again.request, 1, [undone("a")]);
  await other.frame("GATEWAY_CHECKPOINT_ACK");
  await other.replied(again.request, {
    status: "DONE",
    noRetry: true,
    value: { name: "Error", message: "no", compensation },
  });
  const run = await ended(second, runId);
  expect(run.error).toMatchObject({ compensation });
});

test("the deadline of a run with a future event counts from the time at which it may start", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const config = { holdfast: { deadline: "1m" } };
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", config }] });
  const ts = Date.now() + 3_600_000;
  const body = JSON.stringify({ name: "shop/order", data: {}, ts });
  const { ids } = (await call(gateway, "/e/test", { method: "POST", body })) as { ids: string[] };
  const { runIds } = (await call(gateway, `/v1/events/${ids[0]}`)) as { runIds: string[] };
  await gateway.skipTime(3_600_000);
  const { request, payload } = await worker.request();
  const { nowMs, deadlineMs } = payload.ctx.holdfast as unknown as { nowMs: number; deadlineMs: number };
  expect(deadlineMs).toBe(ts + 60_000);
  expect(deadlineMs - nowMs).toBeGreaterThan(0);
  expect((await runDetail(gateway, runIds[0] ?? "")).deadlineMs).toBe(deadlineMs);
  await worker.replied(request, { status: "DONE", value: null });
  expect(await ended(gateway, runIds[0] ?? "")).toMatchObject({ status: "COMPLETED" });
});

test("the deadline fails a run and stops its handler; a new pass undoes its steps", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const config = { holdfast: { deadline: "1h" } };
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", config }] });
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  const { nowMs, deadlineMs } = first.payload.ctx.holdfast as unknown as { nowMs: number; deadlineMs: number };
  expect(deadlineMs - nowMs).toBeGreaterThan(0);
  expect(deadlineMs - nowMs).toBeLessThanOrEqual(HOUR_MS);
  await gateway.skipTime(HOUR_MS);
  expect((await worker.frame("GATEWAY_CANCEL")).requestId).toBe(first.request.requestId);
  expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { code: "RUN_DEADLINE_EXCEEDED" } });

  const [saga = ""] = await start(gateway);
  const second = await worker.request();
  worker.checkpoint(second.request, 1, [undoable("a")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  await gateway.skipTime(HOUR_MS);
  expect((await worker.frame("GATEWAY_CANCEL")).requestId).toBe(second.request.requestId);
  const third = await worker.request();
  expect(third.request.runId).toBe(saga);
  expect(third.payload.ctx.holdfast).not.toHaveProperty("deadlineMs");
  worker.checkpoint(second.request, 2, [op("StepRun", "late", { data: 1 })]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK", ({ sequence }) => sequence === 2)).toMatchObject({
    outcome: "stale",
  });
  const compensation = { undone: ["a"], failed: [], notRun: [] };
  worker.checkpoint(third.request, 1, [undone("a")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  const error = { name: "HoldfastError", code: "RUN_DEADLINE_EXCEEDED", message: "late", compensation };
  await worker.replied(third.request, { status: "DONE", noRetry: true, value: error });
  expect(await ended(gateway, saga)).toMatchObject({ status: "FAILED", error });
});

test("timeouts.finish counts from a run's start, cancels the run and stops its handler", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const functions = [{ id: "order", event: "shop/order", config: { timeouts: { finish: "1h" } } }];
  const early = await bench.worker(gateway, { functions });
  await early.close();
  const [runId = ""] = await start(gateway);
  // It waits in the queue for longer than the timeout, which does not count.
  await gateway.skipTime(2 * HOUR_MS);
  const worker = await bench.worker(gateway, { functions });
  const { request } = await worker.request();
  expect(await worker.extend(request), "it is still its own").toBeDefined();
  await gateway.skipTime(HOUR_MS);
  expect((await worker.frame("GATEWAY_CANCEL")).requestId).toBe(request.requestId);
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ status: "CANCELLED", error: { code: "RUN_CANCELLED" } });
});

test("onFailure gets the error and the event, and its own failure triggers no other", async () => {
  const gateway = await bench.gateway();
  const failure = (slug: string) => ({
    triggers: [{ event: "inngest/function.failed", expression: `event.data.function_id == '${slug}'` }],
  });
  const worker = await bench.worker(gateway, {
    functions: [
      { id: "order", event: "shop/order" },
      { id: "order-failure", event: "", config: failure("shop-order") },
      { id: "pack-failure", event: "", config: failure("shop-pack") },
    ],
  });
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  const error = { name: "Bad", message: "no", stack: "at x", code: "E_BAD", cause: { name: "Error", message: "why" } };
  await worker.replied(first.request, { status: "DONE", noRetry: true, value: error });
  const second = await worker.request();
  expect(second.request.functionSlug).toBe("shop-order-failure");
  expect(second.payload.event).toMatchObject({
    name: "inngest/function.failed",
    data: { function_id: "shop-order", run_id: runId, error, event: { name: "shop/order", data: { n: 0 } } },
  });
  await worker.replied(second.request, { status: "DONE", noRetry: true, value: { name: "Error", message: "too" } });
  const run = await ended(gateway, second.request.runId);
  expect(run.status).toBe("FAILED");
  const { runs } = (await call(gateway, "/v1/runs")) as { runs: unknown[] };
  expect(runs).toHaveLength(2);
});
