/**
 * What the database has acknowledged to one writer lately, so that it can be sent again to a database that has forgotten
 * it, as after a failover (docs/decisions/0103). Pure: bounded by bytes and by time, which are given.
 */
import type { IntakeItem, IntakeOutcome } from "../port/events.ts";
import type { Unit, UnitOutcome } from "./plan.ts";

export interface AcknowledgedLimits {
  /** Of units that are kept whole; 0 = none is. */
  readonly maxBytes: number;
  /** For so long. */
  readonly keptMs: number;
}

/** What a store keeps when it is not asked for anything else. */
export const ACKNOWLEDGED_LIMITS = { maxBytes: 64 * 1024 * 1024, keptMs: 30_000 } as const satisfies AcknowledgedLimits;
/** Of older ones at least their runs are known, of so many. */
const MAX_NAMED = 100_000;

/** A unit, and of an intake its outcome. */
type Kept = readonly [unit: Unit, outcome: IntakeOutcome | null, bytes: number];

interface KeptBatch {
  readonly batch: number;
  readonly atMs: number;
  readonly bytes: number;
  /**
   * One JSON text: units as objects, of a thousand batches, would be copied and looked through by each collection of
   * garbage. Those of long texts stay as they are: few objects, and a copy of the texts would cost more.
   */
  readonly units: string | readonly Kept[];
  /** Of all its units; with repeats. */
  readonly runIds: string;
  readonly count: number;
}

/** Units that are longer than this on average are not copied. */
const LONG_BYTES = 8 * 1024;

/** Between ids. */
const BETWEEN = "\n";

/** A write that the database has forgotten. */
export interface ForgottenUnit {
  /** As it is to be sent. */
  readonly unit: Unit;
  readonly bytes: number;
}

export interface Forgotten {
  /** In the order in which they were stored. */
  readonly units: readonly ForgottenUnit[];
  /** Runs of which writes are gone that are not kept any more. */
  readonly runIds: readonly string[];
  /** How many writes those were, of which the runs are known. */
  readonly named: number;
}

/**
 * ACKNOWLEDGED-1. Everything that was acknowledged within `keptMs` is kept, as far as `maxBytes` goes, batch by batch; the
 *     newest is kept longest.
 * ACKNOWLEDGED-2. What is taken out has been written by the batches after a given one, is in the order in which it was
 *     stored, and has nothing of units that lost or changed nothing.
 * ACKNOWLEDGED-3. Of what is not kept any more the runs are named, of the last `MAX_NAMED` writes.
 */
export class AcknowledgedUnits {
  readonly #limits: AcknowledgedLimits;
  #kept: KeptBatch[] = [];
  #bytes = 0;
  #named: Pick<KeptBatch, "batch" | "runIds" | "count">[] = [];
  #namedCount = 0;

  constructor(limits: AcknowledgedLimits = ACKNOWLEDGED_LIMITS) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(
    batch: number,
    atMs: number,
    entries: readonly { readonly unit: Unit; readonly bytes: number }[],
    outcomes: readonly UnitOutcome[],
  ): void {
    const kept: Kept[] = [];
    const runIds: string[] = [];
    let sum = 0;
    for (const [index, { unit, bytes }] of entries.entries()) {
      const outcome = outcomes[index];
      if (!outcome || !hasWritten(outcome)) continue;
      const stored = asStored(unit, outcome);
      kept.push([stored, outcome.type === "intake" ? outcome.outcome : null, bytes]);
      for (const runId of runsOf(stored)) runIds.push(runId);
      sum += bytes;
    }
    if (kept.length > 0) {
      const units = this.#limits.maxBytes === 0 ? [] : sum > kept.length * LONG_BYTES ? kept : JSON.stringify(kept);
      this.#kept.push({ batch, atMs, bytes: sum, units, runIds: runIds.join(BETWEEN), count: kept.length });
      this.#bytes += sum;
    }
    this.#drop(atMs);
  }

  /** Takes out what batches after this one had written. */
  takeAfter(batch: number): Forgotten {
    const lost = this.#kept.filter((one) => one.batch > batch);
    this.#kept = this.#kept.filter((one) => one.batch <= batch);
    for (const { bytes } of lost) this.#bytes -= bytes;
    const named = this.#named.filter((one) => one.batch > batch);
    this.#named = this.#named.filter((one) => one.batch <= batch);
    const count = countOf(named);
    this.#namedCount -= count;
    return {
      units: lost.flatMap(unitsOf).flatMap(([unit, outcome, bytes]) => {
        const again = asResent(unit, outcome);
        return again ? [{ unit: again, bytes }] : [];
      }),
      runIds: [...new Set(named.flatMap(({ runIds }) => (runIds === "" ? [] : runIds.split(BETWEEN))))],
      named: count,
    };
  }

