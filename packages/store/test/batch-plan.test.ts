import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IntakeItem } from "../src/port/events.ts";
import type { Transition } from "../src/port/store.ts";
import type { LogRow, RunStatus } from "../src/port/work.ts";
import { factKeyOf } from "../src/rules/fact-key.ts";
import type { LockedJob, LockedRows, LockedRun } from "../src/rules/locked-rows.ts";
import { planBatch, type Unit } from "../src/rules/plan.ts";
import { takeBatch } from "../src/rules/take-batch.ts";

const row = (key: string, iteration: number): LogRow => ({
  kind: "STEP_PLANNED",
  key,
  attempt: 0,
  iteration,
  dataJson: "{}",
});
const RUNS = ["r1", "r2", "r3"];
const STATUSES: readonly RunStatus[] = ["PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"];
const FACT_KEYS = RUNS.flatMap((runId) =>
  ["a", "b"].flatMap((key) => [0, 1, 2].map((iteration) => factKeyOf(runId, row(key, iteration)))),
);
const ENDED = new Set<RunStatus>(["COMPLETED", "FAILED", "CANCELLED"]);

const transition: fc.Arbitrary<Transition> = fc
  .record({
    runId: fc.constantFrom(...RUNS),
    fence: fc.option(fc.record({ jobId: fc.constantFrom("j1", "j2", "j3"), epoch: fc.integer({ min: 0, max: 2 }) })),
    cas: fc.constantFrom<Transition["cas"]>(null, "live", 1, 2),
    keys: fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 3 }),
    status: fc.constantFrom(...STATUSES),
  })
  .map(({ keys, status, ...rest }) => ({
    ...rest,
    log: keys.map(row),
    ...(rest.cas === null ? {} : { head: { status } }),
    removeJobs: [],
    addJobs: [],
  }));

const intake: fc.Arbitrary<IntakeItem> = fc
  .record({ id: fc.uuid(), key: fc.option(fc.constantFrom("k1", "k2")) })
  .map(({ id, key }) => ({
    event: { id, name: "e", idempotencyKey: key, tsMs: 0, payloadJson: "{}" },
    runs: [],
  }));

const unit: fc.Arbitrary<Unit> = fc.oneof(
  { weight: 4, arbitrary: transition.map((value): Unit => ({ type: "transition", transition: value })) },
  { weight: 1, arbitrary: intake.map((value): Unit => ({ type: "intake", item: value })) },
);
const waiting = fc.array(fc.record({ unit, bytes: fc.integer({ min: 1, max: 50 }) }), { maxLength: 30 });
const limits = fc.record({ maxUnits: fc.integer({ min: 1, max: 10 }), maxBytes: fc.integer({ min: 1, max: 200 }) });

const runOf = (entry: { unit: Unit }): string => (entry.unit.type === "transition" ? entry.unit.transition.runId : "");
const looksAtHead = (entry: { unit: Unit }): boolean =>
  entry.unit.type === "transition" && entry.unit.transition.cas !== null;

describe("takeBatch", () => {
  it("takeBatch() loses nothing, keeps each run's order, takes the first unit and stays within its limits", () => {
    fc.assert(
      fc.property(waiting, limits, (entries, bounds) => {
        const { batch, rest } = takeBatch(entries, bounds);
        expect(new Set([...batch, ...rest])).toEqual(new Set(entries));
        expect(batch.length + rest.length).toBe(entries.length);
        for (const run of RUNS) {
          const of = (list: typeof entries) => list.filter((entry) => runOf(entry) === run);
          expect([...of(batch), ...of(rest)]).toEqual(of(entries));
        }
        if (entries.length > 0) expect(batch[0]).toBe(entries[0]);
        expect(batch.length).toBeLessThanOrEqual(bounds.maxUnits);
        const bytes = batch.reduce((sum, entry) => sum + entry.bytes, 0);
        if (batch.length > 1) expect(bytes).toBeLessThanOrEqual(bounds.maxBytes);
      }),
    );
  });

  it("BATCH-3: a unit that reads a head is the last of its run in the batch", () => {
    fc.assert(
      fc.property(waiting, limits, (entries, bounds) => {
        const { batch } = takeBatch(entries, bounds);
        for (const run of RUNS) {
          const mine = batch.filter((entry) => runOf(entry) === run);
          expect(mine.slice(0, -1).some(looksAtHead)).toBe(false);
        }
      }),
    );
  });
});

