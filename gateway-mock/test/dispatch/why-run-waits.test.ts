import type { OpenJob, OpenRun, StoredWait } from "@holdfast/store";
import { expect, test } from "vitest";
import type { ClosedWorkers } from "../../src/dispatch/admission/closed-workers.ts";
import type { Holder, WaitingFacts, WaitingReason } from "../../src/dispatch/admission/waiting-facts.ts";
import { readWaitingSteps } from "../../src/dispatch/admission/waiting-steps.ts";
import { spanText } from "../../src/dispatch/admission/waiting-text.ts";
import { whyRunWaits } from "../../src/dispatch/admission/why-run-waits.ts";

const NOW = Date.UTC(2026, 0, 1);
const open = { isConnected: true, isOpen: true, isOpenHere: true, elsewhereSilentMs: null };
const served = { version: "2", queue: "gpu", ...open };
const older = { version: "1", queue: "default", ...open };
const gone = { ...served, isConnected: false, isOpen: false, isOpenHere: false };
const goneToo = { ...older, isConnected: false, isOpen: false, isOpenHere: false };
const there = { isOpenHere: false, elsewhereSilentMs: 3_000 };

const job = (more: Partial<OpenJob> = {}): OpenJob => ({
  id: "J1",
  kind: "pass",
  key: "",
  attempt: 0,
  iteration: 1,
  epoch: 0,
  priority: 0,
  availableMs: NOW,
  leasedBy: null,
  claimedMs: null,
  isUnplaced: true,
  slots: [],
  throttle: null,
  wantedVersion: null,
  ...more,
});

const wait = (more: Partial<StoredWait> = {}): StoredWait => ({
  ...{ runId: "R1", key: "s", kind: "event", name: "shop/paid", expression: null, match: "" },
  ...{ beganMs: NOW, expiresMs: null },
  ...more,
});

const fact = (kind: string, key: string, data: object, more: object = {}): object => ({
  ...{ kind, key, attempt: 0, iteration: 0, seq: 1, atMs: NOW - 1_000, dataJson: JSON.stringify(data) },
  ...more,
});

interface Scene extends Partial<Omit<WaitingFacts, "run" | "steps" | "holderOf">> {
  readonly jobs?: readonly OpenJob[];
  readonly waits?: readonly StoredWait[];
  readonly facts?: readonly object[];
  readonly holder?: Holder;
}

function reasonOf({ jobs = [job()], waits = [], facts = [], holder = { at: "gateway" }, ...more }: Scene) {
  const head = { id: "R1", functionId: "shop-order", appId: "shop", appVersion: "2", startedMs: null, endedMs: null };
  const run = { head, jobs, waits, facts } as unknown as OpenRun;
  return whyRunWaits({
    nowMs: NOW,
    run,
    steps: readWaitingSteps(run.facts),
    holderOf: () => holder,
    begunBy: null,
    versionPolicy: "prefer",
    versions: [served, older],
    rolledOut: null,
    seenMs: null,
    hasRoom: true,
    limits: [],
    closed: () => ({ drained: 0, blocked: 0, paused: 0 }),
    throttle: null,
    ahead: 0,
    lastStep: null,
    isDraining: false,
    hasNewLimits: false,
    leasingMs: null,
    pause: null,
    ...more,
  });
}

const held = job({ leasedBy: "G1", availableMs: NOW + 20_000, claimedMs: NOW - 12_000, epoch: 1, isUnplaced: false });
const here: Extract<Holder, { at: "here" }> = {
  at: "here",
  instanceId: "shop-7",
  isAcked: true,
  silentMs: 1_000,
  extendLeaseMs: 5_000,
  lostMs: null,
  running: [],
  stall: null,
};
const throttle = { nextMs: NOW + 58_000, everyMs: 4_000, ahead: 2, hasKey: false };
const ALL = 'All workers of the app "shop" that may run it';
const closed = (workers: Partial<ClosedWorkers>): Scene => ({
  versions: [{ ...served, isOpen: false }, goneToo],
  closed: () => ({ drained: 0, blocked: 0, paused: 0, ...workers }),
});
const taken = { taken: 2, oldest: { runId: "R0", claimedMs: NOW - 12_000 } };
const charge = {
  step: { op: "StepError", name: "charge" },
  error: { name: "Error", message: "503\n busy" },
  delayMs: 9_000,
};
const created = fact("RUN_CREATED", "", { run: { maxAttempts: 4 } });

