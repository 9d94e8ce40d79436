/**
 * Callers that wait for the end of a run, at this gateway. They learn of it at once, wherever the run ends: gateways
 * announce which runs they wait for, and those that end one of these say so. The store is looked at as well, for what
 * announcements miss: one statement at a time, whatever the number of callers (docs/decisions/0091).
 */
import {
  type Clock,
  type Deferred,
  deferred,
  HoldfastError,
  type Log,
  messageOf,
  type TimerHandle,
  type Timers,
} from "@holdfast/core";
import { levelFor, type Store } from "@holdfast/store";

/**
 * A run may end while the announcement that it is waited for is on its way; who has just come is looked after once more
 * this soon, and from then on when its turn comes.
 */
const YOUNG_MS = 300;
const LOOK_EVERY_MS = 1_000;
/** Runs that one statement looks at. */
const MOST_A_LOOK = 1_000;
/** Waits of other gateways that are remembered; each is announced again while it lasts. */
const MAX_ELSEWHERE = 100_000;
const ANNOUNCE_EVERY_MS = 30_000;

export interface RunEndsParts {
  readonly store: Pick<Store, "endsOf" | "notify">;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxWaiting: number;
}

/** `ended`: it has ended. `late`: not yet. `gone`: there is no such run. */
export type WaitOutcome = { readonly is: "ended" | "late"; readonly functionId: string } | { readonly is: "gone" };

interface Waited {
  readonly waiters: Set<Deferred<"ended" | "late">>;
  /** When it was last announced to other gateways. */
  announcedMs: number;
}

export class RunEnds {
  readonly #parts: RunEndsParts;
  /** In the order in which they are looked at. */
  readonly #waited = new Map<string, Waited>();
  /** Those that have not been looked at since they were announced. */
  readonly #young = new Set<string>();
  /** Runs that callers at other gateways wait for, and until when that is remembered. */
  readonly #elsewhere = new Map<string, number>();
  #waiting = 0;
  #look: { readonly timer: TimerHandle; readonly dueMs: number } | null = null;
  #isLooking = false;
  #closed = false;

  constructor(parts: RunEndsParts) {
    this.#parts = parts;
  }

  /** Callers that wait now. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits for the end of a run, at most so long; until the signal fires at the longest.
   * @throws HoldfastError `WATCHERS_FULL`, `GATEWAY_CLOSING`, `STORE_FAILED`
   */
  async wait(runId: string, maxMs: number, signal: AbortSignal): Promise<WaitOutcome> {
    if (this.#waiting >= this.#parts.maxWaiting) {
      throw new HoldfastError(
        "WATCHERS_FULL",
        `${this.#waiting} callers wait for runs at this gateway, and it takes no more; ask again later, or another one.`,
      );
    }
    if (this.#closed) throw closing();
    // Before the store is read: an end in between is not missed.
    const { over, stop } = this.#add(runId, maxMs, signal);
    try {
      const [end] = await this.#parts.store.endsOf([runId]);
      if (!end) return { is: "gone" };
      const { functionId } = end;
      if (end.isEnded) return { is: "ended", functionId };
      return { is: await over, functionId };
    } finally {
      stop();
    }
  }

  /** A run has ended, here or at another gateway. True when callers at other gateways wait for it. */
  onEnded(runId: string): boolean {
    const waited = this.#waited.get(runId);
    if (waited) for (const waiter of waited.waiters) waiter.resolve("ended");
    return this.#elsewhere.delete(runId);
  }

  /** Callers at another gateway wait for these. */
  onWatched(runIds: readonly string[]): void {
    const untilMs = this.#parts.clock.monotonicMs() + 2 * ANNOUNCE_EVERY_MS;
    for (const runId of runIds) {
      this.#elsewhere.delete(runId);
      this.#elsewhere.set(runId, untilMs);
    }
    for (const [runId] of this.#elsewhere) {
      if (this.#elsewhere.size <= MAX_ELSEWHERE) break;
      this.#elsewhere.delete(runId);
    }
  }

  /** Announcements may have been missed, those of this gateway as well. */
  onMissed(): void {
    for (const [runId, waited] of this.#waited) {
      waited.announcedMs = Number.NEGATIVE_INFINITY;
      this.#young.add(runId);
    }
    this.#lookIn(0);
  }

  /** Nothing is waited for any more; all are to ask another gateway. */
  close(): void {
    this.#closed = true;
    this.#look?.timer.cancel();
    for (const { waiters } of this.#waited.values()) for (const waiter of waiters) waiter.reject(closing());
    this.#elsewhere.clear();
  }

  #add(runId: string, maxMs: number, signal: AbortSignal): { readonly over: Promise<"ended" | "late">; stop(): void } {
    const { timers } = this.#parts;
    const waiter = deferred<"ended" | "late">();
    const waited = this.#waitedFor(runId);
    waited.waiters.add(waiter);
    this.#waiting += 1;
    const late = (): void => waiter.resolve("late");
    // It may be closed while the store is read.
    waiter.promise.catch(() => {});
    const timer = timers.set(maxMs, late, { unref: true });
    signal.addEventListener("abort", late, { once: true });
    if (signal.aborted) late();
    const stop = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", late);
      waited.waiters.delete(waiter);
      this.#waiting -= 1;
      if (waited.waiters.size > 0) return;
      this.#waited.delete(runId);
      this.#young.delete(runId);
    };
    return { over: waiter.promise, stop };
  }

  #waitedFor(runId: string): Waited {
    const known = this.#waited.get(runId);
    if (known) return known;
    const waited: Waited = { waiters: new Set(), announcedMs: Number.NEGATIVE_INFINITY };
    this.#waited.set(runId, waited);
    this.#young.add(runId);
    this.#announce([runId]);
    this.#lookIn(YOUNG_MS);
    return waited;
  }

