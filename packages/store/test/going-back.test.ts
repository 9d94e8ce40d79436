/**
 * A database that goes back to an earlier commit, as an adversary: random writes of several gateways, a moment to which
 * the database returns, and any order in which the gateways send again what they have in memory.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs as cases } from "../../tooling/src/runs.ts";
import { AcknowledgedUnits, isEnded, type NewJob, Resend, Tables, type Unit } from "../src/index.ts";
import { logRow } from "./contract/harness.ts";

type Op =
  | { readonly type: "write"; readonly writer: number; readonly batch: number; readonly unit: Unit }
  | { readonly type: "claim"; readonly atMs: number };

const WRITERS = 3;
const LEASE_MS = 10;
const LIMITS = { maxUnits: 128, maxBytes: 1_000_000 };

function newTables(now: { ms: number }): Tables {
  return new Tables({ clock: { nowMs: () => now.ms, order: () => now.ms }, newUuid: (count) => `function ${count}` });
}

const claim = (tables: Tables): unknown =>
  tables.jobs.claim({ gatewayId: "g", leaseMs: LEASE_MS, wants: [{ functionId: "f", limit: 1 }] });

const jobOf = (runId: string, id: string, more: Partial<NewJob> = {}): NewJob => ({
  ...{ id, runId, kind: "pass", key: "", functionId: "f", attempt: 0, iteration: 0 },
  ...more,
});

/** Writes that all win, made of numbers: what each run is ready for, by any of the gateways. */
function makeOps(choices: readonly (readonly [number, number, number])[]): readonly Op[] {
  const now = { ms: 1_000 };
  const tables = newTables(now);
  const ops: Op[] = [];
  const batches = Array.from({ length: WRITERS }, () => 0);
  const write = (writer: number, unit: Unit): void => {
    const [outcome] = tables.commit([unit]);
    if (!outcome || (outcome.type === "transition" && !outcome.outcome.won)) throw new Error("It was to win.");
    batches[writer] = (batches[writer] ?? 0) + 1;
    ops.push({ type: "write", writer, batch: batches[writer] ?? 0, unit });
  };
  for (const [index, [what, writer, which]] of choices.entries()) {
    now.ms += 1;
    const living = [...tables.runs.values()].filter(({ head }) => !isEnded(head.status));
    const run = living[which % Math.max(1, living.length)];
    if (!run || what === 0) {
      const runId = `run ${index}`;
      const head = {
        id: runId,
        functionId: "f",
        appId: "a",
        appVersion: "1",
        eventId: `event ${index}`,
        eventName: "e",
      };
      const made = { run: head, log: [logRow("RUN_CREATED")], jobs: [jobOf(runId, `job ${index}`)] };
      const event = { id: head.eventId, name: "e", tsMs: 0, payloadJson: "{}" };
      write(writer, { type: "intake", item: { event, runs: [made] } });
      continue;
    }
    if (what === 1) {
      now.ms += LEASE_MS;
      ops.push({ type: "claim", atMs: now.ms });
      claim(tables);
      continue;
    }
    const [pass] = [...run.jobs].filter(({ kind }) => kind === "pass");
    const fence = pass ? { jobId: pass.id, epoch: pass.epoch } : null;
    const base = { runId: run.head.id, fence, removeJobs: [], addJobs: [] };
    const done = [logRow("STEP_COMPLETED", `step ${index}`)];
    if (what === 2 && fence) {
      write(writer, { type: "transition", transition: { ...base, cas: null, log: done } });
    } else if (what === 5) {
      const end = { ...base, fence, cas: run.head.version, log: [logRow("RUN_COMPLETED")], removeJobs: "all" as const };
      write(writer, { type: "transition", transition: { ...end, head: { status: "COMPLETED", outputJson: "1" } } });
    } else {
      const next = pass
        ? jobOf(base.runId, `job ${index}`, { kind: "timer", key: `step ${index}`, functionId: "" })
        : jobOf(base.runId, `job ${index}`);
      const decided = {
        ...base,
        cas: run.head.version,
        log: done,
        addJobs: [next],
        head: { status: "WAITING" as const },
      };
      write(writer, { type: "transition", transition: { ...decided, removeJobs: pass ? [pass.id] : [] } });
    }
  }
  return ops;
}

function replay(ops: readonly Op[]): Tables {
  const now = { ms: 1_000 };
  const tables = newTables(now);
  for (const op of ops) {
    if (op.type === "write") tables.commit([op.unit]);
    else {
      now.ms = op.atMs;
      claim(tables);
    }
  }
  return tables;
}

