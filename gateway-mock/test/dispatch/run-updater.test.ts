import { seededRandom, silentLog } from "@holdfast/core";
import { type Input, jsonRow, type PassReport, type RunState, runCreatedRow, stepCompletedRow } from "@holdfast/engine";
import type { CommitOutcome, LogRow, LostWhy, Store, StoredRun, Transition } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { IDENTITY, op, ops, planned, sleeping, undoable } from "../../../packages/engine/test/world.ts";
import { Admission } from "../../src/dispatch/admission/admission.ts";
import { DatabaseTime } from "../../src/dispatch/database-time.ts";
import type { AfterCommit } from "../../src/dispatch/dispatcher-effects.ts";
import { DEFAULT_DISPATCHER_SETTINGS, type DispatcherOptions, newCounters } from "../../src/dispatch/ports.ts";
import { RunUpdater, type RunUpdaterParts } from "../../src/dispatch/queue/run-updater.ts";
import { RunCache } from "../../src/dispatch/run-cache.ts";
import { Spans } from "../../src/dispatch/spans.ts";
import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { Workers } from "../../src/dispatch/workers/workers.ts";

const { runId: RUN, functionId: FUNCTION } = IDENTITY;
const PASS = "job-pass";

interface Setup {
  /** Places that workers of the run's version have. */
  readonly room?: number;
  readonly isPaused?: boolean;
  readonly slots?: readonly string[];
}

/** One run, a store that says what the test wants, and what is emitted after a commit: no queue, no socket. */
function bench({ room = 1, isPaused = false, slots = [] }: Setup = {}) {
  const clock = fakeClock();
  const time = new DatabaseTime(clock);
  const flow = slots.length > 0 ? { flow: { slots, priority: 0 } } : {};
  const rows: LogRow[] = [
    runCreatedRow({ maxAttempts: 3, ...flow }, '{"id":"e1","name":"shop/order","data":{}}'),
    jsonRow("DISPATCHED", "", 0, 1, { job: PASS, kind: "pass" }),
  ];
  let version = 1;
  const losses: LostWhy[] = [];
  const written: Transition[] = [];
  let newer: readonly number[] = [];
  let afterCommit: readonly LogRow[] = [];
  const store = {
    loadRuns: async () => [
      {
        head: { ...IDENTITY, id: RUN, version },
        log: rows.map((row, seq) => ({ ...row, seq, atMs: clock.nowMs(), headVersion: null, headStatus: null })),
      } as unknown as StoredRun,
    ],
    commit: async (transition: Transition): Promise<CommitOutcome> => {
      const why = losses.shift();
      if (why) return { won: false, why };
      written.push(transition);
      rows.push(...transition.log, ...afterCommit);
      version += 1;
      return {
        won: true,
        inserted: transition.log.map(() => true),
        seq: null,
        newer,
        version,
        atMs: clock.nowMs(),
        awaited: [],
      };
    },
  } as unknown as Store;
  const workers = new Workers((candidates) => [...candidates].find((worker) => worker.inFlight < worker.capacity));
  const session = {
    id: "s",
    functionIds: [FUNCTION],
    apps: [{ id: "shop", version: "1", functions: [{ slug: FUNCTION }] }],
    queues: null,
    partitions: [],
    capacity: room,
    leaseMs: 20_000,
    seenMs: clock.monotonicMs(),
    heartbeatMs: 10_000,
  } as unknown as WorkerSession;
  const worker = workers.add(session, true);
  const runs = new RunCache(store, time);
  runs.retain(RUN);
  const effects: AfterCommit[] = [];
  const settings = { ...DEFAULT_DISPATCHER_SETTINGS, gatewayId: "here" };
  const options = { store, clock, random: seededRandom(1), log: silentLog, settings } as unknown as DispatcherOptions;
  const admission = new Admission({
    ...{ clock, workers, versionPolicy: "prefer", isPaused: () => isPaused, hasNewLimits: () => false },
    backlog: { has: () => true },
    queueOf: () => "default",
  });
  const parts = {
    runs,
    workers,
    time,
    functions: { version: 1, get: () => undefined, load: async () => {}, renew: async () => {} },
    expressions: { problem: () => null },
    counters: newCounters(),
    spans: new Spans(),
    intake: {
      prepareInternal: () => ({ item: { event: { id: "e2" } } }),
      startPrepared: () => {},
      releasePrepared: () => {},
    },
    admission,
    notifyLease: () => null,
  } as unknown as RunUpdaterParts;
  const updater = new RunUpdater(options, parts, (effect) => effects.push(effect));
  const apply = (input: Input, jobId = PASS): Promise<string> => updater.apply(RUN, input, { jobId, epoch: 1 });
  return {
    ...{ clock, worker, runs, effects, losses, written, apply, counters: parts.counters },
    report: (report: PassReport, jobId = PASS) => apply({ type: "report", jobId, inPlace: false, report }, jobId),
    names: () => effects.map((effect) => effect.do),
    /** Another gateway adds rows under the same version. */
    addedElsewhere: (row: LogRow) => {
      newer = [rows.length];
      rows.push(row);
    },
    /** Another gateway decides as soon as this one has. */
    decidesElsewhere: (row: LogRow) => {
      afterCommit = [row];
    },
  };
}

const DONE: PassReport = { status: "DONE", outputText: "1" };

