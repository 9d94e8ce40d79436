import { WIRE_LIMITS, type WorkerState } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import type { AppWorkersState, ReportedState } from "../../src/dispatch/workers/worker-states.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, metrics, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();

function state(changes: Partial<WorkerState> = {}): WorkerState {
  return {
    kind: "WORKER_STATE",
    phase: "ACTIVE",
    mainLagMs: 0,
    roundTripMs: 2,
    unansweredHeartbeats: 0,
    inFlight: 1,
    requests: [{ requestId: "r", runId: "run", functionSlug: "shop-order", replied: false, ageMs: 7, leaseAgeMs: 3 }],
    outboxCount: 1,
    outboxBytes: 300,
    outboxFull: false,
    reconnectAttempts: 0,
    crashes: 0,
    lastErrorCode: "",
    lastError: "",
    stalls: 0,
    stallsUnseen: false,
    logsDropped: 0,
    pool: { threads: 2, busy: 1, queued: 3, oldestMs: 40, overruns: 4, crashes: 5, recycled: 6, abandoned: 0 },
    process: { pid: 77, rssBytes: 90_000_000, cpuMs: 1_000, uptimeMs: 10_000 },
    transitions: [{ atMs: 1, event: "FRAME", from: "idle", to: "open" }],
    ...changes,
  };
}

interface Listed {
  readonly instanceId: string;
  readonly condition: { readonly state: ReportedState | null } | null;
}

async function listed(gateway: Gateway, { instanceId }: RawWorker): Promise<Listed["condition"]> {
  const { workers } = (await call(gateway, "/v1/workers")) as { readonly workers: readonly Listed[] };
  const found = workers.find((one) => one.instanceId === instanceId);
  if (found === undefined) throw new Error("The worker is not listed.");
  return found.condition;
}

/** Frames are taken in order: what was sent before has been read. */
async function beat(worker: RawWorker): Promise<void> {
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await worker.frame("GATEWAY_HEARTBEAT");
}

const byApp = async (gateway: Gateway): Promise<readonly AppWorkersState[]> =>
  ((await metrics(gateway)) as unknown as { readonly workers: readonly AppWorkersState[] }).workers;

test("what a worker says of itself is shown with its age, the last one only, at the gateway that has it", async () => {
  const gateway = await bench.gateway();
  const other = await bench.gateway();
  const worker = await bench.worker(gateway);
  expect(await listed(gateway, worker)).toMatchObject({ state: null });
  expect(await byApp(gateway)).toEqual([]);
  worker.send(state({ mainLagMs: 9_000 }));
  worker.send(state({ process: { pid: 77, rssBytes: 91_000_000, cpuMs: 3_000, uptimeMs: 11_000 } }));
  await beat(worker);
  const shown = (await listed(gateway, worker))?.state;
  expect(shown).toMatchObject({
    phase: "ACTIVE",
    mainLagMs: 0,
    roundTripMs: 2,
    inFlight: 1,
    requests: [{ requestId: "r", runId: "run", functionSlug: "shop-order", replied: false, ageMs: 7, leaseAgeMs: 3 }],
    isolation: { threads: 2, busy: 1, queued: 3, oldestMs: 40, overruns: 4, crashes: 5, recycled: 6, abandoned: 0 },
    process: { pid: 77, rssBytes: 91_000_000, cpuShare: 2 },
  });
  expect(shown?.ageMs).toBeGreaterThanOrEqual(0);
  await waitFor(async () => ((await listed(gateway, worker))?.state?.ageMs ?? 0) > (shown?.ageMs ?? 0), {
    what: "the state to age",
  });
  expect(await listed(other, worker), "another gateway does not have it").toBeNull();
});

