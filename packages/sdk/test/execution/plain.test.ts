import { describe, expect, test } from "vitest";
import { NonRetriableError, RetryAfterError } from "../../src/steps/errors.ts";
import { engineFor, hash, jsonOf, opsOf, turn } from "./support.ts";

const plain = { inPlace: false };

describe("Ops of the plain protocol", () => {
  test("a single step runs and is reported", async () => {
    const result = await engineFor(({ step }) => step.run("a", () => ({ v: 1 })), plain).request();
    expect(result).toMatchObject({ status: "NOT_COMPLETED", noRetry: false, requestVersion: 2 });
    expect(opsOf(result)).toEqual([
      {
        id: "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
        op: "StepRun",
        name: "a",
        displayName: "a",
        opts: {},
        userland: { id: "a" },
        data: { v: 1 },
        timing: { a: expect.any(Number), b: expect.any(Number) },
      },
    ]);
  });

  test("several new steps are planned without running", async () => {
    const race = { parallelMode: "race" };
    const bodies: string[] = [];
    const engine = engineFor(
      ({ step }) =>
        Promise.all([
          step.run("a", () => bodies.push("a")),
          step.run({ id: "b", name: "Bee" }, (x: number) => bodies.push(`b${x}`), 7),
          step.sleep("s", 90_500),
          step.sleepUntil("u", "2030-01-01T00:00:00Z"),
        ]),
      plain,
    );
    expect(opsOf(await engine.request())).toEqual([
      // Beside waits nothing waits for the others: see the tests of races.
      { id: hash("a"), op: "StepPlanned", name: "a", displayName: "a", opts: race, userland: { id: "a" }, data: null },
      {
        id: hash("b"),
        op: "StepPlanned",
        name: "b",
        displayName: "Bee",
        opts: { input: [7], ...race },
        userland: { id: "b" },
        data: null,
      },
      { id: hash("s"), op: "Sleep", name: "1m30s", displayName: "s", opts: race, userland: { id: "s" }, data: null },
      {
        id: hash("u"),
        op: "Sleep",
        name: "2030-01-01T00:00:00.000Z",
        displayName: "u",
        opts: race,
        userland: { id: "u" },
        data: null,
      },
    ]);
    expect(bodies).toEqual([]);
  });

  test("a failed step is reported as retryable or final", async () => {
    const engine = engineFor(({ step }) => step.run("a", () => Promise.reject(new TypeError("no"))), plain);
    const again = await engine.request("step", 0);
    expect(again.noRetry).toBe(false);
    expect(opsOf(again)).toMatchObject([
      { op: "StepError", data: null, error: { name: "TypeError", message: "no", __serialized: true } },
    ]);
    const final = await engine.request("step", 2);
    expect(final.noRetry).toBe(true);
    expect(opsOf(final)).toMatchObject([
      { op: "StepFailed", data: { __serialized: true, name: "TypeError", message: "no", stack: "" } },
    ]);
  });

  test("repeated step ids are numbered", async () => {
    const engine = engineFor(({ step }) => Promise.all([step.run("a", () => 1), step.run("a", () => 2)]), plain);
    expect(opsOf(await engine.request())).toMatchObject([
      { id: hash("a"), userland: { id: "a" } },
      { id: hash("a:1"), displayName: "a:1", userland: { id: "a", index: 1 } },
    ]);
  });
});

