import type { Clock, HoldfastError } from "@holdfast/core";
import type { AdoptedRequest, LedgerOutcome } from "../shared/messages.ts";
import type { RequestIdentity } from "../shared/reply.ts";

/** How a checkpoint was answered; see the protocol. */
export type CheckpointAnswer = "stored" | "stale" | "invalid";

interface OpenCheckpoint {
  readonly ops: Uint8Array;
  readonly settle: (answer: CheckpointAnswer) => void;
}

interface Entry {
  readonly identity: RequestIdentity;
  readonly appName: string;
  readonly startedAtMs: number;
  readonly abort: AbortController;
  readonly checkpoints: Map<number, OpenCheckpoint>;
  leaseId: string;
  lastSequence: number;
  outcome: LedgerOutcome | null;
}

/** One request in flight, as its runner sees it. */
export interface LedgerRequest {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * The truth about every request in flight: the connection thread is a restartable front for it.
 *
 * G1. An entry lives from the moment main took the request until its reply was acknowledged, its lease was lost or
 *     the work was dropped.
 * G2. `adopt()` gives a new thread everything that an old one could have held: identity, newest lease, every
 *     checkpoint without an answer, the exact reply.
 * G3. A checkpoint is settled exactly once; those of an entry that goes are settled as `stale`.
 * G4. The signal of an entry fires at most once, and the outcome of an entry is set at most once.
 */
export interface Ledger {
  readonly size: number;
  readonly running: number;
  /** Undefined when the request is known already. */
  open(identity: RequestIdentity, appName: string, leaseId: string): LedgerRequest | undefined;
  extended(requestId: string, leaseId: string): void;
  /** Undefined when the entry is gone: the answer is `stale`. */
  addCheckpoint(
    requestId: string,
    ops: Uint8Array,
  ): { readonly sequence: number; readonly answer: Promise<CheckpointAnswer> } | undefined;
  settleCheckpoint(requestId: string, sequence: number, answer: CheckpointAnswer): void;
  /** False when the entry is gone: nothing is to be sent. */
  finish(requestId: string, outcome: LedgerOutcome): boolean;
  abort(requestId: string, reason: HoldfastError): void;
  /** Takes the entry out and fires its signal. */
  lose(requestId: string, reason: HoldfastError): void;
  /** Takes the entry out. */
  remove(requestId: string): boolean;
  loseAll(reason: HoldfastError): void;
  requestIds(): readonly string[];
  adopt(): readonly AdoptedRequest[];
}

export function createLedger(clock: Clock): Ledger {
  const entries = new Map<string, Entry>();
  let running = 0;

  const remove = (requestId: string): Entry | undefined => {
    const entry = entries.get(requestId);
    if (entry === undefined) return undefined;
    entries.delete(requestId);
    if (entry.outcome === null) running -= 1;
    for (const { settle } of entry.checkpoints.values()) settle("stale");
    entry.checkpoints.clear();
    return entry;
  };

  const lose = (requestId: string, reason: HoldfastError): void => {
    const entry = remove(requestId);
    if (entry?.outcome === null) entry.abort.abort(reason);
  };

  return {
    get size() {
      return entries.size;
    },
    get running() {
      return running;
    },
    open: (identity, appName, leaseId) => {
      const { requestId } = identity;
      if (entries.has(requestId)) return undefined;
      const abort = new AbortController();
      const startedAtMs = clock.monotonicMs();
      const checkpoints = new Map<number, OpenCheckpoint>();
      entries.set(requestId, {
        identity,
        appName,
        startedAtMs,
        abort,
        checkpoints,
        leaseId,
        lastSequence: 0,
        outcome: null,
      });
      running += 1;
      return { requestId, signal: abort.signal };
    },
    extended: (requestId, leaseId) => {
      const entry = entries.get(requestId);
      if (entry) entry.leaseId = leaseId;
    },
    addCheckpoint: (requestId, ops) => {
      const entry = entries.get(requestId);
      if (entry === undefined || entry.outcome !== null) return undefined;
      entry.lastSequence += 1;
      const sequence = entry.lastSequence;
      const answer = new Promise<CheckpointAnswer>((settle) => {
        entry.checkpoints.set(sequence, { ops, settle });
      });
      return { sequence, answer };
    },
    settleCheckpoint: (requestId, sequence, answer) => {
      const entry = entries.get(requestId);
      const checkpoint = entry?.checkpoints.get(sequence);
      entry?.checkpoints.delete(sequence);
      checkpoint?.settle(answer);
    },
    finish: (requestId, outcome) => {
      const entry = entries.get(requestId);
      if (entry === undefined || entry.outcome !== null) return false;
      entry.outcome = outcome;
      running -= 1;
      return true;
    },
    abort: (requestId, reason) => {
      const entry = entries.get(requestId);
      if (entry?.outcome === null) entry.abort.abort(reason);
    },
    lose,
    remove: (requestId) => remove(requestId) !== undefined,
    loseAll: (reason) => {
      for (const requestId of [...entries.keys()]) lose(requestId, reason);
    },
    requestIds: () => [...entries.keys()],
    adopt: () =>
      [...entries.values()].map(({ identity, appName, leaseId, startedAtMs, outcome, checkpoints }) => ({
        identity,
        appName,
        leaseId,
        ageMs: clock.monotonicMs() - startedAtMs,
        outcome,
        checkpoints: [...checkpoints].map(([sequence, { ops }]) => ({ sequence, ops })),
      })),
  };
}
