import type { ThreadMessage } from "../shared/messages.ts";
import type { MainPort } from "./main-port.ts";

/** From a stall of this length on main gets only the newest of what supersedes itself. */
const HOLD_AFTER_MS = 10_000;

type Superseded = Extract<ThreadMessage, { type: "DEBUG_STATE" | "LEASE_EXTENDED" }>;

/**
 * The way to main for messages of which only the newest counts. A main that is blocked for hours would find a queue of
 * them that grows with every lease extension; so they wait here, one of each kind, until it is responsive again.
 */
export interface CoalescingPort extends Pick<MainPort, "post"> {
  /** Main is responsive again: it gets what was held back. */
  flush(): void;
}

export function createCoalescingPort(port: Pick<MainPort, "post">, lagMs: () => number): CoalescingPort {
  const newest = new Map<string, Superseded>();
  return {
    post: (message) => {
      const key = message.type === "DEBUG_STATE" ? "" : message.type === "LEASE_EXTENDED" ? message.requestId : null;
      if (key === null || lagMs() < HOLD_AFTER_MS) return port.post(message);
      newest.set(key, message as Superseded);
    },
    flush: () => {
      for (const message of newest.values()) port.post(message);
      newest.clear();
    },
  };
}
