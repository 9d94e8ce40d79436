import { describe, expect, test } from "vitest";
import { inWorld, modes } from "./world.ts";

describe.each(modes)("$name", (mode) => {
  test("sequential, parallel, repeated, sleeping and failing steps run each body exactly as often as they should", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startApp();
      const started = Date.now();
      const runId = await world.trigger("mixed", { n: 7 });
      const run = await world.ended(runId);
      expect(run.output).toEqual({
        first: { n: 7 },
        second: 8,
        all: [8, 9, 10],
        flaky: "served",
        rounds: [0, 1, 2],
      });
      expect(Date.now() - started, "the sleep of a second").toBeGreaterThanOrEqual(1000);
      expect(world.journal.counts(runId)).toEqual({
        first: 1,
        second: 1,
        left: 1,
        middle: 1,
        right: 1,
        flaky: 3,
        "round 0": 1,
        "round 1": 1,
        "round 2": 1,
      });
      await app.close();
    });
  });

  test("a run whose steps return more than fits in a request continues", async () => {
    await inWorld({ ...mode, tapped: true }, async (world) => {
      await world.startApp();
      const runId = await world.trigger("large");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED", output: 5 * 1024 * 1024 });
      const fetched = world.tap.requests.filter(({ path }) => path.startsWith(`/v0/runs/${runId}/`));
      expect(new Set(fetched.map(({ path }) => path.split("/").at(-1)))).toEqual(new Set(["actions", "batch"]));
      const counts = { "large 0": 1, "large 1": 1, "large 2": 1, "large 3": 1, "large 4": 1, last: 1 };
      expect(world.journal.counts(runId)).toEqual(counts);
    });
  });

  test("many concurrent runs of different shapes do not interfere", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const [sequential, parallel, sleeping, retried] = await Promise.all(
        ["sequential", "parallel", "sleeping", "retried"].map(async (name) => {
          const runId = await world.trigger(name);
          return { runId, ...(await world.ended(runId)), counts: world.journal.counts(runId) };
        }),
      );
      expect(sequential?.output).toBe("01234");
      expect(sequential?.counts).toEqual({ s0: 1, s1: 1, s2: 1, s3: 1, s4: 1 });
      expect(parallel?.output).toEqual([2, 2, 2]);
      expect(parallel?.counts).toEqual({ a1: 1, b1: 1, c1: 1, a2: 1, b2: 1, c2: 1 });
      expect(sleeping?.output).toBeGreaterThanOrEqual(2000);
      expect(sleeping?.counts).toEqual({ before: 1, after: 1 });
      expect(retried?.output).toEqual({ served: "served", caught: "Never works." });
      expect(retried?.counts).toEqual({ steady: 1, flaky: 3, hopeless: 3, last: 1 });
    });
  });
});
