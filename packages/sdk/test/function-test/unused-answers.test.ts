import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { silent } from "../execution/support.ts";

const warnings: unknown[] = [];
const logger = { ...silent, warn: (...line: unknown[]) => void warnings.push(line.at(-1)) };
const app = new Holdfast({ id: "shop", isDev: true, logger }, {});

const order = app.createFunction({ id: "order", triggers: { event: "shop/placed" } }, async ({ step }) => {
  const approval = await step.waitForEvent("approval", { event: "shop/approved", timeout: "7d" });
  if (approval === null) return "no answer";
  return step.run("ship", () => approval.data.by as string);
});
const by = (id: string) => ({ id, handler: () => ({ by: "Ann" }) });
const ship = { id: "ship", handler: () => "shipped" };

const runWith = async (...steps: readonly { readonly id: string; readonly handler: () => unknown }[]) => {
  warnings.length = 0;
  return new FunctionTest(order, { steps }).run();
};

describe("Answers that no step of a tested function uses", () => {
  test("a run names them, and is as it would be without them", async () => {
    expect(await runWith(by("approval"), ship)).toMatchObject({ output: "shipped", unusedAnswers: [] });
    expect(await runWith(ship)).toMatchObject({ output: "no answer", unusedAnswers: ["ship"] });
    expect(warnings).toEqual([]);
  });

  test.each(["aproval", "shop/approved"])('the answer "%s" to a wait that times out is logged', async (id) => {
    expect(await runWith(by(id), ship)).toMatchObject({ output: "no answer", unusedAnswers: [id, "ship"] });
    expect(warnings).toEqual([
      `FunctionTest: the wait "approval" timed out, and no step has used the answer "${id}". Answers go by the id of the step: did you mean "approval"?`,
    ]);
  });

  test("a wait that its own answer lets time out is nothing to be logged", async () => {
    const late = { ...by("approval"), after: "8d" };
    expect(await runWith(late, by("aproval"))).toMatchObject({ output: "no answer", unusedAnswers: ["aproval"] });
    expect(warnings).toEqual([]);
  });

  test("an answer to all repeats of a step is used by any of them, and one to a later repeat by that one alone", async () => {
    const loop = app.createFunction({ id: "loop", triggers: [] }, async ({ step }) => {
      for (let n = 0; n < 2; n += 1) await step.run("work", () => n);
    });
    const steps = ["work", "work:1", "work:2"].map((id) => ({ id, handler: () => 1 }));
    expect((await new FunctionTest(loop, { steps }).run()).unusedAnswers).toEqual(["work:2"]);
  });

  test("what only `onFailure` uses is used", async () => {
    const failing = app.createFunction(
      { id: "failing", triggers: [], retries: 0, onFailure: ({ step }) => step.run("tell", () => "told") },
      () => Promise.reject(new Error("no")),
    );
    const tell = { id: "tell", handler: () => "mocked" };
    const run = await new FunctionTest(failing, { steps: [tell, ship] }).run();
    expect(run).toMatchObject({ unusedAnswers: ["ship"], onFailure: { output: "mocked", unusedAnswers: ["ship"] } });
  });

  test("errors about steps name them", async () => {
    const caller = app.createFunction({ id: "caller", triggers: [] }, ({ step }) =>
      step.invoke("call", { function: order, data: {} }),
    );
    const steps = [{ id: "cal", handler: () => 1 }];
    await expect(new FunctionTest(caller, { steps }).run()).rejects.toMatchObject({
      code: "TEST_STEP_UNANSWERED",
      message: expect.stringMatching(/or the function to `functions`\. No step has used the answer "cal"\.$/),
    });
    await expect(new FunctionTest(order, { steps: [by("aproval"), ship] }).runUntil("ship")).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringMatching(/its steps were "approval"\. No step has used the answers "aproval", "ship"\.$/),
    });
  });
});
