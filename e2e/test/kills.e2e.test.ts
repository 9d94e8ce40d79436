import { describe, expect, test } from "vitest";
import { inWorld, modes } from "./world.ts";

const once = { one: 1, two: 1 };

describe.each(modes)("$name", (mode) => {
  test("when the app is killed with -9 between two steps, the run continues after the last finished one", async () => {
    await inWorld(mode, async (world) => {
      const first = await world.startApp();
      const runId = await world.trigger("between");
      await world.noted(runId, "at between");
      // Code between steps may run before the result before it is stored.
      await world.until("a stored result", async () => (await world.api.run(runId)).steps.length > 0);
      await first.kill();
      const second = await world.startApp();
      await world.noted(runId, "at between", 2);
      world.journal.open("between");
      const run = await world.ended(runId);
      expect(run.output).toEqual({ one: 1, two: 2 });
      expect(world.journal.counts(runId)).toMatchObject(once);
      const pids = world.journal.entries(runId).map(({ what, pid }) => [what, pid]);
      expect(pids).toContainEqual(["one", first.pid]);
      expect(pids).toContainEqual(["two", second.pid]);
    });
  });

  test("when the app is killed with -9 inside a step, that step runs again and the finished one does not", async () => {
    await inWorld(mode, async (world) => {
      const first = await world.startApp();
      const runId = await world.trigger("gated");
      await world.noted(runId, "at long");
      await first.kill();
      await world.startApp();
      await world.noted(runId, "at long", 2);
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId)).toEqual({ before: 1, long: 2, "at long": 2, "long ended": 1 });
    });
  });

  test("when the gateway is killed with -9 between two steps and restarted, the run continues", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("between");
      await world.noted(runId, "at between");
      await world.gateway.kill();
      world.journal.open("between");
      await world.restartGateway();
      const run = await world.ended(runId);
      expect(run.output).toEqual({ one: 1, two: 2 });
      expect(world.journal.counts(runId)).toMatchObject(once);
    });
  });

  test("when the gateway is killed with -9 while a step runs, its result is kept and nothing runs twice", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("gated");
      await world.noted(runId, "at long");
      await world.gateway.kill();
      world.journal.open("long");
      await world.noted(runId, "long ended");
      await world.restartGateway();
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId)).toEqual({ before: 1, long: 1, "at long": 1, "long ended": 1 });
    });
  });

  test("when the gateway and its own Postgres are killed with -9, the gateway restarts with its data", async () => {
    await inWorld({ ...mode, embedded: true }, async (world) => {
      await world.startApp();
      const runId = await world.trigger("between");
      await world.noted(runId, "at between");
      await world.gateway.kill();
      world.journal.open("between");
      await world.restartGateway();
      expect((await world.ended(runId)).output).toEqual({ one: 1, two: 2 });
      expect(world.journal.counts(runId)).toMatchObject(once);
    });
  });

  test("when Postgres dies between two steps and is restarted, the run continues", async () => {
    await inWorld({ ...mode, ownPostgres: true }, async (world) => {
      await world.startApp();
      const runId = await world.trigger("between");
      await world.noted(runId, "at between");
      // The second body begins without the database only when the first result is stored.
      await world.until("a stored result", async () => (await world.api.run(runId)).steps.length > 0);
      await world.postgres.kill();
      world.journal.open("between");
      await world.noted(runId, "two");
      await world.postgres.restart();
      const run = await world.ended(runId);
      expect(run.output).toEqual({ one: 1, two: 2 });
      expect(world.journal.counts(runId)).toMatchObject(once);
    });
  });
});