describe("planBatch", () => {
  const found: fc.Arbitrary<LockedRows> = fc
    .record({
      jobs: fc.array(
        fc.record<LockedJob>({
          id: fc.constantFrom("j1", "j2", "j3"),
          runId: fc.constantFrom(...RUNS),
          epoch: fc.integer({ min: 0, max: 2 }),
        }),
      ),
      runs: fc.array(
        fc.record<LockedRun>({
          id: fc.constantFrom(...RUNS),
          version: fc.integer({ min: 1, max: 2 }),
          status: fc.constantFrom(...STATUSES),
        }),
      ),
      holder: fc.constantFrom("someone", null),
      facts: fc.subarray(FACT_KEYS),
    })
    .map(({ jobs, runs, holder, facts }) => ({
      jobs: new Map(jobs.map((job) => [job.id, job])),
      runs: new Map(runs.map((run) => [run.id, run])),
      eventKeys: new Map(holder ? [["e\nk1", holder]] : []),
      knownEvents: new Set<string>(),
      awaited: new Set<string>(),
      signals: new Map(),
      flowRules: new Map(),
      facts: new Set(facts),
      registryVersion: 7,
      atMs: 100,
    }));

  it("BATCH-1, BATCH-2, BATCH-4, BATCH-8, BATCH-10: writes carry what is new of the winners, at the next version", () => {
    fc.assert(
      fc.property(waiting, found, (entries, state) => {
        const units = takeBatch(entries, { maxUnits: 100, maxBytes: 1e9 }).batch.map((entry) => entry.unit);
        const { results, writes } = planBatch(units, state);
        let logs = 0;
        let heads = 0;
        const there = new Set(state.facts);
        for (const [index, { type, ...one }] of units.entries()) {
          const verdict = results[index];
          if (type === "intake" || !("transition" in one)) continue;
          const { fence, cas, runId, log } = one.transition;
          const job = fence && state.jobs.get(fence.jobId);
          const holds = !fence || (job?.epoch === fence.epoch && job.runId === runId);
          const run = state.runs.get(runId);
          const may = cas === null || (run && !ENDED.has(run.status) && (cas === "live" || cas === run.version));
          expect(verdict).toMatchObject({ won: holds && Boolean(may) });
          if (!holds || !may) continue;
          const inserted = log.map((one) => {
            const isNew = !there.has(factKeyOf(runId, one));
            there.add(factKeyOf(runId, one));
            return isNew;
          });
          const facts = log.filter((_, place) => inserted[place]);
          expect(verdict).toMatchObject({ inserted, logIndex: facts.length > 0 ? logs : null });
          const raises = cas !== null && (cas !== "live" || facts.length > 0);
          const version = raises ? (run?.version ?? 0) + 1 : null;
          if (facts.length > 0) {
            expect(writes.logs[logs]).toMatchObject({ runId, facts, version });
            logs += 1;
          }
          if (cas !== null && !raises) expect(verdict).toMatchObject({ version: run?.version });
          if (!raises) continue;
          expect(writes.heads[heads]).toMatchObject({ runId, version });
          heads += 1;
        }
        expect([writes.logs.length, writes.heads.length]).toEqual([logs, heads]);
        expect(new Set(writes.heads.map((head) => head.runId)).size).toBe(writes.heads.length);
      }),
    );
  });

  it("BATCH-5: an event whose key belongs to another event writes nothing and names that event", () => {
    fc.assert(
      fc.property(fc.array(intake), found, (items, state) => {
        const { results, writes } = planBatch(
          items.map((item): Unit => ({ type: "intake", item })),
          state,
        );
        const held = items.filter((item) => item.event.idempotencyKey === "k1" && state.eventKeys.size > 0);
        expect(writes.events).toHaveLength(items.length - held.length);
        for (const [index, item] of items.entries()) {
          const duplicate = held.includes(item);
          expect(results[index]).toMatchObject({
            event: duplicate ? "someone" : item.event.id,
            duplicate,
            awaited: false,
          });
        }
      }),
    );
  });
});

describe("planBatch() with a changed registry", () => {
  const at = (registryVersion: number): LockedRows => ({
    jobs: new Map(),
    runs: new Map([["r1", { id: "r1", version: 1, status: "RUNNING" }]]),
    eventKeys: new Map([["e\nk", "e1"]]),
    knownEvents: new Set<string>(),
    awaited: new Set(["e"]),
    signals: new Map(),
    flowRules: new Map(),
    facts: new Set(),
    registryVersion,
    atMs: 100,
  });
  const event = (id: string, registryVersion: number): Unit => ({
    type: "intake",
    item: { event: { id, name: "e", idempotencyKey: "k", tsMs: 0, payloadJson: "{}" }, runs: [], registryVersion },
  });
  const decision: Unit = {
    type: "transition",
    transition: {
      runId: "r1",
      fence: null,
      cas: 1,
      head: { status: "COMPLETED" },
      log: [{ kind: "RUN_COMPLETED", key: "", attempt: 0, iteration: 0, dataJson: "{}" }],
      removeJobs: "all",
      addJobs: [],
      registryVersion: 7,
    },
  };

  it("BATCH-9: under a changed registry nothing is written, the key is freed, and its duplicates decide again", () => {
    const { results, writes } = planBatch([decision, event("e1", 7), event("e2", 8)], at(8));
    expect(results).toMatchObject([{ won: false, why: "registry" }, { outdated: true }, { outdated: true }]);
    const { freeKeys, ...rest } = writes;
    expect(Object.values(rest).flat()).toEqual([]);
    expect(freeKeys.map(({ eventId }) => eventId)).toEqual(["e1", "e2"]);
  });

  it("BATCH-9: under an unchanged registry every unit wins", () => {
    const { results, writes } = planBatch([decision, event("e1", 7)], at(7));
    expect(results).toMatchObject([{ won: true }, { outdated: false, duplicate: false, awaited: true }]);
    expect(writes.events.map(({ event: { id } }) => id)).toEqual(["e1"]);
    expect(writes.freeKeys).toEqual([]);
  });
});
