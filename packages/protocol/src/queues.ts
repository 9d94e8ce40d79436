/**
 * Queues of functions: the names by which apps say which workers run what. A function is in one queue, a worker serves
 * one or more, and a gateway gives a run only to workers that serve its function's queue (extension `queues`).
 */

/** The queue of functions that name none, and of workers that name none. */
export const DEFAULT_QUEUE = "default";
/** Instead of names: a worker serves every queue. */
export const EVERY_QUEUE = "*";

const MAX_QUEUES_PER_WORKER = 100;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/;

/** What is wrong with the name of a queue, to follow its place in a message; null when it is a good one. */
export function queueNameProblem(name: unknown): string | null {
  if (typeof name === "string" && NAME.test(name)) return null;
  return "must be a name of 1 to 64 letters, digits and . _ : / -, beginning with a letter or a digit";
}

/** The same of what a worker serves: names, or `*` alone. */
export function servedQueuesProblem(queues: unknown): string | null {
  if (!Array.isArray(queues) || queues.length === 0) return "must be an array with at least one name of a queue";
  if (queues.length > MAX_QUEUES_PER_WORKER)
    return `has ${queues.length} entries; the limit is ${MAX_QUEUES_PER_WORKER}`;
  if (queues.includes(EVERY_QUEUE)) return queues.length === 1 ? null : '"*" stands for every queue, and must be alone';
  for (const [index, name] of queues.entries()) {
    const problem = queueNameProblem(name);
    if (problem) return `has an invalid entry at index ${index}, which ${problem}`;
  }
  return null;
}

/** Whether a worker that serves these runs functions of this queue. */
export const servesQueue = (served: Iterable<string>, queue: string): boolean => {
  for (const one of served) if (one === EVERY_QUEUE || one === queue) return true;
  return false;
};
