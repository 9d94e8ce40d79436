/**
 * CONNECTING: no connection was ready yet. ACTIVE: ready for work. RECONNECTING: lost it, getting another (work in
 * flight continues). CLOSING: no new work, finishing. CLOSED: ended by `close()`. FAILED: not restarted again, see
 * `closed`.
 */
export type ConnectionState = "CONNECTING" | "ACTIVE" | "RECONNECTING" | "CLOSING" | "CLOSED" | "FAILED";
