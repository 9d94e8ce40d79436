/** Steps that a function does not wait for, and steps that are not its own. */
import { HoldfastError } from "@holdfast/core";
import { expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { runAs } from "../../src/execution/current.ts";
import type { StepTools } from "../../src/steps/step-types.ts";
import { Engine } from "./engine.ts";
import { engineFor } from "./support.ts";

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
};

/** What is said is said once for each function of a process, so each test has a function of its own. */
function logged(id: string, handler: (step: StepTools) => unknown) {
  const lines: string[] = [];
  const line = (text: unknown): void => void lines.push(String(text));
  const logger = { error: () => {}, warn: line, info: () => {}, debug: () => {} };
  const client = new Holdfast({ id: "app", logger, isDev: true });
  const fn = client.createFunction({ id, triggers: [] }, ({ step }) => handler(step as StepTools));
  return { lines, engine: new Engine({ client, fn, inPlace: true }) };
}

test("a helper that is not awaited is named by the steps that it leaves behind, once", async () => {
  const mail = async (step: StepTools): Promise<void> => {
    for (const who of ["customer", "warehouse"]) await step.run(`mail ${who}`, () => turns(20));
  };
  const handler = async (step: StepTools): Promise<string> => {
    await step.run("create", () => 1);
    void mail(step);
    return "done";
  };
  const { lines, engine } = logged("helpers", handler);
  expect(await engine.run()).toEqual({ status: "completed", value: "done" });
  expect(lines).toEqual([
    expect.stringMatching(/Function "app-helpers" returned before a step had finished: "mail customer"\. .*`forEach`/),
  ]);
  const again = logged("helpers", handler);
  await again.engine.run();
  expect(again.lines).toEqual([]);
});

test("all that an async function in forEach leaves behind is counted, and the first few are named", async () => {
  const { lines, engine } = logged("each", (step) => {
    [1, 2, 3, 4, 5, 6, 7].forEach(async (one) => void (await step.run(`ship ${one}`, () => turns(20))));
    return "all";
  });
  expect(await engine.run()).toMatchObject({ status: "completed" });
  expect(lines[0]).toMatch(/returned before 7 steps had finished: "ship 1", .*"ship 5" and 2 more\./);
});

test("steps that have lost a race are no mistake, nor is what a helper does that has", async () => {
  const { lines, engine } = logged("races", async (step) => {
    const helper = async (): Promise<number> => {
      await step.run("slow", () => turns(50));
      return step.run("after", () => 1);
    };
    return Promise.race([helper(), step.run("quick", () => 2)]);
  });
  expect(await engine.run()).toEqual({ status: "completed", value: 2 });
  expect(lines).toEqual([]);
});

test("a step that is called after the function has returned is named", async () => {
  const { lines, engine } = logged("late", (step) => {
    void turns(30).then(() => step.run("too late", () => 1));
    return "early";
  });
  expect(await engine.run()).toEqual({ status: "completed", value: "early" });
  await turns(40);
  expect(lines).toEqual([expect.stringMatching(/Step "too late" was called after function "app-late" had returned/)]);
});

test("a step of another run is refused by name instead of never going on", async () => {
  const kept: { step?: StepTools } = {};
  const first = engineFor(({ step }) => {
    kept.step = step;
    return "kept";
  });
  await first.run();
  const source = { signal: new AbortController().signal };
  const other = { requestId: "other.1", runId: "01OTHER", functionSlug: "app-f" };
  const called = runAs(other, source, () => kept.step?.run("charge", () => 1));
  await expect(called).rejects.toSatisfy(
    (error) =>
      HoldfastError.is(error) && error.code === "STEP_FOREIGN" && /Step "charge".*01OTHER.*01RUN/.test(error.message),
  );
});

test("a step's promise in a result is an empty object", async () => {
  const { engine } = logged("returned", async (step) => {
    const promise = step.run("a", () => 1);
    await promise;
    return { promise };
  });
  expect(await engine.run()).toEqual({ status: "completed", value: { promise: {} } });
});

test("arguments that are too large are refused before the body begins", async () => {
  let begun = 0;
  const { engine } = logged("arguments", (step) =>
    step.run(
      "count",
      (text: string) => {
        begun += 1;
        return text.length;
      },
      "x".repeat(5 * 1024 * 1024),
    ),
  );
  expect(await engine.run()).toMatchObject({
    status: "failed",
    value: {
      code: "STEP_INVALID",
      message: expect.stringMatching(/"count": its arguments have 5242884 bytes.*4194304/),
    },
  });
  expect(begun).toBe(0);
});
