import { describe, expect, test } from "vitest";
import { bundle } from "../sim/src/bundle.ts";
import { GUARDS } from "../sim/src/mutations.ts";

/** A guard must be missed within so many schedules. Most are within a few hundred; which ones they are, any change decides anew. */
const MOST_SEEDS = 6000;

/** The simulation is worth what it notices: each guard of the production code is switched off once, in a bundle of its own. */
describe("Mutations of the simulation", () => {
  test.each(GUARDS)("the simulation fails without the guard $name", { timeout: 900_000 }, async (guard) => {
    const simulation = await bundle(guard);
    try {
      const { failed, schedules, cpuMs } = await simulation.play(
        ...["--from", "1", "--seeds", String(MOST_SEEDS)],
        ...(guard.against ? ["--with", guard.against] : []),
      );
      const [first] = failed;
      console.log(`${String(schedules).padStart(5)} seeds, ${first?.id ?? "not noticed"}: ${guard.name} (${cpuMs} ms)`);
      expect(first?.id).toMatch(/^S\d+$/);
    } finally {
      simulation.remove();
    }
  });
});
