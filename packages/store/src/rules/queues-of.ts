/** What a deployment records of the queues of its functions. */
import type { AppRecord } from "../port/registry.ts";

/** Of the functions of an app that name a queue: which. */
export function queuesOf({ functions }: Pick<AppRecord, "functions">): Readonly<Record<string, string>> {
  return Object.fromEntries(functions.flatMap(({ slug, queue }) => (queue === undefined ? [] : [[slug, queue]])));
}
