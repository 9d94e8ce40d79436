/**
 * Which server this store writes to, and what another connection's server is to it. Connections of one store never speak
 * to two servers: what one of them has acknowledged the other does not know (docs/decisions/0185).
 */
import { isSameServer, type ServerIdentity, serverText } from "./server-identity.ts";

/**
 * `same`: or nothing else is known. `other`: another cluster, or one that was promoted since. `earlier`: the same cluster
 * before a promotion that this store has seen: a primary that was replaced and has come back.
 */
export type ServerRelation = "same" | "other" | "earlier";

/**
 * SERVER-1. The connection that writes decides which server it is; others follow it, and are not used until then.
 * SERVER-2. A server of an earlier timeline is never written to, nor read.
 */
export class KnownServer {
  #identity: ServerIdentity | null = null;
  readonly #listeners = new Set<() => void>();

  /** Null: nothing has been written yet. */
  get identity(): ServerIdentity | null {
    return this.#identity;
  }

  relationOf(server: ServerIdentity): ServerRelation {
    const known = this.#identity;
    if (known === null || isSameServer(known, server)) return "same";
    const isCopy = known.system !== null && known.system === server.system;
    return isCopy && timelineOf(server) < timelineOf(known) ? "earlier" : "other";
  }

  /** Why a connection to such a server is not used. */
  refusalOf(server: ServerIdentity): string {
    const known = this.#identity === null ? "another one" : serverText(this.#identity);
    return this.relationOf(server) === "earlier"
      ? `A connection leads to a primary that was replaced: ${serverText(server)}, while this gateway has written to ${known}. Shut that server down, or take it out of the database URL (docs/failover.md)`
      : `A connection leads to another server: ${serverText(server)}, while this gateway writes to ${known}`;
  }

  /** The writer goes on with this one. */
  set(server: ServerIdentity): void {
    const isMoved = this.relationOf(server) !== "same";
    // What it does not say, as while it is busy with its promotion, is still known.
    const before = isMoved ? null : this.#identity;
    this.#identity = {
      system: server.system ?? before?.system ?? null,
      timeline: server.timeline ?? before?.timeline ?? null,
    };
    if (isMoved) for (const listener of this.#listeners) listener();
  }

  onMove(listener: () => void): void {
    this.#listeners.add(listener);
  }
}

/** Of a server that says none nothing is known to be earlier. */
const timelineOf = ({ timeline }: ServerIdentity): number =>
  timeline === null ? Number.NaN : Number.parseInt(timeline, 16);
