import { afterEach, describe, expect, test, vi } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { silent } from "../execution/support.ts";

const app = new Holdfast({ id: "shop", isDev: true, logger: silent }, {});
const FAKE_MS = Date.UTC(2020, 0, 1);
const napAndWait = app.createFunction({ id: "order", triggers: { event: "shop/placed" } }, async ({ step, event }) => {
  const charged = await step.run("charge", () => Date.now());
  await step.sleep("nap", "2d");
  const approval = await step.waitForEvent("approval", { event: "shop/approved", timeout: "7d" });
  await Promise.all([step.run("pack", () => 1), step.run("label", () => 2)]);
  return { charged, ts: event.ts, approval, end: Date.now() };
});

describe("FunctionTest under fake timers", () => {
  afterEach(() => void vi.useRealTimers());

  test.each([
    ["as they are by default", {}],
    // What Jest fakes by default; Vitest cannot fake `process.nextTick` in its child processes.
    ["with microtasks", { toFake: ["Date", "setTimeout", "setImmediate", "queueMicrotask", "hrtime", "performance"] }],
  ] as const)("sleeps and waits are over at once (%s)", async (_, config) => {
    vi.useFakeTimers({ ...config, toFake: "toFake" in config ? [...config.toFake] : undefined, now: FAKE_MS });
    const { output, elapsedMs, status } = await new FunctionTest(napAndWait).run();
    expect({ output, elapsedMs, status }).toEqual({
      output: { charged: FAKE_MS, ts: FAKE_MS, approval: null, end: FAKE_MS },
      elapsedMs: 9 * 86_400_000,
      status: "completed",
    });
    expect((await new FunctionTest(napAndWait, { replay: true }).run()).status).toBe("completed");
  });

  test("the function's own code has the fake ones", async () => {
    vi.useFakeTimers({ now: FAKE_MS });
    const slow = app.createFunction({ id: "slow", triggers: { event: "shop/slow" } }, ({ step }) =>
      step.run("slow", () => {
        const beganMs = Date.now();
        return new Promise((resolve) => setTimeout(() => resolve(Date.now() - beganMs), 3_600_000));
      }),
    );
    const running = new FunctionTest(slow).run();
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect((await running).output).toBe(3_600_000);
  });
});
