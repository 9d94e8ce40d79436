import { inspect } from "node:util";
import { HoldfastError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import {
  NonDeterminismError,
  NonRetriableError,
  RunDeadlineError,
  StepError,
  StepNestedError,
} from "../../src/steps/errors.ts";
import { reviveError } from "../../src/steps/revive-error.ts";
import type { StepTools } from "../../src/steps/step-types.ts";
import { engineFor } from "./support.ts";

/** What authors get wrong: the run says so, and never hangs. */
describe.each([true, false])("Misuse, in place: %s", (inPlace) => {
  const hostile = {
    "a proxy whose every trap throws": () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("trap");
          },
          has: () => {
            throw new Error("trap");
          },
          getPrototypeOf: () => {
            throw new Error("trap");
          },
        },
      ),
    "an error with a getter that throws": () =>
      Object.defineProperty(new NonRetriableError("with a getter"), "field", {
        enumerable: true,
        get: () => {
          throw new Error("getter");
        },
      }),
    "an error whose message cannot be read": () =>
      Object.defineProperty(new NonRetriableError("x"), "message", {
        get: () => {
          throw new Error("getter");
        },
      }),
  };

  test.each(Object.entries(hostile))("a step or a handler that throws %s fails", async (_name, make) => {
    const step = engineFor(({ step }) => step.run("a", () => Promise.reject(make())), { inPlace, maxAttempts: 1 });
    expect(await step.run()).toMatchObject({ status: "failed", value: { message: expect.any(String) } });
    const handler = engineFor(() => Promise.reject(make()), { inPlace, maxAttempts: 1 });
    expect(await handler.run()).toMatchObject({ status: "failed", value: { message: expect.any(String) } });
  });

  test("an error that cannot be read completely keeps its readable fields", async () => {
    const error = Object.assign(hostile["an error with a getter that throws"](), { status: 402 });
    const engine = engineFor(({ step }) => step.run("a", () => Promise.reject(error)), { inPlace });
    expect(await engine.run()).toMatchObject({ value: { message: "with a getter", data: { status: 402 } } });
  });

  test("a nested step that is never awaited fails the run with STEP_NESTED", async () => {
    const engine = engineFor(
      ({ step }) =>
        step.run("outer", async () => {
          void step.run("inner", () => 1);
          return "done";
        }),
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({ status: "failed", value: { code: "STEP_NESTED" } });
  });

  test("ids that were cut in the middle of a character name different steps", async () => {
    const engine = engineFor(
      async ({ step }) => {
        const grinning = await step.run("reserve \u{1f600}".slice(0, -1), () => "grinning");
        const circled = await step.run("reserve \u{1f900}".slice(0, -1), () => "circled");
        const whole = await step.run("reserve \u{1f600}", () => "whole");
        return [grinning, circled, whole];
      },
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({ status: "completed", value: ["grinning", "circled", "whole"] });
  });

  test("the error of a nested step may be caught", async () => {
    const engine = engineFor(
      ({ step }) =>
        step.run("outer", () => step.run("inner", () => 1).catch((error: HoldfastError) => `caught ${error.code}`)),
      { inPlace },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: "caught STEP_NESTED" });
  });

  test("a step inside a compensation fails that compensation", async () => {
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => 1, { compensate: () => step.run("inner", () => 1) });
        throw new NonRetriableError("no");
      },
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({
      status: "failed",
      value: { message: "no", compensation: { failed: [{ stepId: "a", error: { code: "STEP_NESTED" } }] } },
    });
  });

  test.each<[string, RegExp]>([
    ["ai", /^step\.ai does not exist in Holdfast: .* step\.run\("/],
    ["realtime", /^step\.realtime does not exist in Holdfast: /],
    ["metadata", /^step\.metadata does not exist in Holdfast: /],
    ["score", /^step\.score does not exist in Holdfast: /],
    ["sandbox", /^step\.sandbox does not exist in Holdfast: /],
  ])("a handler that uses step.%s fails at once, with what to do instead", async (tool, message) => {
    let started = 0;
    const use = ({ step }: { step: StepTools }): unknown => {
      started += 1;
      return Reflect.get(Reflect.get(step, tool), "wrap");
    };
    expect(await engineFor(use, { inPlace }).run()).toMatchObject({
      status: "failed",
      value: { code: "STEP_INVALID", message: expect.stringMatching(message) },
    });
    expect(started).toBe(1);
  });

  test("looking at `step` shows its tools, and none of those that do not exist", async () => {
    const engine = engineFor(({ step }) => [Object.keys(step), Object.keys({ ...step }), inspect(step), "ai" in step], {
      inPlace,
    });
    const { value } = await engine.run();
    const [keys, copied, text] = value as [string[], string[], string];
    expect(keys.sort()).toEqual([
      "fetch",
      "invoke",
      "run",
      "sendEvent",
      "sendSignal",
      "sleep",
      "sleepUntil",
      "waitForEvent",
      "waitForSignal",
    ]);
    expect(copied.sort()).toEqual(keys);
    expect(text).not.toMatch(/\bai\b|prototype/);
  });

  test.each<[string, object, RegExp]>([
    ["an option beside them", { compensate: () => {}, retry: 1 }, /no option `retry`.*compensate, retries/],
    ["a misspelled option", { compensat: () => {} }, /no option `compensat`/],
    ["an option and a misspelled one", { timeout: 100, retrys: 3 }, /`timeout`, an option.*`retrys`, which is none/],
  ])("step.run with %s is rejected", async (_name, options, message) => {
    const engine = engineFor(({ step }) => step.run("a", () => 1, options as never), { inPlace });
    const { value } = await engine.run();
    expect(value).toMatchObject({ code: "STEP_INVALID", message: expect.stringMatching(message) });
  });

  test("an argument that merely resembles options is passed to the body", async () => {
    const engine = engineFor(
      async ({ step }) => [
        await step.run("a", (given: object) => given, { retry: 1 }),
        await step.run("b", (given: object) => given, { retries: 1 }),
      ],
      { inPlace },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: [{ retry: 1 }, { retries: 1 }] });
  });

  test("options with the id leave all arguments to the body", async () => {
    const given = (...args: unknown[]): unknown => args;
    const engine = engineFor(
      async ({ step }) => [
        await step.run({ id: "a", retries: 1 }, given, { timeout: 100 }),
        await step.run({ id: "b", timeout: "1m", name: "B" }, given, { retries: 1, speed: 2 }, 3),
      ],
      { inPlace },
    );
    expect(await engine.run()).toEqual({
      status: "completed",
      value: [[{ timeout: 100 }], [{ retries: 1, speed: 2 }, 3]],
    });
  });

  test("a misspelled option with the id is rejected", async () => {
    const engine = engineFor(({ step }) => step.run({ id: "a", retrys: 3 } as never, () => 1), { inPlace });
    const { value } = await engine.run();
    expect(value).toMatchObject({ code: "STEP_INVALID", message: expect.stringMatching(/no option `retrys`/) });
  });

  test.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /step\.sleep\(\) is missing/],
    ["null", null, /not a duration: null/],
    ["a Date", new Date(), /not a duration: a Date/],
    ["an object", {}, /not a duration: a value of type object/],
    ["NaN", Number.NaN, /not a duration: NaN/],
  ])("step.sleep for %s is rejected", async (_name, duration, message) => {
    const engine = engineFor(({ step }) => step.sleep("a", duration as never), { inPlace });
    const { value } = await engine.run();
    expect(value).toMatchObject({ code: "DURATION_INVALID", message: expect.stringMatching(message) });
  });

  test("step.sleepUntil shows the invalid number in its error", async () => {
    const engine = engineFor(({ step }) => step.sleepUntil("a", 9e15), { inPlace });
    expect((await engine.run()).value).toMatchObject({ message: expect.stringMatching(/: 9000000000000000\./) });
  });

  test("step.waitForEvent rejects a pattern, and a schema that is not a Standard Schema", async () => {
    const pattern = engineFor(({ step }) => step.waitForEvent("a", { event: "app/*", timeout: 1 }), { inPlace });
    expect((await pattern.run()).value).toMatchObject({
      code: "STEP_INVALID",
      message: expect.stringMatching(/"\*".*triggers/),
    });
    const options = { event: "app/x", timeout: 1, schema: {} as never };
    const schema = engineFor(({ step }) => step.waitForEvent("a", options), { inPlace });
    expect((await schema.run()).value).toMatchObject({
      code: "STEP_INVALID",
      message: expect.stringMatching(/Standard Schema/),
    });
  });
});