describe("Replies", () => {
  test("a reply carries a value, undefined, a failure or a final failure", async () => {
    const value = await engineFor(() => ({ ok: 1 }), plain).request();
    expect(value).toMatchObject({ status: "DONE", noRetry: false });
    expect(jsonOf(value)).toEqual({ ok: 1 });
    expect(jsonOf(await engineFor(() => undefined, plain).request())).toBeNull();
    const failing = engineFor(() => {
      throw new Error("no", { cause: new Error("why") });
    }, plain);
    const again = await failing.request();
    expect(again).toMatchObject({ status: "ERROR", noRetry: false });
    expect(jsonOf(again)).toMatchObject({
      name: "Error",
      message: "no",
      cause: { message: "why" },
      __serialized: true,
    });
    expect(await failing.request("step", 2)).toMatchObject({ status: "DONE", noRetry: true });
    // Also when a gateway counts beyond the limit.
    expect(await failing.request("step", 7)).toMatchObject({ status: "DONE", noRetry: true });
  });

  test("NonRetriableError and RetryAfterError work in steps and in functions", async () => {
    const final = () => {
      throw new NonRetriableError("never");
    };
    expect(await engineFor(final, plain).request()).toMatchObject({ status: "DONE", noRetry: true });
    expect(await engineFor(({ step }) => step.run("a", final), plain).request()).toMatchObject({
      status: "NOT_COMPLETED",
      noRetry: true,
    });
    const later = () => {
      throw new RetryAfterError("later", 1500);
    };
    expect(await engineFor(later, plain).request()).toMatchObject({ status: "ERROR", retryAfter: "2" });
    expect(await engineFor(({ step }) => step.run("a", later), plain).request()).toMatchObject({
      noRetry: false,
      retryAfter: "2",
    });
    expect(new RetryAfterError("x", new Date(0)).retryAfter).toBe("1970-01-01T00:00:00.000Z");
    expect(new RetryAfterError("x", "2m").retryAfter).toBe("120");
  });

  test("errors of the inngest package are recognised by name", async () => {
    const final = Object.assign(new Error("x"), { name: "NonRetriableError" });
    expect(await engineFor(() => Promise.reject(final), plain).request()).toMatchObject({
      status: "DONE",
      noRetry: true,
    });
    const later = Object.assign(new Error("x"), { name: "RetryAfterError", retryAfter: "9" });
    expect(await engineFor(() => Promise.reject(later), plain).request()).toMatchObject({
      status: "ERROR",
      retryAfter: "9",
    });
  });

  test("a returned value that is not JSON fails the function permanently", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const value of [1n, circular, () => 1, Symbol("s")]) {
      const result = await engineFor(() => value, plain).request();
      expect(result).toMatchObject({ status: "DONE", noRetry: true });
      expect(jsonOf(result)).toMatchObject({ code: "STEP_RESULT_INVALID" });
    }
  });

  test("the version of the request is echoed in the reply", async () => {
    const engine = engineFor(({ step }) => step.sleep("s", 1), plain);
    for (const [version, echoed] of [
      [-1, 2],
      [1, 1],
      [2, 2],
      [undefined, 2],
    ] as const) {
      expect((await engine.request("step", 0, { version })).requestVersion).toBe(echoed);
    }
  });
});

describe("Recorded steps", () => {
  test("finished steps do not run again; a failed one rejects with a StepError, which is final when uncaught", async () => {
    const engine = engineFor(({ step }) => step.run("a", () => 1), plain);
    engine.memo.set(hash("a"), { data: "kept" });
    expect(jsonOf(await engine.request())).toBe("kept");
    engine.memo.set(hash("a"), {
      error: { name: "RangeError", message: "gone", stack: "at x", cause: { name: "Error", message: "why" } },
    });
    const result = await engine.request();
    expect(result).toMatchObject({ status: "DONE", noRetry: true });
    expect(jsonOf(result)).toMatchObject({
      name: "RangeError",
      message: "gone",
      stack: "at x",
      cause: { message: "why" },
    });
  });

  test("a caught StepError has step, name, message and cause", async () => {
    const engine = engineFor(async ({ step }) => {
      try {
        await step.run("a", () => 1);
        return undefined;
      } catch (error) {
        const { name, message, stepId, cause } = error as Error & { stepId: string };
        return { name, message, stepId, cause: (cause as Error).message };
      }
    }, plain);
    engine.memo.set(hash("a"), { error: { name: "E", message: "m", cause: { name: "Error", message: "why" } } });
    expect(jsonOf(await engine.request())).toEqual({ name: "E", message: "m", stepId: "a", cause: "why" });
  });

  test("recorded input replaces the arguments of a step", async () => {
    const engine = engineFor(({ step }) => step.run("a", (x: number, y: number) => x + y, 1, 2), plain);
    engine.memo.set(hash("a"), { type: "input", input: [40, 2] });
    expect(opsOf(await engine.request())).toMatchObject([{ op: "StepRun", data: 42, opts: { input: [40, 2] } }]);
  });

  test("step promises settle in recorded order, each with all its continuations before the next", async () => {
    const engine = engineFor(async ({ step }) => {
      const slow = async (): Promise<string> => {
        await step.run("b", () => 0);
        for (let i = 0; i < 20; i += 1) await undefined;
        return "b";
      };
      return Promise.race([step.run("a", () => 0).then(() => "a"), slow()]);
    }, plain);
    engine.memo.set(hash("b"), { data: 1 });
    engine.memo.set(hash("a"), { data: 1 });
    expect(jsonOf(await engine.request())).toBe("b");
  });

  test("recorded steps that the code no longer has do not delay the others", async () => {
    const engine = engineFor(({ step }) => step.run("b", () => 0), plain);
    engine.memo.set(hash("gone"), { data: 1 });
    engine.memo.set(hash("b"), { data: 2 });
    expect(jsonOf(await engine.request())).toBe(2);
  });

  test("replay of n steps costs O(n)", async () => {
    const play = async (count: number): Promise<number> => {
      const engine = engineFor(async ({ step }) => {
        let sum = 0;
        for (let i = 0; i < count; i += 1) sum += await step.run("a", () => 0);
        return sum;
      }, plain);
      for (let i = 0; i < count; i += 1) engine.memo.set(hash(i === 0 ? "a" : `a:${i}`), { data: 1 });
      const from = process.cpuUsage();
      expect(jsonOf(await engine.request())).toBe(count);
      const used = process.cpuUsage(from);
      return used.user + used.system;
    };
    await play(2000);
    const small = Math.min(await play(2000), await play(2000));
    const large = Math.min(await play(20_000), await play(20_000));
    // Ten times the work; quadratic would be a hundred times.
    expect(large).toBeLessThan(small * 40);
  });
});

