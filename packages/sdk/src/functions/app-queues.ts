/** Which functions of its apps a worker runs, by the queues that it serves. */
import { DEFAULT_QUEUE, EVERY_QUEUE, servedQueuesProblem, servesQueue } from "@holdfast/protocol";
import { definitionOf } from "./define-function.ts";
import type { AppInput } from "./registry.ts";

/** Of a worker that names none. */
export const DEFAULT_QUEUES: readonly string[] = [DEFAULT_QUEUE];

export { servedQueuesProblem };

export interface AppQueues {
  /** Functions in queues that the worker does not serve, as `<id> (<queue>)`. */
  readonly unserved: readonly string[];
  /** Queues that the worker serves and that no function is in, but the default one. */
  readonly empty: readonly string[];
}

/** `served`: names of queues, or `*`. */
export function appQueues(apps: readonly AppInput[], served: readonly string[]): AppQueues {
  const definitions = apps.flatMap(({ functions }) => functions.flatMap((fn) => definitionOf(fn) ?? []));
  const used = new Set(definitions.map(({ queue }) => queue));
  return {
    unserved: definitions.flatMap(({ config, queue }) =>
      servesQueue(served, queue) ? [] : [`${config.id} (${queue})`],
    ),
    empty: served.filter((queue) => queue !== EVERY_QUEUE && queue !== DEFAULT_QUEUE && !used.has(queue)),
  };
}
