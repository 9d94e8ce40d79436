import type { ExecutorRequest, WorkerStall } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { call, did, ended, metrics, runDetail, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();

function stall(request: ExecutorRequest, changes: Partial<WorkerStall> = {}): WorkerStall {
  const { requestId, runId, functionSlug } = request;
  return {
    kind: "WORKER_STALL",
    ...{ requestId, runId, functionSlug },
    stepId: "count the invoices",
    stalledMs: 1_234,
    stack: "at count (/app/count.ts:7:3)",
    ended: false,
    location: "/app/count.ts:7:3",
    codeName: "count",
    sequence: 1,
    suppressed: 0,
    waiting: 0,
    leasesGivenUp: false,
    waitedMs: 0,
    noCpu: false,
    ...changes,
  };
}

/** Frames are taken in order. */
async function beat(worker: RawWorker): Promise<void> {
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await worker.frame("GATEWAY_HEARTBEAT");
}

test("a blocked worker is listed with its run, once for each report, and its run is unchanged", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.send(stall(request));
  worker.send(stall(request));
  worker.send(stall(request, { sequence: 2, stalledMs: 2_500, leasesGivenUp: true }));
  const shown = await waitFor(
    async () => {
      const { stalls } = await runDetail(gateway, runId);
      return stalls.length === 2 ? stalls : undefined;
    },
    { what: "both reports in the run" },
  );
  expect(shown[0]).toMatchObject({
    cause: "blocked",
    stalledMs: 1_234,
    ended: false,
    stepId: "count the invoices",
    location: "/app/count.ts:7:3",
    codeName: "count",
    stack: "at count (/app/count.ts:7:3)",
    instanceId: worker.instanceId,
  });
  expect(shown[1]).toMatchObject({ stalledMs: 2_500, leasesGivenUp: true });
  // What comes right after it meets the same run, and an account of the end may come after the run's end.
  worker.send(stall(request, { sequence: 3, stalledMs: 3_000, ended: true }));
  worker.checkpoint(request, 1, [did("a")]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  await worker.replied(request, { status: "DONE", value: "ok" });
  worker.send(stall(request, { sequence: 4, stalledMs: 3_000, ended: true }));
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ status: "COMPLETED", output: "ok", leasesLost: 0 });
  await waitFor(async () => (await runDetail(gateway, runId)).stalls.length === 4, {
    what: "the last account in the run",
  });
  expect((await metrics(gateway)).dispatcher.stalls).toBe(3);
});

test("a worker that was given no processor is told from one that its code blocks, in the log and in the run", async () => {
  const logs: { readonly message: string; readonly data?: object | undefined }[] = [];
  const gateway = await bench.gateway({ log: (_level, message, data) => void logs.push({ message, data }) });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const noCode = { stepId: "", stack: "", location: "", codeName: "" };
  worker.send(stall(request, { ...noCode, stalledMs: 3_000, waitedMs: 2_900, noCpu: true }));
  const [shown] = await waitFor(
    async () => {
      const { stalls } = await runDetail(gateway, runId);
      return stalls.length > 0 ? stalls : undefined;
    },
    { what: "the report in the run" },
  );
  expect(shown).toMatchObject({ cause: "no-cpu", stalledMs: 3_000, waitedMs: 2_900 });
  expect(shown).not.toHaveProperty("location");
  const about = logs.filter(({ message }) => message.includes("main thread of worker"));
  expect(about).toMatchObject([{ data: { code: "NO_CPU_TIME" } }]);
  expect(about[0]?.message).toContain("was given no processor for 2900 ms of 3000 ms");
});

test("a stall report for an unknown run, or another app's, is only logged, and a flood of reports is bounded", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.send(stall(request, { requestId: "", runId: "", functionSlug: "" }));
  worker.send(stall(request, { requestId: "nonsense" }));
  worker.send(stall(request, { runId: "01JZ0000000000000000000001" }));
  worker.send(stall(request, { functionSlug: "somebody-else" }));
  for (let sequence = 1; sequence <= 100; sequence++) worker.send(stall(request, { sequence }));
  await beat(worker);
  await worker.replied(request, { status: "DONE", value: "ok" });
  const { stalls } = await ended(gateway, runId);
  expect(stalls.length).toBeGreaterThan(0);
  expect(stalls.length).toBeLessThanOrEqual(30);
  expect((await metrics(gateway)).dispatcher.stalls).toBe(104);
});

