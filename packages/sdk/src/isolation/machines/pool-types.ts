/** The state of the pool of threads, its events and effects, and its rules. `pool-machine.ts` is the machine. */
import type { Next, PlainError } from "@holdfast/core";

/** What waits for a thread. */
export interface PoolTurn {
  readonly key: number;
  /** The memory limit that its thread must have; 0 = the pool's. */
  readonly memoryMb: number;
  /** It fails where no thread can be started, instead of waiting until one can. */
  readonly isImpatient?: true;
}

export type ThreadPhase =
  | { readonly type: "starting" }
  | { readonly type: "idle"; readonly sinceMs: number }
  /** `isWithdrawn`: its turn is not wanted any more, and may have begun. */
  | { readonly type: "busy"; readonly turn: PoolTurn; readonly isWithdrawn?: true }
  /** The connection thread has it. */
  | { readonly type: "lent" }
  | { readonly type: "ending"; readonly why: EndCause }
  /** It did not end when it was terminated. It runs no more of its code, but it is still there. */
  | { readonly type: "abandoned" };

/**
 * Why main ends a thread. `left-behind`: code of an earlier turn keeps it busy, so it does not begin with its turn, if it
 * has one; another thread can have that.
 */
export type CutCause = "overrun" | "left-behind" | "unwanted";

export type EndCause = "recycled" | "spent" | "left-behind" | "idle" | "room" | "cut" | "stopped";

export interface PoolThread {
  readonly id: number;
  readonly slot: number;
  readonly memoryMb: number;
  /** How many turns it has had. */
  readonly turns: number;
  readonly phase: ThreadPhase;
}

/** How often something happened since the pool was made. */
export interface PoolCounts {
  readonly overruns: number;
  readonly crashes: number;
  readonly recycled: number;
}

/**
 * POOL-1. At most `threads` threads live, and at most `maxAbandoned` besides that do not end.
 * POOL-2. A turn that is submitted is given to one thread at a time, and is settled once: finished, failed or dropped.
 * POOL-3. No turn waits for ever: while one waits a thread starts, has a turn, or ends, or a backoff runs.
 * POOL-4. Turns with the same memory limit are given out in the order in which they came.
 * POOL-5. A thread gets one turn at a time, and none once it ends.
 * POOL-6. After STOP nothing starts, all turns have failed, and STOPPED follows once, when no thread lives.
 * POOL-7. An event of a thread that is gone, or of a turn that a thread no longer has, changes nothing.
 * POOL-8. A thread that ends fails its own turn only; one that ended while it started fails one that waits for its like.
 * POOL-10. A turn that its thread has not begun with goes to another one, before those that came later.
 * POOL-9. A turn that comes while `maxQueue` wait fails at once.
 * POOL-11. A turn that was withdrawn is given to no thread: its work may be another worker's, and done.
 * POOL-12. Where the process lacks what a thread needs, turns wait and the start is tried again after a pause.
 * POOL-13. A thread in which a module could not be evaluated is replaced: its turns would fail at once, so it would get
 *     most of them.
 */
export interface PoolState {
  readonly threads: readonly PoolThread[];
  readonly queue: readonly PoolTurn[];
  readonly nextId: number;
  /** Threads in a row that ended before they had finished a turn. */
  readonly startFailures: number;
  readonly isBackingOff: boolean;
  readonly isStopping: boolean;
  readonly isStopped: boolean;
  /** How many threads are kept although nothing waits. */
  readonly wanted: number;
  readonly counts: PoolCounts;
}

export type PoolEvent =
  | { readonly type: "SUBMIT"; readonly turn: PoolTurn }
  /** It is not wanted any more. */
  | { readonly type: "WITHDRAW"; readonly key: number }
  | { readonly type: "READY"; readonly id: number; readonly nowMs: number }
  /** The connection thread was quicker. */
  | { readonly type: "NOT_FREE"; readonly id: number }
  | {
      readonly type: "FINISHED";
      readonly id: number;
      readonly key: number;
      readonly nowMs: number;
      readonly isSpent: boolean;
    }
  | { readonly type: "LENT"; readonly id: number }
  /** Spent: a module could not be evaluated in the thread. It is doomed already. */
  | { readonly type: "RETURNED"; readonly id: number; readonly nowMs: number; readonly isSpent: boolean }
  /** Its turn took too long, or is not wanted any more and goes on, or it is busy without one. It is doomed already. */
  | { readonly type: "CUT"; readonly id: number; readonly reason: PlainError; readonly why: CutCause }
  | {
      readonly type: "EXITED";
      readonly id: number;
      readonly reason: PlainError;
      /** It had not begun with its turn. */
      readonly isUnbegun?: boolean;
      /** It could not start, since the process lacks what a thread needs: descriptors, processes, memory. */
      readonly isShortage?: boolean;
    }
  /** It was terminated, and does not end. */
  | { readonly type: "NOT_ENDING"; readonly id: number; readonly reason: PlainError }
  | { readonly type: "IDLE_CHECK"; readonly nowMs: number }
  /** From now on this many threads are to be there. */
  | { readonly type: "WANT"; readonly count: number }
  | { readonly type: "BACKOFF_OVER" }
  | { readonly type: "STOP"; readonly reason: PlainError };

/** Why a turn has no result; with ENDED the reason is the thread's. */
export type FailCause = "QUEUE_FULL" | "EXHAUSTED" | "ENDED" | "NOT_STARTED" | "STOPPED";

export type PoolEffect =
  | { readonly do: "SPAWN"; readonly id: number; readonly slot: number; readonly memoryMb: number }
  /** Claim the thread and give it the turn, or say NOT_FREE. */
  | { readonly do: "GIVE"; readonly id: number; readonly turn: PoolTurn }
  /** Claim the thread and let it end by itself, or say NOT_FREE. */
  | { readonly do: "RETIRE"; readonly id: number }
  | { readonly do: "TERMINATE"; readonly id: number }
  /** Tell the code of the turn that it is not wanted any more. */
  | { readonly do: "ABORT"; readonly id: number; readonly key: number }
  /** It had not begun. */
  | { readonly do: "DROP"; readonly key: number }
  | { readonly do: "FAIL"; readonly key: number; readonly cause: FailCause; readonly reason: PlainError | null }
  /** Wait as the policy says for this many failures, then BACKOFF_OVER. Null: why is known already. */
  | { readonly do: "BACK_OFF"; readonly failures: number; readonly reason: PlainError | null }
  | { readonly do: "STOPPED" };

export interface PoolRules {
  readonly threads: number;
  readonly warm: number;
  readonly maxQueue: number;
  readonly maxAbandoned: number;
  /** Null = never. */
  readonly recycleAfter: number | null;
  /** Null = never. */
  readonly idleMs: number | null;
}

export const POOL_START: PoolState = {
  threads: [],
  queue: [],
  nextId: 1,
  startFailures: 0,
  isBackingOff: false,
  isStopping: false,
  isStopped: false,
  wanted: 0,
  counts: { overruns: 0, crashes: 0, recycled: 0 },
};

export type PoolNext = Next<PoolState, PoolEffect>;

/** Threads that do not end keep their slots. */
export function slotCount({ threads, maxAbandoned }: Pick<PoolRules, "threads" | "maxAbandoned">): number {
  return threads + maxAbandoned;
}
