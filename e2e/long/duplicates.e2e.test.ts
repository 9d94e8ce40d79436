import { describe, expect, test } from "vitest";
import { inWorld, modes } from "../test/world.ts";

/** A peer that repeats itself here is broken: the attempt fails, the next one is as good. */
const handshake: readonly string[] = ["GATEWAY_HELLO", "WORKER_CONNECT", "GATEWAY_CONNECTION_READY"];

describe.each(modes)("$name", (mode) => {
  test("with every frame after the handshake delivered twice, each step body runs exactly as often as it should", async () => {
    await inWorld({ ...mode, tapped: true, lease: "2s" }, async (world) => {
      world.tap.duplicate((kind) => !handshake.includes(kind));
      const app = await world.startApp();
      const runs = {
        mixed: await world.trigger("mixed", { n: 1 }),
        parallel: await world.trigger("parallel"),
        sleeping: await world.trigger("sleeping"),
        retried: await world.trigger("retried"),
        sequential: await world.trigger("sequential"),
      };
      const cancelled = await world.trigger("gated");
      await world.noted(cancelled, "at long");
      // Long enough for leases to be extended.
      const outputs = Object.fromEntries(
        await Promise.all(Object.entries(runs).map(async ([name, id]) => [name, (await world.ended(id)).output])),
      );
      for (let times = 0; times < 2; times++) {
        const answer = await fetch(new URL(`/v1/runs/${cancelled}/cancel`, world.api.url), { method: "POST" });
        expect(await answer.json()).toMatchObject({ cancelled: times === 0, run: { status: "CANCELLED" } });
      }
      expect(outputs).toMatchObject({
        mixed: { first: { n: 1 }, second: 2, all: [2, 3, 4], flaky: "served", rounds: [0, 1, 2] },
        parallel: [2, 2, 2],
        retried: { served: "served", caught: "Never works." },
        sequential: "01234",
      });
      expect(world.journal.counts(runs.mixed)).toEqual({
        ...{ first: 1, second: 1, left: 1, middle: 1, right: 1, flaky: 3 },
        ...{ "round 0": 1, "round 1": 1, "round 2": 1 },
      });
      expect(world.journal.counts(runs.parallel)).toEqual({ a1: 1, a2: 1, b1: 1, b2: 1, c1: 1, c2: 1 });
      expect(world.journal.counts(runs.sleeping)).toEqual({ before: 1, after: 1 });
      expect(world.journal.counts(runs.retried)).toEqual({ steady: 1, flaky: 3, hopeless: 3, last: 1 });
      expect(world.journal.counts(runs.sequential)).toEqual({ s0: 1, s1: 1, s2: 1, s3: 1, s4: 1 });
      expect(world.journal.counts(cancelled)).toEqual({ before: 1, long: 1, "at long": 1 });
      world.journal.open("long");
      expect(world.tap.connections, "the connection was never lost").toBe(1);
      await app.close();
      const twice = world.tap.frames.filter(({ fate }) => fate === "duplicated").map(({ frame }) => frame?.kind);
      expect(twice.length).toBeGreaterThan(50);
      console.log(`[${mode.name}] came twice: ${[...new Set(twice)].sort().join(", ")}`);
    });
  });

  test("the app connects although each handshake frame is delivered twice once", async () => {
    await inWorld({ ...mode, tapped: true }, async (world) => {
      for (const kind of handshake) world.tap.duplicate((one) => one === kind, 1);
      await world.startApp();
      expect((await world.ended(await world.trigger("four"))).output).toBe(4);
    });
  });
});
