/**
 * Which versions of apps are connected at other gateways, and which queues their workers serve; `Placement` asks before
 * it gives a run to another version.
 */
import { messageOf } from "@holdfast/core";
import { servesQueue } from "@holdfast/protocol";
import type { ListedConnection, Store } from "@holdfast/store";

import type { DispatcherOptions } from "../ports.ts";

/** What was connected at a gateway that has been silent for so long does not count: it has probably died. */
export const SILENT_MS = 15_000;

/** Two signs of life were due: what is listed of its workers is shown as what was known last. */
const SHOWN_SILENT_MS = 10_000;

/** Of a connection that is listed: its gateway has probably died, and the worker is gone or elsewhere. */
export const isGatewaySilent = ({ silentMs }: Pick<ListedConnection, "silentMs">): boolean =>
  silentMs >= SHOWN_SILENT_MS;

/** What is connected at other gateways: for each version of an app, by `versionName`, the queues that are served. */
export class Elsewhere {
  readonly #open = new Map<string, Set<string>>();
  readonly #all = new Map<string, Set<string>>();

  constructor(connections: Iterable<Pick<ListedConnection, "versions" | "queues" | "status">>) {
    for (const { versions, queues, status } of connections) {
      for (const version of versions) {
        addAll(this.#all, version, queues);
        if (status !== "DRAINING") addAll(this.#open, version, queues);
      }
    }
  }

  /** Workers of this version that serve the queue take work, or are about to. */
  takes(version: string, queue: string): boolean {
    return servesQueue(this.#open.get(version) ?? [], queue);
  }

  /** Also those that take none at the moment. */
  connects(version: string, queue: string): boolean {
    return servesQueue(this.#all.get(version) ?? [], queue);
  }
}

/**
 * How many workers are connected, at whichever gateway, that serve a function in one of its versions. `has`: whether the
 * worker of a connection has it; undefined: it is at another gateway, and all that is known of it is its version.
 */
export function workersOf(
  { id, appId }: { readonly id: string; readonly appId: string },
  functions: { versionsOf(id: string): readonly string[]; queueOf(id: string, version: string): string },
  connections: readonly ListedConnection[],
  has: (connectionId: string) => boolean | undefined,
): number {
  const queues = functions
    .versionsOf(id)
    .map((version) => [versionName(appId, version), functions.queueOf(id, version)]);
  const serving = connections.filter(
    (one) =>
      one.silentMs < SILENT_MS &&
      has(one.id) !== false &&
      queues.some(([name = "", queue = ""]) => one.versions.includes(name) && servesQueue(one.queues, queue)),
  );
  return new Set(serving.map(({ instanceId }) => instanceId)).size;
}

function addAll(sets: Map<string, Set<string>>, key: string, values: Iterable<string>): void {
  const set = sets.get(key) ?? new Set();
  for (const value of values) set.add(value);
  sets.set(key, set);
}

/** Which versions of apps are connected at other gateways. */
export class Versions {
  readonly #store: Store;
  readonly #options: DispatcherOptions;
  #reading: Promise<Elsewhere | null> | null = null;
  #next: Promise<Elsewhere | null> | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  /** As it is now: those who ask while it is read share the next reading, not this one. Null when it is unknown. */
  elsewhere(): Promise<Elsewhere | null> {
    if (!this.#reading) return this.#read();
    this.#next ??= this.#reading.then(() => {
      this.#next = null;
      return this.#read();
    });
    return this.#next;
  }

  #read(): Promise<Elsewhere | null> {
    const mine = this.#load().finally(() => {
      if (this.#reading === mine) this.#reading = null;
    });
    this.#reading = mine;
    return mine;
  }

  async #load(): Promise<Elsewhere | null> {
    try {
      const { gatewayId: exceptGatewayId } = this.#options.settings;
      const others = await this.#store.listConnections({ exceptGatewayId });
      return new Elsewhere(others.filter(({ silentMs }) => silentMs < SILENT_MS));
    } catch (error) {
      this.#options.log("warn", `The connections of other gateways could not be read: ${messageOf(error)}`);
      return null;
    }
  }
}

export const versionName = (appId: string, version: string): string => `${appId}@${version}`;
