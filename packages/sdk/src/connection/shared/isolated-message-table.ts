/**
 * The life cycle of every message between the connection thread and a pool thread, as data: tests walk it, and a message
 * without a row does not compile.
 */
import type { IsolatedCommand, IsolatedMessage } from "./isolated-messages.ts";

/** What one message means for the life cycle. */
export interface IsolatedMessageRow {
  readonly direction: "connection->pool" | "pool->connection";
  readonly role: "command" | "event" | "answer";
  /** The field that pairs an answer with what it answers; null = stands alone. */
  readonly correlation: "requestId" | "requestId+sequence" | "turn" | null;
  /** What becomes of it when it arrives after shutdown began, or of another turn. */
  readonly afterShutdown: "handled" | "ignored";
  /** What happens when the connection thread dies while this message, or the answer to it, is under way. */
  readonly onConnectionThreadDeath:
    | "the pool thread's ledger keeps it and sends it to the next thread"
    | "SYNC of the next thread settles it"
    | "said again by the next thread"
    | "lost, of no use to the next thread";
  /** What happens when the pool thread dies while this message, or the answer to it, is under way. */
  readonly onPoolThreadDeath:
    | "what was posted arrives, then the turn fails"
    | "the request goes to another thread"
    | "the next thread gets its own";
}

type Direction<Type extends IsolatedMessage["type"]> = Type extends IsolatedCommand["type"]
  ? "connection->pool"
  : "pool->connection";

const KEPT = "the pool thread's ledger keeps it and sends it to the next thread";
const SETTLED = "SYNC of the next thread settles it";
const AGAIN = "said again by the next thread";
const NO_USE = "lost, of no use to the next thread";
const ARRIVES = "what was posted arrives, then the turn fails";
const OTHER = "the request goes to another thread";
const OWN = "the next thread gets its own";

/** One row per message; a missing, surplus or misdirected row does not compile. */
export const ISOLATED_MESSAGE_TABLE = {
  SYNC: row("connection->pool", "command", null, "handled", [AGAIN, OWN]),
  EXECUTION_REQUEST: row("connection->pool", "command", "requestId", "handled", [SETTLED, OTHER]),
  REPLY_ACKED: row("connection->pool", "answer", "requestId", "handled", [SETTLED, ARRIVES]),
  CHECKPOINT_ACKED: row("connection->pool", "answer", "requestId+sequence", "handled", [AGAIN, ARRIVES]),
  LEASE_EXTENDED: row("connection->pool", "event", "requestId", "handled", [AGAIN, ARRIVES]),
  LEASE_LOST: row("connection->pool", "event", "requestId", "handled", [SETTLED, ARRIVES]),
  CANCEL: row("connection->pool", "event", "requestId", "handled", [NO_USE, ARRIVES]),
  RESULTS: row("connection->pool", "event", "requestId", "handled", [NO_USE, ARRIVES]),
  EXECUTION_RESPONSE: row("pool->connection", "answer", "requestId", "handled", [KEPT, ARRIVES]),
  EXECUTION_ERROR: row("pool->connection", "answer", "requestId", "handled", [KEPT, ARRIVES]),
  EXECUTION_DROPPED: row("pool->connection", "answer", "requestId", "handled", [SETTLED, ARRIVES]),
  CHECKPOINT: row("pool->connection", "command", "requestId+sequence", "handled", [KEPT, ARRIVES]),
  LEASE_WANTED: row("pool->connection", "command", "requestId", "handled", [AGAIN, ARRIVES]),
  TURN_BEGUN: row("pool->connection", "answer", "requestId", "ignored", [AGAIN, ARRIVES]),
  TURN_ENDED: row("pool->connection", "event", "turn", "handled", [AGAIN, ARRIVES]),
  STEP_BEGUN: row("pool->connection", "event", "requestId", "ignored", [AGAIN, ARRIVES]),
  STEP_ENDED: row("pool->connection", "event", "requestId", "ignored", [AGAIN, ARRIVES]),
  UNKNOWN_REQUEST: row("pool->connection", "answer", "requestId", "handled", [AGAIN, ARRIVES]),
  CRASHING: row("pool->connection", "event", "turn", "handled", [NO_USE, ARRIVES]),
} as const satisfies {
  readonly [Type in IsolatedMessage["type"]]: IsolatedMessageRow & { readonly direction: Direction<Type> };
};

function row<D extends IsolatedMessageRow["direction"]>(
  direction: D,
  role: IsolatedMessageRow["role"],
  correlation: IsolatedMessageRow["correlation"],
  afterShutdown: IsolatedMessageRow["afterShutdown"],
  [onConnectionThreadDeath, onPoolThreadDeath]: readonly [
    IsolatedMessageRow["onConnectionThreadDeath"],
    IsolatedMessageRow["onPoolThreadDeath"],
  ],
): IsolatedMessageRow & { readonly direction: D } {
  return { direction, role, correlation, afterShutdown, onConnectionThreadDeath, onPoolThreadDeath };
}
