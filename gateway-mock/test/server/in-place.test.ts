import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { call, did, ended, failed, metrics, op, runDetail, start, useGateway } from "./harness.ts";

const bench = useGateway();

test("a run of two steps is executed in place with checkpoints, then the value", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request, payload } = await worker.request();
  expect(request).toMatchObject({ runId, functionSlug: "shop-order", appName: "shop", stepId: "step" });
  expect(payload).toMatchObject({ version: -1, steps: {}, ctx: { attempt: 0, max_attempts: 5, holdfast: { v: 1 } } });
  expect(payload.ctx.fn_id).toBeUndefined();
  worker.checkpoint(request, 1, [did("a", { x: 1 })]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ sequence: 1, outcome: "stored" });
  worker.checkpoint(request, 2, [did("a", "again"), did("b")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ sequence: 2, outcome: "stored" });
  await worker.replied(request, { status: "DONE", value: { ok: true } });
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ status: "COMPLETED", output: { ok: true } });
  expect(run.steps.map(({ id, output }) => [id, output])).toEqual([
    ["a", { x: 1 }],
    ["b", "b"],
  ]);
});

test("a parked sleep and a parked retry wake at their times, and finished steps are kept", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  worker.checkpoint(first.request, 1, [did("a")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  await worker.replied(first.request, { value: [op("Sleep", "s", { name: "1s" }), failed("b", { attempt: 0 })] });
  const second = await worker.request();
  expect(Object.keys(second.payload.steps)).toEqual(["a"]);
  expect(second.payload.ctx.holdfast?.retries).toMatchObject({ b: { attempt: 1 } });
  worker.checkpoint(second.request, 1, [did("b")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  await worker.replied(second.request, { value: [op("Sleep", "s", { name: "1s" })] });
  const third = await worker.request();
  expect(third.payload.steps).toEqual({
    a: { type: "data", data: "a" },
    b: { type: "data", data: "b" },
    s: { type: "data", data: null },
  });
  expect(third.payload.ctx.stack.stack).toEqual(["a", "b", "s"]);
  await worker.replied(third.request, { status: "DONE", value: null });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("a failed attempt reported in a checkpoint is stored", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", retries: 1 }] });
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  expect(first.payload.ctx.max_attempts).toBe(2);
  worker.checkpoint(first.request, 1, [failed("a", { attempt: 0 })]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await worker.replied(first.request, { value: [failed("a", { attempt: 0 })] });
  const second = await worker.request();
  expect(second.payload.ctx.holdfast?.retries.a?.attempt).toBe(1);
  await worker.replied(second.request, { value: [failed("a", { attempt: 1 })] });
  const third = await worker.request();
  expect(third.payload.steps.a).toMatchObject({ type: "error", error: { message: "a failed" } });
  await worker.replied(third.request, {
    status: "DONE",
    noRetry: true,
    value: { name: "StepError", message: "a failed" },
  });
  expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { name: "StepError" } });
});

test("a checkpoint with a different result is rejected, while the same ops in a reply are accepted", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [op("RunComplete", "w", { data: 1 })]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "invalid" });
  worker.checkpoint(request, 2, "nonsense");
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "invalid" });
  await worker.replied(request, { value: [did("a"), op("RunComplete", "end", { data: 7 })] });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", output: 7 });
});

test("each lease extension gives a new id, and another worker's is rejected", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const first = await worker.extend(request);
  const second = await worker.extend(request);
  expect(first).toMatch(/^[0-9A-Z]{26}$/);
  expect(second).not.toBe(first);
  expect(await worker.extend({ ...request, requestId: "01JZ0000000000000000000001.1" })).toBeUndefined();
  expect(await worker.extend({ ...request, requestId: "nonsense" })).toBeUndefined();
  await worker.replied(request, { status: "DONE", value: 1 });
  expect(await worker.extend(request)).toBeUndefined();
  await ended(gateway, runId);
});

test("a repeated reply is acknowledged again and changes nothing", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.reply(request, { status: "DONE", value: 1 });
  worker.reply(request, { status: "DONE", value: 2 });
  await worker.frame("WORKER_REPLY_ACK");
  await worker.frame("WORKER_REPLY_ACK");
  await worker.replied(request, { status: "ERROR", value: { name: "Error", message: "late" } });
  expect((await ended(gateway, runId)).output).toBe(1);
});

