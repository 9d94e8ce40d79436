/** The adversary `lateAnswers`: what the database has done a gateway hears much later, while its workers are there. */
import type { GatewayNode } from "./gateway.ts";
import type { Dice } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface LateAnswersWorld {
  readonly scheduler: Scheduler;
  readonly liveGateways: readonly GatewayNode[];
  /** Nothing goes wrong any more. */
  readonly isCalm: boolean;
  /** Until then something is held back. */
  wakeMs: number;
}

/** From much shorter than a lease to longer than several. */
const LENGTHS_MS = [
  [100, 1_500],
  [1_500, 4_500],
  [4_500, 15_000],
] as const;

/** Answers of the schedule that are held back, each time those to one gateway. */
export function answerLate(world: LateAnswersWorld, dice: Dice, windowMs: number): void {
  const { scheduler } = world;
  for (let count = dice.between(1, 5); count > 0; count -= 1) {
    const [leastMs, mostMs] = dice.pick(LENGTHS_MS);
    const forMs = dice.within(leastMs, mostMs);
    scheduler.at(dice.within(0, windowMs), null, () => {
      const { liveGateways, isCalm } = world;
      if (isCalm || liveGateways.length === 0) return;
      const gateway = dice.pick(liveGateways);
      scheduler.trace.note(scheduler.nowMs, gateway.name, "answers are late", String(Math.round(forMs)));
      gateway.answersAtMs = Math.max(gateway.answersAtMs, scheduler.nowMs + forMs);
      world.wakeMs = Math.max(world.wakeMs, gateway.answersAtMs);
    });
  }
}