test.each<[string, (step: StepTools) => Promise<unknown>, string]>([
  ["an event", (step) => step.waitForEvent("a", { event: "a\0b", timeout: 1 }), "STEP_INVALID"],
  ["a condition", (step) => step.waitForEvent("a", { event: "a", if: "'\0' == '1'", timeout: 1 }), "STEP_INVALID"],
  ["a signal", (step) => step.waitForSignal("a", { signal: "a\0b", timeout: 1 }), "STEP_INVALID"],
  ["a signal", (step) => step.waitForSignal("a", { signal: "x".repeat(513), timeout: 1 }), "STEP_INVALID"],
  ["a sent signal", (step) => step.sendSignal("a", { signal: "a\0b" }), "OPTION_INVALID"],
  ["a sent event", (step) => step.sendEvent("a", { name: "a\0b" }), "EVENT_INVALID"],
  ["a sent event's id", (step) => step.sendEvent("a", { name: "a", id: "a\0b" }), "EVENT_INVALID"],
  ["a sent event's time", (step) => step.sendEvent("a", { name: "a", ts: 8.64e15 + 2 }), "EVENT_INVALID"],
])("%s with a name or time that no gateway can store is rejected", async (_name, call, code) => {
  expect(await engineFor(({ step }) => call(step)).run()).toMatchObject({ status: "failed", value: { code } });
});