test("a cancelled run ends, its worker is told, and later reports are stale", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const answer = await fetch(`${gateway.url}/v1/runs/${runId}/cancel`, { method: "POST" });
  expect(await answer.json()).toMatchObject({ cancelled: true, run: { status: "CANCELLED" } });
  expect(await worker.frame("GATEWAY_CANCEL")).toMatchObject({ requestId: request.requestId });
  worker.checkpoint(request, 1, [did("a")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stale" });
  await worker.replied(request, { status: "DONE", value: 1 });
  const again = await fetch(`${gateway.url}/v1/runs/${runId}/cancel`, { method: "POST" });
  expect(await again.json()).toMatchObject({ cancelled: false, run: { status: "CANCELLED", output: null } });
});

test("a request rejected for lack of capacity goes to another worker without spending an attempt", async () => {
  const gateway = await bench.gateway();
  const full = await bench.worker(gateway, { acks: false });
  const [runId = ""] = await start(gateway);
  const { request } = await full.request();
  const other = await bench.worker(gateway);
  const { requestId, leaseId } = request;
  full.send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason: "AT_CAPACITY", message: "full" });
  const second = await other.request();
  expect(second.request.jobId).toBe(request.jobId);
  expect(second.request.requestId).not.toBe(requestId);
  expect(second.payload.ctx.attempt).toBe(0);
  // The first one's result is no longer wanted.
  full.checkpoint(request, 1, [did("zombie")]);
  expect(await full.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stale" });
  await full.replied(request, { status: "DONE", value: "zombie" });
  await other.replied(second.request, { status: "DONE", value: "right" });
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ output: "right", leasesLost: 0, steps: [] });
});

test("a request reassigned for want of an acknowledgement is cancelled on the first worker", async () => {
  const gateway = await bench.gateway({ requestAckMs: 2_000 });
  const slow = await bench.worker(gateway, { acks: false });
  const [runId = ""] = await start(gateway);
  const first = await slow.request();
  const other = await bench.worker(gateway);
  const second = await other.request();
  expect(second.request.runId).toBe(runId);
  expect(await slow.frame("GATEWAY_CANCEL")).toMatchObject({
    requestId: first.request.requestId,
    reason: expect.stringContaining("another worker"),
  });
  slow.checkpoint(first.request, 1, [did("a")]);
  expect(await slow.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stale" });
  await other.replied(second.request, { status: "DONE", value: "other" });
  expect((await ended(gateway, runId)).output).toBe("other");
});

test("a slow worker that no other has replaced continues with its request and is not told to stop", async () => {
  const gateway = await bench.gateway({ requestAckMs: 2_000 });
  const slow = await bench.worker(gateway, { acks: false, maxWorkerConcurrency: 1 });
  const [runId = ""] = await start(gateway);
  const { request } = await slow.request();
  slow.send({ kind: "WORKER_PAUSE" });
  await waitFor(async () => (await metrics(gateway)).dispatcher.acksMissed === 1, {
    what: "the request to be given up",
  });
  slow.ack(request);
  expect(await slow.extend(request)).toBeDefined();
  slow.send({ kind: "WORKER_READY" });
  slow.checkpoint(request, 1, [did("a")]);
  expect(await slow.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await slow.replied(request, { status: "DONE", value: "slow" });
  expect((await ended(gateway, runId)).output).toBe("slow");
  expect(slow.frames.map(({ kind }) => kind)).not.toContain("GATEWAY_CANCEL");
});

test("a request that is not acknowledged in time is reassigned", async () => {
  const gateway = await bench.gateway({ requestAckMs: 2_000 });
  const deaf = await bench.worker(gateway, { acks: false });
  const [runId = ""] = await start(gateway);
  const first = await deaf.request();
  const other = await bench.worker(gateway);
  const { request } = await other.request();
  expect(request.jobId).toBe(first.request.jobId);
  await other.replied(request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  expect((await metrics(gateway)).dispatcher.acksMissed).toBe(1);
});

test("a worker that reconnects within the grace period continues its request", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 20_000 });
  const before = await bench.worker(gateway, { instanceId: "app-1" });
  const [runId = ""] = await start(gateway);
  const { request } = await before.request();
  before.checkpoint(request, 1, [did("a")]);
  await before.frame("GATEWAY_CHECKPOINT_ACK");
  before.cut();
  await before.gone();
  const after = await bench.worker(gateway, { instanceId: "app-1" });
  expect(await after.extend(request)).toBeDefined();
  after.checkpoint(request, 2, [did("b")]);
  expect(await after.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await after.replied(request, { status: "DONE", value: 1 });
  const run = await ended(gateway, runId);
  expect(run.leasesLost).toBe(0);
  expect(run.steps.map(({ id }) => id)).toEqual(["a", "b"]);
});

test("when a lost worker does not reconnect, the next one resumes after the last finished step", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 200 });
  const dead = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await dead.request();
  dead.checkpoint(request, 1, [did("a")]);
  await dead.frame("GATEWAY_CHECKPOINT_ACK");
  dead.cut();
  await dead.gone();
  const next = await bench.worker(gateway);
  const second = await next.request();
  expect(second.request.jobId).toBe(request.jobId);
  expect(second.payload.steps).toEqual({ a: { type: "data", data: "a" } });
  expect(second.payload.ctx.attempt).toBe(0);
  await next.replied(second.request, { status: "DONE", value: 1 });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", leasesLost: 1 });
});

