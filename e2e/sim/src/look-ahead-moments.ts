/**
 * The adversary that waits for a handler to be given a result which is not stored, and lets something go wrong right
 * then; and peers of older versions, which do not know of looking ahead.
 */
import { EXTENSIONS, type Extension } from "../../../packages/protocol/src/index.ts";
import { applyFault, type FaultyWorld } from "./apply-fault.ts";
import type { FaultKind } from "./faults.ts";
import type { Dice } from "./random.ts";

const KINDS = [
  "cut",
  "cut, only the worker is told",
  "cut, only the gateway is told",
  "stall up",
  "stall down",
  "kill thread",
  "kill thread within an action",
  "kill app",
  "kill app within an action",
  "kill gateway",
  "kill gateway within an action",
  "block main",
  "suspend app",
  "drain gateway",
  "close app",
  "cancel run",
] as const satisfies readonly FaultKind[];

const MOST_MOMENTS = 4;

export interface LookAheadWorld extends FaultyWorld {
  readonly isCalm: boolean;
}

export class LookAheadMoments {
  readonly #world: LookAheadWorld;
  readonly #dice: Dice;
  #left: number;

  constructor(world: LookAheadWorld, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
    this.#left = dice.between(1, MOST_MOMENTS);
  }

  /** In the turn of the handler that was given the result. */
  onLookAhead(): void {
    const dice = this.#dice;
    const { isCalm, scheduler } = this.#world;
    if (isCalm || this.#left === 0 || !dice.chance(0.3)) return;
    this.#left -= 1;
    const kind = dice.pick(KINDS);
    // A process may die in the middle of the turn, before anything of it has left; else what was sent is on its way.
    if (kind === "kill app" && dice.chance(0.5)) return scheduler.current?.die();
    scheduler.after(dice.chance(0.5) ? 0 : dice.within(0, 30), null, () => applyFault(this.#world, kind, dice));
  }
}

const WITHOUT: readonly Extension[] = EXTENSIONS.filter((name) => name !== "lookahead");

/** What one party of a schedule knows. */
export function extensionsOf(dice: Dice, olderRate: number): readonly Extension[] {
  return dice.chance(olderRate) ? WITHOUT : EXTENSIONS;
}
