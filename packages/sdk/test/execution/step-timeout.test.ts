import { deferred, systemTimers, type Timers } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { abandonedBodies } from "../../src/execution/running-body.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { NonRetriableError, StepError, StepNestedError, StepTimeoutError } from "../../src/steps/errors.ts";
import { stepSignal } from "../../src/steps/step-signal.ts";
import type { EngineOptions } from "./engine.ts";
import { client, engineFor, hash, opsOf, turn } from "./support.ts";

/** Timers run so many times as fast. */
const haste = 1_000;
const never = (): Promise<never> => new Promise(() => {});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn();
}

const MODES: [string, Partial<EngineOptions>][] = [
  ["in place", { inPlace: true }],
  ["looking ahead", { inPlace: true, looksAhead: true }],
  ["plain", { inPlace: false }],
];

describe.each(MODES)("timeout of a step, %s", (_name, mode) => {
  const options = { haste, ...mode };

  test("an attempt whose body takes too long fails, is retried, and its late result is not used", async () => {
    const late = deferred<string>();
    let tries = 0;
    const body = (): Promise<string> => {
      tries += 1;
      return tries === 1 ? late.promise : Promise.resolve("second");
    };
    const engine = engineFor(({ step }) => step.run("a", body, { timeout: "30s" }), options);
    // Before the second attempt has its turn.
    engine.onRequest = () => {
      if (tries > 0) late.resolve("first");
    };
    expect(await engine.run()).toEqual({ status: "completed", value: "second" });
    expect(tries).toBe(2);
  });

  test("any number of bodies of a run may look at their signals, which Node takes for no leak", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on("warning", onWarning);
    try {
      const body = async (): Promise<boolean> => {
        const signal = stepSignal();
        await turn();
        return signal.aborted;
      };
      const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
      const engine = engineFor(({ step }) => Promise.all(ids.map((id) => step.run(id, body))), options);
      expect(await engine.run()).toEqual({ status: "completed", value: ids.map(() => false) });
      // Warnings come in a later turn.
      await turn();
      expect(warnings.filter(({ name }) => name === "MaxListenersExceededWarning")).toEqual([]);
    } finally {
      process.off("warning", onWarning);
    }
  });

  test("the last attempt's timeout reaches the awaiting code as a StepError that is a StepTimeoutError", async () => {
    let tries = 0;
    const hang = (): Promise<never> => {
      tries += 1;
      return never();
    };
    const engine = engineFor(async ({ step }) => {
      const caught = await step.run("slow", hang, { timeout: "30s", retries: 1 }).catch((error: unknown) => error);
      const { name, code, timeoutMs, stepId } = caught as Record<string, unknown>;
      return [StepError.is(caught), StepTimeoutError.is(caught), name, code, timeoutMs, stepId];
    }, options);
    const value = [true, true, "StepTimeoutError", "STEP_TIMEOUT", 30_000, "slow"];
    expect(await engine.run()).toEqual({ status: "completed", value });
    expect(tries).toBe(2);
  });

  test("a body that rejects when its time is over disturbs neither the run nor the process", async () => {
    const rejected = deferred<void>();
    const body = (): Promise<never> =>
      new Promise((_resolve, reject) => {
        stepSignal().addEventListener("abort", () => {
          reject(new Error("aborted"));
          rejected.resolve();
        });
      });
    const engine = engineFor(({ step }) => step.run("a", body, { timeout: 10_000, retries: 0 }), options);
    expect(await engine.run()).toMatchObject({ status: "failed", value: { name: "StepTimeoutError" } });
    await rejected.promise;
    await turn();
  });

  test("parallel steps go on, and the pass does not wait for what was left behind", async () => {
    const before = abandonedBodies.count;
    const gate = deferred<void>();
    let tries = 0;
    const hangOnce = (): Promise<void> | number => {
      tries += 1;
      return tries === 1 ? gate.promise : 1;
    };
    const engine = engineFor(
      ({ step }) =>
        Promise.all([
          step.run("hangs once", hangOnce, { timeout: "5s" }),
          step.run("b", () => 2),
          step.run("c", () => turn().then(() => 3)),
        ]),
      options,
    );
    let left = 0;
    engine.onRequest = () => {
      left = Math.max(left, abandonedBodies.count - before);
    };
    expect(await engine.run()).toEqual({ status: "completed", value: [1, 2, 3] });
    expect(left).toBe(1);
    gate.resolve();
    await until(() => abandonedBodies.count === before);
  });

  test("finished steps are undone when a step fails by its timeout, that step is not", async () => {
    const undone: string[] = [];
    const engine = engineFor(async ({ step }) => {
      await step.run("a", () => 1, { compensate: () => void undone.push("a") });
      await step.run("slow", never, { timeout: "30s", retries: 0, compensate: () => void undone.push("slow") });
    }, options);
    expect(await engine.run()).toMatchObject({ status: "failed", value: { compensation: { undone: ["a"] } } });
    expect(undone).toEqual(["a"]);
  });

  test("a step that a body calls after its time is over is refused, and is no step of the run", async () => {
    const refused: unknown[] = [];
    let tries = 0;
    const engine = engineFor(({ step }) => {
      const body = async (): Promise<string> => {
        tries += 1;
        if (tries > 1) return "done";
        await new Promise((resolve) => stepSignal().addEventListener("abort", resolve));
        await step.run("inner", () => 1).catch((error: unknown) => refused.push(error));
        return "late";
      };
      return step.run("outer", body, { timeout: "30s" });
    }, options);
    expect(await engine.run()).toEqual({ status: "completed", value: "done" });
    await until(() => refused.length > 0);
    expect(StepNestedError.is(refused[0])).toBe(true);
    expect(engine.memo.has(hash("inner"))).toBe(false);
  });

  test("a body in time leaves no timer", async () => {
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => 1, { timeout: "366d" });
        await Promise.race([step.run("hangs", never, { timeout: "100d" }), step.run("b", () => 2, { timeout: "1d" })]);
      },
      { ...mode, inPlace: true },
    );
    const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length).toBeLessThanOrEqual(before);
  });

  test.each<[string, unknown, RegExp]>([
    ["0", 0, /at least 1 ms/],
    ["a part of a millisecond", 0.4, /at least 1 ms/],
    ["a negative number", -1, /between 0 ms and/],
    ["text that is no duration", "soon", /not a duration: "soon"/],
    ["more than a year", "400d", /between 0 ms and 31622400000 ms/],
    ["infinity", Number.POSITIVE_INFINITY, /not a duration: Infinity/],
    ["null", null, /not a duration: null/],
    ["a point in time", new Date(), /not a duration: a Date/],
  ])("%s is refused, and the body does not run", async (_what, timeout, message) => {
    let tries = 0;
    const engine = engineFor(({ step }) => step.run("a", () => (tries += 1), { timeout: timeout as never }), options);
    const { status, value } = await engine.run();
    expect({ status, value }).toMatchObject({
      status: "failed",
      value: { code: "STEP_INVALID", message: expect.stringMatching(message) },
    });
    expect(tries).toBe(0);
  });
});

