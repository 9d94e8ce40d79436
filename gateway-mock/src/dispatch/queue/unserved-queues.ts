/**
 * Logs once that runs of a queue wait because no connected worker serves it, at this gateway or at another one, and
 * once that one does again. Functions that name no queue are left out: without any worker an app is simply not there.
 */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import { noWorkerInQueue } from "../admission/why-no-worker-has-it.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { Workers } from "../workers/workers.ts";
import { Versions, versionName } from "./versions.ts";

export interface UnservedQueuesParts {
  readonly workers: Pick<Workers, "serves">;
  readonly functions: Pick<Functions, "get" | "queueOf" | "versionsOf">;
}

interface Queue {
  readonly appId: string;
  readonly queue: string;
}

/** What is known of a queue that no worker serves here. */
type Unserved = { readonly as: "asked" | "logged" } | { readonly as: "elsewhere"; readonly untilMs: number };

/** So long it is not asked again whether a worker of another gateway serves it. */
const ELSEWHERE_MS = 30_000;

export class UnservedQueues {
  readonly #options: DispatcherOptions;
  readonly #parts: UnservedQueuesParts;
  readonly #versions: Versions;
  readonly #unserved = new Map<string, Unserved>();

  constructor(options: DispatcherOptions, parts: UnservedQueuesParts) {
    this.#options = options;
    this.#parts = parts;
    this.#versions = new Versions(options);
  }

  /** Work of these functions found no worker here, or a worker that had them has gone. */
  note(functionIds: Iterable<string>): void {
    const found = new Map<string, { readonly queue: Queue; readonly functionIds: string[] }>();
    for (const functionId of functionIds) {
      const queue = this.#queueOf(functionId);
      if (!queue || this.#parts.workers.serves(functionId)) continue;
      const key = keyOf(queue);
      if (this.#isKnown(key)) continue;
      const entry = found.get(key) ?? { queue, functionIds: [] };
      entry.functionIds.push(functionId);
      found.set(key, entry);
    }
    for (const [key, { queue, functionIds: own }] of found) {
      this.#unserved.set(key, { as: "asked" });
      void this.#look(key, queue, own);
    }
  }

  /** A worker runs these functions. */
  served(functionIds: Iterable<string>): void {
    if (this.#unserved.size === 0) return;
    for (const functionId of functionIds) {
      const queue = this.#queueOf(functionId);
      if (!queue || !this.#parts.workers.serves(functionId)) continue;
      const before = this.#unserved.get(keyOf(queue));
      this.#unserved.delete(keyOf(queue));
      if (before?.as !== "logged") continue;
      const message = `A worker of the app "${plainName(queue.appId)}" serves the queue "${queue.queue}" again.`;
      this.#options.log("info", message, { queue: queue.queue });
    }
  }

  #isKnown(key: string): boolean {
    const known = this.#unserved.get(key);
    return known !== undefined && (known.as !== "elsewhere" || known.untilMs > this.#options.clock.monotonicMs());
  }

  async #look(key: string, queue: Queue, functionIds: readonly string[]): Promise<void> {
    const elsewhere = await this.#versions.elsewhere();
    // Served meanwhile.
    if (this.#unserved.get(key)?.as !== "asked") return;
    const isElsewhere = functionIds.some((functionId) => {
      const { functions } = this.#parts;
      const appId = functions.get(functionId)?.appId ?? "";
      return functions
        .versionsOf(functionId)
        .some((version) => elsewhere?.connects(versionName(appId, version), functions.queueOf(functionId, version)));
    });
    if (isElsewhere || !elsewhere) {
      this.#unserved.set(key, { as: "elsewhere", untilMs: this.#options.clock.monotonicMs() + ELSEWHERE_MS });
      return;
    }
    this.#unserved.set(key, { as: "logged" });
    const names = functionIds.map(plainName).join(", ");
    const message = `${noWorkerInQueue(plainName(queue.appId), queue.queue)}. Runs of ${names} wait for one.`;
    this.#options.log("warn", message, { reason: "NO_WORKER_IN_QUEUE", queue: queue.queue });
  }

  #queueOf(functionId: string): Queue | null {
    const fn = this.#parts.functions.get(functionId);
    const queue = fn && this.#parts.functions.queueOf(functionId, fn.appVersion);
    return fn && queue !== undefined && queue !== DEFAULT_QUEUE ? { appId: fn.appId, queue } : null;
  }
}

const keyOf = ({ appId, queue }: Queue): string => JSON.stringify([appId, queue]);
