/**
 * The promise helpers that every package needs: a deferred, a sleep, a time limit, what follows an abort. Timers are
 * passed in (`clock.ts`).
 */
import type { Timers } from "./clock.ts";

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** A promise with its two ends in hand. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Resolves after `delayMs`, or at once when `signal` is aborted (it never rejects). */
export function sleep(timers: Timers, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = timers.set(delayMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Calls `act` once `signal` is aborted, or at once where it is already. The function that it returns takes that back. */
export function whenAborted(signal: AbortSignal | undefined, act: () => void): () => void {
  signal?.addEventListener("abort", act, { once: true });
  if (signal?.aborted) act();
  return () => signal?.removeEventListener("abort", act);
}

/** Settles as `promise` does, or rejects with what `onTimeout` makes after `limitMs`. The timer never outlives it. */
export async function withTimeout<T>(
  timers: Timers,
  promise: Promise<T>,
  limitMs: number,
  onTimeout: () => Error,
): Promise<T> {
  const late = deferred<never>();
  const timer = timers.set(limitMs, () => late.reject(onTimeout()));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
  }
}

/** What all of them come to. Rejects, too, only when none of them is under way any more. */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(promises);
  return ends.map((end) => {
    if (end.status === "rejected") throw end.reason;
    return end.value;
  });
}
