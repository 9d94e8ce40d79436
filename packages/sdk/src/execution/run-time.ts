/** Time as the run's gateway counts it, and the run's deadline: the clock of this process may be off. */
import type { Clock } from "@holdfast/core";
import { RunDeadlineError } from "../steps/errors.ts";

/** What the gateway said of time when it sent the request; nothing on the plain protocol. */
interface GatewayTimes {
  readonly nowMs?: number;
  readonly deadlineMs?: number;
}

export class RunTime {
  readonly #clock: Clock;
  readonly #times: GatewayTimes;
  readonly #startedMs: number;
  /** False in a pass that undoes steps: what is left to do after the deadline is to undo. */
  readonly #ends: boolean;
  #over: RunDeadlineError | undefined;

  constructor(clock: Clock, times: GatewayTimes, ends: boolean) {
    this.#clock = clock;
    this.#times = times;
    this.#ends = ends;
    this.#startedMs = clock.monotonicMs();
  }

  nowMs(): number {
    const { nowMs } = this.#times;
    return nowMs === undefined ? this.#clock.nowMs() : nowMs + (this.#clock.monotonicMs() - this.#startedMs);
  }

  /** Undefined when the run has no deadline, or is being undone already. */
  get deadlineMs(): number | undefined {
    return this.#ends ? this.#times.deadlineMs : undefined;
  }

  /** Why nothing may begin any more; undefined before the deadline. */
  overdue(): RunDeadlineError | undefined {
    const { deadlineMs } = this;
    if (deadlineMs === undefined || this.nowMs() < deadlineMs) return this.#over;
    return this.expire(deadlineMs);
  }

  /** The deadline is here, though a timer may fire a moment before the clock shows it. */
  expire(deadlineMs: number): RunDeadlineError {
    this.#over ??= new RunDeadlineError(deadlineMs);
    return this.#over;
  }
}
