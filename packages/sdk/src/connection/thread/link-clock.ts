/**
 * Timers of connection attempts and heartbeats. Each belongs to a generation, so that those of a connection that is
 * gone end together.
 */
import type { Clock, TimerHandle, Timers } from "@holdfast/core";
import type { LinkTimer } from "../machines/link-types.ts";

export class LinkClock {
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #onTimer: (timer: LinkTimer, generation: number) => void;
  readonly #alarms = new Map<number, Map<LinkTimer, TimerHandle>>();

  constructor(timers: Timers, clock: Clock, onTimer: (timer: LinkTimer, generation: number) => void) {
    this.#timers = timers;
    this.#clock = clock;
    this.#onTimer = onTimer;
  }

  set(timer: LinkTimer, generation: number, delayMs: number, before?: () => void): void {
    const alarms = this.#alarms.get(generation) ?? new Map<LinkTimer, TimerHandle>();
    this.#alarms.set(generation, alarms);
    const fire = (): void => {
      alarms.delete(timer);
      if (alarms.size === 0) this.#alarms.delete(generation);
      before?.();
      this.#onTimer(timer, generation);
    };
    alarms.set(timer, this.#timers.set(delayMs, fire));
  }

  /** Beats keep to the grid of their first one, so that a late timer does not make the next one late too. */
  startHeartbeats(generation: number, intervalMs: number): void {
    const firstMs = this.#clock.monotonicMs();
    let beats = 0;
    const next = (): void => {
      const nowMs = this.#clock.monotonicMs();
      // After a long sleep of the process missed beats are not made up for: the next one is a whole step of the grid ahead,
      // so that the answer to this one has its time.
      beats = Math.max(beats + 1, Math.floor((nowMs - firstMs) / intervalMs) + 1);
      this.set("heartbeat", generation, Math.max(0, firstMs + beats * intervalMs - nowMs), next);
    };
    next();
  }

  cancel(generation: number): void {
    for (const alarm of this.#alarms.get(generation)?.values() ?? []) alarm.cancel();
    this.#alarms.delete(generation);
  }
}
