import {
  createOptimisticBackoff,
  expectRows,
  type IntakeItem,
  isEnded,
  type LockedRows,
  type NewWait,
  needsOf,
  type OptimisticBackoff,
  planBatch,
  type RunStatus,
  type Transition,
  takeBatch,
  type Unit,
} from "@holdfast/store";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";

import {
  claimOne,
  logRow,
  lost,
  newId,
  newRun,
  passJob,
  runDone,
  type SeededRun,
  seedLeased,
  seedRun,
  stepDone,
  useStore,
} from "./harness.ts";

const RUNS = ["r1", "r2", "r3"];
const JOBS = ["j1", "j2", "j3"];
const NAMES = ["a", "b"];
const STATUSES: readonly RunStatus[] = ["PENDING", "RUNNING", "COMPLETED", "FAILED"];
const NONE: ReadonlySet<string> = new Set();

const item: fc.Arbitrary<IntakeItem> = fc
  .record({ name: fc.constantFrom(...NAMES), key: fc.option(fc.constant("k"), { freq: 8 }), ifAwaited: fc.boolean() })
  .map(({ name, key, ifAwaited }) => {
    const run = newRun();
    const made = { run, log: [logRow("RUN_CREATED")], jobs: [passJob(run.id)] };
    const event = { id: run.eventId, name, idempotencyKey: key, tsMs: 0, payloadJson: "{}" };
    return { event, runs: ifAwaited ? [] : [made], ifAwaited };
  });

/** What a unit was decided on; null = it rests on nothing of the registry. */
const registry = fc.constantFrom(null, 7, 7, 7, 8);

const transition: fc.Arbitrary<Transition> = fc
  .record({
    runId: fc.constantFrom(...RUNS),
    fence: fc.option(fc.record({ jobId: fc.constantFrom(...JOBS), epoch: fc.integer({ min: 1, max: 2 }) })),
    cas: fc.constantFrom<Transition["cas"]>(null, "live", 1, 2, 1, 2),
    status: fc.constantFrom(...STATUSES),
    all: fc.boolean(),
    signal: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
    events: fc.array(item, { maxLength: 1 }),
    registryVersion: registry,
  })
  .map(({ status, all, signal, events, registryVersion, ...about }) => {
    const rest = registryVersion === null ? about : { ...about, registryVersion };
    const log = [logRow("STEP_COMPLETED", newId())];
    if (rest.cas === null) return { ...rest, log, removeJobs: [], addJobs: [] };
    const wait: NewWait = { runId: rest.runId, key: "w", kind: signal ? "signal" : "event", name: "s" };
    const removeJobs = all ? ("all" as const) : rest.fence ? [rest.fence.jobId] : [];
    return { ...rest, log, head: { status }, removeJobs, addJobs: [], addWaits: [wait], events };
  });

