import { AsyncResource } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { CURRENT_EXECUTION_KEY, currentExecution } from "../../src/execution/current.ts";
import { NonRetriableError, RetryAfterError, StepError } from "../../src/steps/errors.ts";
import { Engine } from "./engine.ts";
import { client, engineFor, hash, jsonOf, opsOf, silent, turn, unfetched } from "./support.ts";

describe("Checkpoints", () => {
  test("a sequence of steps runs in place in one pass, with one checkpoint per step and one reply", async () => {
    const engine = engineFor(async ({ step }) => (await step.run("a", () => 1)) + (await step.run("b", () => 2)));
    expect(await engine.run()).toEqual({ status: "completed", value: 3 });
    expect(engine.results).toHaveLength(1);
    expect(engine.checkpoints.map((ops) => ops.map((op) => op.id))).toEqual([[hash("a")], [hash("b")]]);
    expect(engine.checkpoints[0]).toMatchObject([{ op: "StepRun", attempt: 0, data: 1 }]);
  });

  test("parallel steps run together and share checkpoints", async () => {
    let running = 0;
    let most = 0;
    const body = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
    };
    const engine = engineFor(({ step }) => Promise.all(Array.from({ length: 100 }, () => step.run("a", body))));
    await engine.run();
    expect(most).toBe(100);
    expect(engine.checkpoints.length).toBeLessThanOrEqual(3);
    expect(engine.results).toHaveLength(1);
  });

  test("a step settles only after its result was stored", async () => {
    let release = (): void => {};
    const gate = new Promise<"stored">((resolve) => {
      release = () => resolve("stored");
    });
    let settled = false;
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => 1);
        settled = true;
      },
      { answer: () => gate },
    );
    const end = engine.run();
    while (engine.checkpoints.length === 0) await turn();
    for (let i = 0; i < 20; i += 1) await turn();
    expect(settled).toBe(false);
    release();
    await end;
    expect(settled).toBe(true);
  });

  test("a stale checkpoint stops the pass: no reply, the signal fires, later steps never start", async () => {
    const bodies: string[] = [];
    let aborted = false;
    const engine = engineFor(
      async ({ step, signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        await step.run("a", () => bodies.push("a"));
        await step.run("b", () => bodies.push("b"));
      },
      { answer: () => "stale" },
    );
    expect(await engine.request()).toMatchObject({ stale: true });
    await turn();
    expect(bodies).toEqual(["a"]);
    expect(aborted).toBe(true);
  });

  test("a stale pass ends after its running bodies have ended", async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const engine = engineFor(({ step }) => Promise.all([step.run("a", () => 1), step.run("slow", () => gate)]), {
      answer: () => "stale",
    });
    let done = false;
    const result = engine.request().then((value) => {
      done = true;
      return value;
    });
    while (engine.checkpoints.length === 0) await turn();
    for (let i = 0; i < 10; i += 1) await turn();
    expect(done).toBe(false);
    release();
    expect(await result).toMatchObject({ stale: true });
  });

  test("an invalid checkpoint falls back to a reply with the ops", async () => {
    const bodies: string[] = [];
    const engine = engineFor(
      async ({ step }) => {
        bodies.push(await step.run("a", () => "a ran"));
        return step.run("b", () => "b ran");
      },
      { answer: (_ops, number) => (number === 1 ? "invalid" : "stored") },
    );
    const first = await engine.request();
    expect(opsOf(first)).toMatchObject([{ op: "StepRun", id: hash("a"), data: "a ran" }]);
    expect(bodies).toEqual([]);
    expect(await engine.run()).toEqual({ status: "completed", value: "b ran" });
  });

  test("the connection's signal stops the pass", async () => {
    const reason = new Error("lease lost");
    let seen: unknown;
    const engine = engineFor(async ({ step, signal }) => {
      await step.run("a", async () => {
        engine.signal.abort(reason);
        await turn();
        seen = signal.reason;
      });
    });
    expect(await engine.request()).toMatchObject({ stale: true });
    expect(seen).toBe(reason);
    expect(engine.checkpoints).toEqual([]);
    expect(await engine.request()).toMatchObject({ stale: true });
  });

  test("a step called just before the pass was stopped does not start", async () => {
    const bodies: string[] = [];
    const engine = engineFor(async ({ step }) => {
      const called = step.run("a", () => bodies.push("a"));
      engine.signal.abort();
      await called;
    });
    expect(await engine.request()).toMatchObject({ stale: true });
    await turn();
    expect(bodies).toEqual([]);
  });
});

