/**
 * Logs once for each function that runs of it wait because no connected worker has it, here or at another gateway, and
 * once that one has it again. Functions of named queues are `unserved-queues.ts`'s. Looks now and then, so a worker
 * that restarts is not reported.
 */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import { noWorkerHas, seenText } from "../admission/why-no-worker-has-it.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import type { Workers } from "../workers/workers.ts";
import { Versions, versionName } from "./versions.ts";

export interface MissingWorkersParts {
  readonly workers: Pick<Workers, "serves">;
  readonly functions: Pick<Functions, "all" | "get" | "queueOf" | "versionsOf" | "controls">;
}

/** Later than any that is due. */
const LAST_PRIORITY = -1_000_000;

export class MissingWorkers {
  readonly #options: DispatcherOptions;
  readonly #parts: MissingWorkersParts;
  readonly #versions: Versions;
  /** Runs of these waited at the last look. */
  #waiting: ReadonlySet<string> = new Set();
  readonly #logged = new Set<string>();

  constructor(options: DispatcherOptions, parts: MissingWorkersParts) {
    this.#options = options;
    this.#parts = parts;
    this.#versions = new Versions(options);
  }

  /** A look costs two statements where functions have no worker, else none. */
  async sweep(): Promise<void> {
    const { functions, workers } = this.#parts;
    this.#noteReturned();
    const here = [...functions.all()].filter(
      ({ id, appVersion }) =>
        functions.queueOf(id, appVersion) === DEFAULT_QUEUE && !workers.serves(id) && !functions.controls.pauseOf(id),
    );
    const elsewhere = here.length === 0 ? null : await this.#versions.elsewhere();
    const missing = here.filter((fn) => elsewhere && !this.#isElsewhere(fn, elsewhere));
    if (missing.length === 0) {
      this.#waiting = new Set();
      return;
    }
    const { store, log } = this.#options;
    const nowMs = await store.nowMs();
    const { ahead, seenMs } = await store.placesTaken({
      slots: [],
      throttles: [],
      ahead: missing.map(({ id }) => ({ jobId: "", functionId: id, availableMs: nowMs, priority: LAST_PRIORITY })),
      functionIds: missing.map(({ id }) => id),
    });
    const waiting = missing.flatMap(({ id }, index) => ((ahead[index] ?? 0) > 0 ? [{ id, index }] : []));
    for (const { id, index } of waiting) {
      if (!this.#waiting.has(id) || this.#logged.has(id)) continue;
      this.#logged.add(id);
      const message = `${noWorkerHas(plainName(id))}${seenText(seenMs[index] ?? null, nowMs)}. Runs of it wait for one.`;
      log("warn", message, { reason: "NO_WORKER", functionId: id });
    }
    this.#waiting = new Set(waiting.map(({ id }) => id));
  }

  #noteReturned(): void {
    for (const id of this.#logged) {
      if (!this.#parts.workers.serves(id)) continue;
      this.#logged.delete(id);
      this.#options.log("info", `A worker has the function "${plainName(id)}" again.`, { functionId: id });
    }
  }

  #isElsewhere(
    { id, appId }: KnownFunction,
    elsewhere: NonNullable<Awaited<ReturnType<Versions["elsewhere"]>>>,
  ): boolean {
    const { functions } = this.#parts;
    return functions
      .versionsOf(id)
      .some((version) => elsewhere.connects(versionName(appId, version), functions.queueOf(id, version)));
  }
}