const units: fc.Arbitrary<Unit[]> = fc
  .array(
    fc.oneof(
      transition.map((one): Unit => ({ type: "transition", transition: one })),
      item.map((one): Unit => ({ type: "intake", item: one })),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map(
    (all) =>
      takeBatch(
        all.map((unit) => ({ unit, bytes: 1 })),
        { maxUnits: 100, maxBytes: 1e9 },
      ).batch,
  )
  .map((batch) => batch.map(({ unit }) => unit));

const found: fc.Arbitrary<LockedRows> = fc
  .record({
    jobs: fc.array(
      fc.record({
        id: fc.constantFrom(...JOBS),
        runId: fc.constantFrom(...RUNS),
        epoch: fc.integer({ min: 1, max: 2 }),
      }),
    ),
    runs: fc.array(
      fc.record({
        id: fc.constantFrom(...RUNS),
        version: fc.integer({ min: 1, max: 2 }),
        status: fc.constantFrom(...STATUSES),
      }),
    ),
    awaited: fc.subarray(NAMES),
    registryVersion: fc.constantFrom(7, 8),
  })
  .map(({ jobs, runs, awaited, registryVersion }) => ({
    registryVersion,
    jobs: new Map(jobs.map((job) => [job.id, job])),
    runs: new Map(runs.map((run) => [run.id, run])),
    awaited: new Set(awaited),
    eventKeys: new Map(),
    knownEvents: new Set<string>(),
    signals: new Map(),
    flowRules: new Map(),
    facts: new Set<string>(),
    atMs: 100,
  }));

/** What the conditions of `batch/expect.ts` ask. */
function holds(expected: LockedRows, state: LockedRows, batch: readonly Unit[]): boolean {
  const jobs = [...expected.jobs.values()].every(({ id, runId, epoch }) => {
    const job = state.jobs.get(id);
    return job?.runId === runId && job.epoch === epoch;
  });
  const runs = [...expected.runs.values()].every(({ id, version }) => {
    const run = state.runs.get(id);
    return run?.version === version && !isEnded(run.status);
  });
  const registryHolds = expected.registryVersion === null || expected.registryVersion === state.registryVersion;
  const isSurprise = (name: string): boolean => state.awaited.has(name) && !expected.awaited.has(name);
  return jobs && runs && registryHolds && !needsOf(batch).eventNames.some(isSurprise);
}

/** Events without keys. */
const intakes: fc.Arbitrary<Unit[]> = fc.array(
  item.map(({ event, runs: made }): Unit => {
    return { type: "intake", item: { event: { ...event, idempotencyKey: null }, runs: made } };
  }),
  { minLength: 1, maxLength: 2 },
);

/** Names that were awaited when they were read last. */
const awaited: fc.Arbitrary<ReadonlySet<string>> = fc.subarray(NAMES).map((names) => new Set(names));

/**
 * More cases than these have to be of the kind that a property is about, so that none passes for want of them. Of 2,000
 * about 300, 275 and 500 are; a tenth of the cases has a tenth of that, but never so few by chance.
 */
const TOO_FEW = runs(50);

describe("expectRows", () => {
  it("EXPECT-1: when the rows are as expected, the optimistic plan equals the read one and every unit wins", () => {
    let seen = 0;
    fc.assert(
      fc.property(units, found, awaited, (batch, state, known) => {
        const expected = expectRows(batch, needsOf(batch), known);
        if (!expected) return;
        seen += 1;
        const runs = [...expected.runs.values()].map(
          (run) => [run.id, { ...run, status: "WAITING" as const }] as const,
        );
        const there: LockedRows = {
          ...state,
          jobs: new Map([...state.jobs, ...expected.jobs]),
          runs: new Map([...state.runs, ...runs]),
          awaited: known,
          registryVersion: expected.registryVersion ?? state.registryVersion,
        };
        expect(holds(expected, there, batch)).toBe(true);
        const plan = planBatch(batch, expected);
        expect(plan).toEqual(planBatch(batch, there));
        expect(plan.results.every((verdict) => !("won" in verdict) || verdict.won)).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
    expect(seen).toBeGreaterThan(TOO_FEW);
  });

  it("EXPECT-2: when the rows are not as expected, the optimistic plan differs from the read one", () => {
    let missed = 0;
    fc.assert(
      fc.property(units, found, awaited, (batch, state, known) => {
        const expected = expectRows(batch, needsOf(batch), known);
        if (!expected || holds(expected, state, batch)) return;
        missed += 1;
        expect(planBatch(batch, expected)).not.toEqual(planBatch(batch, state));
      }),
      { numRuns: runs(2_000) },
    );
    expect(missed).toBeGreaterThan(TOO_FEW);
  });

  it("EXPECT-3: where nothing waits any more the plan has a job for each expected name, and nothing else", () => {
    let superfluous = 0;
    fc.assert(
      fc.property(fc.oneof(units, intakes), found, awaited, (batch, state, known) => {
        const expected = expectRows(batch, needsOf(batch), known);
        if (!expected || expected.awaited.size === 0) return;
        const { jobs, runs: heads, registryVersion } = expected;
        const there: LockedRows = { ...state, jobs, runs: heads, registryVersion, awaited: NONE };
        expect(holds(expected, there, batch)).toBe(true);
        const plan = planBatch(batch, expected).writes;
        const read = planBatch(batch, there).writes;
        const isOfEvent = ({ kind }: { readonly kind: string }): boolean => kind === "event";
        expect({ ...plan, jobs: plan.jobs.filter((job) => !isOfEvent(job)) }).toEqual(read);
        if (plan.jobs.some(isOfEvent)) superfluous += 1;
      }),
      { numRuns: runs(2_000) },
    );
    expect(superfluous).toBeGreaterThan(TOO_FEW);
  });

  it("nothing is expected for keys, signals, what awaited names alone write, and changes of any version", () => {
    const intake = (more: object): Unit => ({
      type: "intake",
      item: { event: { id: "e", name: "a", tsMs: 0, payloadJson: "{}", ...more }, runs: [] },
    });
    const run = { runId: "r1", jobId: "j1" };
    const wait: NewWait = { runId: "r1", key: "w", kind: "signal", name: "s" };
    const see = (unit: Unit, awaited = NONE) => expectRows([unit], needsOf([unit]), awaited);
    expect(see(intake({}))).not.toBeNull();
    expect(see(intake({ idempotencyKey: "k" }))).toBeNull();
    expect(see(intake({}), new Set(["a", "b"]))?.awaited).toEqual(new Set(["a"]));
    const { item: stored } = intake({}) as Extract<Unit, { type: "intake" }>;
    const ifAwaited: Unit = { type: "intake", item: { ...stored, ifAwaited: true } };
    expect(see(ifAwaited)).not.toBeNull();
    expect(see(ifAwaited, new Set(["a"]))).toBeNull();
    expect(see({ type: "transition", transition: runDone(run) })).not.toBeNull();
    expect(see({ type: "transition", transition: runDone(run, "live") })).toBeNull();
    expect(see({ type: "transition", transition: { ...runDone(run), addWaits: [wait] } })).toBeNull();
  });
});

describe("createOptimisticBackoff", () => {
  /** How many of the next batches are tried, when each of them comes to what `holds` says. */
  const tried = (backoff: OptimisticBackoff, batches: number, holds: () => boolean): number => {
    let count = 0;
    for (let batch = 0; batch < batches; batch += 1) {
      if (!backoff.shouldTry()) continue;
      count += 1;
      if (holds()) backoff.succeeded();
      else backoff.failed();
    }
    return count;
  };

  it("the optimistic plan is tried always while it succeeds, rarely while it fails, and recovers", () => {
    const backoff = createOptimisticBackoff();
    expect(tried(backoff, 1_000, () => true)).toBe(1_000);
    expect(tried(backoff, 10_000, () => false)).toBeLessThan(200);
    tried(backoff, 64, () => true);
    expect(tried(backoff, 1_000, () => true)).toBe(1_000);
    expect(tried(backoff, 100, () => false)).toBeLessThan(10);
  });

  it("a single failure skips the optimistic plan for one batch only", () => {
    let number = 0;
    const count = tried(createOptimisticBackoff(), 1_000, () => {
      number += 1;
      return number % 100 !== 0;
    });
    expect(count).toBeGreaterThan(980);
  });
});

describe("Batches at the database", () => {
  const bench = useStore();
  /** How many batches `work` took, and how many of them one round trip. */
  const trips = async (work: () => Promise<unknown>): Promise<{ batches: number; optimistic: number }> => {
    const before = bench.store.stats();
    await work();
    const after = bench.store.stats();
    return { batches: after.batches - before.batches, optimistic: after.optimisticBatches - before.optimisticBatches };
  };
  const ONE = { batches: 1, optimistic: 1 };
  const TWO_TRIPS = { batches: 1, optimistic: 0 };

  it("a run takes one round trip per batch when everything is as expected", async () => {
    let run = { runId: "", jobId: "" };
    expect(
      await trips(async () => {
        run = await seedLeased(bench.store);
      }),
    ).toEqual(ONE);
    expect(await trips(() => bench.store.commit(stepDone(run, "a")))).toEqual(ONE);
    expect(await trips(() => bench.store.commit({ ...runDone(run), removeJobs: "all" }))).toEqual(ONE);
    expect(await bench.store.getRun(run.runId)).toMatchObject({ head: { status: "COMPLETED", version: 2 }, jobs: [] });
  });

  it.each([
    ["short", '"done"'],
    ["long", JSON.stringify("x".repeat(70_000))],
  ])(
    "runs that were claimed end in one trip with when they began, their jobs gone; one output is %s",
    async (_, outputJson) => {
      const functionId = newId();
      const seeded: SeededRun[] = [];
      for (let count = 0; count < 4; count += 1) seeded.push(await seedRun(bench.store, { run: { functionId } }));
      const claimed = await bench.store.claim({
        gatewayId: "gateway-a",
        leaseMs: 60_000,
        wants: [{ functionId, limit: 9 }],
      });
      expect(claimed).toHaveLength(4);
      const [held] = await bench.db.sql`SELECT round(date_part('epoch', min(claimed_at)) * 1000)::float8 AS at
      FROM holdfast.queue WHERE function_id = ${functionId}`;
      const ends = (): Promise<unknown> =>
        Promise.all(
          seeded.map((run, index) => {
            const head = { status: "COMPLETED", outputJson: index === 1 ? outputJson : '"done"' } as const;
            const log = [logRow("RUN_COMPLETED", "", { dataJson: `{"output":${head.outputJson}}` })];
            return bench.store.commit({ ...runDone(run), log, head });
          }),
        );
      const { batches, optimistic } = await trips(ends);
      expect(optimistic).toBe(batches);
      for (const [index, { runId }] of seeded.entries()) {
        const run = await bench.store.getRun(runId);
        const outputs = index === 1 ? outputJson : '"done"';
        expect(run?.head).toMatchObject({ status: "COMPLETED", version: 2, startedMs: held?.at, outputJson: outputs });
        expect(run?.jobs).toEqual([]);
      }
    },
  );

  it("a batch with a unit that cannot win reads first: that unit loses, all others win and are written once", async () => {
    const runs = await Promise.all(Array.from({ length: 10 }, () => seedLeased(bench.store)));
    const [stale, late, ...fine] = runs as [(typeof runs)[0], (typeof runs)[0], ...typeof runs];
    for (const [index, bad] of [stepDone(stale, "s", 2), runDone(late, 7)].entries()) {
      let outcomes: unknown[] = [];
      const taken = await trips(async () => {
        const good = fine.map((run) => bench.store.commit(stepDone(run, `s${index}`)));
        outcomes = await Promise.all([...good, bench.store.commit(bad)]);
      });
      expect(taken).toEqual(TWO_TRIPS);
      expect(outcomes.at(-1)).toEqual(lost(index === 0 ? "stale" : "version"));
      expect(outcomes.slice(0, -1)).toEqual(fine.map(() => expect.objectContaining({ won: true, inserted: [true] })));
    }
    const logs = (await bench.store.loadRuns(fine.map(({ runId }) => runId))).map(({ log }) =>
      log.map(({ key }) => key),
    );
    expect(logs).toEqual(fine.map(() => ["", "", "s0", "s1"]));
    expect((await bench.store.loadRuns([stale.runId, late.runId])).map(({ head }) => head.version)).toEqual([1, 1]);
  });

  it("a batch with an event that a run has begun to wait for reads first; from then on it is expected", async () => {
    const run = await seedLeased(bench.store);
    const send = async () => {
      const event = { id: newId(), name: "foresee/awaited", tsMs: 1, payloadJson: "{}" };
      const [outcome] = await bench.store.intake([{ event, runs: [] }]);
      if (outcome?.awaited) await bench.store.finishJob({ jobId: event.id, epoch: 0 });
      return outcome?.awaited;
    };
    const addWaits = [{ runId: run.runId, key: "w", kind: "event" as const, name: "foresee/awaited" }];
    const log = [logRow("STEP_WAITING", "w")];
    await bench.store.commit({ ...runDone(run), head: { status: "WAITING" }, log, removeJobs: [], addWaits });
    let isAwaited: boolean | undefined;
    const sent = async () => {
      isAwaited = await send();
    };
    expect(await trips(sent)).toEqual(TWO_TRIPS);
    expect(isAwaited).toBe(true);
    // After a surprise one batch is not tried.
    await trips(sent);
    expect(await trips(sent)).toEqual(ONE);
    expect(isAwaited).toBe(true);
    await bench.store.commit({ ...runDone(run, 2), removeWaits: "all" });
    // The first one after the last wait has a job that finds nothing to do, and says so.
    expect(await trips(sent)).toEqual(ONE);
    expect(await trips(sent)).toEqual(ONE);
    expect(isAwaited).toBe(false);
  });

  it("nothing else is looked at to say whether an event is awaited, whatever other waits there are", async () => {
    const run = await seedLeased(bench.store);
    const wait = (key: string, kind: NewWait["kind"], name: string): NewWait => ({ runId: run.runId, key, kind, name });
    const addWaits = [
      wait("a", "event", "awaited/a"),
      wait("b", "signal", "awaited/b"),
      wait("c", "invoke", "awaited/c"),
      { ...wait("d", "cancel", "awaited/d"), match: "x" },
      wait("e", "signal", "awaited/e"),
      wait("f", "event", "awaited/e"),
    ];
    const log = [logRow("STEP_WAITING", "w")];
    await bench.store.commit({ ...runDone(run), head: { status: "WAITING" }, log, removeJobs: [], addWaits });
    const names = ["awaited/", "awaited/a", "awaited/b", "awaited/c", "awaited/d", "awaited/e", "awaited/f"];
    for (let round = 0; round < 3; round += 1) {
      const items = names.map((name) => ({ event: { id: newId(), name, tsMs: 1, payloadJson: "{}" }, runs: [] }));
      const outcomes = await bench.store.intake(items);
      const found = outcomes.flatMap(({ awaited: is }, index) => (is ? [names[index]] : []));
      expect(found).toEqual(["awaited/a", "awaited/d", "awaited/e"]);
      for (const { eventId, awaited: is } of outcomes) {
        if (is) await bench.store.finishJob({ jobId: eventId, epoch: 0 });
      }
    }
    await bench.store.commit({ ...runDone(run, 2), removeWaits: "all" });
  });

  it("the start of a run is the time at which its first job was claimed", async () => {
    const functionId = `fn-${newId()}`;
    const run = await seedRun(bench.store, { run: { functionId } });
    const job = await claimOne(bench.store, functionId);
    await bench.db
      .sql`UPDATE holdfast.queue SET claimed_at = claimed_at - interval '5 seconds' WHERE id = ${run.jobId}`;
    expect(await trips(() => bench.store.commit(runDone(run)))).toEqual(ONE);
    const detail = await bench.store.getRun(run.runId);
    const claimedMs = (job?.leaseUntilMs ?? 0) - 60_000;
    expect(Math.abs((detail?.head.startedMs ?? 0) - (claimedMs - 5_000))).toBeLessThanOrEqual(1);
  });
});