/** Each gateway's memory, and what it sends: everything after its last batch that is still there. */
function resends(ops: readonly Op[], wholes: number, maxBytes: number): Resend[] {
  const memories = Array.from({ length: WRITERS }, () => new AcknowledgedUnits({ maxBytes, keptMs: 1_000_000 }));
  const marks = Array.from({ length: WRITERS }, () => 0);
  for (const [index, op] of ops.entries()) {
    if (op.type === "claim") continue;
    const outcome = {
      type: "transition",
      outcome: { won: true, inserted: [true], seq: 1, newer: [], version: 1, awaited: [], atMs: 0 },
    } as const;
    const taken = {
      eventId: "",
      duplicate: false,
      atMs: 0,
      seq: 1,
      awaited: false,
      skipped: [],
      skippedWindows: 0,
      skippedBy: [],
      lost: false,
      outdated: false,
    };
    const told = op.unit.type === "intake" ? ({ type: "intake", outcome: taken } as const) : outcome;
    memories[op.writer]?.add(op.batch, index, [{ unit: op.unit, bytes: 100 }], [told]);
    if (index < wholes) marks[op.writer] = op.batch;
  }
  return memories.map((memory, writer) => {
    const { units, runIds } = memory.takeAfter(marks[writer] ?? 0);
    return new Resend(units, runIds);
  });
}

/** The gateways send in turns, as the numbers say, until none of them comes any further. */
function sendAll(tables: Tables, all: readonly Resend[], turns: readonly number[]): void {
  let idle = 0;
  for (let turn = 0; idle <= all.length && turn < 10_000; turn += 1) {
    const resend = all[(turns[turn % turns.length] ?? 0) % all.length] ?? all[0];
    const order = [resend, ...all].flatMap((one) => one ?? []);
    const before = all.reduce((sum, { restored }) => sum + restored, 0);
    for (const one of order.slice(0, turn % 2 === 0 ? 1 : order.length)) {
      one.unblock();
      const batch = one.next(turn % 3 === 0 ? { ...LIMITS, maxUnits: 1 } : LIMITS);
      if (batch.length === 0) continue;
      one.settle(tables.commit(batch.map(({ unit }) => unit)).flatMap((outcome) => outcome ?? []));
    }
    idle = all.reduce((sum, { restored }) => sum + restored, 0) > before ? 0 : idle + 1;
    if (idle > all.length && all.filter((one) => one.loosen()).length > 0) idle = 0;
  }
  for (const resend of all) resend.giveUp();
}

const shown = (tables: Tables): unknown =>
  [...tables.runs.values()]
    .map(({ head, log, jobs }) => ({
      ...{ id: head.id, status: head.status, version: head.version, outputJson: head.outputJson },
      facts: log
        .filter(({ kind }) => kind !== "LEASE_LOST")
        .map(({ kind, key }) => `${kind} ${key}`)
        .sort(),
      jobs: [...jobs].map(({ id, kind }) => `${id} ${kind}`).sort(),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

const anOp = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: WRITERS - 1 }), fc.nat(50));
const schedule = {
  choices: fc.array(anOp, { minLength: 1, maxLength: 40 }),
  back: fc.double({ min: 0, max: 1, noNaN: true }),
  turns: fc.array(fc.nat(WRITERS - 1), { minLength: 1, maxLength: 10 }),
};

test("RESEND-1, RESEND-2, RESEND-4: whatever a database had forgotten of gateways that all remember it is there again, in whichever order they send", () => {
  fc.assert(
    fc.property(fc.record(schedule), ({ choices, back, turns }) => {
      const ops = makeOps(choices);
      const wholes = Math.floor(back * (ops.length + 1));
      const tables = replay(ops.slice(0, wholes));
      const all = resends(ops, wholes, 1_000_000);
      sendAll(tables, all, turns);
      expect(shown(tables)).toEqual(shown(replay(ops)));
      for (const resend of all) for (const run of resend.runs()) expect(run.restored).toBe(run.writes);
    }),
    { numRuns: cases(3_000) },
  );
});

test("RESEND-3, ACKNOWLEDGED-3: where gateways remember only some of it each result is on record, or its run is named", () => {
  fc.assert(
    fc.property(fc.record({ ...schedule, kept: fc.nat(10) }), ({ choices, back, turns, kept }) => {
      const ops = makeOps(choices);
      const wholes = Math.floor(back * (ops.length + 1));
      const tables = replay(ops.slice(0, wholes));
      const all = resends(ops, wholes, kept * 100);
      sendAll(tables, all, turns);
      const named = new Set(
        all.flatMap((one) => one.runs().filter((run) => run.restored < run.writes)).map(({ runId }) => runId),
      );
      for (const { id, facts } of shown(replay(ops)) as { id: string; facts: readonly string[] }[]) {
        const there = tables.runs.get(id)?.log.map(({ kind, key }) => `${kind} ${key}`) ?? [];
        if (!named.has(id)) expect(there).toEqual(expect.arrayContaining([...facts]));
      }
    }),
    { numRuns: cases(3_000) },
  );
});
