/** The words of a torture: rounds, what is seen in each, what is wrong. Pure. */

/** How one round is played. */
export type RoundPlan =
  | { readonly kind: "calm" }
  | { readonly kind: "kill"; readonly step: TorturedStep; readonly moment: "before-commit" | "after-commit" }
  | { readonly kind: "kill-end"; readonly commits: number }
  | { readonly kind: "network"; readonly what: NetworkTrouble }
  | { readonly kind: "chaos" };

export type NetworkTrouble = "delay" | "duplicate" | "reorder" | "cut" | "expire-leases" | "lose-answer";

export interface Round {
  /** From 1. */
  readonly number: number;
  readonly plan: RoundPlan;
  /** What is left to chance in it follows from this. */
  readonly seed: number;
}

export interface TorturedStep {
  readonly hash: string;
  readonly name: string;
}

/** A step's body that has ended, as its worker reported it. */
export interface SeenBody extends TorturedStep {
  readonly requestId: string;
  /** The attempt of the step that it was. */
  readonly attempt: number;
  /** Where the run's code met the step, from 0; null where the worker does not say. */
  readonly ordinal: number | null;
  /** JSON of what it returned, or of the error. */
  readonly resultJson: string;
  readonly hasFailed: boolean;
  /** Its result was stored already when its worker was given the work. */
  readonly wasStored: boolean;
}

export interface SeenRun {
  readonly runId: string;
  readonly eventId: string;
  readonly status: string;
  /** JSON of what the run returned; null when it returned nothing. */
  readonly outputJson: string | null;
  readonly error: { readonly name: string; readonly message: string; readonly code: string | null } | null;
  /** Why it had not ended when it was given up. */
  readonly waits: string | null;
  readonly bodies: readonly SeenBody[];
  /** How often it reported something to be committed. */
  readonly commits: number;
  /** Texts of the faults that happened. */
  readonly faults: readonly string[];
}

export const PROBLEM_KINDS = [
  "STORED_STEP_RAN_AGAIN",
  "NON_DETERMINISM",
  "RESULT_DIFFERS",
  "EFFECTS_DIFFER",
  "END_DIFFERS",
] as const;
/**
 * - `STORED_STEP_RAN_AGAIN`: a body ran although its result was stored.
 * - `NON_DETERMINISM`: a replay met other steps than those on record.
 * - `RESULT_DIFFERS`: the run returned something else than it does when nothing goes wrong.
 * - `EFFECTS_DIFFER`: so did its effects, as they were read after the run.
 * - `END_DIFFERS`: it failed or did not end.
 */
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

export interface Problem {
  readonly kind: ProblemKind;
  readonly round: number;
  readonly seed: number;
  readonly step: string | null;
  readonly runId: string;
  /** What was seen, and what to do about it. */
  readonly text: string;
}

/** A round that was played, with the effects that were read after it. */
export interface PlayedRound {
  readonly round: Round;
  readonly run: SeenRun;
  /** JSON; null: they were not read. */
  readonly effectsJson: string | null;
}
