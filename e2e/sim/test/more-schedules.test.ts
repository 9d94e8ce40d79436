import { test } from "vitest";
import { bundle } from "../src/bundle.ts";
import { ALL_SCHEDULES, FIRST_SCHEDULES, playSchedules } from "./play-schedules.ts";

const COUNT = ALL_SCHEDULES - FIRST_SCHEDULES;

test(`${COUNT} further schedules break no invariant`, async () => {
  const simulation = await bundle();
  try {
    await playSchedules(simulation, FIRST_SCHEDULES + 1, COUNT);
  } finally {
    simulation.remove();
  }
});