  #drop(nowMs: number): void {
    const { maxBytes, keptMs } = this.#limits;
    for (let one = this.#kept[0]; one; one = this.#kept[0]) {
      if (this.#bytes <= maxBytes && nowMs - one.atMs <= keptMs) break;
      this.#kept.shift();
      this.#bytes -= one.bytes;
      const { batch, runIds, count } = one;
      this.#named.push({ batch, runIds, count });
      this.#namedCount += count;
    }
    // The list is cut now and then, not with each batch.
    if (this.#namedCount > 2 * MAX_NAMED) this.#forgetNames();
  }

  #forgetNames(): void {
    let first = 0;
    for (const { count } of this.#named) {
      if (this.#namedCount - count < MAX_NAMED) break;
      this.#namedCount -= count;
      first += 1;
    }
    this.#named = this.#named.slice(first);
  }
}

const unitsOf = ({ units }: KeptBatch): readonly Kept[] =>
  typeof units === "string" ? (JSON.parse(units) as readonly Kept[]) : units;

const countOf = (batches: readonly { readonly count: number }[]): number =>
  batches.reduce((sum, { count }) => sum + count, 0);

/** The runs that a unit is about. */
export function runsOf(unit: Unit): readonly string[] {
  if (unit.type === "intake") return unit.item.runs.map(({ run }) => run.id);
  const { runId, events = [] } = unit.transition;
  return [runId, ...events.flatMap((item) => item.runs.map(({ run }) => run.id))];
}

function hasWritten(outcome: UnitOutcome): boolean {
  if (outcome.type === "intake") return isStored(outcome.outcome);
  return outcome.outcome.won && (outcome.outcome.version !== null || outcome.outcome.inserted.includes(true));
}

const isStored = ({ duplicate, lost, outdated }: IntakeOutcome): boolean => !duplicate && !lost && !outdated;

/**
 * Without the events that were not stored, as nothing waited for them: their texts were not made yet, and what would make
 * them holds the state of the whole run.
 */
function asStored(unit: Unit, outcome: UnitOutcome): Unit {
  if (unit.type === "intake") {
    const item = withText(unit.item);
    return item === unit.item ? unit : { type: "intake", item };
  }
  if (outcome.type === "intake" || !outcome.outcome.won || !unit.transition.events) return unit;
  const { events, ...transition } = unit.transition;
  const { awaited } = outcome.outcome;
  const stored = events.filter(({ event, ifAwaited }) => !ifAwaited || awaited.includes(event.id)).map(withText);
  return { type: "transition", transition: stored.length > 0 ? { ...transition, events: stored } : transition };
}

/** Of what was stored the text was made: what is kept has it as a value, however the event makes it. */
function withText(item: IntakeItem): IntakeItem {
  const { event } = item;
  if (Object.hasOwn(event, "payloadJson")) return item;
  return { ...item, event: { ...event, payloadJson: event.payloadJson } };
}

/**
 * As it was stored: without the runs that were skipped, and without the condition on the registry, which is another one
 * by now and has decided already. Null: it has stored nothing.
 */
function asResent(unit: Unit, outcome: IntakeOutcome | null): Unit | null {
  if (unit.type === "intake") {
    if (outcome === null) return null;
    const { skipped, skippedWindows, awaited } = outcome;
    const { windows = [], runs, ...item } = plainItem(unit.item);
    const made = runs.filter(({ run }) => !skipped.includes(run.id));
    const joined = skippedWindows === windows.length ? [] : windows;
    if (item.ifAwaited && !awaited) return null;
    if (item.ifStarts && made.length + joined.length === 0) return null;
    return { type: "intake", item: { ...item, runs: made, windows: joined } };
  }
  const { registryVersion: _, seen: __, events, ...transition } = unit.transition;
  return {
    type: "transition",
    transition: { ...transition, ...(events ? { events: events.map(plainItem) } : {}), resent: true },
  };
}

function plainItem({ registryVersion: _, ...item }: IntakeItem): IntakeItem {
  return { ...item, resent: true };
}
