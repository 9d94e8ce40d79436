/**
 * What the parts of a pass ask of it, and it of them: one object for all, since closures for each would be most of what a
 * request in flight takes in memory.
 */
import type { PassEvent } from "../steps/pass-types.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepIdentity } from "../steps/step-id.ts";
import type { StepTools } from "../steps/step-types.ts";
import type { StepRecord } from "./step-record.ts";

export interface PassHost {
  readonly signal: AbortSignal;
  /** Its machine still takes what happens. */
  readonly isOpen: boolean;
  /** Nothing is left on record that a replay would settle before what ends now. */
  readonly isReplayed: boolean;
  /** Everything has happened that follows at once from the results that the handler was given. */
  readonly isSettled: boolean;
  /** The handler calls a step. */
  callStep(call: StepCall): Promise<unknown>;
  /** A step of the handler's or of ours is called. */
  openStep(identity: StepIdentity, call: StepCall): StepRecord;
  find(hash: string): StepRecord | undefined;
  send(event: PassEvent): void;
  /** It is the turn of a step's outcome to be given to the handler. */
  settle(record: StepRecord): void;
  /** The handler has been given all outcomes. */
  onSettled(): void;
  /** It is given to the handler as soon as all that follows from those before it has happened. */
  settleLater(hash: string): void;
  /** The handler threw this, or cannot go on. */
  fail(raw: unknown): void;
  /** The steps that are to be undone are known. */
  undo(): void;
}

/** What the handler of a pass is called with. */
export interface HandlerTools {
  readonly step: StepTools;
  /** Made when it is asked for. */
  readonly signal: AbortSignal;
  /** The handler's code does what an earlier pass has done already. */
  readonly isReplaying: boolean;
  /** What the handler returns that goes on as a new run. */
  continueAs(data: unknown): unknown;
}

/** The handler of a pass, to be called once. */
export interface PassHandler {
  call(tools: HandlerTools): unknown;
}
