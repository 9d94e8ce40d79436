import { describe, expect, test } from "vitest";
import { inWorld, modes } from "./world.ts";

describe.each(modes)("$name", (mode) => {
  test("a wait that ends beside a body wins their race while the body runs, and in every pass after it", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startFixture("racing-app.mjs", { env: { HOLDFAST_DEV: world.api.url } });
      const runId = await world.trigger("races");
      await world.noted(runId, "body beside the signal");
      const answer = await fetch(new URL("/v1/signals", world.api.url), {
        method: "POST",
        body: JSON.stringify({ signal: `stop ${runId}`, data: "enough" }),
      });
      expect(answer.status).toBe(200);
      const run = await world.ended(runId);
      expect(run.output).toEqual({ first: "sleep", second: { signal: `stop ${runId}`, data: "enough" } });
      const counts = world.journal.counts(runId);
      expect(counts["won by the sleep"]).toBeGreaterThan(1);
      expect(counts).not.toHaveProperty("won by the body");
      expect(counts).toMatchObject({ "after the sleep": 2, "body beside the sleep": 1, "body beside the signal": 1 });
      await app.close();
    });
  });
});