describe.each([true, false])("Nesting of values, in place: %s", (inPlace) => {
  const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));

  test("a result nested too deeply to be sent back is rejected with the name of its step", async () => {
    const engine = engineFor(({ step }) => step.run("deep", () => nested(181)), { inPlace });
    expect((await engine.run()).value).toMatchObject({
      code: "STEP_RESULT_INVALID",
      message: expect.stringMatching(/step "deep".*deeper than 180 levels/),
    });
    const handler = engineFor(() => nested(181), { inPlace });
    expect((await handler.run()).value).toMatchObject({ code: "STEP_RESULT_INVALID" });
    const invoke = engineFor(
      ({ step }) => step.invoke("a", { function: { slug: "x" } as never, data: { deep: nested(181) } as never }),
      { inPlace },
    );
    expect((await invoke.run()).value).toMatchObject({ code: "STEP_INVALID" });
  });

  test("events and results of the greatest accepted depth can be run with and reported", async () => {
    const deep = { id: "e", name: "test/event", data: { deep: nested(179) }, ts: 1 };
    const run = engineFor(({ step }) => step.run("deep", () => nested(180)), { inPlace, event: deep });
    expect((await run.run()).status).toBe("completed");
    const data = { function_id: "app-f", run_id: "r", error: { name: "E", message: "m" }, event: deep };
    const finished = { id: "r", name: "inngest/function.failed", data: { ...data, result: nested(180) }, ts: 1 };
    const failure = engineFor(() => 1, { inPlace, event: finished });
    expect((await failure.run()).status).toBe("completed");
  });
});

test("the is() of each error class recognises its own errors, also after the store", () => {
  const deadline = new RunDeadlineError(0);
  const nested = new StepNestedError("a", "b");
  const changed = new NonDeterminismError("a", "b");
  for (const [type, own] of [
    [RunDeadlineError, deadline],
    [StepNestedError, nested],
    [NonDeterminismError, changed],
  ] as const) {
    for (const error of [deadline, nested, changed, new HoldfastError("INTERNAL", "x"), new Error("x"), null, 1]) {
      expect(type.is(error)).toBe(error === own);
    }
    const { name, message, code } = own;
    expect(type.is(reviveError({ name, message, code }))).toBe(true);
  }
});

test("the report of a saga's compensations is available on the error", () => {
  const compensation = { undone: ["a"], failed: [], notRun: ["b"] };
  const error = { name: "Error", message: "x", compensation };
  expect(reviveError(error)).toMatchObject({ compensation });
  expect(new StepError("s", error)).toMatchObject({ compensation });
});
