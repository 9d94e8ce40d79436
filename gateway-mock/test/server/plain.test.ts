import { decodeFlushResponse, encodeSdkResponse, FLUSH_PATH, PROTOBUF_CONTENT_TYPE } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, did, ended, failed, metrics, op, plan, runDetail, start, useGateway } from "./harness.ts";
import { replyOf, type WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const plain: Partial<WorkerOptions> = { extensions: [] };

test("with extensions off none is granted, and the plain intervals are sent", async () => {
  const gateway = await bench.gateway({ extensions: [] });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request, payload } = await worker.request();
  expect(payload.ctx.holdfast).toBeUndefined();
  expect(payload.ctx.fn_id).toMatch(/^[0-9a-f-]{36}$/);
  await worker.replied(request, { value: [did("a")] });
  const second = await worker.request();
  expect(second.payload).toMatchObject({ version: 2, steps: { a: { type: "data", data: "a" } } });
  await worker.replied(second.request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("parallel steps are requested one by one at the same time, and one pass follows the last of them", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const first = await worker.request("step");
  await worker.replied(first.request, { value: [plan("a"), plan("b"), op("Sleep", "s", { name: "1s" })] });
  const a = await worker.request("a");
  const b = await worker.request("b");
  expect(a.payload.ctx.disable_immediate_execution).toBe(true);
  worker.reply(a.request, { value: [did("a")] });
  worker.reply(b.request, { value: [did("b")] });
  const last = await worker.request("step");
  expect(Object.keys(last.payload.steps).sort()).toEqual(["a", "b", "s"]);
  expect(last.payload.ctx.disable_immediate_execution).toBe(false);
  await worker.replied(last.request, { status: "DONE", value: 1 });
  const run = await ended(gateway, runId);
  expect(run.log.filter(({ kind, key }) => kind === "DISPATCHED" && key === "").length).toBe(2);
});

test("a worker is sent no frame of an extension that it did not agree on, whatever it sends itself", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [did("a")]);
  await worker.replied(request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  expect(worker.frames.map(({ kind }) => kind)).not.toContain("GATEWAY_CHECKPOINT_ACK");
});

test("in a race a pass follows each completion, and the losers are told to stop", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { extensions: ["cancel"] });
  const [runId = ""] = await start(gateway);
  const race = { opts: { parallelMode: "race" } };
  const first = await worker.request("step");
  await worker.replied(first.request, { value: [plan("a", race), plan("b", race)] });
  const a = await worker.request("a");
  const b = await worker.request("b");
  await worker.replied(b.request, { value: [did("b")] });
  const next = await worker.request("step");
  await worker.replied(next.request, { status: "DONE", value: "b won" });
  expect(await worker.frame("GATEWAY_CANCEL")).toMatchObject({ requestId: a.request.requestId });
  expect((await ended(gateway, runId)).output).toBe("b won");
});

test("when two gateways answer two branches at the same time, one pass follows", async () => {
  const one = await bench.gateway();
  const two = await bench.gateway();
  const here = await bench.worker(one, { ...plain, maxWorkerConcurrency: 1 });
  const [runId = ""] = await start(one);
  const first = await here.request("step");
  const there = await bench.worker(two, { ...plain, maxWorkerConcurrency: 1 });
  await here.replied(first.request, { value: [plan("a"), plan("b")] });
  const a = await here.request();
  const b = await there.request();
  here.reply(a.request, { value: [did(a.request.stepId)] });
  there.reply(b.request, { value: [did(b.request.stepId)] });
  const last = await Promise.any([here.request("step"), there.request("step")]);
  const taker = here.taken > there.taken ? here : there;
  await taker.replied(last.request, { status: "DONE", value: 1 });
  const run = await ended(one, runId);
  expect(run.log.filter(({ kind, key }) => kind === "DISPATCHED" && key === "").length).toBe(2);
});

