/** Collects writes while one batch is under way, and bounds how much may wait. One writer per store (RUNNER-1). */
import { type Deferred, deferred, invariant, sleep } from "@holdfast/core";
import {
  type BatchLimits,
  type CommitOutcome,
  type CommitsLost,
  type IntakeItem,
  type IntakeOutcome,
  StoreError,
  type Transition,
  takeBatch,
  type Unit,
} from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { realTime } from "../connection/query.ts";

import { type CommitStats, createBatchRunner, type Entry, reject } from "./runner.ts";
import type { Remembering } from "./writer-connections.ts";

export const GROUP_COMMIT_LIMITS = {
  /**
   * Of one transaction (docs/decisions/0166). Small enough that under load several batches follow each other: while one
   * is at the database, the workers work on what the one before it stored.
   */
  maxUnits: 384,
  maxBytes: 8 * 1024 * 1024,
  /** Of what may wait; beyond it a write is refused at once. */
  maxWaitingUnits: 50_000,
  maxWaitingBytes: 512 * 1024 * 1024,
} as const satisfies BatchLimits & Record<string, number>;

export interface GroupCommit {
  commit(transition: Transition): Promise<CommitOutcome>;
  intake(item: IntakeItem): Promise<IntakeOutcome>;
  readonly waiting: number;
  readonly stats: Readonly<CommitStats>;
  readonly lost: CommitsLost | null;
  /**
   * Resolves when the database behind new connections is known to have what was acknowledged, or was sent what it had
   * forgotten. At once while no connection has ended. Rejects with the driver's error.
   */
  verify(): Promise<void>;
  /** Resolves when nothing is queued or under way, or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * The one writer of a store. While a batch is being committed others queue up; they are the next batch. There is no
 * delay: the first unit after an idle time is committed in the same turn of the event loop.
 */
export function openGroupCommit(
  database: Database,
  writerId: string,
  remembering: Remembering,
  limits: BatchLimits = GROUP_COMMIT_LIMITS,
): GroupCommit {
  const { timers, time = realTime } = database.options;
  const runner = createBatchRunner(database, writerId, remembering);
  const { connections } = runner;
  let waiting: Entry[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | null = null;
  let closed = false;
  let verifying: Deferred<void> | null = null;

  const run = async (): Promise<void> => {
    // Everything that this turn of the event loop brings goes into the first batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (waiting.length > 0 || verifying) {
      if (verifying) {
        const asked = verifying;
        verifying = null;
        await time.during(() => connections.verify()).then(asked.resolve, asked.reject);
        continue;
      }
      const { batch, rest } = takeBatch(waiting, limits);
      waiting = rest;
      for (const entry of batch) waitingBytes -= entry.bytes;
      await time.during(() => runner.run(batch));
    }
    running = null;
  };

  const submit: Submit = (unit, settle, refuse) => {
    const bytes = bytesOf(unit);
    const full =
      waiting.length >= GROUP_COMMIT_LIMITS.maxWaitingUnits ||
      (waiting.length > 0 && waitingBytes + bytes > GROUP_COMMIT_LIMITS.maxWaitingBytes);
    if (closed || full) {
      const why = closed ? "The store is closed" : "Too many writes are waiting for the database";
      return refuse(new StoreError(closed ? "closed" : "other", `${why}. Nothing was stored.`));
    }
    waiting.push({ unit, bytes, bornAfter: connections.losses, settle, reject: refuse });
    waitingBytes += bytes;
    running ??= run();
  };

  return {
    stats: runner.stats,
    get lost() {
      return connections.lost;
    },
    get waiting() {
      return waiting.length;
    },
    async verify() {
      if (closed || connections.isSure) return;
      await connections.prepare();
      if (closed) return;
      verifying ??= deferred<void>();
      running ??= run();
      await verifying.promise;
    },
    commit: (transition) => commitBy(submit, transition),
    intake: (item) => intakeBy(submit, item),
    async drain(timeoutMs) {
      const end = new AbortController();
      const idle = (async () => {
        while (running) await running;
        end.abort();
      })();
      await Promise.race([idle, sleep(timers, timeoutMs, end.signal)]);
    },
    async close() {
      closed = true;
      const left = waiting;
      waiting = [];
      reject(left, new StoreError("other", "The store was closed before the write. Nothing was stored."));
      await connections.close();
    },
  };
}

type Submit = (unit: Unit, settle: Entry["settle"], refuse: Entry["reject"]) => void;

/** One promise from the writer to the caller that waits for it: each step of a run has one. */
const commitBy = (submit: Submit, transition: Transition): Promise<CommitOutcome> =>
  new Promise((resolve, refuse) => {
    const settle: Entry["settle"] = (result) => {
      invariant(result.type === "transition", "an outcome answers its unit");
      resolve(result.outcome);
    };
    submit({ type: "transition", transition }, settle, refuse);
  });

const intakeBy = (submit: Submit, item: IntakeItem): Promise<IntakeOutcome> =>
  new Promise((resolve, refuse) => {
    const settle: Entry["settle"] = (result) => {
      invariant(result.type === "intake", "an outcome answers its unit");
      resolve(result.outcome);
    };
    submit({ type: "intake", item }, settle, refuse);
  });

const ROW_BYTES = 250;

function bytesOf(unit: Unit): number {
  if (unit.type === "intake") return bytesOfItem(unit.item);
  const { log, head, events } = unit.transition;
  let bytes = (head?.outputJson?.length ?? 0) + (head?.errorJson?.length ?? 0) + ROW_BYTES;
  for (const row of log) bytes += row.dataJson.length + ROW_BYTES;
  for (const item of events ?? []) bytes += bytesOfItem(item);
  return bytes;
}

function bytesOfItem({ event, runs, ifAwaited }: IntakeItem): number {
  // Mostly it is not written at all, and its text is not there yet.
  if (ifAwaited) return ROW_BYTES;
  let bytes = event.payloadJson.length + ROW_BYTES;
  for (const { log } of runs) for (const row of log) bytes += row.dataJson.length + ROW_BYTES;
  return bytes;
}
