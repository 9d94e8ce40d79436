import { messageOf } from "@holdfast/core";
import { levelFor, type Store } from "../../store/index.ts";
import type { EngineOptions } from "../ports.ts";

/** What was connected at a gateway that has been silent for so long does not count: it has probably died. */
const SILENT_MS = 15_000;
/** How old what is known of other gateways' connections may be. */
const FRESH_MS = 1000;

/** Which versions of apps are connected at other gateways. */
export class Versions {
  readonly #store: Store;
  readonly #options: EngineOptions;
  #known: Promise<ReadonlySet<string>> | null = null;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  /** False too when it cannot be told: then work goes on rather than waits. */
  async isElsewhere(appId: string, version: string): Promise<boolean> {
    const nowMs = this.#options.clock.monotonicMs();
    if (!this.#known || nowMs - this.#readMs > FRESH_MS) {
      this.#readMs = nowMs;
      this.#known = this.#read();
    }
    return (await this.#known).has(versionName(appId, version));
  }

  async #read(): Promise<ReadonlySet<string>> {
    try {
      const connections = await this.#store.listConnections();
      const others = connections.filter(
        ({ gatewayId, status, silentMs }) =>
          gatewayId !== this.#options.settings.gatewayId && status === "READY" && silentMs < SILENT_MS,
      );
      return new Set(others.flatMap(({ versions }) => versions));
    } catch (error) {
      this.#options.log(
        levelFor(error, "warn"),
        `The connections of other gateways could not be read: ${messageOf(error)}`,
      );
      return new Set();
    }
  }
}

export const versionName = (appId: string, version: string): string => `${appId}@${version}`;
