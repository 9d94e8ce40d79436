/**
 * One attempt of a step's body while it runs: its AbortSignal and the time that it may take. `run-body.ts` makes one for
 * each attempt, and drops what a body comes to after its time is over.
 */
import type { TimerHandle, Timers } from "@holdfast/core";
import { findNodeModule } from "../runtime.ts";
import { StepTimeoutError } from "../steps/errors.ts";
import type { RunningStep } from "../steps/step-call.ts";
import type { SignalSource } from "./abort.ts";

/** Bodies whose attempt has failed by its timeout and that have not returned yet: of this process, all connections. */
export class AbandonedBodies {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(): void {
    this.#count += 1;
  }

  remove(): void {
    this.#count -= 1;
  }
}

export const abandonedBodies = new AbandonedBodies();

/** The attempt that a body runs for. */
export interface BodyOwner {
  readonly fullId: string;
  /** Undefined: it may take as long as it does. */
  readonly timeoutMs: number | undefined;
  readonly timers: Timers;
  /** Has the run's signal. */
  readonly run: SignalSource;
  /** Undefined: bodies run in this thread. */
  readonly isolate: NonNullable<RunningStep["isolate"]> | undefined;
  onTimeout(error: StepTimeoutError): void;
}

export class RunningBody implements RunningStep, SignalSource {
  readonly #owner: BodyOwner;
  #controller: AbortController | undefined;
  #timer: TimerHandle | undefined;
  #unfollow: (() => void) | undefined;
  #state: "running" | "abandoned" | "ended" = "running";
  #timeout: StepTimeoutError | undefined;

  constructor(owner: BodyOwner) {
    this.#owner = owner;
    this.#setTimer();
  }

  get isolate(): RunningStep["isolate"] {
    return this.#owner.isolate;
  }

  /** Fires when the time is over, and with the run's signal. Made when it is asked for: most bodies never look at it. */
  get signal(): AbortSignal {
    this.#controller ??= this.#makeController();
    return this.#controller.signal;
  }

  /**
   * The code has not begun yet: the time counts from when what this returns is called.
   * Called by bodies that hand their work on, before they return.
   */
  holdTimeout(): () => void {
    this.stopTimer();
    return () => {
      if (this.#state === "running" && this.#timer === undefined) this.#setTimer();
    };
  }

  /** The body has returned or thrown: false = too late, what it came to is not used. */
  end(): boolean {
    if (this.#state === "abandoned") abandonedBodies.remove();
    const isInTime = this.#state === "running";
    this.#state = "ended";
    this.stopTimer();
    this.#unfollow?.();
    return isInTime;
  }

  stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #setTimer(): void {
    const { timeoutMs, timers } = this.#owner;
    if (timeoutMs !== undefined) this.#timer = timers.set(timeoutMs, () => this.#onTimer(timeoutMs));
  }

  #onTimer(timeoutMs: number): void {
    if (this.#state !== "running") return;
    this.#state = "abandoned";
    abandonedBodies.add();
    this.#timeout = new StepTimeoutError(this.#owner.fullId, timeoutMs);
    this.#owner.onTimeout(this.#timeout);
    this.#controller?.abort(this.#timeout);
  }

  #makeController(): AbortController {
    const controller = new AbortController();
    if (this.#timeout !== undefined) controller.abort(this.#timeout);
    if (this.#state === "ended") return controller;
    const outer = this.#owner.run.signal;
    const follow = (): void => controller.abort(outer.reason);
    if (outer.aborted) follow();
    else {
      // Every body of the run may follow it at once: that is no leak, which Node would warn of.
      findNodeModule("node:events")?.setMaxListeners(0, outer);
      outer.addEventListener("abort", follow, { once: true });
      this.#unfollow = () => outer.removeEventListener("abort", follow);
    }
    return controller;
  }
}