test("a failed step is retried with its next attempt, and so is a handler that throws", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, {
    ...plain,
    functions: [{ id: "order", event: "shop/order", retries: 1 }],
  });
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  await worker.replied(first.request, { value: [failed("a")] });
  const second = await worker.request();
  expect(second.payload.ctx).toMatchObject({ attempt: 1, max_attempts: 2 });
  await worker.replied(second.request, { value: [did("a")] });
  const third = await worker.request();
  expect(third.payload.ctx.attempt).toBe(0);
  await worker.replied(third.request, { status: "ERROR", value: { name: "Error", message: "oops" } });
  const fourth = await worker.request();
  expect(fourth.payload.ctx.attempt).toBe(1);
  await worker.replied(fourth.request, { status: "ERROR", value: { name: "Error", message: "oops again" } });
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ status: "FAILED", error: { message: "oops again" } });
  expect(run.steps).toMatchObject([{ id: "a", status: "completed", attempt: 1, failedAttempts: [{ attempt: 0 }] }]);
});

test("an unsupported op fails its run with a code", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { value: [op("SyncRunComplete", "i", { data: 1 })] });
  expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { code: "OP_UNSUPPORTED" } });
});

test("an unreadable reply fails its run, not the connection", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [one = "", two = ""] = await start(gateway, 2);
  const first = await worker.request();
  const second = await worker.request();
  await worker.replied(first.request, { value: null, body: new Uint8Array([0x7b]) });
  await worker.replied(second.request, { status: "DONE", value: 1 });
  const runs = await Promise.all([ended(gateway, one), ended(gateway, two)]);
  expect(runs.map(({ status }) => status).sort()).toEqual(["COMPLETED", "FAILED"]);
  expect(worker.closed).toBeNull();
});

async function checkpoint(gateway: Gateway, runId: string, body: object): Promise<Response> {
  return fetch(`${gateway.url}/v1/checkpoint/${runId}/async`, { method: "POST", body: JSON.stringify(body) });
}

test("checkpoints over HTTP are stored once, and stale ones are reported", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request, payload } = await worker.request();
  const body = {
    run_id: runId,
    fn_id: payload.ctx.fn_id,
    qi_id: payload.ctx.qi_id,
    request_id: request.requestId,
    steps: [did("a")],
  };
  expect((await checkpoint(gateway, runId, body)).status).toBe(200);
  expect((await checkpoint(gateway, runId, body)).status).toBe(200);
  expect((await checkpoint(gateway, runId, { ...body, steps: [op("Sleep", "s", { name: "1s" })] })).status).toBe(400);
  expect((await checkpoint(gateway, runId, { ...body, steps: "x" })).status).toBe(400);
  // Over another gateway: what this one has in memory is found to be old.
  const other = await bench.gateway();
  expect((await checkpoint(other, runId, { ...body, steps: [did("b")] })).status).toBe(200);
  await worker.replied(request, { value: [op("Sleep", "s", { name: "1s" })] });
  const next = await worker.request();
  expect(Object.keys(next.payload.steps)).toEqual(["a", "b", "s"]);
  const stale = await checkpoint(gateway, runId, { ...body, steps: [did("c")] });
  expect(stale.status).toBe(409);
  await worker.replied(next.request, { value: [did("d"), op("RunComplete", "end", { data: { ok: 1 } })] });
  expect((await ended(gateway, runId)).output).toEqual({ ok: 1 });
});

test("a reply flushed over HTTP counts like one over the socket", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 20_000 });
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.cut();
  await worker.gone();
  const flush = async (value: unknown): Promise<string> => {
    const body = encodeSdkResponse(replyOf(request, { status: "DONE", value })) as Uint8Array<ArrayBuffer>;
    const response = await fetch(gateway.url + FLUSH_PATH, {
      method: "POST",
      headers: { "Content-Type": PROTOBUF_CONTENT_TYPE },
      body,
    });
    expect(response.status).toBe(200);
    return decodeFlushResponse(new Uint8Array(await response.arrayBuffer())).requestId;
  };
  expect(await flush("flushed")).toBe(request.requestId);
  expect(await flush("again")).toBe(request.requestId);
  expect((await ended(gateway, runId)).output).toBe("flushed");
});