test("a request whose lease is not extended is dispatched again under the next epoch", async () => {
  const gateway = await bench.gateway({ leaseMs: 3_000 });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  const second = await worker.request();
  expect(second.request.jobId).toBe(first.request.jobId);
  expect(await worker.extend(first.request)).toBeUndefined();
  await worker.replied(second.request, { status: "DONE", value: 1 });
  const run = await ended(gateway, runId);
  expect(run.leasesLost).toBeGreaterThanOrEqual(1);
});

test("a late result counts while no other worker has the request", async () => {
  const gateway = await bench.gateway({ leaseMs: 3_000, reconnectGraceMs: 20_000 });
  const worker = await bench.worker(gateway, { instanceId: "late" });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.cut();
  await worker.gone();
  await waitFor(async () => (await metrics(gateway)).queue.due === 1, { what: "the lease to end" });
  const back = await bench.worker(gateway, { instanceId: "late", pauses: true });
  await back.replied(request, { status: "DONE", value: "late" });
  expect((await ended(gateway, runId)).output).toBe("late");
});

test("a worker's requests continue at the new gateway after a restart", async () => {
  const first = await bench.gateway();
  const before = await bench.worker(first, { instanceId: "app-2" });
  const [runId = ""] = await start(first);
  const { request } = await before.request();
  before.checkpoint(request, 1, [did("a")]);
  await before.frame("GATEWAY_CHECKPOINT_ACK");
  // Another gateway, without the first one having stopped well: its lease stands.
  const second = await bench.gateway();
  const after = await bench.worker(second, { instanceId: "app-2" });
  expect(await after.extend(request)).toBeDefined();
  // Its worker takes nothing more, or the first gateway might rightly get the next pass.
  before.send({ kind: "WORKER_PAUSE" });
  before.send({ kind: "WORKER_HEARTBEAT" });
  await before.frame("GATEWAY_HEARTBEAT");
  after.checkpoint(request, 2, [did("b")]);
  expect(await after.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await after.replied(request, { value: [op("Sleep", "s", { name: "50ms" })] });
  const next = await after.request();
  expect(Object.keys(next.payload.steps)).toEqual(["a", "b", "s"]);
  await after.replied(next.request, { status: "DONE", value: 1 });
  expect((await ended(second, runId)).status).toBe("COMPLETED");
});

test("a run that moves between gateways does not use the first gateway's outdated cached state", async () => {
  const one = await bench.gateway();
  const two = await bench.gateway();
  const here = await bench.worker(one, { instanceId: "app-3" });
  const [runId = ""] = await start(one);
  const { request } = await here.request();
  here.checkpoint(request, 1, [did("a")]);
  await here.frame("GATEWAY_CHECKPOINT_ACK");
  const there = await bench.worker(two, { instanceId: "app-3", pauses: true });
  there.checkpoint(request, 2, [did("b")]);
  expect(await there.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await here.replied(request, { value: [failed("c", { attempt: 0 })] });
  const next = await here.request();
  expect(Object.keys(next.payload.steps)).toEqual(["a", "b"]);
  await here.replied(next.request, { status: "DONE", value: 1 });
  await ended(one, runId);
});

test("a worker never gets more requests than its capacity, and all requests are executed", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { maxWorkerConcurrency: 3 });
  const runIds = await start(gateway, 20);
  let held = 0;
  let most = 0;
  const done = new Set<string>();
  while (done.size < runIds.length) {
    const { request } = await worker.request();
    held += 1;
    most = Math.max(most, held);
    setTimeout(() => {
      held -= 1;
      worker.reply(request, { status: "DONE", value: 1 });
    }, 5);
    done.add(request.runId);
  }
  for (const runId of runIds) expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  expect(most).toBeLessThanOrEqual(3);
});

test("work waits for a worker that has the function", async () => {
  const gateway = await bench.gateway();
  const before = await bench.worker(gateway);
  await before.close();
  await waitFor(async () => (await metrics(gateway)).dispatcher.workers === 0, { what: "the worker to be gone" });
  const [first = ""] = await start(gateway);
  expect((await runDetail(gateway, first)).status).toBe("PENDING");
  const worker = await bench.worker(gateway);
  const { request } = await worker.request();
  expect(request.runId).toBe(first);
  await worker.replied(request, { status: "DONE", value: 1 });
  await ended(gateway, first);
});

test("a worker that learns from a checkpoint that its run has ended frees its slot", async () => {
  const gateway = await bench.gateway();
  // It cannot be told to stop, so it has to find out.
  const worker = await bench.worker(gateway, { extensions: ["checkpoint"] });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await call(gateway, `/v1/runs/${runId}/cancel`, { method: "POST" });
  expect(await ended(gateway, runId)).toMatchObject({ status: "CANCELLED" });
  worker.checkpoint(request, 1, [did("a")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stale" });
  expect((await metrics(gateway)).dispatcher).toMatchObject({ inFlight: 0, runsInMemory: 0 });
});
