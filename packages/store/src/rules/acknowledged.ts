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

interface Kept {
  readonly batch: number;
  readonly unit: Unit;
  /** Of an intake. */
  readonly outcome: IntakeOutcome | null;
  readonly bytes: number;
  readonly atMs: number;
}

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
 * ACKNOWLEDGED-1. Everything that was acknowledged within `keptMs` is kept, as far as `maxBytes` goes; the newest is kept
 *     longest.
 * ACKNOWLEDGED-2. What is taken out has been written by the batches after a given one, is in the order in which it was
 *     stored, and has nothing of units that lost or changed nothing.
 * ACKNOWLEDGED-3. Of what is not kept any more the runs are named, of the last `MAX_NAMED` writes.
 */
export class AcknowledgedUnits {
  readonly #limits: AcknowledgedLimits;
  #kept: (Kept | null)[] = [];
  /** Before it everything was dropped and is null. */
  #first = 0;
  #bytes = 0;
  #named: { readonly batch: number; readonly runIds: readonly string[] }[] = [];

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
    for (const [index, { unit, bytes }] of entries.entries()) {
      const outcome = outcomes[index];
      if (!outcome || !hasWritten(outcome)) continue;
      const intake = outcome.type === "intake" ? outcome.outcome : null;
      this.#kept.push({ batch, unit: asStored(unit, outcome), outcome: intake, bytes, atMs });
      this.#bytes += bytes;
    }
    this.#drop(atMs);
  }

  /** Takes out what batches after this one had written. */
  takeAfter(batch: number): Forgotten {
    const from = this.#kept.findIndex((one) => one !== null && one.batch > batch);
    const lost = from < 0 ? [] : this.#kept.splice(from).filter((one) => one !== null);
    for (const { bytes } of lost) this.#bytes -= bytes;
    const named = this.#named.filter((one) => one.batch > batch);
    this.#named = this.#named.filter((one) => one.batch <= batch);
    return {
      units: lost.flatMap(({ unit, outcome, bytes }) => {
        const again = asResent(unit, outcome);
        return again ? [{ unit: again, bytes }] : [];
      }),
      runIds: [...new Set(named.flatMap(({ runIds }) => runIds))],
      named: named.length,
    };
  }

  #drop(nowMs: number): void {
    const { maxBytes, keptMs } = this.#limits;
    for (; this.#first < this.#kept.length; this.#first += 1) {
      const one = this.#kept[this.#first];
      if (!one || (this.#bytes <= maxBytes && nowMs - one.atMs <= keptMs)) break;
      this.#bytes -= one.bytes;
      // Not only when the list is cut: a thousand units may be a thousand megabytes.
      this.#kept[this.#first] = null;
      this.#named.push({ batch: one.batch, runIds: runsOf(one.unit) });
    }
    // Both lists are cut now and then, not with each unit.
    if (this.#first > 1024 && this.#first * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#first);
      this.#first = 0;
    }
    if (this.#named.length > 2 * MAX_NAMED) this.#named = this.#named.slice(-MAX_NAMED);
  }
}

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
  if (unit.type === "intake" || outcome.type === "intake" || !outcome.outcome.won) return unit;
  if (!unit.transition.events) return unit;
  const { events, ...transition } = unit.transition;
  const { awaited } = outcome.outcome;
  const stored = events.filter(({ event, ifAwaited }) => !ifAwaited || awaited.includes(event.id));
  return { type: "transition", transition: stored.length > 0 ? { ...transition, events: stored } : transition };
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
