import type { RecallWant, Store } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { Admission } from "../../src/dispatch/admission/admission.ts";
import { Backlog } from "../../src/dispatch/admission/backlog.ts";
import { type AdmissionFacts, mayStart, type Work } from "../../src/dispatch/admission/may-start.ts";
import { VersionHolds } from "../../src/dispatch/queue/version-holds.ts";
import type { ConnectedWorker } from "../../src/dispatch/workers/connected-worker.ts";
import type { Workers } from "../../src/dispatch/workers/workers.ts";

const FACTS: AdmissionFacts = {
  versionPolicy: "prefer",
  isDraining: false,
  isPaused: false,
  hasNewLimits: false,
  hasBacklog: false,
};
const functionId = "shop-order";
const due = { functionId, isDue: true, isLimited: false };
const NEW_RUN = { at: "NEW_RUN", newestVersion: "2", ...due } as const;
const NEXT_JOB = { at: "NEXT_JOB", version: "1", ...due } as const;
const CLAIM = { at: "CLAIM", functionId } as const;
const RECALL = { at: "RECALL", functionId, version: "1" } as const;
const FIRST_PASS = { at: "FIRST_PASS", functionId, newest: "2", waitedMs: 0 } as const;
const BEGUN_RUN = { at: "BEGUN_RUN", functionId, version: "1" } as const;
const VERSION_MISSING = { at: "VERSION_MISSING", functionId, isElsewhere: false } as const;

/** What it says of work, in a word: its version and when any other may do, or why not. */
function said(work: Work, facts: Partial<AdmissionFacts> = {}): string {
  const admittance = mayStart(work, { ...FACTS, ...facts });
  if (!admittance.may) return admittance.why;
  return `${admittance.version ?? "any"}, others ${admittance.anyVersionInMs ?? "never"}`;
}

test.each([
  { why: "GATEWAY_DRAINING", facts: { isDraining: true } },
  { why: "FUNCTION_PAUSED", facts: { isPaused: true } },
] as const)("START-1, START-2, START-3: when $why, only claimed work is handed out", ({ why, facts }) => {
  expect([NEW_RUN, NEXT_JOB, CLAIM, RECALL].map((work) => said(work, facts))).toEqual([why, why, why, why]);
  for (const work of [FIRST_PASS, BEGUN_RUN, VERSION_MISSING])
    expect(mayStart(work, { ...FACTS, ...facts }).may).toBe(true);
});

test("START-4: a new run does not overtake waiting work; continuations, claims and recalls may", () => {
  const facts = { hasBacklog: true };
  expect(said(NEW_RUN, facts)).toBe("BACKLOG");
  expect([NEXT_JOB, CLAIM, RECALL].map((work) => mayStart(work, { ...FACTS, ...facts }).may)).toEqual([
    true,
    true,
    true,
  ]);
});

test.each([NEW_RUN, NEXT_JOB])(
  "START-5: of jobs at $at only due ones without limits are leased on creation",
  (work) => {
    expect(said({ ...work, isDue: false })).toBe("NOT_DUE");
    expect(said({ ...work, isLimited: true })).toBe("LIMITS");
    expect(mayStart(work, FACTS).may).toBe(true);
  },
);

test("START-5: while limits are new, nothing that they count is claimed", () => {
  const facts = { hasNewLimits: true };
  expect(said(CLAIM, facts)).toBe("LIMITS");
  expect(said(CLAIM, { ...facts, isDraining: true })).toBe("GATEWAY_DRAINING");
  for (const work of [RECALL, FIRST_PASS, BEGUN_RUN, VERSION_MISSING])
    expect(mayStart(work, { ...FACTS, ...facts }).may).toBe(true);
});

test("START-6: new runs start on the newest version, whatever the policy", () => {
  for (const versionPolicy of ["prefer", "strict", "any"] as const) {
    expect(said(NEW_RUN, { versionPolicy })).toBe("2, others never");
  }
});

test("START-6: by policy a first pass may use an older version after a while, or at once when no newer one is connected", () => {
  expect(said(FIRST_PASS)).toBe("2, others 5000");
  expect(said({ ...FIRST_PASS, waitedMs: 4_999 })).toBe("2, others 1");
  expect(said({ ...FIRST_PASS, waitedMs: 6_000 })).toBe("2, others 0");
  expect(said(FIRST_PASS, { versionPolicy: "any" })).toBe("2, others 250");
  expect(said({ ...FIRST_PASS, waitedMs: 1e9 }, { versionPolicy: "strict" })).toBe("2, others never");
  expect(said({ ...FIRST_PASS, newest: null }, { versionPolicy: "strict" })).toBe("any, others 0");
});

test("START-6: a started run stays with its version, unless the policy does not care", () => {
  for (const work of [NEXT_JOB, BEGUN_RUN]) {
    expect(said(work)).toBe("1, others never");
    expect(said(work, { versionPolicy: "strict" })).toBe("1, others never");
    expect(said(work, { versionPolicy: "any" })).toBe("any, others 0");
  }
});