test.each<[string, Scene, WaitingReason | null, string | RegExp]>([
  ["it is about to be claimed", {}, "STARTING", "It is about to be given to a worker."],
  [
    "its lease ended",
    { jobs: [{ ...held, availableMs: NOW - 2_000 }] },
    "STARTING",
    "Its lease ended 2 s ago without a result; it is about to be given to a worker.",
  ],
  [
    "its function is paused",
    { pause: { sinceMs: NOW, note: "the bank is down" }, versions: [gone] },
    "FUNCTION_PAUSED",
    "Its function is paused since 2026-01-01T00:00:00.000Z: the bank is down.",
  ],
  [
    "its function has new limits",
    { hasNewLimits: true },
    "LIMITS",
    "Its function has new limits: all of its runs are to be counted by them before more start.",
  ],
  [
    "no worker serves the queue",
    { versions: [gone, goneToo], seenMs: NOW - 180_000 },
    "NO_WORKER_IN_QUEUE",
    'No connected worker of the app "shop" serves the queue "gpu".',
  ],
  [
    "no worker has the function",
    { versions: [goneToo] },
    "NO_WORKER",
    'No connected worker has the function "shop-order".',
  ],
  [
    "no worker has the function any more",
    { versions: [goneToo], seenMs: NOW - 180_000 },
    "NO_WORKER",
    'No connected worker has the function "shop-order"; the last one was here 3 min ago.',
  ],
  ["an older version may begin it", { versions: [gone, older] }, "STARTING", /about to/],
  [
    "strict, and its version is not connected",
    { versionPolicy: "strict", begunBy: "1", versions: [served, goneToo] },
    "VERSION",
    'It began with version "1" of the app "shop", of which no worker is connected.',
  ],
  [
    "strict, and the version of the rollout is not connected",
    { versionPolicy: "strict", rolledOut: "1", versions: [served, goneToo] },
    "VERSION",
    'Its app\'s rollout begins it with version "1" of the app "shop", of which no worker is connected.',
  ],
  ["another version may go on with it", { begunBy: "1", versions: [served, goneToo] }, "STARTING", /about to/],
  [
    "its event is later",
    { jobs: [job({ availableMs: NOW + 5_000 })] },
    "NOT_DUE",
    "It is not to start before 2026-01-01T00:00:05.000Z, in 5 s.",
  ],
  [
    "its next pass was put off",
    { jobs: [job({ availableMs: NOW + 5_000, iteration: 2 })] },
    "NOT_DUE",
    "It goes on at 2026-01-01T00:00:05.000Z, in 5 s.",
  ],
  [
    "another run blocks the main thread that it needs",
    {
      jobs: [held],
      holder: {
        ...here,
        stall: {
          instanceId: "shop-7",
          cause: "blocked",
          stalledMs: 2_000,
          ended: false,
          location: "/app/a.js:3:5",
          agoMs: 1_000,
          runId: "R7",
        },
      },
    },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s; the worker\'s main thread is blocked for 3 s at /app/a.js:3:5 by the run R7.',
  ],
  [
    "its own code blocks the main thread, and its log does not have it",
    {
      jobs: [held],
      holder: {
        ...here,
        stall: { instanceId: "shop-7", cause: "blocked", stalledMs: 2_000, ended: false, agoMs: 1_000, runId: "R1" },
      },
    },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s; the worker\'s main thread is blocked for 3 s.',
  ],
  ["the gateway shuts down", { isDraining: true }, "GATEWAY_DRAINING", /shutting down/],
  ["all workers are drained", closed({ drained: 2 }), "NO_ROOM", `${ALL} are drained.`],
  [
    "the main threads of all workers are blocked",
    closed({ blocked: 2 }),
    "NO_ROOM",
    'The main threads of all workers of the app "shop" that may run it are blocked: they take no new work until these respond again.',
  ],
  ["all workers close", closed({ paused: 1 }), "NO_ROOM", /^All workers .* have paused themselves, as workers do that/],
  [
    "each worker has a reason of its own",
    closed({ blocked: 2, drained: 1, paused: 1 }),
    "NO_ROOM",
    `${ALL} take no new work: 2 have a blocked main thread, 1 is drained, 1 has paused itself.`,
  ],
  ["why its workers take nothing is not known yet", closed({}), "NO_ROOM", `${ALL} take no new work.`],
  ["all workers are busy", { hasRoom: false, ahead: 2 }, "NO_ROOM", /busy, and 2 runs come before it\.$/],
  [
    "its workers are at another gateway, of which nothing was heard since",
    { hasRoom: false, versions: [{ ...served, ...there }, goneToo] },
    "NO_ROOM",
    'The workers of the app "shop" that may run it are at another gateway, which gave its last sign of life 3 s ago.',
  ],
  [
    "some workers are here, and busy",
    { hasRoom: false, versions: [{ ...served, ...there }, older] },
    "NO_ROOM",
    'All workers of the app "shop" that may run it are busy.',
  ],
  ["others come first", { ahead: 1 }, "BACKLOG", "1 run of its function comes before it."],
  [
    "it was put off",
    { jobs: [job({ availableMs: NOW + 9_000, wantedVersion: "2" })] },
    "VERSION",
    'It waits for a place at a worker with version "2" of the app "shop".',
  ],
  [
    "its limits are used up",
    { limits: [{ limit: 2, key: "event.data.customer = 7", use: taken }] },
    "LIMITS",
    "It waits for a place: 2 of 2 runs of `event.data.customer = 7` are at work, the oldest for 12 s: R0.",
  ],
  [
    "a limit of one",
    { limits: [{ limit: 1, key: null, use: { ...taken, taken: 1 } }] },
    "LIMITS",
    "It waits for a place: 1 of 1 run is at work, for 12 s: R0.",
  ],
  ["limits with a place left", { limits: [{ limit: 3, key: null, use: taken }] }, "STARTING", /about to/],
  [
    "it is throttled, and first in line",
    { throttle: { ...throttle, ahead: 0 }, ahead: 1 },
    "THROTTLED",
    "Its function is throttled: it may start in 58 s.",
  ],
  [
    "it is throttled, and third in line",
    { throttle, ahead: 2 },
    "THROTTLED",
    "Its function is throttled: 2 runs come before it. The next one may start in 58 s, this one in 1 min 6 s at the earliest.",
  ],
  [
    "it is throttled by a key",
    { throttle: { ...throttle, ahead: 1, hasKey: true }, ahead: 7 },
    "THROTTLED",
    /throttled: 1 run with the same key comes before it\. The next one may start in 58 s, this one in 1 min 2 s at/,
  ],
  ["it is at work", { jobs: [held], holder: here }, "AT_WORK", 'It is at work on worker "shop-7" for 12 s.'],
  [
    "it is at work, and some of it is done",
    { jobs: [held], holder: here, lastStep: "load" },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s, after the step `load`.',
  ],
  [
    "a step of its pass has been running for a while",
    { jobs: [held], holder: { ...here, running: [{ id: "charge", runningMs: 9_000 }] }, lastStep: "load" },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s, in the step `charge` for 9 s.',
  ],
  [
    "several steps of its pass run",
    { jobs: [held], holder: { ...here, running: ["a", "b", "c"].map((id) => ({ id, runningMs: 9_000 })) } },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s, in the step `a` for 9 s and 2 others.',
  ],
  [
    "the step that was said to run has ended since",
    { jobs: [held], holder: { ...here, running: [{ id: "load", runningMs: 9_000 }] }, lastStep: "load" },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s, after the step `load`.',
  ],
  [
    "a step of it is at work",
    {
      jobs: [{ ...held, kind: "step", key: "s" }],
      holder: here,
      facts: [fact("STEP_PLANNED", "s", { op: "StepPlanned", name: "charge" })],
    },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s with the step `charge`.',
  ],
  [
    "the main thread of its worker is blocked",
    {
      jobs: [held],
      holder: here,
      facts: [
        fact(
          "STALLED",
          "J1",
          { stalledMs: 3_000, ended: false, instanceId: "shop-7", stepId: "sum", location: "a.ts:7:1" },
          { iteration: 1 },
        ),
      ],
    },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s; the worker\'s main thread is blocked for 4 s in the step `sum` at a.ts:7:1.',
  ],
  [
    "it tries a step again in place",
    { jobs: [held], holder: here, facts: [created, fact("STEP_ATTEMPT_FAILED", "s", charge)] },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s; attempt 2 of 4 of `charge` in 8 s, after 503 busy.',
  ],
  ["it was sent", { jobs: [held], holder: { ...here, isAcked: false } }, "SENT", /"shop-7" 1 s ago, which has not ack/],
  [
    "its worker is gone",
    { jobs: [held], holder: { ...here, lostMs: 3_000 } },
    "WORKER_DISCONNECTED",
    'Its worker "shop-7" lost its connection 3 s ago; if it does not come back, another worker gets the work.',
  ],
  [
    "its worker says nothing",
    { jobs: [held], holder: { ...here, silentMs: 11_000 } },
    "LEASE_SILENT",
    'Its worker "shop-7" has said nothing of it for 11 s; its lease ends in 20 s, then another worker gets the work.',
  ],
  [
    "a worker of another gateway has it",
    { jobs: [held], holder: { at: "elsewhere", instanceIds: ["shop-8"], silentMs: null } },
    "AT_WORK",
    'It is at work on worker "shop-8" of another gateway for 12 s.',
  ],
  [
    "its gateway is silent",
    { jobs: [held], holder: { at: "elsewhere", instanceIds: ["shop-8", "shop-9"], silentMs: 16_000 } },
    "LEASE_SILENT",
    "It is at a worker of another gateway, of which nothing was heard for 16 s; its lease ends in 20 s, then another worker gets the work.",
  ],
  ["it is being handed out", { jobs: [held] }, "STARTING", "It is being handed to a worker."],
  [
    "a step is tried again later",
    {
      jobs: [job({ availableMs: NOW + 8_000, iteration: 2 })],
      facts: [created, fact("STEP_ATTEMPT_FAILED", "s", charge)],
    },
    "RETRY",
    "Attempt 2 of 4 of `charge` in 8 s, after 503 busy.",
  ],
  [
    "its handler is tried again later",
    {
      jobs: [job({ availableMs: NOW + 8_000, iteration: 2 })],
      facts: [created, fact("PASS_FAILED", "", { error: { message: "boom" }, delayMs: 9_000 }, { attempt: 1 })],
    },
    "RETRY",
    "Attempt 3 of 4 of its handler in 8 s, after boom.",
  ],
  [
    "it sleeps",
    {
      jobs: [job({ kind: "timer", key: "s", availableMs: NOW + 5_000 })],
      facts: [fact("STEP_WAITING", "s", { op: "Sleep", name: "nap" })],
    },
    "SLEEPING",
    "It sleeps in the step `nap` until 2026-01-01T00:00:05.000Z, in 5 s.",
  ],
  [
    "it waits for an event",
    {
      jobs: [job({ kind: "timer", key: "s", availableMs: NOW + 5_000 })],
      waits: [wait({ expression: "event.data.id == async.data.id" })],
      facts: [fact("STEP_WAITING", "s", { op: "WaitForEvent", name: "paid" })],
    },
    "EVENT",
    'It waits in the step `paid` for the event "shop/paid" with `event.data.id == async.data.id` until 2026-01-01T00:00:05.000Z.',
  ],
  [
    "it waits for a signal, and for an event that would cancel it",
    { jobs: [], waits: [wait({ kind: "cancel", key: "cancel:0" }), wait({ kind: "signal", name: "go" })] },
    "SIGNAL",
    'It waits for the signal "go".',
  ],
  [
    "it has invoked a function",
    {
      jobs: [job({ kind: "timer", key: "s", availableMs: NOW + 5_000 })],
      waits: [wait({ kind: "invoke", name: "R2" })],
    },
    "CHILD_RUN",
    "It waits for the run R2 that it invoked until 2026-01-01T00:00:05.000Z.",
  ],
  [
    "it calls a server",
    {
      jobs: [{ ...held, kind: "fetch", key: "s" }],
      facts: [fact("STEP_WAITING", "s", { op: "Gateway", name: "ask" })],
    },
    "FETCHING",
    "The call of the step `ask` is under way for 12 s.",
  ],
  [
    "of several things the work comes first",
    {
      jobs: [job({ kind: "timer", key: "s", availableMs: NOW + 5_000 }), held],
      waits: [wait({ key: "t" })],
      holder: here,
    },
    "AT_WORK",
    'It is at work on worker "shop-7" for 12 s. It waits for 2 more things as well.',
  ],
  ["only its deadline is left", { jobs: [job({ kind: "timer", key: "holdfast/deadline" })] }, null, ""],
  [
    "only its start timeout and what would cancel it are left",
    { jobs: [job({ kind: "start" })], waits: [wait({ kind: "cancel" })] },
    null,
    "",
  ],
  ["nothing is left", { jobs: [] }, null, ""],
])("a run says why it waits: %s", (_what, scene, reason, message) => {
  const waiting = reasonOf(scene);
  expect(waiting?.reason ?? null).toBe(reason);
  if (waiting) expect(waiting.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
});

test.each([
  [-1, "0 ms"],
  [420, "420 ms"],
  [12_400, "12 s"],
  [90_000, "1 min 30 s"],
  [600_400, "10 min"],
  [7_500_000, "2 h 5 min"],
  [86_400_000, "1 d"],
  [93_600_000, "1 d 2 h"],
])("a span of %d ms is written as %s", (ms, text) => {
  expect(spanText(ms)).toBe(text);
});