test("the end of a run is applied on this gateway and not broadcast to others", async () => {
  const { report, effects, runs } = bench();
  expect(await report(DONE)).toBe("won");
  expect(effects).toMatchObject([{ do: "RUN_ENDED", mayRunElsewhere: false, run: { status: "COMPLETED" } }]);
  expect(runs.peek(RUN)?.version).toBe(2);
});

test("the end of a run with concurrency slots frees them first", async () => {
  const { report, names } = bench({ slots: ["key"] });
  await report(DONE);
  expect(names()).toEqual(["CAPACITY_FREED", "RUN_ENDED"]);
});

test("the next pass is dispatched with the stored state to the worker that was reserved", async () => {
  const { report, effects, worker, written } = bench();
  await report(ops([op("StepRun", "a", { data: 1 })]));
  expect(effects).toMatchObject([{ do: "DISPATCH", jobs: [{ worker: { id: "s" }, job: { kind: "pass" } }] }]);
  const [effect] = effects as [Extract<AfterCommit, { do: "DISPATCH" }>];
  expect([...(effect.run as RunState).memo.keys()]).toEqual(["a"]);
  expect(worker.inFlight).toBe(1);
  expect(written[0]?.addJobs).toMatchObject([{ lease: { gatewayId: "here", leaseMs: 20_000 } }]);
});

test("the next pass is dispatched with steps that another gateway stored under the same version", async () => {
  const { runs, addedElsewhere, report, effects } = bench();
  await runs.load(RUN);
  addedElsewhere(stepCompletedRow("b", { op: "StepRun" }, '"done"'));
  await report(ops([op("StepRun", "a", { data: 1 })]));
  const [effect] = effects as [Extract<AfterCommit, { do: "DISPATCH" }>];
  expect([...effect.run.memo.keys()].toSorted()).toEqual(["a", "b"]);
});

test("a run that another gateway has ended before it was read again goes to no worker", async () => {
  const { runs, addedElsewhere, decidesElsewhere, report, effects, worker } = bench();
  await runs.load(RUN);
  addedElsewhere(stepCompletedRow("b", { op: "StepRun" }, '"done"'));
  decidesElsewhere(jsonRow("RUN_CANCELLED", "", 0, 0, { reason: "asked" }));
  expect(await report(ops([op("StepRun", "a", { data: 1 })]))).toBe("won");
  expect(effects).toEqual([]);
  expect(worker.inFlight).toBe(0);
});

test.each([
  { title: "no worker has room", setup: { room: 0 } },
  { title: "the function is paused", setup: { isPaused: true } },
])("where $title, the queue is woken for the next pass instead", async ({ setup }) => {
  const { report, effects, worker } = bench(setup);
  await report(ops([op("StepRun", "a", { data: 1 })]));
  expect(effects).toEqual([{ do: "WAKE_QUEUE", functionId: FUNCTION, dueInMs: 0 }]);
  expect(worker.inFlight).toBe(0);
});

test("each function with a due wait or a step without capacity is woken in the queue once", async () => {
  const { report, effects } = bench({ room: 1 });
  await report(ops([planned("a"), planned("b"), planned("c"), sleeping("d", "10s"), sleeping("e", "5s")]));
  expect(effects).toMatchObject([
    { do: "DISPATCH", jobs: [{ job: { key: "a" } }] },
    { do: "WAKE_QUEUE", functionId: FUNCTION, dueInMs: 0 },
    { do: "WAKE_QUEUE", functionId: "", dueInMs: 5_000 },
  ]);
});

test("an end is announced to other gateways when workers there may have other jobs of the run", async () => {
  const { report, effects, runs } = bench({ room: 2 });
  await report(ops([planned("a"), planned("b")]));
  const jobs = [...(runs.peek(RUN)?.jobs.values() ?? [])];
  expect(jobs.map(({ key }) => key)).toEqual(["a", "b"]);
  effects.length = 0;
  await report({ status: "FAILED", error: { name: "Error", message: "no" } }, jobs[0]?.id);
  expect(effects).toMatchObject([{ do: "RUN_ENDED", mayRunElsewhere: true, run: { status: "FAILED" } }]);
});

test("workers with jobs that the decision removes are told to stop, except the one that reported", async () => {
  const { report, effects, runs } = bench({ room: 3 });
  await report(ops([undoable("paid"), planned("a"), planned("b")]));
  const [a, b] = [...(runs.peek(RUN)?.jobs.values() ?? [])];
  effects.length = 0;
  await report({ status: "FAILED", error: { name: "Error", message: "no" } }, a?.id);
  expect(effects).toMatchObject([
    { do: "CANCEL_JOBS", jobIds: [b?.id] },
    { do: "DISPATCH", jobs: [{ job: { kind: "pass" } }] },
  ]);
});

test("a decision that lost has no effects and releases the worker; once decided again it has them once", async () => {
  const { report, effects, losses, worker, counters, runs } = bench();
  losses.push("version", "registry", "stale");
  expect(await report(ops([op("StepRun", "a", { data: 1 })]))).toBe("stale");
  expect(effects).toEqual([]);
  expect(worker.inFlight).toBe(0);
  expect(runs.peek(RUN)).toBeNull();
  expect(counters).toMatchObject({ casLost: 1, registryMoved: 1 });
  losses.push("version");
  expect(await report(ops([op("StepRun", "a", { data: 1 })]))).toBe("won");
  expect(effects).toMatchObject([{ do: "DISPATCH" }]);
  expect(worker.inFlight).toBe(1);
});