test("the time starts with the body, not while it waits for its turn", async () => {
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const turns = { start: (code: () => void): void => void (isHeld ? waiting.push(code) : code()) };
  const engine = engineFor(
    ({ step }) => {
      isHeld = true;
      return step.run("a", () => engine.delaysMs.includes(12_345), { timeout: 12_345 });
    },
    { turns },
  );
  const end = engine.run();
  await until(() => waiting.length > 0);
  expect(engine.delaysMs).not.toContain(12_345);
  isHeld = false;
  for (const start of waiting.splice(0)) start();
  expect(await end).toEqual({ status: "completed", value: true });
});

test("the time starts with the body, not while it waits until its lease is confirmed", async () => {
  const delaysMs: number[] = [];
  const timers: Timers = {
    set: (delayMs, fire) => {
      delaysMs.push(delayMs);
      return systemTimers.set(delayMs, fire);
    },
  };
  const fn = client.createFunction({ id: "f", triggers: [] }, ({ step }) =>
    step.run("a", () => 1, { timeout: 12_345 }),
  );
  const strategy = createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), { timers });
  const confirmed = deferred<void>();
  let asked = 0;
  const whenConfirmed = (): Promise<void> | undefined => {
    asked += 1;
    return asked === 2 ? confirmed.promise : undefined;
  };
  const request = {
    requestId: "r1",
    appName: "app",
    functionSlug: fn.slug,
    stepId: "step",
    runId: "01RUN",
    jobId: "j1",
    payload: new TextEncoder().encode(JSON.stringify({ event: { name: "e", data: {} }, steps: {}, ctx: {} })),
    extensions: [],
  };
  const checkpoint = (): Promise<"stored"> => Promise.resolve("stored");
  const result = strategy.execute(request, { checkpoint, whenConfirmed }, new AbortController().signal);
  await until(() => asked === 2);
  await turn();
  expect(delaysMs).not.toContain(12_345);
  confirmed.resolve();
  expect(opsOf(await result)).toMatchObject([{ op: "StepRun", data: 1 }]);
  expect(delaysMs).toContain(12_345);
});

test("a targeted request for a step ends with its timeout", async () => {
  const engine = engineFor(
    ({ step }) => Promise.all([step.run("a", never, { timeout: "30s" }), step.run("b", () => 2)]),
    { inPlace: false, haste },
  );
  expect(opsOf(await engine.request(hash("a")))).toMatchObject([{ op: "StepError", error: { code: "STEP_TIMEOUT" } }]);
});

test("work that is not wanted any more is over when the time of a body that ignores its signal is", async () => {
  const hang = (): Promise<never> => {
    engine.signal.abort();
    return never();
  };
  const engine = engineFor(({ step }) => step.run("hangs", hang, { timeout: "30s" }), {
    haste,
  });
  expect(await engine.request()).toMatchObject({ stale: true });
});

test("a value that is there before the thread could notice that the time is over counts", async () => {
  const block = (): string => {
    const endMs = performance.now() + 5;
    while (performance.now() < endMs);
    return "computed";
  };
  const engine = engineFor(({ step }) => step.run("a", block, { timeout: 1, retries: 0 }));
  expect(await engine.run()).toEqual({ status: "completed", value: "computed" });
});