test("a worker that takes no work while its main thread is blocked is listed as that, and not as one that drains", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { extensions: ["checkpoint", "stall", "state"] });
  const statusBecomes = (status: string): Promise<true> =>
    waitFor(
      async () => {
        const { workers } = (await call(gateway, "/v1/workers")) as { readonly workers: readonly { status: string }[] };
        return workers[0]?.status === status ? true : undefined;
      },
      { what: `the worker to be listed as ${status}` },
    );
  await statusBecomes("READY");
  worker.send(state({ mainLagMs: 1_500 }));
  worker.send({ kind: "WORKER_PAUSE" });
  await statusBecomes("MAIN_BLOCKED");
  await call(gateway, `/v1/workers/${worker.instanceId}/drain`, { method: "POST" });
  await statusBecomes("DRAINING");
  await call(gateway, `/v1/workers/${worker.instanceId}/resume`, { method: "POST" });
  await statusBecomes("MAIN_BLOCKED");
  worker.send(state());
  worker.send({ kind: "WORKER_READY" });
  await statusBecomes("READY");
  worker.send(state({ phase: "CLOSING", mainLagMs: 1_500 }));
  worker.send({ kind: "WORKER_PAUSE" });
  await statusBecomes("DRAINING");
});

test("what is to be seen of a worker, blocked or silent, every gateway of the database shows", async () => {
  const gateway = await bench.gateway({ heartbeatMs: 2_000 });
  const other = await bench.gateway();
  const worker = await bench.worker(gateway, { extensions: ["checkpoint", "stall", "state"] });
  const seenAt = async (at: Gateway): Promise<{ readonly status: string; readonly silentMs: number } | undefined> => {
    const { workers } = (await call(at, "/v1/workers")) as {
      readonly workers: readonly { readonly instanceId: string; readonly status: string; readonly silentMs: number }[];
    };
    return workers.find(({ instanceId }) => instanceId === worker.instanceId);
  };
  const becomes = async (status: string): Promise<void> => {
    for (const at of [gateway, other]) {
      const isSo = async () => (await seenAt(at))?.status === status;
      await waitFor(isSo, { what: `the worker to be ${status} at ${at === other ? "another" : "its"} gateway` });
    }
  };
  // It goes on saying that it is there.
  let beats = setInterval(() => worker.send({ kind: "WORKER_HEARTBEAT" }), 200);
  onTestFinished(() => clearInterval(beats));
  await becomes("READY");
  worker.send(state({ mainLagMs: 1_500 }));
  await becomes("MAIN_BLOCKED");
  worker.send({ kind: "WORKER_PAUSE" });
  await beat(worker);
  await becomes("MAIN_BLOCKED");
  worker.send(state());
  await becomes("DRAINING");
  worker.send({ kind: "WORKER_READY" });
  await becomes("READY");
  for (const at of [gateway, other]) expect((await seenAt(at))?.silentMs).toBeGreaterThanOrEqual(0);
  clearInterval(beats);
  // As when its machine has died: nothing says that it is gone.
  await becomes("SILENT");
  beats = setInterval(() => worker.send({ kind: "WORKER_HEARTBEAT" }), 200);
  await becomes("READY");
});

test("workers of a gateway that was closed are off the list at once", async () => {
  const gateway = await bench.gateway();
  const other = await bench.gateway();
  await Promise.all(Array.from({ length: 40 }, () => bench.worker(gateway)));
  const stays = await bench.worker(other);
  await gateway.close();
  const { workers } = (await call(other, "/v1/workers")) as { readonly workers: readonly Listed[] };
  expect(workers.map(({ instanceId }) => instanceId)).toEqual([stays.instanceId]);
});

