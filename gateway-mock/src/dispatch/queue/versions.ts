/**
 * Which versions of apps are connected at other gateways; `Placement` asks before it gives a run to another version.
 */
import { messageOf } from "@holdfast/core";
import type { Store } from "@holdfast/store";

import type { DispatcherOptions } from "../ports.ts";

/** What was connected at a gateway that has been silent for so long does not count: it has probably died. */
const SILENT_MS = 15_000;

/** Versions of apps, by `versionName`, that are connected at other gateways. */
export interface Elsewhere {
  /** They take work, or are about to. */
  readonly open: ReadonlySet<string>;
  /** Also those that take none at the moment. */
  readonly all: ReadonlySet<string>;
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
      const connections = await this.#store.listConnections();
      const others = connections.filter(
        ({ gatewayId, silentMs }) => gatewayId !== this.#options.settings.gatewayId && silentMs < SILENT_MS,
      );
      return {
        open: new Set(others.flatMap(({ versions, status }) => (status === "DRAINING" ? [] : versions))),
        all: new Set(others.flatMap(({ versions }) => versions)),
      };
    } catch (error) {
      this.#options.log("warn", `The connections of other gateways could not be read: ${messageOf(error)}`);
      return null;
    }
  }
}

export const versionName = (appId: string, version: string): string => `${appId}@${version}`;
