/**
 * What an app registers of a function that concerns each single run: attempts, deadlines, what cancels it; and which
 * workers may go on with it.
 */
import { parseGoDurationMs } from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import { type CancelRule, readCancelRules } from "./cancel-rules.ts";

/** What a version of a function says about a single run of it. */
export interface RunOptions {
  readonly maxAttempts: number;
  /** Events that cancel its runs. */
  readonly cancelRules: readonly CancelRule[];
  /** A run fails when it is not over this long after its creation. */
  readonly deadlineInMs: number | null;
  /** A run is cancelled when it is not over this long after its start. */
  readonly finishInMs: number | null;
}

/** Attempts of a function that says nothing about retries: 4 retries. */
const DEFAULT_RETRIES = 4;

export function readRunOptions(configJson: string): RunOptions {
  const config: unknown = JSON.parse(configJson);
  const ours = isRecord(config) && isRecord(config.holdfast) ? config.holdfast : {};
  const timeouts = isRecord(config) && isRecord(config.timeouts) ? config.timeouts : {};
  return {
    maxAttempts: maxAttemptsOf(config),
    cancelRules: readCancelRules(config),
    deadlineInMs: durationOf(ours.deadline),
    finishInMs: durationOf(timeouts.finish),
  };
}

function durationOf(value: unknown): number | null {
  if (typeof value === "number" && value > 0) return value;
  const durationMs = typeof value === "string" ? parseGoDurationMs(value) : undefined;
  return durationMs !== undefined && durationMs > 0 ? durationMs : null;
}

/** `retries.attempts` counts retries: attempts are one more. */
function maxAttemptsOf(config: unknown): number {
  const steps = isRecord(config) && isRecord(config.steps) ? config.steps.step : undefined;
  const retries = isRecord(steps) && isRecord(steps.retries) ? steps.retries.attempts : undefined;
  const count = Number.isInteger(retries) ? (retries as number) : DEFAULT_RETRIES;
  return Math.min(Math.max(count, 0), WIRE_LIMITS.maxRetries) + 1;
}

/**
 * Who may take a run that another version of its app has started. `prefer`: any worker, once none of its version is
 * connected at any gateway; `strict`: only a worker of its version; `any`: any worker.
 */
export const VERSION_POLICIES = ["prefer", "strict", "any"] as const;
export type VersionPolicy = (typeof VERSION_POLICIES)[number];