describe("Parked steps", () => {
  test("a sleep costs one reply and keeps milliseconds", async () => {
    const engine = engineFor(({ step }) => step.sleep("s", 1250));
    const result = await engine.request();
    expect(opsOf(result)).toMatchObject([{ op: "Sleep", name: "1s250ms" }]);
    expect(engine.checkpoints).toEqual([]);
  });

  test("failed and waiting steps are reported together, with attempt and retry time", async () => {
    const engine = engineFor(({ step }) =>
      Promise.all([
        step.sleep("s", "1h"),
        step.run("x", () => Promise.reject(new Error("no"))),
        step.run("y", () => {
          throw new RetryAfterError("later", "90s");
        }),
        step.run("ok", () => 1),
      ]),
    );
    const result = await engine.request();
    expect(opsOf(result).map(({ id, op, attempt, retryAfter }) => ({ id, op, attempt, retryAfter }))).toEqual([
      { id: hash("s"), op: "Sleep", attempt: undefined, retryAfter: undefined },
      { id: hash("x"), op: "StepError", attempt: 0, retryAfter: undefined },
      { id: hash("y"), op: "StepError", attempt: 0, retryAfter: "90" },
    ]);
    expect(engine.checkpoints.flat().map((op) => op.id)).toEqual([hash("ok")]);
  });

  test("a step that is not due is reported without running; a due one runs with its attempt", async () => {
    const attempts: number[] = [];
    const engine = engineFor(({ step, attempt }) =>
      Promise.all([
        step.run("later", () => attempts.push(-1)),
        step.run("now", () => {
          attempts.push(currentExecution()?.step?.attempt ?? -1, attempt);
          throw new Error("again");
        }),
      ]),
    );
    engine.retries.set(hash("later"), { attempt: 2, notBeforeMs: Date.now() + 3_600_000 });
    engine.retries.set(hash("now"), { attempt: 1, notBeforeMs: Date.now() - 60_000 });
    expect(opsOf(await engine.request())).toMatchObject([
      { id: hash("later"), op: "StepPlanned" },
      { id: hash("now"), op: "StepError", attempt: 1 },
    ]);
    // The handler gets the same attempt, as on the plain protocol.
    expect(attempts).toEqual([1, 1]);
  });

  test("the gateway's time decides whether a step is due", async () => {
    const engine = engineFor(({ step }) => step.run("a", () => 1));
    const gatewayMs = Date.now() + 3_600_000;
    const ctx = {
      attempt: 0,
      max_attempts: 3,
      stack: { stack: [], current: 0 },
      holdfast: { v: 1, nowMs: gatewayMs, retries: { [hash("a")]: { attempt: 1, notBeforeMs: gatewayMs } } },
    };
    expect(await engine.request("step", 0, { ctx })).toMatchObject({ status: "DONE" });
  });

  test("the last attempt is stored as failed, and the handler continues in place", async () => {
    const engine = engineFor(async ({ step }) => {
      try {
        await step.run("a", () => Promise.reject(new TypeError("no")));
      } catch (error) {
        return { is: StepError.is(error), name: (error as Error).name };
      }
      return undefined;
    });
    engine.retries.set(hash("a"), { attempt: 2, notBeforeMs: 0 });
    expect(jsonOf(await engine.request())).toEqual({ is: true, name: "TypeError" });
    expect(engine.checkpoints).toMatchObject([[{ op: "StepFailed", attempt: 2, error: { name: "TypeError" } }]]);
  });
});

