/** What an app hears of runs that it follows, and how a message of a gateway becomes that. Pure. */
import { isRecord } from "@holdfast/protocol";
import { isRun, type Run, type RunStatus } from "./runs.ts";

/** What there was when it began: the run that is followed, or the newest of many. */
export interface RunSnapshot {
  readonly kind: "SNAPSHOT";
  readonly runs: readonly Run[];
}

/**
 * The place to go on from was lost, as after too long an absence: a snapshot follows, and what happened in between is
 * not told.
 */
export interface RunsReset {
  readonly kind: "RESET";
}

/** A run that is followed goes on as another one (`continueAs`), of which the facts that follow tell. */
export interface RunContinued {
  readonly kind: "CONTINUED";
  readonly continuedFrom: string;
  readonly continuedAs: string;
}

/** What all facts have. */
export interface RunFactFields {
  readonly runId: string;
  /** `<app>-<function>`. */
  readonly functionId: string;
  /** Rises within the run; facts that were stored together have the same. */
  readonly seq: number;
  /** When it was stored, in milliseconds since 1970. */
  readonly atMs: number;
  /** What the run became with it; null when it stayed what it was. */
  readonly status: RunStatus | null;
  /** Zero-based. */
  readonly attempt: number;
  /** Output and error are left out since they are large: `getRun` has them. */
  readonly isCut: boolean;
}

export interface RunFactStep {
  /** As the author wrote it; null where the gateway does not say. */
  readonly name: string | null;
  /** A digest of it. */
  readonly id: string;
  /** Its kind: `StepRun`, `Sleep`, `WaitForEvent` ... */
  readonly op: string | null;
}

export interface RunFactError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** One thing that happened to a run. Gateways that are newer may tell of further kinds. */
export type RunFact = RunFactFields &
  (
    | {
        readonly kind: "STEP_COMPLETED";
        readonly step: RunFactStep;
        readonly output?: unknown;
        readonly durationMs?: number;
      }
    | { readonly kind: "STEP_FAILED"; readonly step: RunFactStep; readonly error?: RunFactError }
    | {
        readonly kind: "STEP_ATTEMPT_FAILED";
        readonly step: RunFactStep;
        readonly error?: RunFactError;
        /** When the next attempt is due. */
        readonly dueMs?: number;
      }
    | { readonly kind: "STEP_PLANNED" | "STEP_WAITING"; readonly step: RunFactStep; readonly dueMs?: number }
    | { readonly kind: "STEP_BEGUN"; readonly step: RunFactStep }
    | { readonly kind: "PASS_FAILED"; readonly error?: RunFactError; readonly dueMs?: number }
    | { readonly kind: "RUN_COMPLETED"; readonly output?: unknown }
    | { readonly kind: "RUN_FAILED" | "RUN_CANCELLED"; readonly error?: RunFactError }
    | {
        readonly kind:
          | "RUN_CREATED"
          | "RUN_REVIVED"
          | "DISPATCHED"
          | "PASS_REPORTED"
          | "LEASE_LOST"
          | "TIMER_FIRED"
          | "PINNED"
          | "STALLED"
          | "COMMITS_LOST"
          | "DEFERRED"
          | "DEFER_ABORTED";
      }
  );

export type RunEvent = RunSnapshot | RunsReset | RunContinued | RunFact;

/** The facts of a message `facts`; each names its row, so that one that comes twice is recognized. */
export function readFacts(data: unknown): { readonly row: string; readonly facts: readonly RunFact[] } | null {
  if (!isRecord(data) || !Array.isArray(data.facts)) return null;
  const { runId, functionId, seq, atMs, status = null, facts } = data;
  const common = { runId, functionId, seq, atMs, status };
  const read = facts.filter(isRecord).map((fact) => ({ isCut: false, ...fact, ...common }) as RunFact);
  return { row: `${String(runId)} ${String(seq)}`, facts: read };
}

export function readSnapshot(data: unknown): RunSnapshot | null {
  if (!isRecord(data)) return null;
  const runs = Array.isArray(data.runs) ? data.runs : [data.run];
  return { kind: "SNAPSHOT", runs: runs.filter(isRun) };
}

export function readContinued(data: unknown): RunContinued | null {
  if (!isRecord(data)) return null;
  const { continuedFrom, continuedAs } = data;
  if (typeof continuedFrom !== "string" || typeof continuedAs !== "string") return null;
  return { kind: "CONTINUED", continuedFrom, continuedAs };
}
