import { AsyncLocalStorage } from "node:async_hooks";
import type { CheckpointOutcome, Op } from "@holdfast/protocol";
import { HANDLER_END_ID } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { NonRetriableError, RetryAfterError } from "../../src/steps/errors.ts";
import { MAX_BATCH_BYTES, MAX_REPEATED_BYTES } from "../../src/steps/in-place-machine.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { engineFor, hash, opsOf, turn } from "./support.ts";

const ahead = (handler: (context: HandlerContext<unknown>) => unknown, options: Partial<EngineOptions> = {}): Engine =>
  engineFor(handler, { looksAhead: true, ...options });

const names = (ops: readonly Op[]): string[] =>
  ops.map(({ id, op, displayName }) => (id === HANDLER_END_ID ? op : `${op} ${displayName}`));

/** Answers of checkpoints that a test gives when it wants to. */
function gate(): { readonly answer: () => Promise<CheckpointOutcome>; open(outcome?: CheckpointOutcome): void } {
  const waiting: ((outcome: CheckpointOutcome) => void)[] = [];
  return {
    answer: () => new Promise((resolve) => waiting.push(resolve)),
    open: (outcome = "stored") => waiting.shift()?.(outcome),
  };
}

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i += 1) await turn();
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn();
}

describe("The async context of a call", () => {
  test("is that of the body, also where it had to wait for the step before it, and of several runs at once", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const ids = ["a", "b", "c"];
    const play = (run: string): Promise<unknown> =>
      ahead(async ({ step }) => {
        for (const id of ids) {
          await storage.run(`${run} ${id}`, () => step.run(id, () => void seen.push([run, id, storage.getStore()])));
        }
      }).run();
    await Promise.all(["1", "2", "3"].map(play));
    expect(seen).toHaveLength(9);
    for (const [run, id, store] of seen as string[][]) expect(store).toBe(`${run} ${id}`);
  });

  test("is that of the code after a step", async () => {
    const storage = new AsyncLocalStorage<string>();
    const play = (run: string): Promise<unknown> =>
      storage.run(run, () =>
        ahead(async ({ step }) => {
          for (const id of ["a", "b"]) {
            await step.run(id, () => id);
            expect(storage.getStore()).toBe(run);
          }
        }).run(),
      );
    await Promise.all(["1", "2", "3"].map(play));
  });
});