test("options with a timeout stand before the arguments of a body, with other options too", async () => {
  const engine = engineFor(async ({ step }) => [
    await step.run("a", (n: number) => n + 1, { timeout: "30s" }, 1),
    await step.run("b", (n: number, text: string) => `${text}${n}`, { timeout: 1e6, retries: 1 }, 2, "x"),
    await step.run("c", (given: object) => given, { timeout: "an argument" }),
  ]);
  expect(await engine.run()).toEqual({ status: "completed", value: [2, "x2", { timeout: "an argument" }] });
});

describe("stepSignal()", () => {
  test("fires with the StepTimeoutError, in the body and in what it calls after an await", async () => {
    const reasons: unknown[] = [];
    const inner = async (): Promise<void> => {
      await turn();
      const signal = stepSignal();
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      await never();
    };
    const engine = engineFor(({ step }) => step.run("a", () => inner(), { timeout: "30s", retries: 0 }), { haste });
    await engine.run();
    expect(reasons).toMatchObject([{ name: "StepTimeoutError", stepId: "a", timeoutMs: 30_000 }]);
  });

  test("is the same for each call in one body, another for each body", async () => {
    const seen = new Set<AbortSignal>();
    const body = (): boolean => {
      seen.add(stepSignal());
      return stepSignal() === [...seen].at(-1);
    };
    const engine = engineFor(({ step }) => Promise.all([step.run("a", body), step.run("b", body)]));
    expect(await engine.run()).toMatchObject({ value: [true, true] });
    expect(seen.size).toBe(2);
  });

  test("fires with the handler's signal, also where the step has no timeout", async () => {
    const reasons: unknown[] = [];
    const engine = engineFor(({ step }) =>
      step.run("a", async () => {
        const signal = stepSignal();
        engine.signal.abort(new Error("cancelled"));
        reasons.push(signal.reason);
      }),
    );
    await engine.request();
    expect(reasons).toMatchObject([{ message: "cancelled" }]);
  });

  test("is the handler's own outside of steps, and never fires outside of handlers", async () => {
    let isSame = false;
    const engine = engineFor(({ signal }) => {
      isSame = stepSignal() === signal;
    });
    await engine.run();
    expect(isSame).toBe(true);
    expect(stepSignal().aborted).toBe(false);
  });
});

test("FunctionTest lets a body fail by its timeout, and a test can answer a step with that error", async () => {
  const fn = client.createFunction({ id: "t", triggers: [], retries: 0 }, async ({ step }) => {
    const one = await step.run("hangs", never, { timeout: 5 }).catch((error: Error) => error.name);
    const other = await step.run("answered", () => "?", { timeout: "1h" }).catch((error: Error) => error.name);
    return [one, other];
  });
  const answered = (): never => {
    throw new StepTimeoutError("answered", 3_600_000);
  };
  const { output } = await new FunctionTest(fn, { steps: [{ id: "answered", handler: answered }] }).run();
  expect(output).toEqual(["StepTimeoutError", "StepTimeoutError"]);
});

test("a body that hands its work on says when the time starts", async () => {
  const fn = client.createFunction({ id: "t", triggers: [], retries: 0 }, ({ step }) =>
    step.run("elsewhere", () => 0, { timeout: 12_345 }),
  );
  const delaysMs: number[] = [];
  const timers: Timers = {
    set: (delayMs, fire) => {
      delaysMs.push(delayMs);
      return systemTimers.set(delayMs === 12_345 ? 1 : delayMs, fire);
    },
  };
  const seen: unknown[] = [];
  const strategy = createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), {
    timers,
    intercept: (_id, call) => ({
      ...call,
      body: async (_hash, _args, running) => {
        running.signal.addEventListener("abort", () => seen.push(running.signal.reason));
        const begin = running.holdTimeout();
        await new Promise((resolve) => setTimeout(resolve, 20));
        seen.push(running.signal.aborted);
        begin();
        await never();
      },
    }),
  });
  const payload = new TextEncoder().encode(JSON.stringify({ event: { name: "e", data: {} }, steps: {}, ctx: {} }));
  const request = { requestId: "r", appName: "app", functionSlug: fn.slug, stepId: "step", runId: "run", jobId: "j" };
  const port = { checkpoint: (): Promise<"stored"> => Promise.resolve("stored") };
  await strategy.execute({ ...request, payload, extensions: [] }, port, new AbortController().signal);
  await until(() => seen.length === 2);
  expect(seen).toMatchObject([false, { name: "StepTimeoutError" }]);
});

test("an error that is not to be retried stays one, with a timeout beside it", async () => {
  let tries = 0;
  const body = (): never => {
    tries += 1;
    throw new NonRetriableError("no");
  };
  const engine = engineFor(({ step }) => step.run("a", body, { timeout: "30s" }));
  expect(await engine.run()).toMatchObject({ status: "failed", value: { name: "NonRetriableError" } });
  expect(tries).toBe(1);
});
