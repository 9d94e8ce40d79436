import { expect } from "vitest";
import type { Bundle } from "../src/bundle.ts";

/** How many schedules `npm test` plays, from seed 1 on; about twenty seconds of one core. */
export const FIRST_SCHEDULES = 500;
/** How many continuous integration plays, those included. */
export const ALL_SCHEDULES = 2000;

/** Plays the schedules of some seeds: they break no invariant, and something happens in them. */
export async function playSchedules(simulation: Bundle, from: number, count: number): Promise<void> {
  const outcome = await simulation.play("--from", String(from), "--seeds", String(count));
  const { schedules, runs, effects, ahead, asked, tookMs, cpuMs, failed } = outcome;
  const perSecond = Math.round((1000 * schedules) / cpuMs);
  console.log(
    `${schedules} schedules with ${runs} runs and ${effects} steps in ${Math.round(tookMs / 1000)} s; ${perSecond} per second of CPU time`,
  );
  expect(failed.map(({ seed, message }) => `${message} Reproduce: pnpm simulate --seed ${seed} --trace`)).toEqual([]);
  expect(schedules).toBe(count);
  // It is worth nothing if nothing happens in it.
  expect(effects).toBeGreaterThan(3 * count);
  expect(ahead).toBeGreaterThan(count / 2);
  expect(asked).toBeGreaterThan(count / 10);
}