describe("The end of a pass", () => {
  test("a returned value ends the pass at once and aborts steps that lost a race", async () => {
    let reported = false;
    const engine = engineFor(({ step, signal }) =>
      Promise.race([
        step.run("fast", () => "fast"),
        step.run(
          "slow",
          () =>
            new Promise((resolve) => {
              signal.addEventListener("abort", () => {
                reported = true;
                resolve("late");
              });
            }),
        ),
      ]),
    );
    expect(await engine.run()).toEqual({ status: "completed", value: "fast" });
    expect(reported).toBe(true);
  });

  test("a retryable failure of the handler waits until running bodies are stored", async () => {
    let bodies = 0;
    const engine = engineFor(async ({ step, attempt }) => {
      const slow = step.run("slow", async () => {
        bodies += 1;
        for (let i = 0; i < 10; i += 1) await turn();
      });
      if (attempt === 0) throw new Error("first try");
      await slow;
      return attempt;
    });
    expect(await engine.run()).toEqual({ status: "completed", value: 1 });
    expect(bodies).toBe(1);
  });

  test("an uncaught StepError is final", async () => {
    const engine = engineFor(({ step }) =>
      step.run("a", () => {
        throw new NonRetriableError("never");
      }),
    );
    const result = await engine.request();
    expect(result).toMatchObject({ status: "DONE", noRetry: true });
    expect(jsonOf(result)).toMatchObject({ message: "never" });
  });
});

describe("Values", () => {
  test("undefined stays undefined, in the first pass and on replay", async () => {
    const seen: unknown[] = [];
    const engine = engineFor(async ({ step }) => {
      seen.push(await step.run("a", () => undefined));
      await step.sleep("s", 1);
      return seen.length;
    });
    await engine.run();
    expect(seen).toEqual([undefined, undefined]);
    expect(engine.checkpoints).toMatchObject([[{ undefinedResult: true, data: null }]]);
  });

  test("a step's result is the same in the first pass as on replay", async () => {
    const seen: unknown[] = [];
    const engine = engineFor(async ({ step }) => {
      seen.push(await step.run("a", () => ({ at: new Date(0), skip: undefined, list: [undefined] })));
      await step.sleep("s", 1);
    });
    await engine.run();
    expect(seen[0]).toEqual({ at: "1970-01-01T00:00:00.000Z", list: [null] });
    expect(seen[1]).toEqual(seen[0]);
  });

  test("results that JSON cannot represent fail the step permanently, before anything is stored", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const value of [1n, { deep: [2n] }, circular, () => 1]) {
      const engine = engineFor(({ step }) => step.run("a", () => value as never));
      expect(jsonOf(await engine.request())).toMatchObject({ code: "STEP_RESULT_INVALID" });
      expect(engine.checkpoints.flat().map((op) => op.op)).toEqual(["StepFailed"]);
    }
    const engine = engineFor(({ step }) => step.run("a", () => "é".repeat(2 * 1024 * 1024 + 1)));
    expect(jsonOf(await engine.request())).toMatchObject({ code: "STEP_RESULT_TOO_LARGE" });
  });

  test("arguments that JSON cannot represent fail the step permanently", async () => {
    const result = await engineFor(({ step }) => step.run("a", (x: bigint) => String(x), 1n)).request();
    expect(result).toMatchObject({ status: "DONE", noRetry: true });
    expect(jsonOf(result)).toMatchObject({ code: "STEP_INVALID" });
  });
});

describe("Mistakes in code", () => {
  test("a step inside a step is rejected", async () => {
    const result = await engineFor(({ step }) => step.run("outer", () => step.run("inner", () => 1))).request();
    expect(result).toMatchObject({ status: "DONE", noRetry: true });
    expect(jsonOf(result)).toMatchObject({ code: "STEP_NESTED", message: expect.stringMatching(/"inner".*"outer"/) });
  });

  test("a callback that a step left behind may call steps", async () => {
    const engine = engineFor(async ({ step }) => {
      let later: () => Promise<number> = () => Promise.resolve(0);
      await step.run("a", () => {
        later = AsyncResource.bind(() => step.run("b", () => 2));
      });
      return later();
    });
    expect(await engine.run()).toEqual({ status: "completed", value: 2 });
  });

  test("an invalid step id is rejected", async () => {
    expect(jsonOf(await engineFor(({ step }) => step.run("", () => 1)).request())).toMatchObject({
      code: "STEP_INVALID",
    });
    expect(jsonOf(await engineFor(({ step }) => step.sleep("s", "soon")).request())).toMatchObject({
      code: "DURATION_INVALID",
    });
  });

  test("a step of another kind than the recorded one is a final error, even when caught", async () => {
    const engine = engineFor(async ({ step }) => {
      try {
        await step.run("a", () => 1);
      } catch {
        // Swallowing it does not help.
      }
      return "went on";
    });
    engine.memo.set(hash("a"), null);
    for (const [recorded, signature] of [
      ["sleep:a", 'recorded the step "a" (step.sleep), where'],
      ["Sleep a", 'recorded the step "a" (step.sleep), where'],
      ["WaitForEvent:a#7", 'recorded the 8th step, "a" (step.waitForEvent), where'],
      ["WaitForEvent:a#21", "the 22nd step, "],
      ["WaitForEvent:a#11", "the 12th step, "],
      ["AIGateway:a#2", 'the 3rd step, "a" (aigateway)'],
    ] as const) {
      engine.signatures.set(hash("a"), recorded);
      const result = await engine.request();
      expect(result).toMatchObject({ status: "DONE", noRetry: true });
      expect(jsonOf(result)).toMatchObject({ code: "NON_DETERMINISM", message: expect.stringContaining(signature) });
    }
    for (const signature of ["run:a", "StepRun a", "step.run:a", ""]) {
      engine.signatures.set(hash("a"), signature);
      expect(await engine.request()).toMatchObject({ status: "DONE", noRetry: false });
    }
  });
});