describe("The last results of a run", () => {
  test("a run of one step is one reply: the step's result and the handler's value, and no checkpoint", async () => {
    const engine = ahead(async ({ step }) => ({ got: await step.run("a", () => 1) }));
    expect(await engine.run()).toEqual({ status: "completed", value: { got: 1 } });
    expect(engine.checkpoints).toEqual([]);
    expect(engine.results).toMatchObject([{ status: "NOT_COMPLETED", noRetry: false }]);
    expect(engine.replies).toMatchObject([
      [
        { op: "StepRun", id: hash("a"), data: 1, attempt: 0 },
        { op: "RunComplete", id: HANDLER_END_ID, data: { got: 1 } },
      ],
    ]);
    expect(engine.memo.get(hash("a"))).toMatchObject({ data: 1 });
  });

  test("a handler that was seen to block the thread between steps has its results sent before it goes on", async () => {
    const compute = (): void => {
      for (const start = process.cpuUsage(); process.cpuUsage(start).user < 20_000; );
      engine.clock.pass(20);
    };
    const sent: number[] = [];
    const engine = ahead(async ({ step }) => {
      for (const id of ["a", "b", "c"]) {
        await step.run(id, () => id);
        sent.push(engine.checkpoints.length);
        compute();
      }
    });
    await engine.run();
    // The first time nobody could know.
    expect(sent).toEqual([0, 2, 3]);
    expect(engine.checkpoints.map(names)).toEqual([["StepRun a"], ["StepRun b"], ["StepRun c"]]);
  });

  test("what took long is stored before the handler goes on, and its handler hears first that the work was lost", async () => {
    const stored = gate();
    const did: string[] = [];
    const engine = ahead(
      async ({ step }) => {
        await step.run("long", () => engine.clock.pass(60));
        did.push("after");
      },
      { answer: stored.answer },
    );
    const request = engine.request();
    await until(() => engine.checkpoints.length === 1);
    await turns();
    expect(did).toEqual([]);
    stored.open("stale");
    expect(await request).toMatchObject({ stale: true });
    expect(did).toEqual([]);
  });

  test("parallel steps that end in one turn are one reply with the value", async () => {
    const engine = ahead(({ step }) => Promise.all(["a", "b", "c"].map((id) => step.run(id, () => id))));
    expect(await engine.run()).toEqual({ status: "completed", value: ["a", "b", "c"] });
    expect(engine.checkpoints).toEqual([]);
    expect(engine.replies.map(names)).toEqual([["StepRun a", "StepRun b", "StepRun c", "RunComplete"]]);
  });

  test("a sequence has one checkpoint less than steps", async () => {
    const engine = ahead(async ({ step }) => {
      for (const id of ["a", "b", "c"]) await step.run(id, () => id);
    });
    await engine.run();
    expect(engine.checkpoints.map(names)).toEqual([["StepRun a"], ["StepRun b"]]);
    expect(engine.replies.map(names)).toEqual([["StepRun c", "RunComplete"]]);
  });

  test("a step and a wait after it are one reply", async () => {
    const engine = ahead(async ({ step }) => {
      await step.run("a", () => 1);
      await step.sleep("s", "1h");
    });
    await engine.run();
    expect(engine.checkpoints).toEqual([]);
    expect(engine.replies.map(names)).toEqual([["StepRun a", "Sleep s"]]);
    expect(engine.elapsedMs).toBe(3_600_000);
  });

  test("a permanent failure of the handler takes the results along, and so does one that is tried again", async () => {
    let tries = 0;
    let bodies = 0;
    const engine = ahead(
      async ({ step }) => {
        await step.run("a", () => (bodies += 1));
        tries += 1;
        if (tries < 2) throw new Error("again");
        await step.run("b", () => Promise.reject(new NonRetriableError("never"))).catch(() => {});
        throw new NonRetriableError("at last");
      },
      { maxAttempts: 3 },
    );
    expect(await engine.run()).toMatchObject({ status: "failed", value: { message: "at last" } });
    expect(bodies).toBe(1);
    expect(engine.replies[0]).toMatchObject([
      { op: "StepRun", id: hash("a") },
      { op: "StepError", id: HANDLER_END_ID, error: { message: "again" } },
    ]);
    expect(names(engine.replies.at(-1) ?? [])).toEqual(["StepFailed b", "StepFailed"]);
  });

  test("when to try again is told with the end", async () => {
    const engine = ahead(async ({ step }) => {
      await step.run("a", () => 1);
      throw new RetryAfterError("busy", "90s");
    });
    const result = await engine.request();
    expect(opsOf(result).at(-1)).toMatchObject({ op: "StepError", id: HANDLER_END_ID, retryAfter: "90" });
  });

  test("a failure after which steps are undone is put on record together with them", async () => {
    const undone: unknown[] = [];
    const engine = ahead(
      async ({ step }) => {
        await step.run("a", () => "A", { compensate: (value) => void undone.push(value) });
        await step.run("b", () => "B", { compensate: (value) => void undone.push(value) });
        throw new Error("no");
      },
      { maxAttempts: 1 },
    );
    const end = await engine.run();
    expect(end).toMatchObject({
      status: "failed",
      value: { message: "no", compensation: { undone: ["b", "a"], failed: [] } },
    });
    expect(undone).toEqual(["B", "A"]);
    expect(engine.checkpoints.map(names)).toEqual([["StepRun a"], ["StepRun compensate b"]]);
    expect(engine.replies.map(names)).toEqual([
      ["StepRun b", "StepRun holdfast/failure"],
      ["StepRun compensate a", "StepFailed"],
    ]);
  });

  test("a result that is too large to go with the end is stored first", async () => {
    const large = "x".repeat(MAX_BATCH_BYTES - 200);
    const engine = ahead(async ({ step }) => (await step.run("a", () => large)).length);
    expect(await engine.run()).toEqual({ status: "completed", value: large.length });
    expect(engine.checkpoints.map(names)).toEqual([["StepRun a"]]);
    expect(engine.results).toMatchObject([{ status: "DONE" }]);
  });

  test("a large value is not sent together with results", async () => {
    const engine = ahead(async ({ step }) => (await step.run("a", () => "x")).repeat(MAX_BATCH_BYTES - 100));
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(engine.checkpoints.map(names)).toEqual([["StepRun a"]]);
    expect(engine.results).toMatchObject([{ status: "DONE" }]);
  });
});

