/** What the log of an open run says of the steps that it waits for: names, failed attempts, stalls. Pure. */
import { type DispatchedMeta, type LossMeta, readMeta, type StallMeta } from "@holdfast/engine";
import type { WaitingFact } from "@holdfast/store";

/** An attempt that failed, of a step or (key "") of the handler. */
export interface FailedAttempt {
  readonly key: string;
  /** Zero-based. */
  readonly attempt: number;
  readonly message: string;
  /** When the next one is due. */
  readonly nextMs: number;
}

export interface StepFacts {
  readonly name: string | null;
  readonly op: string;
  /** When it was planned, or began to wait. */
  readonly openedMs: number;
}

export interface WaitingSteps {
  readonly maxAttempts: number | null;
  /** By hashed id. */
  readonly steps: ReadonlyMap<string, StepFacts>;
  /** In the order in which they failed. */
  readonly failures: readonly FailedAttempt[];
  /** The last report of each dispatch: `<job id>.<epoch>`. */
  readonly stalls: ReadonlyMap<string, StallMeta & { readonly atMs: number }>;
  /** Writes that the database had forgotten, and that could not be sent again. */
  readonly lostWrites: number;
}

interface FactData extends Partial<DispatchedMeta> {
  readonly run?: { readonly maxAttempts?: number };
  readonly step?: { readonly op?: string; readonly name?: string; readonly maxAttempts?: number };
  readonly op?: string;
  readonly name?: string;
  readonly maxAttempts?: number;
  readonly error?: { readonly message?: unknown; readonly name?: unknown };
}

export function readWaitingSteps(facts: readonly WaitingFact[]): WaitingSteps {
  const steps = new Map<string, StepFacts>();
  const stalls = new Map<string, StallMeta & { readonly atMs: number }>();
  const failures: FailedAttempt[] = [];
  let maxAttempts: number | null = null;
  let lostWrites = 0;
  for (const { kind, key, attempt, iteration, atMs, dataJson } of facts) {
    const data = readMeta<FactData>(dataJson);
    switch (kind) {
      case "RUN_CREATED":
        maxAttempts = data.run?.maxAttempts ?? null;
        break;
      case "PINNED":
        maxAttempts = data.maxAttempts ?? maxAttempts;
        break;
      case "STEP_PLANNED":
      case "STEP_WAITING":
        steps.set(key, { name: data.name ?? null, op: data.op ?? "StepRun", openedMs: atMs });
        break;
      case "STEP_ATTEMPT_FAILED":
        steps.set(key, { name: data.step?.name ?? null, op: data.step?.op ?? "StepRun", openedMs: atMs });
        failures.push({ key, attempt, message: messageIn(data), nextMs: atMs + (data.delayMs ?? 0) });
        break;
      case "PASS_FAILED":
        failures.push({ key, attempt, message: messageIn(data), nextMs: atMs + (data.delayMs ?? 0) });
        break;
      case "COMMITS_LOST": {
        const { writes, restored } = readMeta<LossMeta>(dataJson);
        lostWrites += writes - restored;
        break;
      }
      case "STALLED":
        stalls.set(`${key}.${iteration}`, { ...readMeta<StallMeta>(dataJson), atMs });
        break;
      default:
    }
  }
  return { maxAttempts, steps, failures, stalls, lostWrites };
}

function messageIn({ error }: FactData): string {
  if (typeof error?.message === "string" && error.message !== "") return error.message;
  return typeof error?.name === "string" ? error.name : "an error without a message";
}