describe("Planning", () => {
  test("disable_immediate_execution plans even a single step", async () => {
    const engine = engineFor(({ step }) => step.run("a", () => 1), plain);
    const result = await engine.request("step", 0, {
      ctx: {
        run_id: "r",
        attempt: 0,
        stack: { stack: [], current: 0 },
        disable_immediate_execution: true,
        use_api: false,
      },
    });
    expect(opsOf(result)).toMatchObject([{ op: "StepPlanned" }]);
  });

  test("a request without extension data is a plain one, whatever the connection agreed on", async () => {
    const engine = engineFor(({ step }) => step.run("a", () => 1));
    const ctx = { run_id: "r", attempt: 0, stack: { stack: [], current: 0 }, use_api: false };
    expect(opsOf(await engine.request("step", 0, { ctx }))).toMatchObject([{ op: "StepRun", data: 1 }]);
    expect(engine.checkpoints).toEqual([]);
  });

  test("a step that is not awaited when the function returns is still reported", async () => {
    const engine = engineFor(({ step }) => {
      void step.run("a", () => 1);
      return "early";
    }, plain);
    expect(opsOf(await engine.request())).toMatchObject([{ op: "StepPlanned", id: hash("a") }]);
  });

  test("steps behind slow code are found", async () => {
    const engine = engineFor(async ({ step }) => {
      for (let i = 0; i < 5; i += 1) await turn();
      return step.run("a", () => 1);
    }, plain);
    expect(opsOf(await engine.request())).toMatchObject([{ op: "StepRun", data: 1 }]);
  });
});

describe("Targeted requests", () => {
  const handler = async ({ step }: { step: import("../../src/steps/step-types.ts").StepTools }) => {
    const both = await Promise.all([step.run("a", () => "A"), step.run("b", () => "B")]);
    return both;
  };

  test("a targeted request runs exactly its step, also when planning is forced", async () => {
    const engine = engineFor(handler as never, plain);
    const ctx = {
      run_id: "r",
      attempt: 0,
      stack: { stack: [], current: 0 },
      disable_immediate_execution: true,
      use_api: false,
    };
    expect(opsOf(await engine.request(hash("b"), 0, { ctx }))).toMatchObject([
      { op: "StepRun", id: hash("b"), data: "B" },
    ]);
  });

  test("a targeted request reports whether the step's failure is final", async () => {
    const engine = engineFor(({ step }) => step.run("a", () => Promise.reject(new Error("x"))), plain);
    expect(await engine.request(hash("a"), 1)).toMatchObject({ noRetry: false });
    expect(await engine.request(hash("a"), 2)).toMatchObject({ noRetry: true });
  });

  test("a targeted request for a missing step is an error after a short wait", async () => {
    const engine = engineFor(handler as never, plain);
    const result = await engine.request(hash("gone"));
    expect(result).toMatchObject({ status: "ERROR", noRetry: false });
    expect(jsonOf(result)).toMatchObject({
      requestedStep: hash("gone"),
      foundSteps: [{ id: hash("a"), name: "a", displayName: "a" }, { id: hash("b") }],
      totalFoundSteps: 2,
    });
    expect(engine.delaysMs).toEqual([1000]);
  });

  test("a targeted request whose function returns before the step replies with the value", async () => {
    expect(await engineFor(() => 5, plain).request(hash("gone"))).toMatchObject({ status: "DONE" });
  });

  test("a targeted request for a finished step asks for a new pass and runs nothing", async () => {
    const engine = engineFor(handler as never, plain);
    engine.memo.set(hash("a"), { data: 1 });
    expect(opsOf(await engine.request(hash("a")))).toEqual([]);
  });
});

describe("Requests that cannot be executed", () => {
  const engine = () => engineFor(() => 1, plain);

  test("a malformed payload is answered with an error at once", async () => {
    for (const extra of [
      { version: 9 },
      { event: undefined },
      { event: "x" },
      { steps: [] },
      { ctx: "x" },
      { events: {} },
    ]) {
      const result = await engine().request("step", 0, extra);
      expect(result).toMatchObject({ status: "ERROR", noRetry: false });
      expect(jsonOf(result)).toMatchObject({ code: "REQUEST_INVALID", __serialized: true });
    }
  });

  test("a request for an unknown function is answered with an error at once", async () => {
    const result = await engineFor(() => 1, { ...plain, slug: "app-other" }).request();
    expect(result.status).toBe("ERROR");
    expect(jsonOf(result)).toMatchObject({ code: "FUNCTION_UNKNOWN", message: expect.stringContaining("app-f") });
  });

  test("missing ctx and events have defaults", async () => {
    expect(await engine().request("step", 0, { ctx: null, events: null, steps: null })).toMatchObject({
      status: "DONE",
    });
  });
});