describe("Handler context", () => {
  test("the handler gets events, run id, attempts, version and logger", async () => {
    let seen: Record<string, unknown> = {};
    const engine = engineFor((context) => {
      const { event, events, runId, attempt, maxAttempts, version, logger } = context;
      seen = { event, events, runId, attempt, maxAttempts, version, logger };
    });
    await engine.request("step", 1);
    const event = { id: "e1", name: "test/event", data: { n: 1 }, ts: 1 };
    expect(seen).toEqual({
      event,
      events: [event],
      runId: "01RUN",
      attempt: 1,
      maxAttempts: 3,
      version: undefined,
      logger: expect.anything(),
    });
  });

  test("the executing run and step can be looked up, also by a debugger", async () => {
    const seen: unknown[] = [];
    const engine = engineFor(async ({ step }) => {
      seen.push(currentExecution());
      await step.run("a", async () => {
        await turn();
        const find = (globalThis as Record<symbol, unknown>)[Symbol.for(CURRENT_EXECUTION_KEY)] as () => unknown;
        seen.push({ ...(find() as object) });
      });
    });
    await engine.request();
    expect(seen).toMatchObject([
      { runId: "01RUN", requestId: "r1", functionSlug: "app-f" },
      { runId: "01RUN", step: { id: "a", hash: hash("a"), attempt: 0 } },
    ]);
    expect(currentExecution()).toBeUndefined();
  });

  test("sendEvent sends the same ids on every attempt, and keeps given ids", async () => {
    const batches: unknown[][] = [];
    const sender = {
      options: client.options,
      schemas: undefined,
      sendEvents: async (events: readonly { readonly id?: string }[]) => {
        batches.push(events.map((event) => event.id));
        if (batches.length === 1) throw new Error("lost");
        return { ids: events.map((event) => event.id ?? "") };
      },
      sendSignal: async () => ({}),
      fetchRunState: unfetched,
    };
    const engine = engineFor(
      ({ step }) =>
        step.sendEvent("s", [
          { name: "a/b", data: {} },
          { name: "a/b", id: "mine" },
        ]),
      { client: sender },
    );
    const id = `01RUN-${hash("s")}-0`;
    expect(await engine.run()).toEqual({ status: "completed", value: { ids: [id, "mine"] } });
    expect(batches).toEqual([
      [id, "mine"],
      [id, "mine"],
    ]);
    expect(engine.checkpoints.flat()).toMatchObject([
      { op: "StepRun", name: "sendEvent", displayName: "s", opts: { type: "step.sendEvent" } },
    ]);
  });

  test("onFailure is a separate function that gets the revived error", async () => {
    const app = new Holdfast({ id: "app", isDev: true, logger: silent }, {});
    const fn = app.createFunction(
      {
        id: "f",
        triggers: [],
        onFailure: ({ error, event, step }) =>
          step.run("note", () => `${error.name}: ${error.message} of ${event.data.run_id}`),
      },
      () => 1,
    );
    const event = {
      id: "e",
      name: "inngest/function.failed",
      ts: 1,
      data: { run_id: "r", function_id: "app-f", error: { name: "TypeError", message: "no" } },
    };
    const engine = new Engine({ client: app, fn, inPlace: true, slug: "app-f-failure", event });
    expect(await engine.run()).toEqual({ status: "completed", value: "TypeError: no of r" });
  });
});
