/**
 * What a new connection thread needs to go on where an old one ended. Only the main thread writes it; `RequestRunner`
 * and `ThreadedConnection` are the ones that do.
 */
import { type Clock, type ClockReading, type HoldfastError, readClocks } from "@holdfast/core";
import { type CancelSignal, CancelSource } from "../../execution/abort.ts";
import type {
  AdoptedRequest,
  IsolatedEntry,
  IsolatedPlace,
  IsolatedRequest,
  LedgerOutcome,
} from "../shared/messages.ts";
import type { RequestIdentity } from "../shared/reply.ts";

/** How a checkpoint was answered; see the protocol. */
export type CheckpointAnswer = "stored" | "stale" | "invalid";

interface OpenCheckpoint {
  readonly ops: Uint8Array;
  readonly sent: ClockReading;
  readonly settle: (answer: CheckpointAnswer) => void;
}

interface Entry {
  readonly identity: RequestIdentity;
  readonly appName: string;
  readonly startedAtMs: number;
  readonly cancellation: CancelSource;
  /** Most requests have none: a map for each would be a fifth of what is kept of it. */
  checkpoints: Map<number, OpenCheckpoint> | null;
  leaseId: string;
  doubtNumber: number;
  asOf: ClockReading | null;
  lastSequence: number;
  outcome: LedgerOutcome | null;
  /** Undefined: it is this thread's. */
  isolated?: IsolatedEntry;
}

/**
 * The truth about every request in flight: the connection thread is a restartable front for it.
 *
 * LEDGER-1. An entry lives from the moment main took the request until its reply was acknowledged, its lease was lost or
 *     the work was dropped.
 * LEDGER-2. `requestsToAdopt()` gives a new thread everything that an old one could have held: identity, newest lease, every
 *     checkpoint without an answer, the exact reply.
 * LEDGER-3. A checkpoint is settled exactly once; those of an entry that goes are settled as `stale`.
 * LEDGER-4. The signal of an entry fires at most once, and the outcome of an entry is set at most once.
 * LEDGER-5. The doubt number of an entry only rises, and so does the time as of which it is known that no other worker has the work: what is
 *     stored for it says that, too.
 */
export class Ledger {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Entries without an outcome. */
  get running(): number {
    return this.#running;
  }

  /** Whether it is known and has no outcome yet. */
  isOpen(requestId: string): boolean {
    return this.#entries.get(requestId)?.outcome === null;
  }

  requestIds(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** The signal of the new entry; undefined when the request is known already. */
  open(
    identity: RequestIdentity,
    appName: string,
    leaseId: string,
    doubtNumber: number,
    asOf: ClockReading | null,
  ): CancelSignal | undefined {
    const { requestId } = identity;
    if (this.#entries.has(requestId)) return undefined;
    const cancellation = new CancelSource();
    this.#entries.set(requestId, {
      identity,
      appName,
      startedAtMs: this.#clock.monotonicMs(),
      cancellation,
      checkpoints: null,
      leaseId,
      doubtNumber,
      asOf,
      lastSequence: 0,
      outcome: null,
    });
    this.#running += 1;
    return cancellation;
  }

  /** A request that a pool thread has, or is to get: what is needed of it should the connection thread die. */
  openIsolated(identity: RequestIdentity, appName: string, leaseId: string, work: IsolatedRequest | null): void {
    const signal = this.open(identity, appName, leaseId, 0, null);
    const entry = signal && this.#entries.get(identity.requestId);
    if (entry) entry.isolated = { place: null, work };
  }

  placeIsolated(requestId: string, place: IsolatedPlace): void {
    const entry = this.#entries.get(requestId);
    if (entry?.isolated) entry.isolated = { ...entry.isolated, place };
  }

