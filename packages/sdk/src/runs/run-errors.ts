/** Errors of those who start runs and wait for them. */
import { HoldfastError } from "@holdfast/core";

/** Which option of the function kept a run back, or puts it off. */
export type HeldBackBy = "rateLimit" | "idempotency" | "singleton" | "debounce" | "batchEvents";

export interface NotStartedDetails {
  readonly functionId: string;
  readonly reason: HeldBackBy;
  /** Of a singleton: the run that has its place. */
  readonly runId?: string;
  /** Of a run that was put off: the event of which it will be made. */
  readonly eventId?: string;
}

/**
 * `invoke` made no run: an option of the function skips it (`code` is `RUN_SKIPPED`: nothing was stored), or puts it off
 * (`RUN_POSTPONED`: a run will be made of the event `eventId`, alone or with others).
 */
export class RunNotStartedError extends HoldfastError {
  readonly functionId: string;
  readonly reason: HeldBackBy;
  readonly runId: string | undefined;
  readonly eventId: string | undefined;

  constructor(code: "RUN_SKIPPED" | "RUN_POSTPONED", { functionId, reason, runId, eventId }: NotStartedDetails) {
    const by = runId === undefined ? "" : ` (run ${runId} has its place)`;
    super(
      code,
      code === "RUN_SKIPPED"
        ? `No run of "${functionId}" was started: \`${reason}\` of the function keeps it back${by}.`
        : `A run of "${functionId}" will start later: \`${reason}\` of the function collects events first.`,
    );
    this.name = "RunNotStartedError";
    this.functionId = functionId;
    this.reason = reason;
    this.runId = runId;
    this.eventId = eventId;
  }

  /** Recognises errors of other copies of this package. */
  static override is(value: unknown): value is RunNotStartedError {
    return HoldfastError.is(value) && (value.code === "RUN_SKIPPED" || value.code === "RUN_POSTPONED");
  }
}
