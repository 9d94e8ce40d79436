/** What a thread of the pool is given as a turn, and what main keeps of it (`pool-slot.ts`). */
import { type Clock, type ClockReading, readClocks } from "@holdfast/core";
import type { PoolEvent } from "../machines/pool-types.ts";
import { isUnconfirmed, type TurnSubject } from "../shared/isolation-messages.ts";
import type { ThreadCells } from "../shared/thread-cells.ts";
import type { PoolThread } from "./pool-thread.ts";
import type { PoolDeps, TurnEnd } from "./pool-types.ts";

/** Whether the turn's work is known to be ours: as of when, and whom to ask again. */
export interface Confirmation {
  readonly whenConfirmed: () => Promise<void> | undefined;
  readonly asOf: ClockReading;
}

/** The turn may have stood in line for long. */
export function confirmedAsOf({ whenConfirmed, asOf }: Confirmation, clock: Clock): ClockReading {
  return isUnconfirmed(asOf, clock) && whenConfirmed() === undefined ? readClocks(clock) : asOf;
}

/** A turn of main's. */
export interface GivenTurn {
  readonly key: number;
  readonly subject: TurnSubject | null;
  readonly budgetMs: number;
  readonly send: (thread: PoolThread, turn: number, announces: boolean, asOf: ClockReading | null) => void;
  /** What is evaluated at this place, of a turn that evaluates several modules. */
  readonly moduleAt?: ((place: number) => string | undefined) | undefined;
  /** Absent: it is ours, whatever happens. */
  readonly confirmation?: Confirmation | undefined;
  /** The module of its code, where that runs. */
  readonly module?: string | undefined;
  /** The code begins: at once where the thread has evaluated the module, else when it says so. */
  readonly onBegun?: (() => void) | undefined;
}

export interface PoolSlotDeps<Slot> extends Omit<PoolDeps, "rules" | "random"> {
  readonly id: number;
  readonly slot: number;
  readonly memoryMb: number;
  readonly buffer: SharedArrayBuffer;
  readonly cells: ThreadCells;
  readonly send: (event: PoolEvent) => void;
  readonly onReady: (slot: Slot) => void;
  readonly onEnd: (key: number, end: TurnEnd) => void;
}

type Given = Pick<GivenTurn, "subject" | "module" | "moduleAt" | "onBegun" | "confirmation">;

/** The turn that a thread has. */
export interface CurrentTurn extends Given {
  readonly turn: number;
  /** Null: it is the connection thread's. */
  readonly key: number | null;
}

/** A turn of the connection thread's that its thread has not begun with: whose it is main does not know yet. */
export function unbegunLent(turn: number): CurrentTurn {
  return { turn, key: null, subject: null };
}