  /** Isolated requests: how many stand in line, and how old the oldest of all is; null = there is none. */
  isolatedLoad(): { readonly queued: number; readonly oldestMs: number | null } {
    const all = [...this.#entries.values()].filter(({ isolated }) => isolated !== undefined);
    const [oldest] = all;
    const oldestMs = oldest ? Math.round(this.#clock.monotonicMs() - oldest.startedAtMs) : null;
    return { queued: all.filter(({ isolated }) => isolated?.place === null).length, oldestMs };
  }

  /** Whether a checkpoint has no answer yet: then the next one waits. */
  hasOpenCheckpoint(requestId: string): boolean {
    return (this.#entries.get(requestId)?.checkpoints?.size ?? 0) > 0;
  }

  /** A lower doubt number than the entry's is what was held back while main was blocked. */
  extendLease(requestId: string, leaseId: string, doubtNumber: number, asOf: ClockReading | null): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined || doubtNumber < entry.doubtNumber) return;
    entry.leaseId = leaseId;
    entry.doubtNumber = doubtNumber;
    confirm(entry, asOf);
  }

  identityOf(requestId: string): RequestIdentity | undefined {
    return this.#entries.get(requestId)?.identity;
  }

  /** The number of the last doubt after which its lease was confirmed. */
  doubtNumberOf(requestId: string): number | undefined {
    return this.#entries.get(requestId)?.doubtNumber;
  }

  /** As of when the work is known to be ours; null = it never was. */
  confirmedAsOf(requestId: string): ClockReading | null {
    return this.#entries.get(requestId)?.asOf ?? null;
  }

  /** Undefined when the entry is gone or has its outcome: the answer is `stale`. */
  addCheckpoint(
    requestId: string,
    ops: Uint8Array,
  ): { readonly sequence: number; readonly answer: Promise<CheckpointAnswer> } | undefined {
    const entry = this.#entries.get(requestId);
    if (entry === undefined || entry.outcome !== null) return undefined;
    entry.lastSequence += 1;
    const sequence = entry.lastSequence;
    const checkpoints = entry.checkpoints ?? new Map<number, OpenCheckpoint>();
    entry.checkpoints = checkpoints;
    const answer = new Promise<CheckpointAnswer>((settle) => {
      checkpoints.set(sequence, { ops, settle, sent: readClocks(this.#clock) });
    });
    return { sequence, answer };
  }

  settleCheckpoint(requestId: string, sequence: number, answer: CheckpointAnswer): void {
    const entry = this.#entries.get(requestId);
    const checkpoint = entry?.checkpoints?.get(sequence);
    if (entry === undefined || checkpoint === undefined) return;
    entry.checkpoints?.delete(sequence);
    if (answer === "stored") confirm(entry, checkpoint.sent);
    checkpoint.settle(answer);
  }

  /** False when the entry is gone or has its outcome: nothing is to be sent. */
  finish(requestId: string, outcome: LedgerOutcome): boolean {
    const entry = this.#entries.get(requestId);
    if (entry === undefined || entry.outcome !== null) return false;
    entry.outcome = outcome;
    this.#running -= 1;
    return true;
  }

  cancel(requestId: string, reason: HoldfastError): void {
    const entry = this.#entries.get(requestId);
    if (entry?.outcome === null) entry.cancellation.cancel(reason);
  }

  /** Takes the entry out and fires its signal. */
  lose(requestId: string, reason: HoldfastError): void {
    const entry = this.#removeEntry(requestId);
    if (entry?.outcome === null) entry.cancellation.cancel(reason);
  }

  loseAll(reason: HoldfastError): void {
    for (const requestId of [...this.#entries.keys()]) this.lose(requestId, reason);
  }

  /** Takes the entry out; false when it was gone. */
  remove(requestId: string): boolean {
    return this.#removeEntry(requestId) !== undefined;
  }

  /** Everything, for a new thread. */
  requestsToAdopt(): readonly AdoptedRequest[] {
    return [...this.#entries.values()].map((entry) => ({
      identity: entry.identity,
      appName: entry.appName,
      leaseId: entry.leaseId,
      ...(entry.isolated === undefined ? {} : { isolated: entry.isolated }),
      ageMs: this.#clock.monotonicMs() - entry.startedAtMs,
      outcome: entry.outcome,
      checkpoints: [...(entry.checkpoints ?? [])].map(([sequence, { ops }]) => ({ sequence, ops })),
    }));
  }

  #removeEntry(requestId: string): Entry | undefined {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return undefined;
    this.#entries.delete(requestId);
    if (entry.outcome === null) this.#running -= 1;
    for (const { settle } of entry.checkpoints?.values() ?? []) settle("stale");
    entry.checkpoints = null;
    return entry;
  }
}

function confirm(entry: Entry, asOf: ClockReading | null): void {
  if (asOf !== null && asOf.monotonicMs > (entry.asOf?.monotonicMs ?? Number.NEGATIVE_INFINITY)) entry.asOf = asOf;
}