test("START-6: work whose version is not connected here waits for gateways that have it, or under strict for any worker", () => {
  expect(said(VERSION_MISSING)).toBe("any, others 0");
  expect(mayStart(VERSION_MISSING, { ...FACTS, versionPolicy: "strict" })).toMatchObject({ isElsewhere: false });
  expect(mayStart({ ...VERSION_MISSING, isElsewhere: true }, FACTS)).toEqual({
    may: false,
    why: "VERSION",
    isElsewhere: true,
  });
});

function bench(room: number) {
  const held = new Set<string>();
  const backlog = new Backlog(held);
  const asked: (string | null)[] = [];
  let isServed = true;
  const workers: Pick<Workers, "reserve" | "serves"> = {
    serves: () => isServed,
    reserve: (_functionId, _nowMs, version) => {
      asked.push(version);
      return asked.length > room ? undefined : ({ id: "s" } as ConnectedWorker);
    },
  };
  const clock = fakeClock();
  const queueOf = (_functionId: string, version: string): string => `q${version}`;
  const is = { isPaused: () => false, hasNewLimits: () => false };
  const admission = new Admission({ clock, versionPolicy: "prefer", workers, backlog, queueOf, ...is });
  const setServed = (value: boolean): void => {
    isServed = value;
  };
  return { admission, backlog, held, asked, setServed };
}

test("room is reserved only for work that may start, on a worker of a permitted version", () => {
  const { admission, backlog, asked } = bench(2);
  expect(admission.reserve(NEW_RUN)).toMatchObject({ may: true, worker: { id: "s" } });
  backlog.add(functionId);
  expect(admission.reserve(NEW_RUN)).toEqual({ may: false, why: "BACKLOG" });
  expect(admission.reserve(NEXT_JOB)).toMatchObject({ may: true });
  expect(admission.reserve(NEXT_JOB)).toEqual({ may: false, why: "NO_ROOM" });
  expect(asked).toEqual(["2", "1", "1"]);
  admission.drain();
  expect(admission.reserve(NEXT_JOB)).toEqual({ may: false, why: "GATEWAY_DRAINING" });
  expect(admission.mayStart(CLAIM)).toEqual({ may: false, why: "GATEWAY_DRAINING" });
  expect(asked).toHaveLength(3);
});

test("START-7: work for which no worker serves the queue of its version says so, and names the queue", () => {
  const { admission, setServed } = bench(0);
  expect(admission.reserve(NEXT_JOB)).toEqual({ may: false, why: "NO_ROOM" });
  setServed(false);
  expect(admission.reserve(NEXT_JOB)).toEqual({ may: false, why: "NO_WORKER_IN_QUEUE", queue: "q1" });
  expect(admission.reserve(NEW_RUN)).toEqual({ may: false, why: "NO_WORKER_IN_QUEUE", queue: "q2" });
});

test("older work of a function blocks newer while some is left in the queue or was postponed for its version", () => {
  const { backlog, held } = bench(0);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([false, true]);
  held.add(functionId);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, false]);
  held.clear();
  backlog.add(functionId);
  expect([backlog.has(functionId), backlog.has("other"), backlog.isEmpty]).toEqual([true, false, false]);
  backlog.delete(functionId);
  expect(backlog.isEmpty).toBe(true);
});

test("work that waits for a place within its limits blocks newer work, but a worker's room is no reason to look for it", () => {
  const { backlog } = bench(0);
  backlog.addLimited(functionId);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, true]);
  backlog.add(functionId);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, false]);
  backlog.delete(functionId);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([false, true]);
});

test("work within limits that a look could not ask for, for want of room, is looked for when there is room", () => {
  const { backlog } = bench(0);
  backlog.addLimited(functionId);
  backlog.onAsked(new Set([functionId, "other"]));
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, true]);
  backlog.onAsked(new Set(["other"]));
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, false]);
});

test("work that no worker here would take blocks newer work, but is nothing to look for until a worker takes it", () => {
  const { backlog } = bench(0);
  backlog.addUnserved(functionId);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, true]);
  backlog.onServed(["other"]);
  expect(backlog.isEmpty).toBe(true);
  backlog.onServed([functionId]);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([true, false]);
  backlog.addUnserved(functionId);
  backlog.delete(functionId);
  expect([backlog.has(functionId), backlog.isEmpty]).toEqual([false, true]);
});

test("postponed work of a paused function is recalled when the function is resumed, not before", async () => {
  const recalled: RecallWant[][] = [];
  const store = {
    recallJobs: async (wants: RecallWant[]) => {
      recalled.push(wants);
      return wants.map(() => 0);
    },
  } as unknown as Store;
  const workers = {
    accepts: () => true,
    roomByVersion: () => [{ functionId, appVersion: "1", limit: 3 }],
  } as unknown as Workers;
  const held = new VersionHolds(store, workers);
  let isPaused = true;
  const admission: Pick<Admission, "mayStart"> = { mayStart: (work) => mayStart(work, { ...FACTS, isPaused }) };
  held.addFunctions([functionId]);
  held.addForReview([functionId]);
  await held.recall(0, 10, admission);
  expect([recalled.flat(), held.has(functionId)]).toEqual([[], true]);
  isPaused = false;
  await held.recall(0, 10, admission);
  expect(recalled.flat().map(({ appVersion }) => appVersion)).toEqual(["1", null]);
  expect(held.has(functionId)).toBe(false);
});
