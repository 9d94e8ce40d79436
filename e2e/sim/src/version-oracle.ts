/** Watches which version of an app runs which run, under the policy `strict`. */
import type { RunHead } from "@holdfast/store";

import type { Tables } from "./database/tables.ts";
import type { Connection } from "./network.ts";
import type { Oracle } from "./oracle.ts";

export interface VersionWorld {
  readonly tables: Tables;
  readonly oracle: Oracle;
  readonly versionPolicy: "prefer" | "strict";
  /**
   * Connections over which workers of this version that run the function are there, for them, their gateway and the
   * database.
   */
  connected(version: string, functionId: string): readonly Connection[];
}

/** Watches which version of an app begins a run and goes on with it, under the strict policy. */
export class VersionOracle {
  readonly #world: VersionWorld;
  /** Of runs that nobody has begun: the newest version when they were made, and who was there of it. */
  readonly #newest = new Map<string, { readonly version: string; readonly there: readonly Connection[] }>();

  constructor(world: VersionWorld) {
    this.#world = world;
  }

  /** A run is made. */
  created(head: RunHead): void {
    if (this.#world.versionPolicy === "prefer") return;
    const version = this.#newestVersion(head);
    if (version) this.#newest.set(head.id, { version, there: this.#connected(version, head) });
  }

  /** A process whose app is of this version begins to execute a request. */
  executed(requestId: string, version: string): void {
    const { tables, oracle, versionPolicy } = this.#world;
    const job = tables.queue.get(requestId.split(".")[0] ?? "");
    const run = tables.runs.get(job?.runId ?? "");
    if (!job || !run || `${job.id}.${job.epoch}` !== requestId || versionPolicy === "prefer") return;
    const newest = this.#newest.get(job.runId);
    this.#newest.delete(job.runId);
    if (newest && newest.version !== version && newest.version === this.#newestVersion(run.head)) {
      const still = this.#connected(newest.version, run.head);
      if (newest.there.some((one) => still.includes(one)))
        oracle.fail("S44", `Run ${run.head.id} begins with "${version}", while "${newest.version}" is there.`);
    }
    if (run.head.appVersion !== version) {
      oracle.fail("S37", `Run ${run.head.id} of version "${run.head.appVersion}" is at a worker of "${version}".`);
    }
  }

  #connected(version: string, { functionId }: RunHead): readonly Connection[] {
    return this.#world.connected(version, functionId);
  }

  #newestVersion({ appId }: RunHead): string | undefined {
    return this.#world.tables.registry.load().deployments.find((one) => one.appId === appId)?.version;
  }
}
