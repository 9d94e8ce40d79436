/**
 * The life cycle of every message between the threads, as data: tests walk it, and a message without a row does not
 * compile.
 */
import type { AnyMessage, MainMessage } from "./messages.ts";

/** What one message means for the life cycle. */
export interface MessageRow {
  readonly direction: "main->thread" | "thread->main";
  readonly role: "command" | "event" | "answer";
  /** The field that pairs an answer with what it answers; null = stands alone. */
  readonly correlation: "requestId" | "requestId+sequence" | null;
  /** What becomes of it when it arrives after shutdown began. */
  readonly afterShutdown: "handled" | "ignored" | "refused";
  /** What happens when the other side dies while this message, or the answer to it, is under way. */
  readonly onOtherSideDeath:
    | "the ledger keeps it and passes it to the next thread"
    | "resent after the respawn"
    | "rebuilt by the next thread"
    | "lost, diagnostics only"
    | "lost, the next pass is given them"
    | "implied by the exit";
}

type Direction<Type extends AnyMessage["type"]> = Type extends MainMessage["type"] ? "main->thread" : "thread->main";

/** One row per message; a missing, surplus or misdirected row does not compile. */
export const MESSAGE_TABLE = {
  INIT: row("main->thread", "command", null, "handled", "resent after the respawn"),
  CONNECT: row("main->thread", "command", null, "ignored", "resent after the respawn"),
  CLOSE: row("main->thread", "command", null, "handled", "resent after the respawn"),
  EXECUTION_RESPONSE: row(
    "main->thread",
    "answer",
    "requestId",
    "handled",
    "the ledger keeps it and passes it to the next thread",
  ),
  EXECUTION_ERROR: row(
    "main->thread",
    "answer",
    "requestId",
    "handled",
    "the ledger keeps it and passes it to the next thread",
  ),
  EXECUTION_DROPPED: row("main->thread", "answer", "requestId", "handled", "rebuilt by the next thread"),
  CHECKPOINT: row(
    "main->thread",
    "command",
    "requestId+sequence",
    "handled",
    "the ledger keeps it and passes it to the next thread",
  ),
  LEASE_WANTED: row("main->thread", "command", "requestId", "handled", "resent after the respawn"),
  STEPS_RUNNING: row("main->thread", "event", "requestId", "handled", "resent after the respawn"),
  POOL_THREAD_STARTED: row("main->thread", "event", null, "handled", "resent after the respawn"),
  POOL_THREAD_LOST: row("main->thread", "event", null, "handled", "rebuilt by the next thread"),
  STATE_CHANGE: row("thread->main", "event", null, "handled", "rebuilt by the next thread"),
  CONNECTION_READY: row("thread->main", "event", null, "handled", "rebuilt by the next thread"),
  EXECUTION_REQUEST: row(
    "thread->main",
    "command",
    "requestId",
    "refused",
    "the ledger keeps it and passes it to the next thread",
  ),
  REPLY_ACKED: row("thread->main", "answer", "requestId", "handled", "rebuilt by the next thread"),
  CHECKPOINT_ACKED: row("thread->main", "answer", "requestId+sequence", "handled", "rebuilt by the next thread"),
  LEASE_EXTENDED: row("thread->main", "event", "requestId", "handled", "rebuilt by the next thread"),
  LEASE_LOST: row("thread->main", "event", "requestId", "handled", "rebuilt by the next thread"),
  CANCEL: row("thread->main", "event", "requestId", "handled", "lost, diagnostics only"),
  RESULTS: row("thread->main", "event", "requestId", "handled", "lost, the next pass is given them"),
  ISOLATED_REQUEST: row(
    "thread->main",
    "event",
    "requestId",
    "handled",
    "the ledger keeps it and passes it to the next thread",
  ),
  ISOLATED_TURN: row(
    "thread->main",
    "event",
    "requestId",
    "handled",
    "the ledger keeps it and passes it to the next thread",
  ),
  ISOLATED_ENDED: row("thread->main", "event", "requestId", "handled", "rebuilt by the next thread"),
  POOL_THREAD_WANTED: row("thread->main", "event", null, "handled", "rebuilt by the next thread"),
  DEBUG_STATE: row("thread->main", "event", null, "handled", "lost, diagnostics only"),
  LOG: row("thread->main", "event", null, "handled", "lost, diagnostics only"),
  STALL_ENDED: row("thread->main", "event", null, "handled", "lost, diagnostics only"),
  ERROR: row("thread->main", "event", null, "handled", "implied by the exit"),
  CLOSED: row("thread->main", "answer", null, "handled", "implied by the exit"),
} as const satisfies { readonly [Type in AnyMessage["type"]]: MessageRow & { readonly direction: Direction<Type> } };

function row<D extends MessageRow["direction"]>(
  direction: D,
  role: MessageRow["role"],
  correlation: MessageRow["correlation"],
  afterShutdown: MessageRow["afterShutdown"],
  onOtherSideDeath: MessageRow["onOtherSideDeath"],
): MessageRow & { readonly direction: D } {
  return { direction, role, correlation, afterShutdown, onOtherSideDeath };
}
