import { describe, expect, test } from "vitest";
import { inWorld, modes, type World } from "./world.ts";

/** Waits until so many steps of a run wait for something. */
const waiting = (world: World, runId: string, count: number): Promise<void> =>
  world.until(`${count} waits of ${runId}`, async () => {
    const { steps } = await world.api.run(runId);
    return steps.filter(({ status }) => status === "waiting").length === count;
  });

describe.each(modes)("$name", (mode) => {
  test("events, signals, invocations and requests are awaited, sent, answered and rejected", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const talk = await world.trigger("talk", { key: "k7", url: world.api.url });
      await waiting(world, talk, 2);
      const prompter = await world.ended(await world.trigger("prompter", { key: "k7" }));
      expect(prompter.output).toBe(talk);
      const run = await world.ended(talk);
      expect(run).toMatchObject({
        status: "COMPLETED",
        output: {
          answer: { key: "k7", b: 2 },
          signal: { signal: "go k7", data: 5 },
          never: null,
          invoked: 3,
          refused: {
            isTyped: true,
            text: "NonRetriableError: There is no b.",
            cause: "RangeError: b",
            hint: "give b",
          },
          late: 3,
          fetched: expect.any(String),
        },
      });
      expect(world.journal.counts(talk)).toEqual({ beside: 1 });
    });
  });

  test("a step that does not end within its timeout is tried again, and fails when no attempt is left", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("hasty");
      expect(await world.ended(runId)).toMatchObject({
        status: "COMPLETED",
        output: ["second", { isTyped: true, text: "StepTimeoutError of hangs, 500 ms" }],
      });
      expect(world.journal.counts(runId)).toEqual({ "hangs once": 2, hangs: 2, StepTimeoutError: 2 });
    });
  });

  test("failed steps are retried when the function says, and not at all where it sees no use in that", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("choosy");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED", output: ["choosy 2", "patient 3"] });
      expect(world.journal.counts(runId)).toEqual({ choosy: 2, patient: 3 });
      const response = await fetch(`${world.api.url}/v1/runs/${runId}?log=1`);
      const { log } = (await response.json()) as { log: { kind: string; data: { delayMs?: number } }[] };
      const delays = log.filter(({ kind }) => kind === "STEP_ATTEMPT_FAILED").map(({ data }) => data.delayMs);
      // The base protocol has whole seconds.
      expect(delays).toEqual(mode.extensions ? [1_200, 1_200, 3_600] : [2_000, 2_000, 4_000]);
    });
  });

  test("events that came before the waits for them count, each once, where the gateway can do that", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const run = await world.ended(await world.trigger("patient"));
      if (mode.extensions) expect(run).toMatchObject({ status: "COMPLETED", output: [1, 2] });
      else expect(run).toMatchObject({ status: "FAILED", error: { code: "GATEWAY_UNSUPPORTED" } });
    });
  });

  test("a function that continues as a new run is one to what waits for its end, where the gateway can do that", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const reader = await world.ended(await world.trigger("reader"));
      if (!mode.extensions) {
        expect(reader).toMatchObject({ status: "FAILED", error: { code: "GATEWAY_UNSUPPORTED" } });
        return;
      }
      expect(reader).toMatchObject({ status: "COMPLETED", output: { pages: 3, keep: "me" } });
      const runs = (await world.api.runs()).filter(({ functionId }) => functionId.endsWith("-pager"));
      expect(runs.map(({ status, output }) => [status, output])).toEqual([
        ["COMPLETED", { pages: 3, keep: "me" }],
        ["COMPLETED", null],
        ["COMPLETED", null],
      ]);
    });
  });

  test("a saga whose app is killed with -9 while undoing continues, and runs each compensation once", async () => {
    await inWorld(mode, async (world) => {
      const first = await world.startApp();
      const runId = await world.trigger("saga");
      await world.noted(runId, "at undo");
      expect(world.journal.counts(runId)).toMatchObject({ "undo three": 1 });
      await first.kill();
      await world.startApp();
      await world.noted(runId, "at undo", 2);
      world.journal.open("undo");
      const run = await world.ended(runId);
      expect(run).toMatchObject({
        status: "FAILED",
        error: {
          name: "NonRetriableError",
          message: "Nothing goes.",
          compensation: { undone: ["three", "two", "one"], failed: [], notRun: [] },
        },
      });
      expect(world.journal.counts(runId)).toEqual({
        one: 1,
        two: 1,
        three: 1,
        "at undo": 2,
        "undo three": 1,
        "undo two": 1,
        "undo one": 1,
      });
    });
  });

  test("a compensation that failed permanently can be retried through the API", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("stubborn");
      const failed = await world.ended(runId);
      expect(failed.error).toMatchObject({
        message: "Nothing goes.",
        compensation: { undone: ["a"], failed: [{ stepId: "b", error: { message: "Not now." } }] },
      });
      const again = await fetch(`${world.api.url}/v1/runs/${runId}/compensations/retry`, { method: "POST" });
      expect(again.status).toBe(200);
      await world.noted(runId, "undo b", 2);
      const run = await world.ended(runId);
      expect(run).toMatchObject({ status: "FAILED", error: { compensation: { undone: ["b", "a"], failed: [] } } });
      expect(world.journal.counts(runId)).toEqual({ "undo a": 1, "undo b": 2 });
    });
  });

  test("after the deadline no step starts, and finished steps are undone", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("late");
      if (mode.extensions) await world.noted(runId, "aborted");
      else await world.noted(runId, "undo before");
      world.journal.open("late");
      const run = await world.ended(runId);
      expect(run).toMatchObject({
        status: "FAILED",
        error: { code: "RUN_DEADLINE_EXCEEDED", compensation: { undone: ["before"], notRun: [] } },
      });
      expect(world.journal.counts(runId)).toMatchObject({ before: 1, "undo before": 1 });
      expect(world.journal.counts(runId)).not.toHaveProperty("after");
    });
  });

  test.runIf(mode.extensions)(
    "a running step that can be undone is finished after the deadline and then undone",
    async () => {
      await inWorld(mode, async (world) => {
        await world.startApp();
        const runId = await world.trigger("underway");
        await world.noted(runId, "aborted");
        world.journal.open("underway");
        const run = await world.ended(runId);
        expect(run).toMatchObject({
          status: "FAILED",
          error: { code: "RUN_DEADLINE_EXCEEDED", compensation: { undone: ["book"], failed: [], notRun: [] } },
        });
        expect(world.journal.counts(runId)).toMatchObject({ aborted: 1, booked: 1, "undo seat 7": 1 });
        expect(world.journal.counts(runId)).not.toHaveProperty("after");
      });
    },
  );

  test("onFailure gets the original error and the event of the run", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("unlucky", { n: 8 });
      expect(await world.ended(runId)).toMatchObject({ status: "FAILED", error: { name: "TypeError" } });
      await world.noted(runId, "TypeError 402 RangeError 8");
      // The failure handler has a run of its own, which ends a moment after what it notes.
      await world.until("every run to end", async () =>
        (await world.api.runs()).every(({ endedMs }) => endedMs !== null),
      );
    });
  });

  test("a race ends with its first result, however long the other steps wait", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("raced");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED", output: ["quick", "short"] });
      expect(world.journal.counts(runId)).toEqual({ quick: 1, after: 1 });
    });
  });

  test("a step that is never awaited is finished before its run", async () => {
    await inWorld(mode, async (world) => {
      await world.startApp();
      const runId = await world.trigger("forgetful");
      await world.noted(runId, "at forgotten");
      expect((await world.api.run(runId)).status).not.toBe("COMPLETED");
      world.journal.open("forgotten");
      expect(await world.ended(runId)).toMatchObject({ status: "COMPLETED", output: "returned" });
      expect(world.journal.counts(runId)).toEqual({ "at forgotten": 1, forgotten: 1 });
    });
  });
});
