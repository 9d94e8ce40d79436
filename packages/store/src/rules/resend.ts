/**
 * Sends again what a database has forgotten: which writes go into the next transaction, and what becomes of those that it
 * does not take (docs/decisions/0103). Pure; the stores commit what it says.
 */
import type { LostRun } from "../port/reads.ts";
import type { LogRow } from "../port/work.ts";
import { type ForgottenUnit, runsOf } from "./acknowledged.ts";
import type { Unit, UnitOutcome } from "./plan.ts";
import { type BatchLimits, takeBatch } from "./take-batch.ts";

interface Tally {
  writes: number;
  restored: number;
  readonly facts: LogRow[];
}

/**
 * RESEND-1. Writes of one run are taken in the order in which they were stored.
 * RESEND-2. A write that does not fit yet may rest on one that another gateway still has to send: it is tried again, and
 *     later ones of its run wait for it, until `giveUp`.
 * RESEND-4. Results that were added under a fence which does not hold any more are added without it in the end: they were
 *     acknowledged, and another gateway's decision may have removed their job before they were sent again.
 * RESEND-3. Each write is either restored or named with its run; so is what was forgotten here, too (`unknown`).
 */
export class Resend {
  #pending: ForgottenUnit[];
  #blocked = new Set<string>();
  #tried: readonly ForgottenUnit[] = [];
  readonly #runs = new Map<string, Tally>();
  #restored = 0;
  #isLoose = false;

  constructor(units: readonly ForgottenUnit[], unknown: readonly string[] = []) {
    this.#pending = [...units];
    for (const runId of unknown) this.#tally(runId).writes += 1;
    for (const { unit } of units) for (const runId of runsOf(unit)) this.#tally(runId).writes += 1;
  }

  get pending(): readonly ForgottenUnit[] {
    return this.#pending;
  }

  /** What `next` gave last, and `settle` has not been told of. */
  get tried(): readonly ForgottenUnit[] {
    return this.#tried;
  }

  get restored(): number {
    return this.#restored;
  }

  /** What goes into the next transaction; empty: all that is left has to wait. */
  next(limits: BatchLimits): readonly ForgottenUnit[] {
    const open: ForgottenUnit[] = [];
    const closed = new Set(this.#blocked);
    for (const one of this.#pending) {
      const runIds = runsOf(one.unit);
      if (!runIds.some((runId) => closed.has(runId))) open.push(one);
      // Of an intake the runs are new, of a transition only its own is written to by others.
      else for (const runId of runIds) closed.add(runId);
    }
    this.#tried = takeBatch(open, limits).batch;
    return this.#tried;
  }

  /** What became of `next()`. */
  settle(outcomes: readonly UnitOutcome[]): void {
    const done = new Set<ForgottenUnit>();
    for (const [index, one] of this.#tried.entries()) {
      const outcome = outcomes[index];
      switch (outcome ? fateOf(outcome) : "refused") {
        case "restored":
          this.#restored += 1;
          for (const runId of runsOf(one.unit)) this.#tally(runId).restored += 1;
          done.add(one);
          break;
        case "early":
          for (const runId of runsOf(one.unit)) this.#blocked.add(runId);
          break;
        case "refused":
          this.#fail(one.unit);
          done.add(one);
          break;
      }
    }
    this.#tried = [];
    this.#pending = this.#pending.filter((one) => !done.has(one));
  }

  /** What did not fit is tried again with the next call of `next`. */
  unblock(): void {
    this.#blocked.clear();
  }

  /** What rests on nothing but its fence is tried without it from now on. False: that was done before. */
  loosen(): boolean {
    if (this.#isLoose) return false;
    this.#isLoose = true;
    this.#blocked.clear();
    this.#pending = this.#pending.map(loosened);
    return true;
  }

  /** Nothing is tried any more. */
  giveUp(): void {
    for (const { unit } of this.#pending) this.#fail(unit);
    this.#pending = [];
  }

  /** Every run concerned. */
  runs(): readonly LostRun[] {
    return [...this.#runs].map(([runId, tally]) => ({ runId, ...tally }));
  }

  #fail(unit: Unit): void {
    if (unit.type === "transition") this.#tally(unit.transition.runId).facts.push(...unit.transition.log);
  }

  #tally(runId: string): Tally {
    let tally = this.#runs.get(runId);
    if (!tally) {
      tally = { writes: 0, restored: 0, facts: [] };
      this.#runs.set(runId, tally);
    }
    return tally;
  }
}

function loosened(one: ForgottenUnit): ForgottenUnit {
  const { unit } = one;
  if (unit.type === "intake" || typeof unit.transition.cas === "number" || unit.transition.create) return one;
  const { log } = unit.transition;
  if (!log.every(({ kind }) => kind === "STEP_COMPLETED")) return one;
  return { ...one, unit: { type: "transition", transition: { ...unit.transition, fence: null } } };
}

function fateOf(outcome: UnitOutcome): "restored" | "early" | "refused" {
  if (outcome.type === "intake") {
    const { duplicate, lost, outdated } = outcome.outcome;
    if (lost) return "early";
    // The sender has sent it again meanwhile: it is there, under another id.
    return duplicate || outdated ? "refused" : "restored";
  }
  if (outcome.outcome.won) return "restored";
  switch (outcome.outcome.why) {
    case "stale":
    case "version":
    case "gone":
      return "early";
    case "exists":
      return "restored";
    default:
      return "refused";
  }
}

/** What is noted in the log of a run of which something was lost; `id` names the loss. */
export function lossNote(
  { runId, writes, restored }: LostRun,
  id: { readonly key: string; readonly number: number },
): Unit {
  const dataJson = JSON.stringify({ writes, restored });
  return {
    type: "transition",
    transition: {
      runId,
      fence: null,
      cas: null,
      log: [{ kind: "COMMITS_LOST", key: id.key, attempt: 0, iteration: id.number, dataJson }],
      removeJobs: [],
      addJobs: [],
      resent: true,
    },
  };
}
