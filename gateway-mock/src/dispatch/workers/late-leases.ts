/**
 * Handles leases that are old by the time the store answers (`lease-age.ts`): each is extended once before its work
 * leaves, and the work goes back where that answer is late as well.
 */
import { type ClockReading, messageOf, readClocks, suspensionBetween } from "@holdfast/core";
import { levelFor } from "@holdfast/store";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatch } from "./dispatch.ts";
import { isLeaseOld } from "./lease-age.ts";

/** Warnings are this far apart, with a count of what they are about. */
const WARN_EVERY_MS = 10_000;
/** For so long after the last late answer the database is said to be slow. */
const SLOW_MS = 60_000;

/** How long the last late answer to a request for leases took. */
export interface SlowLease {
  readonly tookMs: number;
  readonly leaseMs: number;
  readonly agoMs: number;
}

export interface LateLeasesParts {
  readonly counters: DispatcherCounters;
  /** It has not gone back or come to its end meanwhile. */
  readonly isOpen: (dispatch: Dispatch) => boolean;
  /** Another worker has it. */
  readonly onLost: (dispatch: Dispatch) => void;
  readonly onDropped: (dispatches: readonly Dispatch[]) => void;
}

interface Late {
  readonly dispatch: Dispatch;
  readonly worker: ConnectedWorker;
  readonly send: () => void;
}

/** Requests that have not left because the answer with their lease was late. */
export class LateLeases {
  readonly #options: DispatcherOptions;
  readonly #parts: LateLeasesParts;
  #waiting: Late[] = [];
  #isBusy = false;
  #last: { readonly tookMs: number; readonly leaseMs: number; readonly atMs: number } | null = null;
  #warnedMs = Number.NEGATIVE_INFINITY;
  #givenBack = 0;

  constructor(options: DispatcherOptions, parts: LateLeasesParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Null: not for a while. */
  get slow(): SlowLease | null {
    if (this.#last === null) return null;
    const { tookMs, leaseMs, atMs } = this.#last;
    const agoMs = this.#options.clock.monotonicMs() - atMs;
    return agoMs > SLOW_MS ? null : { tookMs, leaseMs, agoMs: Math.round(agoMs) };
  }

  /**
   * Asks once more for the lease of a request that has not left, and sends it. The lease is ours again only if no other
   * gateway has claimed the job; the request then leaves under what was asked for now. Those of one turn are one statement.
   */
  renew(dispatch: Dispatch, worker: ConnectedWorker, send: () => void): void {
    this.#record(dispatch, worker.session.leaseMs);
    this.#waiting.push({ dispatch, worker, send });
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#flush());
  }

  /** The work may be another worker's by now, and done: it is not for this one. */
  isLate({ leasedAt }: Dispatch, { session }: ConnectedWorker): boolean {
    return isLeaseOld(leasedAt, session.leaseMs, this.#options.clock);
  }

  /** As it is to leave: true and counted where what was asked for once more came late, too. */
  goesBack(dispatch: Dispatch, worker: ConnectedWorker): boolean {
    if (!this.isLate(dispatch, worker)) return false;
    this.#parts.counters.leasesLate += 1;
    this.#givenBack += 1;
    return true;
  }

  stop(): void {
    this.#waiting = [];
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.filter(({ dispatch }) => this.#parts.isOpen(dispatch));
      this.#waiting = [];
      if (batch.length > 0) await this.#renewAll(batch);
    }
    this.#isBusy = false;
  }

  async #renewAll(batch: readonly Late[]): Promise<void> {
    const { store, settings, clock, log } = this.#options;
    const { gatewayId } = settings;
    const { isOpen, onLost, onDropped } = this.#parts;
    const leasedAt = readClocks(clock);
    let ours: Awaited<ReturnType<typeof store.extendLeases>>;
    try {
      ours = await store.extendLeases(
        batch.map(({ dispatch, worker }) => ({ gatewayId, leaseMs: worker.session.leaseMs, ...dispatch.fence })),
      );
    } catch (error) {
      log(levelFor(error, "warn"), `Leases could not be extended before their work is sent: ${messageOf(error)}`);
      return onDropped(batch.flatMap(({ dispatch }) => (isOpen(dispatch) ? [dispatch] : [])));
    }
    for (const [index, { dispatch, worker, send }] of batch.entries()) {
      if (!isOpen(dispatch)) continue;
      if (!ours[index]) {
        onLost(dispatch);
        continue;
      }
      dispatch.leasedAt = leasedAt;
      // Said here, not where it goes back: a request may also be late because it waited for room.
      if (this.isLate(dispatch, worker)) this.#record(dispatch, worker.session.leaseMs);
      send();
    }
  }

  #record({ leasedAt, runId }: Pick<Dispatch, "leasedAt" | "runId">, leaseMs: number): void {
    const { clock, log } = this.#options;
    const now = readClocks(clock);
    const tookMs = ageMs(leasedAt, now, leaseMs);
    this.#last = { tookMs, leaseMs, atMs: now.monotonicMs };
    if (now.monotonicMs - this.#warnedMs < WARN_EVERY_MS) return;
    this.#warnedMs = now.monotonicMs;
    const count = this.#givenBack;
    this.#givenBack = 0;
    const back = count === 0 ? "" : ` ${count} were given back, because that took as long.`;
    const half = `Work leaves only in the first half of its lease, which is of ${leaseMs / 1000} s`;
    const took = `The database took ${(tookMs / 1000).toFixed(1)} s to lease work`;
    log("warn", `${took}. ${half}: leases are extended first.${back}`, { code: "DATABASE_SLOW", runId });
  }
}

const ageMs = (leasedAt: ClockReading, now: ClockReading, leaseMs: number): number =>
  Math.round(suspensionBetween(leasedAt, now, leaseMs / 2) ?? leaseMs / 2);
