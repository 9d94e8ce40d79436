import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import {
  AcknowledgedUnits,
  createMemoryDatabase,
  type ForgottenUnit,
  planBatch,
  Resend,
  type Transition,
  type Unit,
  type UnitOutcome,
} from "../src/index.ts";
import { logRow } from "./contract/harness.ts";

const unitOf = (runId: string, name: string, more: Partial<Transition> = {}): Unit => ({
  type: "transition",
  transition: {
    runId,
    fence: null,
    cas: null,
    log: [logRow("STEP_COMPLETED", name)],
    removeJobs: [],
    addJobs: [],
    ...more,
  },
});
const entryOf = (runId: string, name: string, bytes = 100): ForgottenUnit => ({ unit: unitOf(runId, name), bytes });
const won: UnitOutcome = {
  type: "transition",
  outcome: { won: true, inserted: [true], seq: 1, newer: [], version: 2, awaited: [], atMs: 0 },
};
const lost = (why: "version" | "ended"): UnitOutcome => ({ type: "transition", outcome: { won: false, why } });
const nameOf = ({ unit }: ForgottenUnit): string =>
  unit.type === "transition" ? (unit.transition.log[0]?.key ?? "") : "";
const LIMITS = { maxUnits: 128, maxBytes: 1_000_000 };

test("ACKNOWLEDGED-1, ACKNOWLEDGED-3: writes are kept for their time and within their bytes; of older ones the runs are named", () => {
  const kept = new AcknowledgedUnits({ maxBytes: 300, keptMs: 1_000 });
  for (let batch = 1; batch <= 5; batch += 1) kept.add(batch, batch, [entryOf(`run ${batch}`, `step ${batch}`)], [won]);
  expect(kept.bytes).toBe(300);
  const { units, runIds, named } = kept.takeAfter(1);
  expect(units.map(nameOf)).toEqual(["step 3", "step 4", "step 5"]);
  expect([runIds, named]).toEqual([["run 2"], 1]);
  expect(kept.bytes).toBe(0);
  kept.add(6, 10, [entryOf("run 6", "step 6")], [won]);
  kept.add(7, 1_011, [entryOf("run 7", "step 7")], [won]);
  expect(kept.takeAfter(5)).toMatchObject({ units: [{}], runIds: ["run 6"], named: 1 });
});

test("ACKNOWLEDGED-1: a write that is kept is garbage where it came from", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const kept = new AcknowledgedUnits({ maxBytes: 100, keptMs: 1_000 });
  const refs: WeakRef<ForgottenUnit["unit"]>[] = [];
  const add = (batch: number): void => {
    const entry = entryOf(`run ${batch}`, `step ${batch}`);
    refs.push(new WeakRef(entry.unit));
    kept.add(batch, batch, [entry], [won]);
  };
  for (let batch = 1; batch <= 5; batch += 1) add(batch);
  await vi.waitFor(
    () => {
      collect();
      expect(refs.map((ref) => ref.deref() === undefined)).toEqual([true, true, true, true, true]);
    },
    { timeout: 30_000 },
  );
  expect(kept.takeAfter(0)).toMatchObject({ units: [{}], named: 4 });
});

test("ACKNOWLEDGED-2: only what was written is taken out, as it was stored, in its order, and once", () => {
  const kept = new AcknowledgedUnits();
  const event = (id: string): Unit => ({
    type: "intake",
    item: {
      event: { id, name: "e", tsMs: 0, payloadJson: "{}" },
      runs: ["one", "two"].map((run) => ({
        run: { id: `${id} ${run}`, functionId: "f", appId: "a", appVersion: "1", eventId: id, eventName: "e" },
        log: [],
        jobs: [],
      })),
      registryVersion: 7,
    },
  });
  const taken = {
    eventId: "x",
    duplicate: false,
    atMs: 0,
    seq: 1,
    awaited: false,
    skippedWindows: 0,
    skippedBy: [],
    lost: false,
    outdated: false,
  };
  const intake = (more: object): UnitOutcome => ({ type: "intake", outcome: { ...taken, skipped: [], ...more } });
  const entries = [
    { unit: unitOf("r", "lost"), bytes: 1 },
    { unit: unitOf("r", "first", { registryVersion: 7, seen: 5 }), bytes: 1 },
    { unit: event("a"), bytes: 1 },
    { unit: event("b"), bytes: 1 },
  ];
  kept.add(1, 0, entries, [lost("version"), won, intake({ skipped: ["a two"] }), intake({ duplicate: true })]);
  const [first, second, ...more] = kept.takeAfter(0).units.map(({ unit }) => unit);
  expect(first).toMatchObject({ transition: { runId: "r", resent: true } });
  expect(first?.type === "transition" && [first.transition.registryVersion, first.transition.seen]).toEqual([
    undefined,
    undefined,
  ]);
  expect(second).toMatchObject({ item: { event: { id: "a" }, runs: [{ run: { id: "a one" } }], resent: true } });
  expect(second?.type === "intake" && second.item.registryVersion).toBeUndefined();
  expect(more).toEqual([]);
  expect(kept.takeAfter(0).units).toEqual([]);
});

