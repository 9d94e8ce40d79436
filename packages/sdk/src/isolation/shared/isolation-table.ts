/**
 * The life cycle of every message between main and a pool thread, as data: tests walk it, and a message without a row
 * does not compile.
 */
import type { IsolationMessage, PoolCommand } from "./isolation-messages.ts";

/** What one message means for the life cycle. */
export interface IsolationRow {
  readonly direction: "main->pool" | "pool->main";
  readonly role: "command" | "event" | "answer";
  /** What pairs an answer with what it answers; null = stands alone. */
  readonly correlation: "turn" | null;
  /** What becomes of it when it arrives after the pool began to stop, or the turn has ended. */
  readonly whenLate: "handled" | "ignored";
  /** What happens when the other side dies while this message, or the answer to it, is under way. */
  readonly onOtherSideDeath:
    | "the turn fails with ISOLATE_THREAD_LOST"
    | "the next thread gets its own"
    | "lost, diagnostics only"
    | "implied by the exit";
}

type Direction<Type extends IsolationMessage["type"]> = Type extends PoolCommand["type"] ? "main->pool" : "pool->main";

/** One row per message; a missing, surplus or misdirected row does not compile. */
export const ISOLATION_TABLE = {
  RUN_BODY: row("main->pool", "command", "turn", "ignored", "the turn fails with ISOLATE_THREAD_LOST"),
  LOAD: row("main->pool", "command", "turn", "ignored", "the turn fails with ISOLATE_THREAD_LOST"),
  CONFIRMED: row("main->pool", "answer", "turn", "ignored", "implied by the exit"),
  ABORT: row("main->pool", "command", "turn", "ignored", "implied by the exit"),
  CONNECTION_PORT: row("main->pool", "command", null, "handled", "the next thread gets its own"),
  END: row("main->pool", "command", null, "handled", "implied by the exit"),
  READY: row("pool->main", "event", null, "ignored", "implied by the exit"),
  UNCONFIRMED: row("pool->main", "command", "turn", "ignored", "implied by the exit"),
  BEGUN: row("pool->main", "event", "turn", "ignored", "implied by the exit"),
  DONE: row("pool->main", "answer", "turn", "ignored", "the turn fails with ISOLATE_THREAD_LOST"),
  FAILED: row("pool->main", "answer", "turn", "ignored", "the turn fails with ISOLATE_THREAD_LOST"),
  LOADED: row("pool->main", "answer", "turn", "ignored", "the turn fails with ISOLATE_THREAD_LOST"),
  LEFT_BEHIND: row("pool->main", "answer", "turn", "ignored", "implied by the exit"),
  OUTPUT: row("pool->main", "event", "turn", "handled", "lost, diagnostics only"),
  STEP: row("pool->main", "event", "turn", "handled", "lost, diagnostics only"),
  LOG: row("pool->main", "event", "turn", "handled", "lost, diagnostics only"),
  CRASHING: row("pool->main", "event", "turn", "handled", "lost, diagnostics only"),
  LENT: row("pool->main", "event", "turn", "ignored", "implied by the exit"),
  RETURNED: row("pool->main", "event", "turn", "ignored", "implied by the exit"),
  REFUSED: row("pool->main", "answer", "turn", "handled", "lost, diagnostics only"),
} as const satisfies {
  readonly [Type in IsolationMessage["type"]]: IsolationRow & { readonly direction: Direction<Type> };
};

function row<D extends IsolationRow["direction"]>(
  direction: D,
  role: IsolationRow["role"],
  correlation: IsolationRow["correlation"],
  whenLate: IsolationRow["whenLate"],
  onOtherSideDeath: IsolationRow["onOtherSideDeath"],
): IsolationRow & { readonly direction: D } {
  return { direction, role, correlation, whenLate, onOtherSideDeath };
}
