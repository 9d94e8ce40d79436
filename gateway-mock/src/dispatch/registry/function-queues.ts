/**
 * Owns which queue each version of a function is in (docs/decisions/0070): asked for whenever work is placed, so it
 * keeps those functions alone that name one.
 */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import type { Deployment } from "@holdfast/store";

/** A function as the newest deployment of its app has it. */
interface NewestFunction {
  readonly id: string;
  readonly appVersion: string;
  readonly settings: { readonly queue: string | null };
}

/** The queues of functions, by version. Of two deployments of one version the newer one says it. */
export class FunctionQueues {
  #byFunction: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map();

  /** A version that is not known is in the queue of functions that name none. */
  queueOf(functionId: string, version: string): string {
    return this.#byFunction.get(functionId)?.get(version) ?? DEFAULT_QUEUE;
  }

  /** `deployments`: of each app the newest first. */
  read(newest: Iterable<NewestFunction>, deployments: readonly Deployment[]): void {
    const functions = [...newest];
    const named = new Set(deployments.flatMap(({ queues }) => Object.keys(queues)));
    for (const { id, settings } of functions) if (settings.queue !== null) named.add(id);
    const byFunction = new Map<string, Map<string, string>>();
    const add = (functionId: string, version: string, queue: string | null | undefined): void => {
      const versions = byFunction.get(functionId) ?? new Map<string, string>();
      if (!versions.has(version)) versions.set(version, queue ?? DEFAULT_QUEUE);
      byFunction.set(functionId, versions);
    };
    for (const { id, appVersion, settings } of functions) if (named.has(id)) add(id, appVersion, settings.queue);
    if (named.size > 0) {
      for (const { version, slugs, queues } of deployments) {
        for (const slug of slugs) if (named.has(slug)) add(slug, version, queues[slug]);
      }
    }
    this.#byFunction = byFunction;
  }
}