test("a paused worker gets no work until it is ready again", async () => {
  const gateway = await bench.gateway();
  const [one, two] = [await bench.worker(gateway), await bench.worker(gateway)];
  const takesAll = async (worker: RawWorker, other: RawWorker): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) {
      const [runId = ""] = await start(gateway);
      const { request } = await worker.request();
      expect(request.runId).toBe(runId);
      await worker.replied(request, { status: "DONE", value: turn });
      await ended(gateway, runId);
    }
    expect(other.frames.map(({ kind }) => kind)).not.toContain("GATEWAY_EXECUTOR_REQUEST");
  };
  one.send({ kind: "WORKER_PAUSE" });
  await beat(one);
  await takesAll(two, one);
  two.send({ kind: "WORKER_PAUSE" });
  await beat(two);
  one.send({ kind: "WORKER_READY" });
  await takesAll(one, two);
});

test("work returned by a blocked worker goes to another one at once, and its late reports are stale", async () => {
  const gateway = await bench.gateway();
  const blocked = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await blocked.request();
  const { requestId, leaseId } = request;
  blocked.send({ kind: "WORKER_PAUSE" });
  blocked.send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason: "STALLED", message: "blocked" });
  const other = await bench.worker(gateway);
  const again = await other.request();
  expect(again.request.requestId).not.toBe(requestId);
  // It is responsive again, asks for its lease, and sends what it has.
  expect(await blocked.extend(request)).toBeUndefined();
  blocked.checkpoint(request, 1, [did("a", "of the blocked one")]);
  expect(await blocked.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stale" });
  await blocked.replied(request, { status: "DONE", value: "of the blocked one" });
  await other.replied(again.request, { status: "DONE", value: "of the other one" });
  const run = await ended(gateway, runId);
  expect(run).toMatchObject({ output: "of the other one", leasesLost: 1, steps: [] });
  const { dispatcher } = await metrics(gateway);
  expect(dispatcher).toMatchObject({ repliesStale: 1, checkpointsStale: 1 });
});

test("work returned by the only worker is leased to it again when it is responsive, and its result counts", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const { requestId, leaseId } = request;
  worker.send({ kind: "WORKER_PAUSE" });
  worker.send({ kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason: "STALLED", message: "blocked" });
  await beat(worker);
  expect(await worker.extend(request)).toBeDefined();
  worker.send({ kind: "WORKER_READY" });
  worker.checkpoint(request, 1, [did("a")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await worker.replied(request, { status: "DONE", value: "late but ours" });
  expect(await ended(gateway, runId)).toMatchObject({ output: "late but ours", leasesLost: 0 });
  expect(worker.taken).toBe(1);
});

interface Condition {
  readonly instanceId: string;
  readonly condition: { readonly roundTripMs: number | null; readonly stalls?: readonly object[] } | null;
}

test("the list of workers says when each was heard of, how long a ping takes, and when it was blocked", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const condition = async () => {
    const { workers } = (await call(gateway, "/v1/workers")) as { workers: Condition[] };
    return workers.find(({ instanceId }) => instanceId === worker.instanceId)?.condition ?? { roundTripMs: null };
  };
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.send(stall(request));
  worker.send(stall(request, { sequence: 2, stalledMs: 2_000, ended: true }));
  worker.send(stall(request, { sequence: 3, stalledMs: 500, noCpu: true, ended: true, requestId: "", runId: "" }));
  await beat(worker);
  await waitFor(async () => (await condition()).roundTripMs !== null, { what: "the answer to a ping" });
  expect(await condition()).toMatchObject({
    silentMs: expect.any(Number),
    stalls: [
      { stalledMs: 500, cause: "no-cpu", runId: null },
      { stalledMs: 2_000, ended: true, runId, location: "/app/count.ts:7:3", stack: "at count (/app/count.ts:7:3)" },
    ],
  });
  for (let sequence = 4; sequence < 20; sequence += 1) worker.send(stall(request, { sequence, ended: true }));
  await beat(worker);
  expect((await condition()).stalls).toHaveLength(5);
  await worker.replied(request, { status: "DONE", value: "ok" });
  await ended(gateway, runId);
});

test("a run that shares the blocked thread says so, and which run it is", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const ids = await Promise.all([start(gateway), start(gateway)]);
  const [culprit, victim] = [await worker.request(), await worker.request()];
  expect([culprit.request.runId, victim.request.runId].sort()).toEqual(ids.flat().sort());
  worker.send(stall(culprit.request));
  await beat(worker);
  const said = async (): Promise<string> => (await runDetail(gateway, victim.request.runId)).waiting?.message ?? "";
  const { runId } = culprit.request;
  expect(await said()).toMatch(
    new RegExp(
      `main thread is blocked for \\d+ m?s in the step .count the invoices. at .*count.ts:7:3 by the run ${runId}\\.$`,
    ),
  );
  worker.send(stall(culprit.request, { sequence: 2, ended: true }));
  await beat(worker);
  expect(await said()).not.toContain("blocked");
  for (const { request } of [culprit, victim]) await worker.replied(request, { status: "DONE", value: "ok" });
});
