/**
 * Makes and checks lease ids and app ids that prove themselves, so any gateway can tell whose a request is without
 * looking it up.
 */
import { isUlid, ulidFromSeed, ulidTimeMs } from "@holdfast/core";
import { hmacSha256Under, sameText } from "@holdfast/engine";
import type { Store } from "@holdfast/store";

/** A request as a worker names it. */
export interface RequestName {
  readonly requestId: string;
  readonly runId: string;
}

const MAX_KNOWN = 10_000;

/**
 * Proof that a worker was given a request. A lease id is a ULID: the time when the lease ends, and a keyed digest of
 * the request, its run and its app. So every gateway of the database can decide without a query whether a lease id
 * belongs to a request, and a client that only knows or guesses the ids of a request has none. The id that an app has
 * on the wire is such a digest too: only its own workers receive it.
 */
export class LeaseProofs {
  /** Digests under the secret that all gateways of the database share; null: not read yet. */
  #keyed: ((text: string) => Buffer) | null = null;
  readonly #appUuids = new Map<string, string>();
  /**
   * What lease ids were made or proven for here: a worker names the same one in every checkpoint and reply, and a digest
   * costs a gateway more than all else that it does with a checkpoint.
   */
  readonly #known = new Map<string, RequestName & { readonly appId: string }>();

  /** Reads what all gateways of the database share; before anything else. */
  async open(store: Pick<Store, "secret">): Promise<void> {
    this.#keyed ??= hmacSha256Under(await store.secret());
  }

  leaseId(request: RequestName, appId: string, endsMs: number): string {
    const leaseId = this.#proof(request, appId, endsMs);
    this.#remember(leaseId, request, appId);
    return leaseId;
  }

  /** To which of these apps a lease id of this request was given. Earlier ones of the same dispatch count too. */
  appOf(leaseId: string, request: RequestName, appIds: Iterable<string>): string | undefined {
    const known = this.#known.get(leaseId);
    if (known?.requestId === request.requestId && known.runId === request.runId) {
      for (const appId of appIds) if (appId === known.appId) return appId;
      return undefined;
    }
    if (!isUlid(leaseId)) return undefined;
    const endsMs = ulidTimeMs(leaseId);
    for (const appId of appIds) {
      if (!sameText(leaseId, this.#proof(request, appId, endsMs))) continue;
      this.#remember(leaseId, request, appId);
      return appId;
    }
    return undefined;
  }

  /** The app's id on the wire, a UUID. */
  appUuid(appId: string): string {
    const known = this.#appUuids.get(appId);
    if (known) return known;
    const hex = this.#digest("app", appId).toString("hex");
    const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
    if (this.#appUuids.size >= MAX_KNOWN) this.#appUuids.clear();
    this.#appUuids.set(appId, uuid);
    return uuid;
  }

  isAppUuid(uuid: string, appId: string): boolean {
    return sameText(uuid, this.appUuid(appId));
  }

  #proof(request: RequestName, appId: string, endsMs: number): string {
    const digest = this.#digest("lease", request.requestId, request.runId, appId, endsMs);
    return ulidFromSeed(endsMs, digest, 0);
  }

  #remember(leaseId: string, { requestId, runId }: RequestName, appId: string): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(leaseId, { requestId, runId, appId });
  }

  #digest(...parts: readonly (string | number)[]): Buffer {
    if (this.#keyed === null) throw new Error("Proofs are made once the secret is known.");
    return this.#keyed(JSON.stringify(parts));
  }
}