test("ACKNOWLEDGED-2: events with which nothing was written are not kept, nor what their texts would be made of", () => {
  const kept = new AcknowledgedUnits();
  const made = new Set<string>();
  class Lazy {
    readonly tsMs = 0;
    readonly id: string;
    readonly name: string;
    constructor(id: string) {
      this.id = id;
      this.name = id;
    }
    get payloadJson(): string {
      made.add(this.id);
      return `{"id":"${this.id}"}`;
    }
  }
  const item = (id: string, ifAwaited: boolean) => ({ event: new Lazy(id), runs: [], ifAwaited });
  const ended = unitOf("r", "end", { events: [item("unwanted", true)] });
  const awaited = unitOf("s", "end", {
    events: [item("unwanted", true), item("awaited", true), item("always", false)],
  });
  const wonWith = (awaitedIds: readonly string[]): UnitOutcome =>
    won.type === "transition" && won.outcome.won
      ? { type: "transition", outcome: { ...won.outcome, awaited: awaitedIds } }
      : won;
  const entries = [ended, awaited].map((unit) => ({ unit, bytes: 1 }));
  kept.add(1, 0, entries, [wonWith([]), wonWith(["awaited"])]);
  const events = kept
    .takeAfter(0)
    .units.map(
      ({ unit }) => unit.type === "transition" && unit.transition.events?.map(({ event }) => event.payloadJson),
    );
  expect(events).toEqual([undefined, ['{"id":"awaited"}', '{"id":"always"}']]);
  expect([...made].sort()).toEqual(["always", "awaited"]);
});

test("RESEND-1, RESEND-2: what does not fit yet holds back the later writes of its run, and no other, until it fits", () => {
  const resend = new Resend([entryOf("r", "1"), entryOf("s", "1"), entryOf("r", "2")]);
  expect(resend.next(LIMITS).map(nameOf)).toEqual(["1", "1", "2"]);
  resend.settle([lost("version"), won, lost("version")]);
  expect(resend.next(LIMITS)).toEqual([]);
  resend.unblock();
  expect(resend.next({ ...LIMITS, maxUnits: 1 }).map(nameOf)).toEqual(["1"]);
  resend.settle([won]);
  expect(resend.next(LIMITS).map(nameOf)).toEqual(["2"]);
  resend.settle([won]);
  expect(resend.pending).toEqual([]);
  expect(resend.restored).toBe(3);
});

test("RESEND-3: every run says how many writes were forgotten, how many are there, and has the facts of the others", () => {
  const resend = new Resend([entryOf("r", "1"), entryOf("r", "2"), entryOf("s", "1")], ["t"]);
  resend.next(LIMITS);
  resend.settle([won, lost("ended"), lost("version")]);
  resend.giveUp();
  expect(resend.runs()).toEqual([
    { runId: "t", writes: 1, restored: 0, facts: [] },
    { runId: "r", writes: 2, restored: 1, facts: [logRow("STEP_COMPLETED", "2")] },
    { runId: "s", writes: 1, restored: 0, facts: [logRow("STEP_COMPLETED", "1")] },
  ]);
});

test("BATCH-11: the fence of a write that is sent again also holds under a claim that was forgotten, never after a later one", () => {
  const found = (epoch: number): Parameters<typeof planBatch>[1] => ({
    atMs: 0,
    jobs: new Map([["job", { id: "job", runId: "r", epoch }]]),
    runs: new Map(),
    eventKeys: new Map(),
    knownEvents: new Set<string>(),
    awaited: new Set<string>(),
    signals: new Map(),
    flowRules: new Map(),
    facts: new Set<string>(),
    registryVersion: null,
  });
  const fence = { jobId: "job", epoch: 2 };
  const wins = (epoch: number, more: Partial<Transition>): boolean => {
    const [result] = planBatch([unitOf("r", "1", { fence, ...more })], found(epoch)).results;
    return result !== undefined && "won" in result && result.won;
  };
  expect([1, 2, 3].map((epoch) => wins(epoch, { resent: true }))).toEqual([true, true, false]);
  expect([1, 2, 3].map((epoch) => wins(epoch, {}))).toEqual([false, true, false]);
});

test("a note about a run that is not there writes nothing", () => {
  const database = createMemoryDatabase({
    clock: { nowMs: () => 0 },
    soon: setImmediate,
    newUuid: () => "u",
    secret: "s",
  });
  const store = database.open();
  const note = unitOf("missing", "1", { resent: true });
  const outcome = note.type === "transition" ? store.commit(note.transition) : null;
  return expect(outcome).resolves.toMatchObject({ won: false, why: "gone" });
});