  #announce(runIds: readonly string[]): void {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const runId of runIds) {
      const waited = this.#waited.get(runId);
      if (waited) waited.announcedMs = nowMs;
    }
    this.#parts.store.notify({ type: "RUNS_WATCHED", runIds });
  }

  /** A look that is due sooner stays. */
  #lookIn(ms: number): void {
    if (this.#closed || this.#isLooking || this.#waited.size === 0) return;
    const { timers, clock } = this.#parts;
    const dueMs = clock.monotonicMs() + ms;
    if (this.#look && this.#look.dueMs <= dueMs) return;
    this.#look?.timer.cancel();
    const timer = timers.set(ms, () => void this.#lookNow(), { unref: true });
    this.#look = { timer, dueMs };
  }

  async #lookNow(): Promise<void> {
    this.#look = null;
    this.#isLooking = true;
    const runIds = this.#nextToLookAt();
    this.#announceAgain(runIds);
    try {
      const ends = await this.#parts.store.endsOf(runIds);
      for (const { id, isEnded } of ends) if (isEnded) this.onEnded(id);
    } catch (error) {
      this.#parts.log(levelFor(error, "warn"), `Runs that callers wait for could not be read: ${messageOf(error)}`);
    } finally {
      this.#isLooking = false;
      this.#lookIn(this.#young.size > 0 ? YOUNG_MS : LOOK_EVERY_MS);
    }
  }

  /** The young ones, then those whose last look is longest ago. */
  #nextToLookAt(): string[] {
    const next = new Set([...this.#young].slice(0, MOST_A_LOOK));
    for (const runId of this.#waited.keys()) {
      if (next.size >= MOST_A_LOOK) break;
      next.add(runId);
    }
    for (const runId of next) {
      this.#young.delete(runId);
      const waited = this.#waited.get(runId);
      this.#waited.delete(runId);
      if (waited) this.#waited.set(runId, waited);
    }
    return [...next];
  }

  /** Those that remember it forget it after a while. */
  #announceAgain(runIds: readonly string[]): void {
    const nowMs = this.#parts.clock.monotonicMs();
    const isDue = (runId: string): boolean =>
      nowMs - (this.#waited.get(runId)?.announcedMs ?? nowMs) >= ANNOUNCE_EVERY_MS;
    const again = runIds.filter(isDue);
    if (again.length > 0) this.#announce(again);
    for (const [runId, untilMs] of this.#elsewhere) {
      if (untilMs > nowMs) break;
      this.#elsewhere.delete(runId);
    }
  }
}

const closing = (): HoldfastError =>
  new HoldfastError("GATEWAY_CLOSING", "This gateway is shutting down; ask again, another one will answer.");
