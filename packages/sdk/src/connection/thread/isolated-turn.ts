/** What the connection thread knows of one request of an isolated function: where it is, and what its thread has begun. */
import type { ClockReading } from "@holdfast/core";
import type { RequestIdentity } from "@holdfast/protocol";
import type { TurnSteps } from "../machines/lost-turn.ts";
import type { IsolatedPlace, IsolatedRequest } from "../shared/messages.ts";

/** The request itself, as a thread gets it. Kept until a thread has begun with it. */
export interface IsolatedWork extends IsolatedRequest {
  readonly doubtNumber: number;
  readonly asOf: ClockReading | null;
}

/** Of what had ended so much text is kept at most; what is left out runs again. */
const MAX_KEPT_CHARS = 1024 * 1024;

export class IsolatedTurn implements TurnSteps {
  readonly identity: RequestIdentity;
  readonly running = new Map<string, string>();
  readonly ended = new Map<string, string>();
  /** Null = it stands in line. */
  place: IsolatedPlace = null;
  /** Undefined: a thread has begun with it. */
  work: IsolatedWork | undefined;
  /** Taken over from an earlier connection thread: whether its thread has begun with it, it has not said yet. */
  mayHaveBegun = false;
  isLeaseLost = false;
  #keptChars = 0;

  constructor(identity: RequestIdentity, work: IsolatedWork | undefined) {
    this.identity = identity;
    this.work = work;
  }

  onStepBegun(hash: string, failure: string): void {
    this.running.set(hash, failure);
  }

  onStepEnded(hash: string, op: string | null): void {
    this.running.delete(hash);
    if (op === null || this.#keptChars + op.length > MAX_KEPT_CHARS) return;
    this.#keptChars += op.length;
    this.ended.set(hash, op);
  }
}
