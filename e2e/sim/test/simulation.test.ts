import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bundle, bundle } from "../src/bundle.ts";
import { FIRST_SCHEDULES, playSchedules } from "./play-schedules.ts";

const regressions: { readonly seed: number; readonly with?: string }[] = JSON.parse(
  readFileSync(new URL("../regressions.json", import.meta.url), "utf8"),
);

let simulation: Bundle;
beforeAll(async () => {
  simulation = await bundle();
});
afterAll(() => simulation.remove());

test("a seed always gives the same schedule, whatever was played before it", async () => {
  const seeds = Array.from({ length: 40 }, (_, i) => 1000 + i);
  const forwards = await simulation.play("--list", seeds.join(","));
  const backwards = await simulation.play("--list", [...seeds].reverse().join(","));
  expect(forwards.digests).toHaveLength(seeds.length);
  expect(new Set(forwards.digests).size).toBe(seeds.length);
  expect([...backwards.digests].reverse()).toEqual(forwards.digests);
});

test("seeds that once broke an invariant no longer break any", async () => {
  for (const against of new Set(regressions.map((one) => one.with))) {
    const seeds = regressions.flatMap((one) => (one.with === against ? [one.seed] : []));
    const adversaries = against === undefined ? [] : ["--with", against];
    const { failed, schedules } = await simulation.play("--list", seeds.join(","), "--keep-going", ...adversaries);
    expect(failed).toEqual([]);
    expect(schedules).toBe(seeds.length);
  }
});

test(`${FIRST_SCHEDULES} schedules break no invariant`, () => playSchedules(simulation, 1, FIRST_SCHEDULES));