test("the status and the metrics of a gateway have all pools of an app together, until its workers are gone", async () => {
  const gateway = await bench.gateway();
  const [one, two] = [await bench.worker(gateway), await bench.worker(gateway)];
  const plain = await bench.worker(gateway, { app: "mail", functions: [{ id: "send", event: "mail/send" }] });
  one.send(state({ mainLagMs: 1_500 }));
  two.send(state({ pool: { ...state().pool!, oldestMs: undefined, threads: 1 } }));
  plain.send(state({ pool: undefined, roundTripMs: undefined }));
  for (const worker of [one, two, plain]) await beat(worker);
  expect(await byApp(gateway)).toEqual([
    {
      ...{ app: "shop", environment: "default", workers: 2, mainLagMs: 1_500 },
      isolation: { threads: 3, busy: 2, queued: 6, oldestMs: 40, overruns: 8, crashes: 10, recycled: 12, abandoned: 0 },
    },
    {
      ...{ app: "mail", environment: "default", workers: 1, mainLagMs: 0 },
      isolation: { threads: 0, busy: 0, queued: 0, oldestMs: null, overruns: 0, crashes: 0, recycled: 0, abandoned: 0 },
    },
  ]);
  const scraped = await (await fetch(`${gateway.url}/metrics`)).text();
  for (const line of [
    'holdfast_main_lag_seconds{app="shop",environment="default"} 1.5',
    'holdfast_pool_threads{app="shop",environment="default"} 3',
    'holdfast_pool_threads_busy{app="shop",environment="default"} 2',
    'holdfast_pool_turns_queued{app="shop",environment="default"} 6',
    'holdfast_pool_oldest_turn_seconds{app="shop",environment="default"} 0.04',
    'holdfast_pool_threads{app="mail",environment="default"} 0',
  ]) {
    expect(scraped.split("\n")).toContain(line);
  }
  expect((await listed(gateway, plain))?.state).toMatchObject({ isolation: null, roundTripMs: null });
  one.cut();
  two.cut();
  await waitFor(async () => (await byApp(gateway)).length === 1, { what: "the workers that are gone to be left out" });
});

test("a worker that did not agree on it can say what it likes", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { extensions: ["checkpoint", "stall"] });
  worker.send(state());
  await beat(worker);
  expect(await listed(gateway, worker)).toMatchObject({ state: null });
});

test("a worker that sends too much, too often or nonsense is bounded, and its work goes on", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const long = "x".repeat(900);
  const many = 40;
  worker.send(
    state({
      requests: Array.from({ length: many }, () => ({ ...state().requests[0]!, runId: long })),
      transitions: Array.from({ length: many }, (_, at) => ({
        atMs: at % 2 === 0 ? -at : Number.MAX_SAFE_INTEGER,
        event: "e",
        from: "a",
        to: "b",
      })),
      lastError: long,
      outboxBytes: -5,
      process: { pid: 1, rssBytes: -1, cpuMs: -1, uptimeMs: -1 },
    }),
  );
  await beat(worker);
  const kept = (await listed(gateway, worker))?.state;
  expect(kept?.requests).toHaveLength(WIRE_LIMITS.maxStateRequests);
  expect(kept?.requests[0]?.runId).toBe("x".repeat(WIRE_LIMITS.maxStateTextLength));
  expect(kept?.transitions).toHaveLength(WIRE_LIMITS.maxStateTransitions);
  for (const { atMs } of kept?.transitions ?? []) expect(new Date(atMs).toISOString()).toBeDefined();
  expect(kept?.lastError).toHaveLength(WIRE_LIMITS.maxStateTextLength);
  expect(kept).toMatchObject({ outboxBytes: 0, process: { rssBytes: 0, cpuMs: 0, uptimeMs: 0, cpuShare: null } });
  // Too large to be read: the one before stays, and the connection too.
  worker.send(state({ inFlight: 99, lastError: "x".repeat(1_000_000) }));
  worker.send(state({ inFlight: 99, phase: "NONE" as WorkerState["phase"] }));
  await beat(worker);
  expect((await listed(gateway, worker))?.state).toMatchObject({ inFlight: 1 });
  for (let count = 0; count < 2_000; count += 1) worker.send(state({ inFlight: count }));
  await beat(worker);
  expect((await listed(gateway, worker))?.state).toMatchObject({ inFlight: 1_999 });
  await worker.replied(request, { status: "DONE", value: "ok" });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED" });
});