describe("While a checkpoint is on its way", () => {
  test("the handler goes on, and no body begins before the results that it has seen are stored", async () => {
    const { answer, open } = gate();
    const seen: string[] = [];
    const engine = ahead(
      async ({ step }) => {
        seen.push(await step.run("a", () => "a"));
        seen.push(
          await step.run("b", () => {
            seen.push(`b begins, a is ${engine.memo.has(hash("a")) ? "" : "not "}stored`);
            return "b";
          }),
        );
      },
      { answer },
    );
    const end = engine.run();
    await until(() => engine.checkpoints.length === 1);
    await turns();
    expect(seen).toEqual(["a"]);
    open();
    await end;
    expect(seen).toEqual(["a", "b begins, a is stored", "b"]);
  });

  test("a handler that returns meanwhile repeats the results in its reply", async () => {
    const engine = ahead(
      async ({ step }) => {
        const value = await step.run("a", () => 1);
        await until(() => engine.checkpoints.length === 1);
        return value;
      },
      { answer: () => new Promise(() => {}) },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: 1 });
    expect(engine.checkpoints.map(names)).toEqual([["StepRun a"]]);
    expect(engine.replies.map(names)).toEqual([["StepRun a", "RunComplete"]]);
  });

  test("a large result on its way is not sent twice: the end waits for it", async () => {
    const engine = ahead(async ({ step }) => {
      const { length } = await step.run("a", () => "x".repeat(MAX_REPEATED_BYTES));
      await until(() => engine.checkpoints.length === 1);
      return length;
    });
    expect(await engine.run()).toEqual({ status: "completed", value: MAX_REPEATED_BYTES });
    expect(engine.results).toMatchObject([{ status: "DONE" }]);
  });

  test("one of many parallel steps that is done is not kept back for the others", async () => {
    let release = (): void => {};
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const engine = ahead(({ step }) => Promise.all([step.run("quick", () => 1), step.run("slow", () => slow)]));
    const end = engine.run();
    await until(() => engine.memo.has(hash("quick")));
    expect(engine.checkpoints.map(names)).toEqual([["StepRun quick"]]);
    release();
    await end;
    expect(engine.replies.map(names)).toEqual([["StepRun slow", "RunComplete"]]);
  });

  test("a handler at work between its steps keeps no result back", async () => {
    const engine = ahead(async ({ step }) => {
      await step.run("a", () => 1);
      await until(() => engine.memo.has(hash("a")));
    });
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(engine.results).toMatchObject([{ status: "DONE" }]);
  });

  test("steps of one branch do not wait for results that another branch is given later", async () => {
    const { answer, open } = gate();
    let releaseA = (): void => {};
    const a = new Promise<void>((resolve) => {
      releaseA = resolve;
    });
    const begun: string[] = [];
    const note = (id: string) => (): number => begun.push(id);
    const engine = ahead(
      ({ step }) =>
        Promise.all([
          step.run("a", () => a).then(() => step.run("a2", note("a2"))),
          step.run("b", note("b")).then(() => step.run("b2", note("b2"))),
        ]),
      { answer },
    );
    const end = engine.run();
    await until(() => engine.checkpoints.length === 1);
    releaseA();
    await turns();
    expect(begun).toEqual(["b"]);
    open();
    await until(() => begun.includes("b2"));
    // What a2 waits for is on its way only now.
    expect(begun).toEqual(["b", "b2"]);
    await until(() => engine.checkpoints.length === 2);
    open();
    await until(() => begun.includes("a2"));
    while (engine.results.length === 0) {
      open();
      await turn();
    }
    expect(await end).toMatchObject({ status: "completed" });
  });

  test("a stale answer stops the pass: what was seen has no effect", async () => {
    const begun: string[] = [];
    let aborted = false;
    let wentOn = false;
    const engine = ahead(
      async ({ step, signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        await step.run("a", () => begun.push("a"));
        wentOn = true;
        await step.run("b", () => begun.push("b"));
      },
      { answer: () => "stale" },
    );
    expect(await engine.request()).toMatchObject({ stale: true });
    await turns();
    expect({ begun, aborted, wentOn }).toEqual({ begun: ["a"], aborted: true, wentOn: true });
  });

  test("a cancelled request sends no reply for a handler that has returned on what was not stored", async () => {
    const { answer } = gate();
    const engine = ahead(
      async ({ step }) => {
        await step.run("a", () => "x".repeat(MAX_REPEATED_BYTES));
        await until(() => engine.checkpoints.length === 1);
        return 1;
      },
      { answer },
    );
    const result = engine.request();
    await until(() => engine.checkpoints.length === 1);
    await turns();
    engine.signal.abort();
    expect(await result).toMatchObject({ stale: true });
  });

  test("after an invalid answer held steps are planned, and the reply carries the results", async () => {
    const begun: string[] = [];
    const engine = ahead(
      async ({ step }) => {
        await step.run("a", () => begun.push("a"));
        await step.run("b", () => begun.push("b"));
      },
      { answer: () => "invalid" },
    );
    const result = await engine.request();
    expect(names(opsOf(result))).toEqual(["StepRun a", "StepPlanned b"]);
    expect(begun).toEqual(["a"]);
  });

  test("a handler that returns on a refused result sends both", async () => {
    const engine = ahead(
      async ({ step }) => {
        await step.run("a", () => 1);
        await until(() => engine.checkpoints.length === 1);
        await turns(1);
        return 2;
      },
      { answer: () => "invalid" },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: 2 });
  });

  test("a step that was held and never awaited still belongs to the run", async () => {
    const begun: string[] = [];
    const engine = ahead(async ({ step }) => {
      await step.run("a", () => 1);
      void step.run("b", () => begun.push("b"));
      return "returned";
    });
    expect(await engine.run()).toEqual({ status: "completed", value: "returned" });
    expect(begun).toEqual(["b"]);
    expect(engine.memo.has(hash("b"))).toBe(true);
  });
});

test("a worker looks ahead only where the work was never lost", async () => {
  const handler = async ({ step }: HandlerContext<unknown>): Promise<number> => step.run("a", () => 1);
  const lost = ahead(handler, { extended: { losses: 1 } });
  await lost.run();
  expect(lost.checkpoints.map(names)).toEqual([["StepRun a"]]);
  expect(lost.results).toMatchObject([{ status: "DONE" }]);
  const fresh = ahead(handler, { extended: { losses: 0 } });
  await fresh.run();
  expect(fresh.checkpoints).toEqual([]);
});
