import type { IntakeRun, NewJob } from "../store/index.ts";
import { cancelWaits } from "./cancel-rules.ts";
import type { KnownFunction } from "./functions.ts";
import { type MadeEvent, tellsOfEnd } from "./internal-events.ts";
import { type DispatchedMeta, jsonRow, type RunMeta, runCreatedRow } from "./log-rows.ts";
import { DEADLINE, FINISH_TIMEOUT } from "./run-state.ts";

export interface StartingEvent {
  readonly id: string;
  readonly name: string;
  readonly payloadJson: string;
}

export interface NewRunOptions {
  readonly fn: KnownFunction;
  readonly event: StartingEvent;
  /** Set when a step invokes the function. */
  readonly invokes: MadeEvent["invokes"];
  /** Of its first pass. */
  readonly lease: NonNullable<NewJob["lease"]> | null;
  /** Of the worker that gets it at once; else of the function as it was registered last. */
  readonly appVersion: string | null;
  readonly nowMs: number;
  readonly newId: () => string;
}

/** Everything that a run has from the beginning: its first rows, its first pass, its timers, what cancels it. */
export function newRun(options: NewRunOptions): IntakeRun {
  const { fn, event, invokes, lease, nowMs, newId } = options;
  const runId = invokes?.runId ?? newId();
  const jobs: NewJob[] = [];
  const log: IntakeRun["log"][number][] = [];
  const add = (kind: "pass" | "timer", key: string, delayMs: number): void => {
    const id = newId();
    const iteration = jobs.length + 1;
    const due = delayMs > 0 ? { delayMs } : {};
    const functionId = kind === "pass" ? fn.id : "";
    const leased = kind === "pass" && lease ? { lease } : {};
    jobs.push({ id, runId, kind, key, functionId, attempt: 0, iteration, ...due, ...leased });
    log.push(jsonRow("DISPATCHED", key, 0, iteration, { job: id, kind, ...due } satisfies DispatchedMeta));
  };
  add("pass", "", 0);
  if (fn.deadlineInMs !== null) add("timer", DEADLINE, fn.deadlineInMs);
  if (fn.finishInMs !== null) add("timer", FINISH_TIMEOUT, fn.finishInMs);
  const waits = cancelWaits(runId, fn.cancelRules, nowMs);
  const meta: RunMeta = {
    maxAttempts: fn.maxAttempts,
    ...(invokes ? { parent: invokes.parent } : {}),
    ...(tellsOfEnd(event.name) ? { quiet: true } : {}),
    ...(waits.length > 0 ? { cancels: waits.map(({ key }) => key) } : {}),
    ...(fn.deadlineInMs === null ? {} : { deadlineInMs: fn.deadlineInMs }),
    ...(fn.finishInMs === null ? {} : { finishInMs: fn.finishInMs }),
  };
  return {
    run: {
      id: runId,
      functionId: fn.id,
      appId: fn.appId,
      appVersion: options.appVersion ?? fn.appVersion,
      eventId: event.id,
      eventName: event.name,
      ...(fn.deadlineInMs === null ? {} : { deadlineMs: nowMs + fn.deadlineInMs }),
    },
    log: [runCreatedRow(meta, event.payloadJson), ...log],
    jobs,
    ...(waits.length > 0 ? { waits } : {}),
  };
}
