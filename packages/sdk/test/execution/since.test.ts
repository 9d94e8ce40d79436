import { expect, test } from "vitest";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { client, engineFor } from "./support.ts";

const waiting = (since: unknown) =>
  engineFor(({ step }) => step.waitForEvent("w", { event: "app/paid", timeout: "1h", since: since as "run" }));

test("a gateway that gives waits only what comes later is not asked for more: the step fails at once and says why", async () => {
  const { status, value } = await waiting("run").run();
  expect(status).toBe("failed");
  expect(value).toMatchObject({
    code: "GATEWAY_UNSUPPORTED",
    message: expect.stringMatching(/Step "w": `since: "run"` is not available on this gateway.*Promise\.all/),
  });
});

test("the default may be said, and anything else is a mistake", async () => {
  expect(await waiting("wait").run()).toEqual({ status: "completed", value: null });
  expect((await waiting("start").run()).value).toMatchObject({
    code: "STEP_INVALID",
    message: 'Step "w": its `since` must be "run" or "wait", not "start".',
  });
});

test("a test sees from when on the event counts", async () => {
  const fn = client.createFunction({ id: "since", triggers: { event: "app/go" } }, ({ step }) =>
    step.waitForEvent("w", { event: "app/paid", timeout: "1h", since: "run" }),
  );
  const steps = [{ id: "w", handler: () => ({ by: "card" }) }];
  const run = await new FunctionTest(fn, { steps }).run();
  expect(run.output).toMatchObject({ data: { by: "card" } });
  expect(run.steps[0]?.options).toMatchObject({ event: "app/paid", since: "run" });
});
