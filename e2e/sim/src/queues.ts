/**
 * The adversary that puts functions in queues: some workers serve only some of them, versions differ in them, and some
 * functions have a part of a worker's capacity to themselves.
 */
import { EVERY_QUEUE, servesQueue } from "../../../packages/protocol/src/index.ts";
import type { Partition } from "../../../packages/sdk/src/connection/shared/serializable-config.ts";
import type { FunctionPlan } from "./programs.ts";
import type { Dice } from "./random.ts";

/** What a worker takes: the queues that it serves, and the parts of its capacity. */
export interface Takes {
  readonly queues: readonly string[];
  readonly partitions: readonly Partition[];
}

export const TAKES_ALL: Takes = { queues: [EVERY_QUEUE], partitions: [] };

const QUEUES = ["default", "gpu"];
const slugOf = ({ id }: FunctionPlan): string => `sim-${id}`;

export class Queues {
  readonly #dice: Dice;
  readonly #byVersion = new Map<string, readonly FunctionPlan[]>();

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** The functions in their queues, as this version of the app has them. */
  inQueues(version: string, functions: readonly FunctionPlan[]): readonly FunctionPlan[] {
    const known = this.#byVersion.get(version);
    if (known) return known;
    const made = functions.map((plan) => ({ ...plan, queue: this.#dice.pick(QUEUES) }));
    this.#byVersion.set(version, made);
    return made;
  }

  /** What the workers of one place take: together they serve every queue. */
  workers(functions: readonly FunctionPlan[]): readonly Takes[] {
    const queues = this.#dice.chance(0.7)
      ? QUEUES.map((queue) => [queue])
      : [["gpu"], this.#dice.pick([QUEUES, ["*"]])];
    return queues.map((served) => ({ queues: served, partitions: this.#partitions(functions) }));
  }

  #partitions(functions: readonly FunctionPlan[]): readonly Partition[] {
    const own = functions.filter(() => this.#dice.chance(0.3)).map(slugOf);
    return own.length === 0 ? [] : [{ functions: own, capacity: this.#dice.between(1, 2) }];
  }
}

/** Whether a worker with these functions is to run the one of this slug. */
export function isToRun(slug: string, functions: readonly FunctionPlan[], { queues }: Takes): boolean {
  const plan = functions.find((one) => slugOf(one) === slug || `${slugOf(one)}-failure` === slug);
  return plan === undefined || servesQueue(queues, plan.queue);
}
