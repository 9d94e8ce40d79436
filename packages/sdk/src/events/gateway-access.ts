import type { Secret } from "../options.ts";

/** Where the gateway is, and the keys with which this app calls it. */
export interface GatewayAccess {
  readonly mode: "dev" | "cloud";
  /** Ends with "/". */
  readonly apiBaseUrl: string;
  /** Ends with "/". */
  readonly eventBaseUrl: string;
  readonly eventKey?: Secret;
  /** Hashed, ready for `Authorization: Bearer`. */
  readonly signingKey?: Secret;
  readonly signingKeyFallback?: Secret;
  readonly env?: string;
}
