/** The kinds of steps: what each is called on the wire, and what a pass does with it. */
import type { OpName } from "@holdfast/protocol";

/** What a step does. Users see these; spelled out for them, and checked by the table. */
export type StepKind =
  | "run"
  | "sleep"
  | "waitForEvent"
  | "waitForSignal"
  | "invoke"
  | "fetch"
  | "sendEvent"
  | "sendSignal";

interface StepKindRow {
  /** What a step is to the gateway while it is reported and not run here. */
  readonly op: OpName;
  /** It does nothing but end. */
  readonly isWait: boolean;
  /** For what a body may bring about. */
  readonly listens: boolean;
  /** Ops and names of tools under which a gateway may have finished ones on record; for steps with a body `run` has them. */
  readonly recordedAs: readonly string[];
}

/** Every kind of step, in one place: what is reported, awaited and recognised on replay comes from here. */
export const STEP_KINDS = {
  run: {
    op: "StepPlanned",
    isWait: false,
    listens: false,
    recordedAs: ["StepRun", "StepError", "StepFailed", "StepPlanned", "Step", "run", "sendEvent", "sendSignal"],
  },
  sendEvent: { op: "StepPlanned", isWait: false, listens: false, recordedAs: [] },
  sendSignal: { op: "StepPlanned", isWait: false, listens: false, recordedAs: [] },
  sleep: { op: "Sleep", isWait: true, listens: false, recordedAs: ["Sleep", "sleepUntil"] },
  waitForEvent: { op: "WaitForEvent", isWait: true, listens: true, recordedAs: ["WaitForEvent"] },
  waitForSignal: { op: "WaitForSignal", isWait: true, listens: true, recordedAs: ["WaitForSignal"] },
  invoke: { op: "InvokeFunction", isWait: false, listens: false, recordedAs: ["InvokeFunction", "invoke"] },
  fetch: { op: "Gateway", isWait: false, listens: false, recordedAs: ["Gateway", "fetch"] },
} as const satisfies Readonly<Record<StepKind, StepKindRow>>;

export const stepKinds = Object.keys(STEP_KINDS) as StepKind[];
