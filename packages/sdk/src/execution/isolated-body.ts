/**
 * A step's body that runs in another thread: what the execution asks of the pool, and what comes back. The result is
 * JSON already, and what was thrown has been read: both were made where the code ran.
 */
import type { IsolationMark } from "../steps/isolated.ts";
import type { CurrentStep, TracedExecution } from "./current.ts";
import type { ResultJson } from "./result-json.ts";
import type { Thrown } from "./thrown.ts";

/** When the code ran. */
export interface BodyTiming {
  readonly startedMs: number;
  readonly durationMs: number;
}

/** How it ended. The timing is that of the code; null: none ran. */
export type IsolatedEnd =
  | { readonly type: "done"; readonly json: ResultJson; readonly timing: BodyTiming }
  | { readonly type: "failed"; readonly thrown: Thrown; readonly timing: BodyTiming | null };

export interface IsolatedCall {
  readonly mark: IsolationMark;
  readonly args: readonly unknown[];
  readonly subject: Omit<TracedExecution, "step"> & { readonly step: Pick<CurrentStep, "id" | "hash" | "attempt"> };
  readonly signal: AbortSignal;
  /** Asked again where the code begins later than it was asked to: see `CheckpointPort`. */
  readonly whenConfirmed?: (() => Promise<void> | undefined) | undefined;
  /** The code begins. */
  readonly onBegun: () => void;
}

/** Runs bodies in other threads; never rejects. */
export interface IsolatedBodies {
  run(call: IsolatedCall): Promise<IsolatedEnd>;
}

/** What an isolated body gives, in place of its value. */
export class IsolatedValue {
  readonly #timing: BodyTiming;
  readonly json: ResultJson;

  constructor(json: ResultJson, timing: BodyTiming) {
    this.json = json;
    this.#timing = timing;
  }

  get timing(): BodyTiming {
    return this.#timing;
  }

  /** Touches nothing of a value of the author's: it may be a proxy whose traps throw. */
  static is(value: unknown): value is IsolatedValue {
    return typeof value === "object" && value !== null && #timing in value;
  }
}

/** What an isolated body throws, in place of its error. */
export class IsolatedFailure extends Error {
  readonly #timing: BodyTiming | null;
  readonly thrown: Thrown;

  constructor(thrown: Thrown, timing: BodyTiming | null) {
    super(thrown.error.message);
    this.thrown = thrown;
    this.#timing = timing;
  }

  get timing(): BodyTiming | null {
    return this.#timing;
  }

  static is(value: unknown): value is IsolatedFailure {
    return typeof value === "object" && value !== null && #timing in value;
  }
}

/** @throws IsolatedFailure */
export async function runIsolated(bodies: IsolatedBodies, call: IsolatedCall): Promise<IsolatedValue> {
  const end = await bodies.run(call);
  if (end.type === "failed") throw new IsolatedFailure(end.thrown, end.timing);
  return new IsolatedValue(end.json, end.timing);
}
