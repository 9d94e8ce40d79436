import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { type Gateway, REAL_PORTS } from "../../src/server.ts";
import { ended, metrics, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
/** A worker of the base protocol whose main thread is blocked: what it is sent lies unread. */
const blocked = { extensions: [], acks: false } as const;
const ACK_MS = 100;
const LEASE_MS = 3_000;

const requestsOf = (worker: RawWorker) =>
  worker.frames.flatMap((frame) => (frame.kind === "GATEWAY_EXECUTOR_REQUEST" ? [frame] : []));

async function sent(worker: RawWorker, count: number) {
  await waitFor(() => requestsOf(worker).length >= count, { what: `${count} requests` });
  return requestsOf(worker);
}

/** The gateway has missed so many acknowledgements, and has looked after its leases a few times since. */
async function overdue(gateway: Gateway, count: number): Promise<void> {
  await waitFor(async () => (await metrics(gateway)).dispatcher.acksMissed === count, {
    what: "missed acknowledgements",
  });
  const { claims = 0 } = (await metrics(gateway)).dispatcher;
  await waitFor(async () => ((await metrics(gateway)).dispatcher.claims ?? 0) >= claims + 5, { what: "five claims" });
}

test("KEPT-1: an unacknowledged request stays with its live plain connection, under its id", async () => {
  const gateway = await bench.gateway({ requestAckMs: ACK_MS, leaseMs: 60_000 });
  const worker = await bench.worker(gateway, blocked);
  const runIds = await start(gateway, 10);
  const requests = await sent(worker, 10);
  await overdue(gateway, 10);
  expect(requestsOf(worker)).toHaveLength(10);
  // It moves: all of it counts, and it gets work again.
  for (const request of requests) worker.ack(request);
  for (const request of requests) await worker.replied(request, { status: "DONE", value: "once" });
  for (const runId of runIds) expect((await ended(gateway, runId)).output).toBe("once");
  const [next = ""] = await start(gateway);
  const [, request] = [await sent(worker, 11), requestsOf(worker)[10]];
  expect(request?.runId).toBe(next);
  expect(new Set(requestsOf(worker).map(({ jobId }) => jobId)).size).toBe(11);
});

test("the lease of an unacknowledged plain request is extended as long as its connection lives", async () => {
  const gateway = await bench.gateway({ requestAckMs: ACK_MS, leaseMs: LEASE_MS, heartbeatMs: 60_000 });
  const worker = await bench.worker(gateway, blocked);
  const [runId = ""] = await start(gateway);
  const [request] = await sent(worker, 1);
  await overdue(gateway, 1);
  // Longer than the first lease.
  await sleep(LEASE_MS + 500);
  const [run] = await bench.store.loadRuns([runId]);
  expect(run?.log.map(({ kind }) => kind)).not.toContain("LEASE_LOST");
  expect(requestsOf(worker)).toHaveLength(1);
  if (request) await worker.replied(request, { status: "DONE", value: "late" });
  expect((await ended(gateway, runId)).output).toBe("late");
});

test("KEPT-2: after an unacknowledged plain request moves to another connection, the first one's answers are late", async () => {
  const gateway = await bench.gateway({ requestAckMs: ACK_MS, leaseMs: 60_000 });
  const first = await bench.worker(gateway, blocked);
  const runIds = await start(gateway, 3);
  const requests = await sent(first, 3);
  await overdue(gateway, 3);
  const second = await bench.worker(gateway, { extensions: [] });
  for (let count = 0; count < 3; count += 1) {
    const { request } = await second.request();
    expect(requests.map(({ requestId }) => requestId)).not.toContain(request.requestId);
    expect(requests.map(({ jobId }) => jobId)).toContain(request.jobId);
    await second.replied(request, { status: "DONE", value: "second" });
  }
  for (const request of requests) await first.replied(request, { status: "DONE", value: "first" });
  for (const runId of runIds) expect((await ended(gateway, runId)).output).toBe("second");
  expect((await metrics(gateway)).dispatcher.repliesStale).toBe(3);
  expect(requestsOf(first)).toHaveLength(3);
});

test("KEPT-3: a worker that has not acknowledged a request gets no new work until it mentions that request", async () => {
  const gateway = await bench.gateway({ requestAckMs: ACK_MS, leaseMs: 60_000 });
  const worker = await bench.worker(gateway, blocked);
  await start(gateway);
  const [first] = await sent(worker, 1);
  await overdue(gateway, 1);
  const [waiting = ""] = await start(gateway);
  const { claims = 0 } = (await metrics(gateway)).dispatcher;
  await waitFor(async () => ((await metrics(gateway)).dispatcher.claims ?? 0) >= claims + 10, { what: "ten claims" });
  expect(requestsOf(worker)).toHaveLength(1);
  if (first) worker.ack(first);
  expect((await sent(worker, 2))[1]?.runId).toBe(waiting);
  for (const request of requestsOf(worker)) await worker.replied(request, { status: "DONE", value: "once" });
  expect((await ended(gateway, waiting)).output).toBe("once");
});

test("KEPT-3: also while the database does not answer when the lease of that request is extended", async () => {
  let asked = 0;
  const gateway = await bench.gateway(
    { requestAckMs: ACK_MS, leaseMs: 60_000 },
    {
      ...REAL_PORTS,
      storeFor: (store) => ({
        ...store,
        extendLeases: () => {
          asked += 1;
          return new Promise(() => {});
        },
      }),
    },
  );
  const worker = await bench.worker(gateway, blocked);
  await start(gateway);
  const [first] = await sent(worker, 1);
  await waitFor(() => asked > 0, { what: "the lease to be extended" });
  const [waiting = ""] = await start(gateway);
  // Several times as long as an acknowledgement may take.
  await overdue(gateway, 1);
  expect(requestsOf(worker)).toHaveLength(1);
  if (first) worker.ack(first);
  expect((await sent(worker, 2))[1]?.runId).toBe(waiting);
});

test("KEPT-4: a request that a live connection does not mention for a lease's length is dropped and sent again", async () => {
  const gateway = await bench.gateway({ requestAckMs: ACK_MS, leaseMs: 2_000, heartbeatMs: 60_000 });
  const worker = await bench.worker(gateway, blocked);
  await start(gateway);
  await sent(worker, 1);
  const beat = setInterval(() => worker.send({ kind: "WORKER_HEARTBEAT" }), 50);
  const [first, second] = await sent(worker, 2).finally(() => clearInterval(beat));
  expect(second?.jobId).toBe(first?.jobId);
  expect(second?.requestId).not.toBe(first?.requestId);
});

test("KEPT-5: a plain connection that ends or pauses returns its unacknowledged requests", async () => {
  const gateway = await bench.gateway({ requestAckMs: 60_000, leaseMs: 60_000, reconnectGraceMs: 100 });
  for (const end of [
    (worker: RawWorker) => worker.send({ kind: "WORKER_PAUSE" }),
    (worker: RawWorker) => worker.cut(),
  ]) {
    const first = await bench.worker(gateway, blocked);
    const [runId = ""] = await start(gateway);
    await sent(first, 1);
    end(first);
    const second = await bench.worker(gateway, { extensions: [] });
    const { request } = await second.request();
    await second.replied(request, { status: "DONE", value: "second" });
    expect((await ended(gateway, runId)).output).toBe("second");
    await second.close();
  }
});
