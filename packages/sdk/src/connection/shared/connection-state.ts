/**
 * CONNECTING: no connection was ready yet. ACTIVE: ready for work. RECONNECTING: lost it, getting another (work in
 * flight goes on). CLOSING: no new work, finishing. CLOSED: ended by `close()`. FAILED: given up, see `closed`.
 */
export type ConnectionState = "CONNECTING" | "ACTIVE" | "RECONNECTING" | "CLOSING" | "CLOSED" | "FAILED";
