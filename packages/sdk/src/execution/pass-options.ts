import type { Clock, Log, Timers } from "@holdfast/core";
import type { RegisteredFunction } from "../functions/registry.ts";
import type { OpText, PassMode } from "../steps/pass-types.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { CancelSignal } from "./abort.ts";
import type { CheckpointPort, PassRequest } from "./execution.ts";
import type { Turns } from "./fair-turns.ts";
import type { IsolatedBodies } from "./isolated-body.ts";
import type { PassInput } from "./pass-input.ts";
import type { RunningSteps } from "./running-steps.ts";

export interface PassPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly turns: Turns;
  /** Where marked bodies run; absent: in this thread. */
  readonly isolation?: IsolatedBodies | undefined;
  /** Follows the bodies that are running. */
  readonly runningSteps?: RunningSteps | undefined;
  /** Waits before retries are as long each time: in tests of functions. */
  readonly withoutJitter?: boolean | undefined;
}

/** Notes the bodies of one pass as they begin and end: what is left when a thread is ended in the middle of one. */
export interface BodyWatch {
  /** `failure` is the op that says that the step has failed, with an error that is to be filled in. */
  onBegun(hash: string, failure: OpText): void;
  onEnded(op: OpText): void;
}

/** Gives what is run instead of a step that the handler calls; tests put their own bodies in place here. */
export type Intercept = (fullId: string, call: StepCall) => StepCall;

export interface PassOptions {
  readonly request: PassRequest;
  readonly input: PassInput;
  readonly fn: RegisteredFunction;
  readonly mode: PassMode;
  readonly port: CheckpointPort;
  /** Fires when the work is not wanted any more. */
  readonly signal: CancelSignal;
  readonly ports: PassPorts;
  /** For what fails. */
  readonly log: Log;
  readonly intercept: Intercept | undefined;
  /** With it results leave this thread before the handler goes on. */
  readonly watch: BodyWatch | undefined;
}
