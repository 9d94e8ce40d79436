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
    | "ledger keeps it, the next thread is given it"
    | "sent again after the respawn"
    | "rebuilt by the next thread"
    | "lost, a diagnosis only"
    | "the exit stands for it";
}

type Direction<Type extends AnyMessage["type"]> = Type extends MainMessage["type"] ? "main->thread" : "thread->main";

/** One row per message; a missing, surplus or misdirected row does not compile. */
export const MESSAGE_TABLE = {
  INIT: row("main->thread", "command", null, "handled", "sent again after the respawn"),
  CONNECT: row("main->thread", "command", null, "ignored", "sent again after the respawn"),
  CLOSE: row("main->thread", "command", null, "handled", "sent again after the respawn"),
  EXECUTION_RESPONSE: row(
    "main->thread",
    "answer",
    "requestId",
    "handled",
    "ledger keeps it, the next thread is given it",
  ),
  EXECUTION_ERROR: row(
    "main->thread",
    "answer",
    "requestId",
    "handled",
    "ledger keeps it, the next thread is given it",
  ),
  EXECUTION_DROPPED: row("main->thread", "answer", "requestId", "handled", "rebuilt by the next thread"),
  CHECKPOINT: row(
    "main->thread",
    "command",
    "requestId+sequence",
    "handled",
    "ledger keeps it, the next thread is given it",
  ),
  STATE_CHANGE: row("thread->main", "event", null, "handled", "rebuilt by the next thread"),
  CONNECTION_READY: row("thread->main", "event", null, "handled", "rebuilt by the next thread"),
  EXECUTION_REQUEST: row(
    "thread->main",
    "command",
    "requestId",
    "refused",
    "ledger keeps it, the next thread is given it",
  ),
  REPLY_ACKED: row("thread->main", "answer", "requestId", "handled", "rebuilt by the next thread"),
  CHECKPOINT_ACKED: row("thread->main", "answer", "requestId+sequence", "handled", "rebuilt by the next thread"),
  LEASE_EXTENDED: row("thread->main", "event", "requestId", "handled", "rebuilt by the next thread"),
  LEASE_LOST: row("thread->main", "event", "requestId", "handled", "rebuilt by the next thread"),
  CANCEL: row("thread->main", "event", "requestId", "handled", "lost, a diagnosis only"),
  DEBUG_STATE: row("thread->main", "event", null, "handled", "lost, a diagnosis only"),
  LOG: row("thread->main", "event", null, "handled", "lost, a diagnosis only"),
  ERROR: row("thread->main", "event", null, "handled", "the exit stands for it"),
  CLOSED: row("thread->main", "answer", null, "handled", "the exit stands for it"),
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
