import { describe, expect, test } from "vitest";
import { type App, inWorld, modes, type World } from "./world.ts";

const RUNS = 20;
const FIVE = { a: 1, b: 1, c: 1, d: 1, e: 1 };

const startApp = ({ startAppOf }: World, env: Record<string, string> = {}): Promise<App> =>
  startAppOf("isolated-app.mjs", { env });

/** Blocks the app's main thread until the test opens its gate. */
async function block({ noted }: World, app: App): Promise<Promise<unknown>> {
  const unblocked = app.ask("block");
  await noted("main", "blocked");
  return { unblocked } as never;
}

const isBlocked = ({ journal }: World): boolean => !journal.has("main", "unblocked");

describe.each(modes)("$name", (mode) => {
  test(`while main is blocked ${RUNS} isolated runs of five steps complete, none of them twice`, async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world);
      await block(world, app);
      const runIds: string[] = [];
      for (let count = 0; count < RUNS; count += 1) runIds.push(await world.trigger("five"));
      for (const runId of runIds) {
        const run = await world.ended(runId);
        expect(run).toMatchObject({ status: "COMPLETED", output: { isMain: false } });
        expect(world.journal.counts(runId)).toEqual(FIVE);
      }
      expect(isBlocked(world), "main was blocked all the while").toBe(true);
      world.journal.open("main");
      await app.close();
    });
  });

  test("code that never ends is ended with its budget: its step is tried again, and nothing before it", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world, { TEST_BUDGET: "1s" });
      const runId = await world.trigger("runaway");
      const beside = await world.trigger("five");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED", output: "done" });
      expect(world.journal.counts(runId)).toEqual({ before: 1, loop: 2 });
      expect(await world.ended(beside)).toMatchObject({ status: "COMPLETED" });
      expect(app.tail()).toContain("ISOLATE_BUDGET");
      expect(app.tail()).toMatch(/its thread was ended, at .*handlers\.mjs:\d+:\d+/);
      await app.close();
    });
  });

  test("a step that never ends fails with the stack of its code", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world, { TEST_BUDGET: "1s" });
      const run = await world.ended(await world.trigger("endless"));
      expect(run.status).toBe("FAILED");
      expect(run.error).toMatchObject({ code: "ISOLATE_BUDGET" });
      expect(run.error?.message).toMatch(/^Step "loop" \(attempt 1\) of function "e2e-endless", run /);
      expect(run.error?.stack).toMatch(/at inner \(.*handlers\.mjs:\d+:\d+\)\n +at outer \(.*handlers\.mjs:\d+:\d+\)/);
      await app.close();
    });
  });

  test("code that a handler leaves behind costs the next run no attempt", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world, { TEST_THREADS: "1" });
      const leaving = await world.trigger("littering");
      await world.ended(leaving);
      await world.noted(leaving, "stuck");
      const runId = await world.trigger("five");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED" });
      expect(world.journal.counts(runId)).toEqual(FIVE);
      expect(app.tail()).toContain("code that an earlier turn left behind");
      await app.close();
    });
  });

  test("a thread that ends itself costs the attempt of its step, also while main is blocked", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world);
      await block(world, app);
      const runId = await world.trigger("leaving");
      await world.noted(runId, "leave");
      await world.until("the failed attempt", async () => {
        const steps = JSON.stringify(await world.api.run(runId));
        return steps.includes("ISOLATE_THREAD_LOST");
      });
      expect(isBlocked(world)).toBe(true);
      world.journal.open("main");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED", output: "done" });
      expect(world.journal.counts(runId)).toEqual({ before: 1, leave: 2 });
      await app.close();
    });
  });

  test("when the connection thread dies in a turn, the next one adopts it and nothing runs twice", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world);
      const runIds: string[] = [];
      for (let count = 0; count < 5; count += 1) runIds.push(await world.trigger("five"));
      await world.noted(runIds[0] as string, "a");
      await app.ask("killThread");
      for (const runId of runIds) {
        expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED" });
        expect(world.journal.counts(runId)).toEqual(FIVE);
      }
      await app.close();
    });
  });

  test("a handler finds errors and its run by the app's own copy of the SDK", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world);
      const { output } = await world.ended(await world.trigger("knows"));
      expect(output).toEqual({ isCurrent: true, stepId: "current", isStepError: true, isOther: false });
      await app.close();
    });
  });

  test("a plain handler sends events with main's keys, and what it logs and prints reaches main's logger", async () => {
    await inWorld(mode, async (world) => {
      const app = await startApp(world);
      const runId = await world.trigger("sender");
      const { output } = await world.ended(runId);
      const [started] = await world.api.runsOf(output as string);
      await world.ended(started?.id as string);
      await app.close();
      expect(app.tail()).toContain(`sending from ${runId}`);
      expect(app.tail()).toContain(`printing from ${runId}`);
    });
  });
});
