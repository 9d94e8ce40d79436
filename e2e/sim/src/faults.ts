/**
 * The kinds of faults, and the plan of a schedule: which happen when, and how bad network and database are.
 * `apply-fault.ts` carries them out.
 */
import { CALM_STORE, type StoreConditions } from "./database/store-conditions.ts";
import type { NetworkConditions } from "./network.ts";
import type { Dice } from "./random.ts";

export const FAULT_KINDS = [
  "cut",
  "cut, only the worker is told",
  "cut, only the gateway is told",
  "half-open",
  "stall up",
  "stall down",
  "kill thread",
  "kill thread within an action",
  "throw in thread",
  "kill app",
  "kill app within an action",
  "app's machine is gone",
  "kill gateway",
  "kill gateway within an action",
  "gateway's machine is gone",
  "block main",
  "suspend app",
  "suspend gateway",
  "drain gateway",
  "close app",
  "close app and kill its thread",
  "clock of app jumps",
  "clock of gateway jumps",
  "cancel run",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface TimedFault {
  readonly atMs: number;
  readonly kind: FaultKind;
}

export interface FaultPlan {
  /** Nothing goes wrong any more after this. */
  readonly windowMs: number;
  readonly network: NetworkConditions;
  readonly store: StoreConditions;
  readonly timed: readonly TimedFault[];
  /** Only what a worker is to survive without losing its work. */
  readonly isGentle: boolean;
  /** Functions may block their main thread. */
  readonly mayBlock: boolean;
}

/** A blocked main cannot start another thread, so it is one or the other. */
const GENTLE = { blocks: ["block main", "cut"], deaths: ["cut", "kill thread", "throw in thread"] } as const;
const QUIET_NETWORK = { spikeRate: 0, spikeMs: 0, duplicateRate: 0, dropRate: 0, httpFailRate: 0 } as const;

/** Each schedule has its own few kinds of faults, so that rare ones meet undisturbed. */
export function planFaults(dice: Dice, isSmall: boolean): FaultPlan {
  const windowMs = isSmall ? dice.within(800, 3_000) : dice.within(2_000, 8_000);
  const latencyMs = dice.pick([1, 5, 20, 100]);
  if (dice.chance(0.15)) {
    const kinds = dice.chance(0.5) ? GENTLE.blocks : GENTLE.deaths;
    const timed = timedFaults(dice, windowMs, kinds, dice.between(1, 3));
    return {
      windowMs,
      network: { ...QUIET_NETWORK, latencyMs: 5 },
      store: CALM_STORE,
      timed,
      isGentle: true,
      mayBlock: kinds === GENTLE.blocks,
    };
  }
  const some = (chance: number, value: () => number): number => (dice.chance(chance) ? value() : 0);
  const network: NetworkConditions = {
    latencyMs,
    spikeRate: some(0.3, () => dice.within(0, 0.1)),
    spikeMs: dice.pick([50, 500, 3000]),
    duplicateRate: some(0.3, () => dice.within(0, 0.2)),
    dropRate: some(0.25, () => dice.within(0, 0.1)),
    httpFailRate: some(0.3, () => dice.within(0, 0.5)),
  };
  const store: StoreConditions = {
    latencyMs: dice.pick([0.5, 2, 10, 50]),
    spikeRate: some(0.3, () => dice.within(0, 0.1)),
    spikeMs: dice.pick([50, 500, 3000]),
    failRate: some(0.2, () => dice.within(0, 0.05)),
    doubtRate: some(0.15, () => dice.within(0, 0.05)),
    wakeLossRate: some(0.3, () => dice.within(0, 1)),
  };
  const kinds = FAULT_KINDS.filter(() => dice.chance(0.25));
  const timed = kinds.length === 0 ? [] : timedFaults(dice, windowMs, kinds, dice.between(0, 8));
  // Every fourth loses an app in an orderly way, with whatever it is doing then.
  if (dice.chance(0.25)) timed.push({ atMs: dice.within(0.2, 1) * windowMs, kind: "close app" });
  return { windowMs, network, store, timed, isGentle: false, mayBlock: true };
}

function timedFaults(dice: Dice, windowMs: number, kinds: readonly FaultKind[], count: number): TimedFault[] {
  return Array.from({ length: count }, () => ({ atMs: dice.within(0, windowMs), kind: dice.pick(kinds) }));
}
