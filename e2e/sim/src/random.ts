import { type Random, seededRandom } from "../../../packages/core/src/index.ts";

/** What schedules draw from: one stream for each purpose, so that one more draw here changes nothing there. */
export interface Dice {
  /** In [0, 1). */
  readonly random: Random;
  chance(probability: number): boolean;
  /** Whole, both ends included. */
  between(low: number, high: number): number;
  /** Of any value in [low, high). */
  within(low: number, high: number): number;
  pick<T>(values: readonly T[]): T;
  /** A stream of its own. */
  fork(): number;
}

export function createDice(seed: number): Dice {
  const random = seededRandom(seed);
  // Neighbouring seeds begin alike.
  for (let i = 0; i < 4; i += 1) random();
  const between = (low: number, high: number): number => low + Math.floor(random() * (high - low + 1));
  return {
    random,
    chance: (probability) => random() < probability,
    between,
    within: (low, high) => low + random() * (high - low),
    pick: (values) => values[Math.floor(random() * values.length)] as never,
    fork: () => Math.floor(random() * 4_294_967_296),
  };
}
