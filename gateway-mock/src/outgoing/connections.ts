/**
 * The connections of outgoing calls. Names are checked where they are resolved for the connection itself
 * (docs/decisions/0022).
 */
import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { isInnerAddress } from "./addresses.ts";

/** Why an address is not called. */
export class InnerAddressError extends Error {
  constructor(host: string) {
    super(`${host} is an address of this gateway's own network, which steps may not call`);
    this.name = "InnerAddressError";
  }
}

/** All addresses of a name. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

export interface ConnectionRules {
  /** Whether connections may go to this machine and its network. */
  readonly allowInner: boolean;
  /** Default: the system's. */
  readonly lookup?: Lookup;
}

const CONNECT_MS = 10_000;
/** Connections to one origin; more calls wait for one. */
const MAX_PER_ORIGIN = 64;

/** Keeps connections to the servers that steps call. Addresses are looked at here, where they are connected to. */
export function connectionsFor({ allowInner, lookup = systemLookup }: ConnectionRules): Agent {
  const outerLookup: LookupFunction = (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return done(error ?? new Error(`${hostname} has no address`), "", 0);
      // The one that was looked at is the one that is called: a name is asked for once a connection.
      if (!allowInner && addresses.some(({ address }) => isInnerAddress(address))) {
        return done(new InnerAddressError(hostname), "", 0);
      }
      return options.all ? done(null, [...addresses]) : done(null, first.address, first.family);
    });
  };
  const connect = buildConnector({ timeout: CONNECT_MS, lookup: outerLookup });
  return new Agent({
    connect: (options, done) => {
      // An address that is written out is not looked up.
      const isInner = !allowInner && isInnerAddress(options.hostname);
      return isInner ? done(new InnerAddressError(options.hostname), null) : connect(options, done);
    },
    connections: MAX_PER_ORIGIN,
    // A call has one limit for all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
