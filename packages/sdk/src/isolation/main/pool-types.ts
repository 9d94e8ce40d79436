/** What the pool is asked for, what it answers, and what it is made of. */
import type { Clock, Log, LogLevel, PlainError, Random, Timers } from "@holdfast/core";
import type { IsolatedEnd } from "../../execution/isolated-body.ts";
import type { PoolRules } from "../machines/pool-types.ts";
import type { CodeReference, PrintedLine, TurnSubject } from "../shared/isolation-messages.ts";
import type { PoolResourceLimits, SpawnPoolThread } from "./spawn-pool-thread.ts";

/** The body of a step that is to run in a thread. */
export interface BodyTurn {
  readonly code: CodeReference;
  readonly args: readonly unknown[];
  readonly subject: TurnSubject;
  readonly budgetMs: number;
  /** 0 = what the pool's threads have. */
  readonly memoryMb: number;
  readonly whenConfirmed?: (() => Promise<void> | undefined) | undefined;
  /** The code begins. */
  readonly onBegun?: () => void;
}

/** How a turn ended. */
export type TurnEnd = IsolatedEnd;

/** What `debugState()` shows of the pool. */
export interface IsolationDebugState {
  /** Threads that live, and how many of them have a turn. */
  readonly threads: number;
  readonly busy: number;
  readonly queued: number;
  /** How long the turn that has waited or run for the longest is here; null = there is none. */
  readonly oldestMs: number | null;
  /** Turns that were ended because their budget was used up. */
  readonly overruns: number;
  /** Threads that ended on their own. */
  readonly crashes: number;
  /** Threads that were replaced: after `recycleAfter` turns, or since code that a turn had left behind kept them busy. */
  readonly recycled: number;
  /** Threads that do not end, and are left behind. */
  readonly abandoned: number;
}

/** A turn that the connection thread had given to a thread that is gone, or goes. */
export interface LostTurn {
  readonly slot: number;
  readonly turn: number;
  readonly reason: PlainError;
}

/** A plain handler gave this to the logger of its app. */
export type LoggedInThread = (level: LogLevel, logged: NonNullable<PrintedLine["logged"]>) => void;

export interface PoolDeps {
  readonly rules: PoolRules;
  readonly resourceLimits: PoolResourceLimits;
  /** `cellsBytes` of its slots, where others read it before there is a pool. Default: its own. */
  readonly memory?: SharedArrayBuffer;
  readonly spawn: SpawnPoolThread;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** What code in threads prints: it has no level to be left out by. Default: the same. */
  readonly output?: Log;
  /** A debugger may hold a thread: then no time is over. */
  readonly isDebugged: () => boolean;
  readonly onTurnLost?: (lost: LostTurn) => void;
  readonly onLogged?: LoggedInThread;
}
