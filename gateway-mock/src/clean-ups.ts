/** Runs what has to be undone at the end, one after the other, within one time limit for all. */
import { type Clock, type Log, messageOf, type Timers, withTimeout } from "@holdfast/core";

export interface CleanUp {
  readonly what: string;
  /** What it gets in any case. */
  readonly leastMs: number;
  run(limitMs: number): Promise<void>;
}

export interface CleanUpPorts {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * What has to be done at the end: last come, first gone. Neither one that fails nor one that hangs keeps the others
 * from their turn: each has what is left of the whole time without what those after it need.
 */
export class CleanUps {
  readonly #list: CleanUp[] = [];

  add(cleanUp: CleanUp): void {
    this.#list.push(cleanUp);
  }

  /** Over after `totalMs`, or after the sum of what each needs. */
  async run(totalMs: number, { clock, timers, log }: CleanUpPorts): Promise<void> {
    const endMs = clock.monotonicMs() + totalMs;
    for (let next = this.#list.pop(); next !== undefined; next = this.#list.pop()) {
      const reservedMs = this.#list.reduce((sum, { leastMs }) => sum + leastMs, 0);
      const limitMs = Math.max(next.leastMs, endMs - clock.monotonicMs() - reservedMs);
      const { what } = next;
      try {
        await withTimeout(
          timers,
          next.run(limitMs),
          limitMs,
          () => new Error(`not done after ${Math.round(limitMs)} ms`),
        );
      } catch (error) {
        log("warn", `Clean-up failed: ${what}: ${messageOf(error)}`);
      }
    }
  }
}
