import { HoldfastError } from "@holdfast/core";
import type { Secret } from "../options.ts";

/** Where the gateway is, and the keys with which this app calls it. */
export interface GatewayAccess {
  readonly mode: "dev" | "cloud";
  /** Ends with "/". Absent: no gateway was named, and nothing is sent. */
  readonly apiBaseUrl?: string;
  /** Ends with "/". Absent: no gateway was named, and nothing is sent. */
  readonly eventBaseUrl?: string;
  readonly eventKey?: Secret;
  /** Hashed, ready for `Authorization: Bearer`. */
  readonly signingKey?: Secret;
  readonly signingKeyFallback?: Secret;
  readonly env?: string;
}

type Addresses = Pick<GatewayAccess, "apiBaseUrl" | "eventBaseUrl">;

/**
 * Where the API is. None is assumed: keys and events would go to a stranger.
 * @throws HoldfastError `OPTION_MISSING`
 */
export function apiBase({ apiBaseUrl, eventBaseUrl }: Addresses): string {
  if (apiBaseUrl !== undefined) return apiBaseUrl;
  throw unnamed(eventBaseUrl === undefined ? "" : "HOLDFAST_API_BASE_URL or ");
}

/** @throws HoldfastError `OPTION_MISSING` */
export function eventBase({ apiBaseUrl, eventBaseUrl }: Addresses): string {
  if (eventBaseUrl !== undefined) return eventBaseUrl;
  throw unnamed(apiBaseUrl === undefined ? "" : "HOLDFAST_EVENT_API_BASE_URL or ");
}

const unnamed = (variable: string): HoldfastError =>
  new HoldfastError(
    "OPTION_MISSING",
    `No address of a gateway was given, so nothing was sent: pass \`baseUrl\`, or set ${variable}HOLDFAST_BASE_URL; for a gateway on this machine (http://localhost:8288) HOLDFAST_DEV=1 or \`isDev: true\` is enough. Inngest's service has to be named as well: https://api.inngest.com.`,
  );
