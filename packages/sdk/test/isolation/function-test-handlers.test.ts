import { threadId } from "node:worker_threads";
import type { LoggerLike } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { NonRetriableError } from "../../src/steps/errors.ts";
import { FunctionTest } from "../../src/testing.ts";

const quiet: LoggerLike = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const client = new Holdfast({ id: "app", isDev: true, logger: quiet });
const module = new URL("./handlers/in-test.mjs", import.meta.url);

function isolated(name: string, options: { budget?: number; retries?: number } = {}) {
  const { budget = 60_000, retries = 0 } = options;
  const isolate = { module, export: name, budget } as const;
  return client.createFunction({ id: name, retries, triggers: { event: "app/go" }, isolate });
}

const event = { name: "app/go", data: { n: 21, of: "all" } };
const reply = { id: "reply", handler: () => ({ text: "yes" }) };

interface Where {
  readonly threadId: number;
  readonly loaded: { readonly threadId: number };
}

describe("FunctionTest of an isolated handler", () => {
  test("inline it runs in the test's thread; with real isolation in another one, with the same run to see", async () => {
    const fn = isolated("where");
    const options = { event, steps: [reply], nowMs: 1_700_000_000_000 };
    const inline = await new FunctionTest(fn, options).run();
    const real = await new FunctionTest(fn, { ...options, isolation: "real" }).run();
    const [here, there] = [inline.output as Where, real.output as Where];
    expect(here.threadId).toBe(threadId);
    expect(there.threadId).not.toBe(threadId);
    expect(there.loaded.threadId).toBe(there.threadId);
    // What differs is the thread, and the ids that contain that of the run.
    const shape = (run: typeof real): unknown =>
      JSON.parse(JSON.stringify(run).replaceAll(/(?<="threadId":)\d+|(?<=")[0-9A-Z]{26}(?=-)/g, "0"));
    expect(shape(real)).toEqual(shape(inline));
    expect(real).toMatchObject({
      status: "completed",
      output: { given: { text: "yes" }, doubled: 42 },
      sentEvents: [{ name: "app/announced", data: { of: "all" } }],
      elapsedMs: 3_600_000,
    });
    expect(real.steps.map(({ id }) => id)).toEqual(["load", "nap", "reply", "announce", "double"]);
  });

  test("a mocked step runs in the test's thread, gets the arguments, and what it throws fails the step", async () => {
    const fn = isolated("where", { retries: 2 });
    const seen: unknown[] = [];
    const steps = [
      reply,
      { id: "load", handler: () => ({ from: "the test", threadId }) },
      { id: "double", handler: (n: number) => seen.push(n) },
    ];
    const run = await new FunctionTest(fn, { event, steps, isolation: "real" }).run();
    expect(run.state).toMatchObject({ load: { from: "the test", threadId }, double: 1 });
    expect(seen).toEqual([21]);
    let tries = 0;
    const fails = {
      id: "double",
      handler: () => {
        tries += 1;
        throw tries < 2 ? new TypeError("once") : new NonRetriableError("never again");
      },
    };
    const failed = await new FunctionTest(fn, { event, steps: [reply, fails], isolation: "real" }).run();
    expect(failed).toMatchObject({ status: "failed", error: { message: "never again" } });
    expect(failed.steps.find(({ id }) => id === "double")).toMatchObject({ status: "failed", attempts: 2 });
  });

  test("code is replayed over the record in threads, and a run stops at a step", async () => {
    const fn = isolated("where");
    const test = new FunctionTest(fn, { event, steps: [reply], isolation: "real" });
    const replayed = await test.run({ replay: true });
    expect(replayed.output).toMatchObject({ doubled: 42 });
    expect(replayed.passes).toBeGreaterThan(4);
    const { status, step } = await test.runUntil("nap");
    expect([status, step.kind]).toEqual(["stopped", "sleep"]);
  });

  test("code that passes its budget costs the attempt of its step; what had ended stays", async () => {
    const fn = isolated("spinsAfterOne", { budget: 1_000, retries: 1 });
    const run = await new FunctionTest(fn, { isolation: "real" }).run();
    expect(run).toMatchObject({ status: "failed", error: { code: "ISOLATE_BUDGET" }, state: { one: 1 } });
    expect(run.steps.map(({ id, attempts }) => [id, attempts])).toEqual([
      ["one", 1],
      ["spin", 2],
    ]);
    const handler = await new FunctionTest(isolated("spinsInHandler", { budget: 1_000 }), { isolation: "real" }).run();
    expect(handler).toMatchObject({ status: "failed", error: { code: "ISOLATE_BUDGET" }, steps: [] });
  });

  test.each([
    ["exits", /process\.exit\(3\)/],
    ["rejects", /nothing catches this/],
  ])("a thread that ends by itself (%s) costs the attempt of its step", async (name, message) => {
    const run = await new FunctionTest(isolated(name, { retries: 1 }), { isolation: "real" }).run();
    expect(run).toMatchObject({ status: "failed", steps: [{ attempts: 2 }], error: { code: "ISOLATE_THREAD_LOST" } });
    expect(run.error?.message).toMatch(message);
  });

  test("a module without the export is reported as connect() does", async () => {
    const run = new FunctionTest(isolated("missing"), { isolation: "real" }).run();
    await expect(run).rejects.toMatchObject({ code: "ISOLATE_MODULE_INVALID" });
  });

  test("functions that it invokes, and onFailure, run as they do in the app", async () => {
    const inner = isolated("tries");
    const outer = client.createFunction({ id: "outer", triggers: { event: "app/go" } }, ({ step }) =>
      step.invoke("inner", { function: inner }),
    );
    const run = await new FunctionTest(outer, { functions: [inner], isolation: "real" }).run();
    expect(run.output).toEqual({ attempt: 0 });
    const isolate = { module, export: "exits" } as const;
    const reported = client.createFunction({
      ...{ id: "reported", retries: 0, triggers: { event: "app/go" }, isolate },
      onFailure: ({ error }: { error: Error }) => `${threadId === 0 ? "" : "here: "}${error.message}`,
    });
    const failed = await new FunctionTest(reported, { isolation: "real" }).run();
    expect(failed.status).toBe("failed");
    expect(failed.onFailure?.output).toMatch(/process\.exit\(3\)/);
  });

  test("what an inline handler sends is seen in each test of it", async () => {
    const fn = isolated("where");
    for (let time = 0; time < 2; time++) {
      const run = await new FunctionTest(fn, { event, steps: [reply] }).run();
      expect(run.sentEvents).toHaveLength(1);
    }
  });
});
