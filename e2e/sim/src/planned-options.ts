/**
 * The options that a random function has: flow control, deadlines, cancellation. `flow-oracle.ts` and
 * `run-end-oracle.ts` check what they promise.
 */
import type { FunctionOptions } from "../../../packages/sdk/src/functions/function-options.ts";
import type { Dice } from "./random.ts";

/** What is between an event and the runs of a function, and between its jobs and those who claim them. */
export type FlowControl =
  | { readonly type: "none" }
  | { readonly type: "concurrency"; readonly limit: number; readonly keyed: boolean }
  | { readonly type: "throttle"; readonly limit: number; readonly burst: number; readonly periodMs: number }
  | { readonly type: "rate limit"; readonly limit: number; readonly periodMs: number }
  | { readonly type: "debounce"; readonly periodMs: number; readonly timeoutMs: number | null }
  | { readonly type: "batch"; readonly maxSize: number; readonly timeoutMs: number }
  | { readonly type: "singleton"; readonly mode: "skip" | "cancel" }
  /** Besides its event, a schedule starts it. */
  | { readonly type: "cron" };

/** What a function asks of the engine besides running its steps. */
export interface PlannedOptions {
  readonly flowControl: FlowControl;
  /** Runs fail this long after their creation. */
  readonly deadlineMs: number | null;
  /** Runs are cancelled this long after their start. */
  readonly finishMs: number | null;
  /** Runs are cancelled that have not started by then. */
  readonly startMs: number | null;
  /** An event `STOP` with the run's key cancels it. */
  readonly cancelOn: boolean;
}

export const NO_OPTIONS: PlannedOptions = {
  flowControl: { type: "none" },
  deadlineMs: null,
  finishMs: null,
  startMs: null,
  cancelOn: false,
};

/** Cancels runs whose event has the same key. */
export const STOP = "stop";
export const CRON_EVERY_MS = 5_000;
/** Long enough for every deadline and timeout that functions have. */
export const STAY_MS = 45_000;

export function randomOptions(dice: Dice): PlannedOptions {
  const flowControl = dice.chance(0.6) ? randomFlowControl(dice) : NO_OPTIONS.flowControl;
  const some = (chance: number, times: readonly number[]): number | null =>
    dice.chance(chance) ? dice.pick(times) : null;
  return {
    flowControl,
    deadlineMs: some(0.3, [1000, 2000, 6000]),
    finishMs: some(0.12, [1000, 4000]),
    startMs: some(0.1, [1000, 2000]),
    // The two cannot be combined.
    cancelOn: flowControl.type !== "batch" && dice.chance(0.3),
  };
}

function randomFlowControl(dice: Dice): FlowControl {
  const periodMs = dice.pick([1000, 2000]);
  const limit = dice.between(1, 2);
  switch (dice.between(0, 6)) {
    case 0:
      return { type: "concurrency", limit, keyed: dice.chance(0.5) };
    case 1:
      return { type: "throttle", limit, burst: dice.between(0, 1), periodMs };
    case 2:
      return { type: "rate limit", limit, periodMs };
    case 3:
      return { type: "debounce", periodMs, timeoutMs: dice.pick([null, 3000]) };
    case 4:
      return { type: "batch", maxSize: dice.between(2, 3), timeoutMs: periodMs };
    case 5:
      return { type: "singleton", mode: dice.pick(["skip", "cancel"]) };
    default:
      return { type: "cron" };
  }
}

/** As they are given to `createFunction`. */
export function optionsOf({
  flowControl,
  deadlineMs,
  finishMs,
  startMs,
  cancelOn,
}: PlannedOptions): Partial<FunctionOptions> {
  return {
    ...flowControlOptions(flowControl),
    ...(deadlineMs === null ? {} : { deadline: deadlineMs }),
    ...(finishMs === null && startMs === null
      ? {}
      : {
          timeouts: {
            ...(finishMs === null ? {} : { finish: finishMs }),
            ...(startMs === null ? {} : { start: startMs }),
          },
        }),
    ...(cancelOn ? { cancelOn: [{ event: STOP, if: "async.data.key == event.data.key" }] } : {}),
  };
}

function flowControlOptions(flowControl: FlowControl): Partial<FunctionOptions> {
  switch (flowControl.type) {
    case "none":
    case "cron":
      return {};
    case "concurrency":
      return { concurrency: { limit: flowControl.limit, ...(flowControl.keyed ? { key: "event.data.key" } : {}) } };
    case "throttle":
      return { throttle: { limit: flowControl.limit, burst: flowControl.burst, period: flowControl.periodMs } };
    case "rate limit":
      return { rateLimit: { limit: flowControl.limit, period: flowControl.periodMs } };
    case "debounce":
      return {
        debounce: {
          period: flowControl.periodMs,
          ...(flowControl.timeoutMs === null ? {} : { timeout: flowControl.timeoutMs }),
        },
      };
    case "batch":
      return { batchEvents: { maxSize: flowControl.maxSize, timeout: flowControl.timeoutMs } };
    case "singleton":
      return { singleton: { mode: flowControl.mode } };
  }
}

/** Whether runs may end otherwise than their function says. */
export const mayBeStopped = ({ flowControl, deadlineMs, finishMs, startMs, cancelOn }: PlannedOptions): boolean =>
  deadlineMs !== null ||
  finishMs !== null ||
  startMs !== null ||
  cancelOn ||
  (flowControl.type === "singleton" && flowControl.mode === "cancel");
