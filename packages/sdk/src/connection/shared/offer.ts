import { type Extension, TIMEOUTS, WIRE_LIMITS } from "@holdfast/protocol";

/** What this SDK offers to a gateway beyond the plain protocol. */
export const OFFERED_EXTENSIONS: readonly Extension[] = ["checkpoint", "nack", "cancel", "stall"];

export const MAX_APPS = WIRE_LIMITS.maxAppsPerConnection;

export const CONNECT_TIMEOUTS = { openMs: TIMEOUTS.openMs, httpMs: TIMEOUTS.httpMs } as const;
