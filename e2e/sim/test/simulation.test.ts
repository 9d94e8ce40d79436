import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bundle, bundle } from "../src/bundle.ts";
import { FIRST_SCHEDULES, playSchedules } from "./play-schedules.ts";

/** `only`: the adversaries that were there when it broke; those that came later would make another schedule of it. */
const regressions: { readonly seed: number; readonly only: string }[] = JSON.parse(
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
  for (const only of new Set(regressions.map((one) => one.only))) {
    const seeds = regressions.flatMap((one) => (one.only === only ? [one.seed] : []));
    const { failed, schedules } = await simulation.play("--list", seeds.join(","), "--keep-going", "--only", only);
    expect(failed).toEqual([]);
    expect(schedules).toBe(seeds.length);
  }
});

test("a seed with the adversaries that it draws is the seed with only those", async () => {
  const drawn = await simulation.play("--list", "1,143,395", "--keep-going");
  for (const [i, seed] of ["1", "143", "395"].entries()) {
    const only = drawn.adversaries[i]?.join(",") || "none";
    const { digests } = await simulation.play("--list", seed, "--keep-going", "--only", only);
    expect(digests).toEqual([drawn.digests[i]]);
  }
  const { adversaries, digests } = await simulation.play("--list", "143", "--only", "none");
  expect(adversaries).toEqual([[]]);
  expect(digests).not.toEqual([drawn.digests[1]]);
});

test(`${FIRST_SCHEDULES} schedules break no invariant`, () => playSchedules(simulation, 1, FIRST_SCHEDULES));
