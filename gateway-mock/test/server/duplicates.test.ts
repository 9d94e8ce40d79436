import { encodeJsonBytes, encodeSdkResponse, FLUSH_PATH, PROTOBUF_CONTENT_TYPE } from "@holdfast/protocol";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, did, ended, metrics, op, runDetail, start, useGateway } from "./harness.ts";
import { replyOf } from "./raw-worker.ts";

const bench = useGateway();

/** Everything durable of a run, but for what a gateway may do by itself meanwhile. */
async function logOf(gateway: Gateway, runId: string): Promise<unknown> {
  const { log, jobs, status } = await runDetail(gateway, runId);
  return { log, jobs: jobs.map(({ id, kind }) => ({ id, kind })), status };
}

/** Does something twice; the second time changes nothing, and is answered as the first was or as `second` says. */
async function twice<T>(gateway: Gateway, runId: string, act: () => Promise<T>, second?: (first: T) => T): Promise<T> {
  const first = await act();
  const before = await logOf(gateway, runId);
  expect(await act()).toEqual(second ? second(first) : first);
  expect(await logOf(gateway, runId)).toEqual(before);
  return first;
}

async function post(
  gateway: Gateway,
  path: string,
  body: Uint8Array | string,
): Promise<{ status: number; body: string }> {
  const headers = typeof body === "string" ? {} : { "Content-Type": PROTOBUF_CONTENT_TYPE };
  const response = await fetch(new URL(path, gateway.url), { method: "POST", headers, body: body as string });
  return { status: response.status, body: await response.text() };
}

test("duplicate events with an id, HTTP checkpoints, flushes and cancellations change nothing", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { extensions: [] });
  const event = { id: "once", name: "shop/order", data: {} };
  const send = async () =>
    (await call(gateway, "/e/test", { method: "POST", body: JSON.stringify(event) })) as { ids: string[] };
  const { ids } = await send();
  const { runIds } = (await call(gateway, `/v1/events/${ids[0]}`)) as { runIds: string[] };
  const [runId = ""] = runIds;
  expect(runIds).toHaveLength(1);
  // From here on the run's status stays.
  const { request, payload } = await worker.request();
  expect(await twice(gateway, runId, send)).toEqual({ ids, status: 200 });
  expect(((await call(gateway, `/v1/runs`)) as { runs: unknown[] }).runs).toHaveLength(1);

  const steps = JSON.stringify({ request_id: request.requestId, qi_id: payload.ctx.qi_id, steps: [did("a")] });
  const checkpoint = () => post(gateway, `/v1/checkpoint/${runId}/async`, steps);
  expect(await twice(gateway, runId, checkpoint)).toMatchObject({ status: 200 });
  const reply = encodeSdkResponse(replyOf(request, { value: [did("b")] }));
  expect(await twice(gateway, runId, () => post(gateway, FLUSH_PATH, reply))).toMatchObject({ status: 200 });

  const cancel = () => call(gateway, `/v1/runs/${runId}/cancel`, { method: "POST" });
  await twice(gateway, runId, cancel, (first) => ({ ...(first as object), cancelled: false }));
});

test("a duplicate signal finds no waiter, and the first one wakes one step", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const wait = op("WaitForSignal", "w", { opts: { signal: "go", timeout: "1h", conflict: "fail" } });
  await worker.replied(request, { value: [wait] });
  const signal = () => post(gateway, "/v1/signals", JSON.stringify({ signal: "go", data: 1 }));
  expect(await signal()).toMatchObject({ status: 200 });
  const next = await worker.request();
  const before = await logOf(gateway, runId);
  expect(await signal()).toMatchObject({ status: 404 });
  expect(await logOf(gateway, runId)).toEqual(before);
  await worker.replied(next.request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("every frame that a worker may send twice has its effect once", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { acks: false, instanceId: "first" });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const { requestId, leaseId } = request;
  const untilHeard = async () => {
    worker.send({ kind: "WORKER_HEARTBEAT" });
    await worker.frame("GATEWAY_HEARTBEAT");
  };
  const stall = { requestId, runId, functionSlug: "shop-order", stepId: "", stalledMs: 1500, stack: "", ended: false };
  const frames = [
    { kind: "WORKER_READY" },
    { ...request, kind: "WORKER_REQUEST_ACK" },
    { ...request, kind: "WORKER_REQUEST_EXTEND_LEASE" },
    { kind: "WORKER_STATUS", inFlightRequestIds: [requestId], shutdownRequested: false },
    { kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence: 1, ops: encodeJsonBytes([did("a")]) },
  ] as const;
  for (const frame of frames) {
    await twice(gateway, runId, async () => {
      worker.send(frame);
      await untilHeard();
      if (frame.kind === "WORKER_CHECKPOINT") await worker.frame("GATEWAY_CHECKPOINT_ACK");
    });
  }
  for (let times = 0; times < 2; times++)
    worker.send({ kind: "WORKER_STALL", ...stall } as Parameters<typeof worker.send>[0]);
  await untilHeard();
  // Refused twice: it is given out once.
  const refusal = { requestId, runId, leaseId, reason: "AT_CAPACITY", message: "full" } as const;
  for (let times = 0; times < 2; times++) worker.send({ kind: "WORKER_REQUEST_NACK", ...refusal });
  const again = await worker.request();
  worker.ack(again.request);
  await untilHeard();
  expect(worker.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
  await twice(gateway, runId, () => worker.replied(again.request, { status: "DONE", value: 1 }));
  // A refusal of what was given out again is a stranger's.
  worker.send({ kind: "WORKER_REQUEST_NACK", ...refusal });
  for (let times = 0; times < 2; times++) worker.send({ kind: "WORKER_PAUSE" });
  await untilHeard();
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", leasesLost: 0 });
  expect((await metrics(gateway)).dispatcher.dispatches).toBe(2);
});
