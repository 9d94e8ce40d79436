/** Mutations of the guards that keep runs to the workers that serve their queue; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

const WORKERS = "gateway-mock/src/dispatch/workers";

export const QUEUE_GUARDS: readonly Guard[] = [
  {
    name: "a worker is given only runs of queues that it serves",
    against: "queues",
    edits: [
      {
        file: `${WORKERS}/worker-group.ts`,
        find: "return this.#queues === null || this.#queues.has(",
        replace: "return this.#queues !== undefined || this.#queues.has(",
      },
    ],
  },
  {
    name: "the queue of a function is that of its version",
    against: "queues",
    edits: [
      {
        file: "gateway-mock/src/dispatch/registry/function-queues.ts",
        find: "this.#byFunction.get(functionId)?.get(version)",
        replace: '[...(this.#byFunction.get(functionId)?.values() ?? [])][version === "?" ? 1 : 0]',
      },
    ],
  },
  {
    name: "a partition has no more requests than its capacity",
    against: "queues",
    edits: [
      {
        file: "packages/sdk/src/connection/thread/in-flight-requests.ts",
        find: "maxRunning: this.#capacity.limitOf(part) }",
        replace: "maxRunning: this.#capacity.limitOf(0) }",
      },
      {
        file: `${WORKERS}/connected-worker.ts`,
        find: "newPartition(this, new Set(one.functionIds), one.capacity)",
        replace: "newPartition(this, new Set(one.functionIds), capacity)",
      },
    ],
  },
];
