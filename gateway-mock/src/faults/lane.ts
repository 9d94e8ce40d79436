/**
 * One direction of a connection that faults may hold up. What is delayed keeps its order, as it does in a network; only
 * what is held back is overtaken.
 */
import type { Clock, TimerHandle, Timers } from "@holdfast/core";

interface Waiting<T> {
  readonly item: T;
  readonly dueMs: number;
}

export class Lane<T> {
  readonly #parts: { readonly clock: Clock; readonly timers: Timers; readonly deliver: (item: T) => void };
  #queue: Waiting<T>[] = [];
  #held: T[] = [];
  #timer: TimerHandle | null = null;
  #heldTimer: TimerHandle | null = null;

  constructor(parts: { readonly clock: Clock; readonly timers: Timers; readonly deliver: (item: T) => void }) {
    this.#parts = parts;
  }

  /** Nothing is on its way. */
  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#held.length === 0;
  }

  pass(item: T, delayMs = 0): void {
    const nowMs = this.#parts.clock.monotonicMs();
    this.#queue.push({ item, dueMs: nowMs + delayMs });
    for (const held of this.#held.splice(0)) this.#queue.push({ item: held, dueMs: nowMs });
    this.#heldTimer?.cancel();
    this.#pump();
  }

  /** Until the next one has passed, or for so long. */
  hold(item: T, atMostMs: number): void {
    this.#held.push(item);
    this.#heldTimer?.cancel();
    this.#heldTimer = this.#parts.timers.set(atMostMs, () => this.#release(), { unref: true });
  }

  /** All that is on its way arrives now. */
  flush(): void {
    this.#stopTimers();
    const items = [...this.#queue.splice(0).map(({ item }) => item), ...this.#held.splice(0)];
    for (const item of items) this.#parts.deliver(item);
  }

  /** What is on its way is lost. */
  stop(): void {
    this.#stopTimers();
    this.#queue = [];
    this.#held = [];
  }

  #release(): void {
    const dueMs = this.#parts.clock.monotonicMs();
    for (const item of this.#held.splice(0)) this.#queue.push({ item, dueMs });
    this.#pump();
  }

  #pump(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const nowMs = this.#parts.clock.monotonicMs();
    for (let first = this.#queue[0]; first && first.dueMs <= nowMs; first = this.#queue[0]) {
      this.#queue.shift();
      this.#parts.deliver(first.item);
    }
    const next = this.#queue[0];
    if (next)
      this.#timer = this.#parts.timers.set(Math.max(1, next.dueMs - nowMs), () => this.#pump(), { unref: true });
  }

  #stopTimers(): void {
    this.#timer?.cancel();
    this.#heldTimer?.cancel();
    this.#timer = null;
    this.#heldTimer = null;
  }
}
