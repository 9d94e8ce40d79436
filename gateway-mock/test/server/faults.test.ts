import { encodeSdkResponse, FLUSH_PATH, PROTOBUF_CONTENT_TYPE } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ended, failed, metrics, start, useGateway } from "./harness.ts";
import { replyOf } from "./raw-worker.ts";

const bench = useGateway();
afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["with extensions", undefined],
  ["of the plain protocol", []],
])("a worker %s that announces its shutdown returns its remaining work at once", async (_what, extensions) => {
  const gateway = await bench.gateway({ reconnectGraceMs: 600_000, leaseMs: 600_000 });
  const offer = extensions === undefined ? {} : { extensions };
  const ending = await bench.worker(gateway, offer);
  const [runId = ""] = await start(gateway);
  const { request } = await ending.request();
  const other = await bench.worker(gateway, offer);
  await ending.close();
  const again = await other.request();
  expect(again.request.jobId).toBe(request.jobId);
  expect(again.payload.ctx.attempt).toBe(0);
  await other.replied(again.request, { status: "DONE", value: 1 });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", leasesLost: 0 });
});

test("a worker whose connection broke or is being replaced keeps its work for the grace period", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 600_000, leaseMs: 600_000 });
  const worker = await bench.worker(gateway, { instanceId: "one" });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.socket.close(1000, "GATEWAY_DRAINING");
  await worker.gone();
  const other = await bench.worker(gateway, { instanceId: "two" });
  const back = await bench.worker(gateway, { instanceId: "one" });
  expect(await back.extend(request)).toBeDefined();
  await back.replied(request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).leasesLost).toBe(0);
  expect(other.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
});

test.each([3_600_000, -3_600_000])(
  "a wall clock jump of %d ms neither drops a worker nor dispatches to it",
  async (jumpMs) => {
    const gateway = await bench.gateway({ heartbeatMs: 100, leaseMs: 600_000 });
    const worker = await bench.worker(gateway);
    const silent = await bench.worker(gateway);
    const beating = setInterval(() => worker.send({ kind: "WORKER_HEARTBEAT" }), 20);
    onTestFinished(() => clearInterval(beating));
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + jumpMs);
    // Silence is still noticed, and has been looked for as often as it takes to drop someone.
    await waitFor(() => silent.closed, { what: "the silent worker to be dropped" });
    expect(worker.closed).toBeNull();
    vi.useRealTimers();
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    await worker.replied(request, { status: "DONE", value: 1 });
    expect((await ended(gateway, runId)).status).toBe("COMPLETED");
    expect((await metrics(gateway)).dispatcher.workers).toBe(1);
  },
);

test("a flushed SDK reply is understood by a gateway that did not dispatch the request", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 600_000 });
  const other = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  await worker.replied(first.request, { value: [failed("a", { attempt: 0 })] });
  const second = await worker.request();
  expect(second.payload.ctx.holdfast?.retries.a?.attempt).toBe(1);
  const reply = { value: [failed("a", { attempt: 1 })], sdkVersion: "holdfast-js:v0.1.0" };
  const response = await fetch(other.url + FLUSH_PATH, {
    method: "POST",
    headers: { "Content-Type": PROTOBUF_CONTENT_TYPE },
    body: encodeSdkResponse(replyOf(second.request, reply)) as Uint8Array<ArrayBuffer>,
  });
  expect(response.status).toBe(200);
  const third = await worker.request();
  expect(third.payload.ctx.holdfast?.retries.a?.attempt, "the second attempt counts").toBe(2);
  await worker.replied(third.request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});