test("a reconnected plain worker keeps its work without reporting it, for an extension interval", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 5_000, leaseMs: 600_000 });
  const one = { ...plain, maxWorkerConcurrency: 1 };
  const other = await bench.worker(gateway, { ...one, instanceId: "host-2" });
  const [lostId = ""] = await start(gateway);
  await other.request();
  const before = await bench.worker(gateway, { ...one, instanceId: "host-1" });
  const [runId = ""] = await start(gateway);
  const { request } = await before.request();
  before.cut();
  await before.gone();
  const after = await bench.worker(gateway, { ...plain, instanceId: "host-1" });
  await waitFor(async () => (await metrics(gateway)).dispatcher.inFlight === 2, { what: "the work to be kept" });
  // Another one is lost later, and not waited for any more: the time of the first one is long over then.
  other.cut();
  const { request: again } = await after.request();
  expect(again.runId).toBe(lostId);
  await after.replied(again, { status: "DONE", value: "taken" });
  expect((await runDetail(gateway, runId)).leasesLost).toBe(0);
  await after.replied(request, { status: "DONE", value: "kept" });
  expect((await ended(gateway, runId)).output).toBe("kept");
});

test("a run lost twenty times in a row without progress fails with a code, and with the step that was running", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 0 });
  const [, ...functions] = [0, { id: "order", event: "shop/order" }] as const;
  const first = await bench.worker(gateway, { functions });
  const [runId = ""] = await start(gateway);
  let worker = first;
  for (let count = 0; count < 20; count += 1) {
    const { request } = await worker.request();
    expect(request.runId).toBe(runId);
    // Acknowledged: the work was there when the worker died.
    expect(await worker.extend(request, [{ id: "bad", runningMs: 9_000 }])).toBeDefined();
    worker.cut();
    await worker.gone();
    await waitFor(async () => (await metrics(gateway)).dispatcher.workers === 0, { what: "the worker to be gone" });
    worker = await bench.worker(gateway);
  }
  const message =
    'The work was lost 20 times in a row without any progress, the last time while step "bad" was running.';
  const error = { code: "RUN_LOST", message };
  expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error, leasesLost: 20 });
});

test("a worker that dies with thirty steps of one run counts as one loss for each, and the run continues", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 0 });
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request("step");
  const steps = Array.from({ length: 30 }, (_, n) => `s${n}`);
  await worker.replied(request, { value: steps.map((id) => plan(id)) });
  for (const id of steps) expect(await worker.extend((await worker.request(id)).request)).toBeDefined();
  worker.cut();
  await waitFor(async () => (await runDetail(gateway, runId)).jobs.length === 30, { what: "the jobs of its steps" });
  await waitFor(async () => (await metrics(gateway)).queue.due === 30, { what: "all its work to be given up" });
  const other = await bench.worker(gateway, plain);
  for (const id of steps) other.reply((await other.request(id)).request, { value: [did(id)] });
  const last = await other.request("step");
  await other.replied(last.request, { status: "DONE", value: 1 });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", leasesLost: 30 });
});

test("events are idempotent by id, and seeds generate their ids", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const send = (event: object, headers = {}): Promise<unknown> =>
    call(gateway, "/e/key", { method: "POST", body: JSON.stringify(event), headers });
  const one = await send({ name: "shop/order", id: "order-1", data: {} });
  expect(await send({ name: "shop/order", id: "order-1", data: {} })).toEqual(one);
  const seed = { "x-inngest-event-id-seed": "1743130137367,eii2YKXRVTJPuA==" };
  const seeded = { ids: ["01JQDAE4RQF8MBCR55T5AK4KXS", "01JQDAE4RQF8MBCR55T5AK4KXT"], status: 200 };
  const two = [{ name: "shop/order" }, { name: "other/thing" }];
  expect(await send(two, seed)).toEqual(seeded);
  expect(await send(two, seed)).toEqual(seeded);
  for (let count = 0; count < 2; count += 1) {
    const { request } = await worker.request();
    await worker.replied(request, { status: "DONE", value: 1 });
  }
  const { runs } = (await call(gateway, "/v1/runs?status=COMPLETED")) as { runs: unknown[] };
  expect(runs.length).toBe(2);
});
