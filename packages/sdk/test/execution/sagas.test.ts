import { AsyncLocalStorage } from "node:async_hooks";
import type { Op } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { NonRetriableError } from "../../src/steps/errors.ts";
import type { StepTools } from "../../src/steps/step-types.ts";
import type { Engine } from "./engine.ts";
import { engineFor, hash } from "./support.ts";

const allOps = (engine: Engine): Op[] => [...engine.checkpoints, ...engine.replies].flat();
const named = (engine: Engine, id: string): Op[] => allOps(engine).filter((op) => op.userland?.id === id);

class OutOfStock extends Error {
  override readonly name = "OutOfStock";
  readonly sku = "apple";
}

describe.each([true, false])("Sagas, in place: %s", (inPlace) => {
  test("a compensation runs in the async context in which its step was called, as the body does", async () => {
    const tenant = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const note = (what: string) => (): void => void seen.push([what, tenant.getStore()]);
    const engine = engineFor(
      ({ step }) =>
        tenant.run("acme", async () => {
          await step.run("reserve", note("reserve"), { compensate: note("release") });
          throw new NonRetriableError("no");
        }),
      { inPlace },
    );
    await engine.run();
    expect(seen).toEqual([
      ["reserve", "acme"],
      ["release", "acme"],
    ]);
  });

  test("finished steps are undone in reverse order of completion, with their result and the error", async () => {
    const diary: unknown[] = [];
    const undo = (name: string) => (result: unknown, error: Error & { sku?: string }) => {
      diary.push([name, result, error.name, error.message, error.sku]);
    };
    const engine = engineFor(
      async ({ step }) => {
        await step.run("flight", () => ({ booking: 1, at: new Date(0) }), { compensate: undo("flight") });
        await step.run("no undo", () => 0);
        await Promise.all([
          step.run("car", async () => "car", { compensate: undo("car") }),
          step.run("hotel", async (stars: number) => ({ stars }), { compensate: undo("hotel") }, 3),
        ]);
        await step.sleep("think", "1h");
        await step.run("pay", () => {
          throw new NonRetriableError("no", { cause: new OutOfStock("none left") });
        });
      },
      { inPlace },
    );
    const end = await engine.run();
    expect(end).toMatchObject({
      status: "failed",
      value: {
        name: "NonRetriableError",
        message: "no",
        cause: { name: "OutOfStock", data: { sku: "apple" } },
        compensation: { undone: ["hotel", "car", "flight"], failed: [], notRun: [] },
      },
    });
    expect(diary).toEqual([
      ["hotel", { stars: 3 }, "NonRetriableError", "no", undefined],
      ["car", "car", "NonRetriableError", "no", undefined],
      ["flight", { booking: 1, at: "1970-01-01T00:00:00.000Z" }, "NonRetriableError", "no", undefined],
    ]);
    expect(named(engine, "flight").at(-1)).toMatchObject({ opts: { compensate: true } });
    expect(named(engine, "hotel").at(-1)).toMatchObject({ opts: { compensate: true, input: [3] } });
    expect(named(engine, "holdfast/failure")).toMatchObject([
      { op: "StepRun", id: hash("holdfast/failure"), data: { error: { name: "NonRetriableError", message: "no" } } },
    ]);
    const undoOps = allOps(engine).filter((op) => op.op === "StepRun" && op.userland?.id.startsWith("holdfast/comp"));
    expect(undoOps.map((op) => op.userland?.id)).toEqual([
      "holdfast/compensate:hotel",
      "holdfast/compensate:car",
      "holdfast/compensate:flight",
    ]);
    expect(undoOps[0]?.id).toBe(hash("holdfast/compensate:hotel"));
  });

  test("a compensation has its own retries; one that fails permanently is listed, and the next one runs", async () => {
    const tries = { a: 0, b: 0, c: 0 };
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => 1, {
          compensate: () => {
            tries.a += 1;
          },
        });
        await step.run("b", () => 2, {
          compensate: () => {
            tries.b += 1;
            throw new TypeError("cannot");
          },
        });
        await step.run("c", () => 3, {
          compensate: () => {
            tries.c += 1;
            if (tries.c < 3) throw new Error("not yet");
          },
        });
        throw new NonRetriableError("over");
      },
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({
      status: "failed",
      value: {
        message: "over",
        compensation: {
          undone: ["c", "a"],
          failed: [{ stepId: "b", error: { name: "TypeError", message: "cannot" } }],
          notRun: [],
        },
      },
    });
    expect(tries).toEqual({ a: 1, b: 3, c: 3 });
  });

  test("many compensations that fail with large errors are listed with the beginnings of their messages", async () => {
    const engine = engineFor(
      async ({ step }) => {
        const fail = (): never => {
          throw Object.assign(new Error("m".repeat(50_000)), { body: "b".repeat(50_000) });
        };
        await Promise.all(Array.from({ length: 12 }, (_, at) => step.run(`s${at}`, () => at, { compensate: fail })));
        throw new NonRetriableError("over");
      },
      { inPlace, maxAttempts: 1 },
    );
    const { value } = await engine.run();
    const { failed } = (value as { compensation: { failed: { stepId: string; error: { message: string } }[] } })
      .compensation;
    expect(failed.map(({ stepId }) => stepId)).toHaveLength(12);
    expect(failed.every(({ error }) => /^m{10000}/.test(error.message))).toBe(true);
    expect(JSON.stringify(value).length).toBeLessThan(1.1 * 1024 * 1024);
  });

  test("compensations run only after the last attempt of the function", async () => {
    let undone = 0;
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => 1, {
          compensate: () => {
            undone += 1;
          },
        });
        expect(undone).toBe(0);
        throw new Error("outside of steps");
      },
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({
      value: { message: "outside of steps", compensation: { undone: ["a"] } },
    });
    expect(undone).toBe(1);
  });

  test("failed and unstarted steps are not undone, repeated steps are undone one by one", async () => {
    const diary: unknown[] = [];
    const engine = engineFor(
      async ({ step }) => {
        for (let n = 0; n < 3; n += 1) {
          await step.run("round", () => n, { compensate: (result) => void diary.push(result) });
        }
        const bad = () => {
          throw new NonRetriableError("bad");
        };
        await step.run("bad", bad, { compensate: () => void diary.push("never") }).catch(() => {});
        await step.run("worse", bad);
        await step.run("not begun", () => 1, { compensate: () => void diary.push("never") });
      },
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({
      value: { compensation: { undone: ["round:2", "round:1", "round"], failed: [], notRun: [] } },
    });
    expect(diary).toEqual([2, 1, 0]);
  });

  test("a run with nothing to undo fails as usual", async () => {
    const engine = engineFor(
      ({ step }) =>
        step.run(
          "a",
          () => {
            throw new NonRetriableError("no");
          },
          { compensate: () => {} },
        ),
      { inPlace },
    );
    expect((await engine.run()).value).not.toHaveProperty("compensation");
    expect(named(engine, "holdfast/failure")).toEqual([]);
  });

  test("while steps are undone no new step starts and no wait continues", async () => {
    const ran: string[] = [];
    const engine = engineFor(
      async ({ step }) => {
        try {
          await step.run("a", () => 1, { compensate: () => void ran.push("undo a") });
          await step.run("fails", () => {
            throw new NonRetriableError("no");
          });
        } finally {
          await step.run("clean up", () => ran.push("clean up"));
        }
      },
      { inPlace },
    );
    // `finally` runs as ever, before the function has failed.
    expect(await engine.run()).toMatchObject({ value: { compensation: { undone: ["a"] } } });
    expect(ran).toEqual(["clean up", "undo a"]);
  });

  test("slow code between steps does not lose a compensation", async () => {
    const undone: string[] = [];
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => 1, { compensate: () => void undone.push("a") });
        await new Promise((resolve) => setTimeout(resolve, 100));
        await step.run("b", () => 2, { compensate: () => void undone.push("b") });
        throw new NonRetriableError("over");
      },
      { inPlace },
    );
    expect(await engine.run()).toMatchObject({ value: { compensation: { undone: ["b", "a"], notRun: [] } } });
    expect(undone).toEqual(["b", "a"]);
  });

  test("a failure recorded by the gateway undoes the finished steps", async () => {
    const undone: unknown[] = [];
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => "A", { compensate: (result, error) => void undone.push([result, error.message]) });
        await step.run("b", () => "B");
        return "done";
      },
      { inPlace, extended: { deadlineMs: 1 } },
    );
    engine.memo.set(hash("a"), { data: "A" });
    engine.memo.set(hash("holdfast/failure"), {
      data: { error: { name: "HoldfastError", code: "RUN_DEADLINE_EXCEEDED", message: "too late" } },
    });
    expect(await engine.run()).toMatchObject({
      status: "failed",
      value: { code: "RUN_DEADLINE_EXCEEDED", compensation: { undone: ["a"], failed: [], notRun: [] } },
    });
    expect(undone).toEqual([["A", "too late"]]);
  });
});

describe("An undoable step that runs at the deadline", () => {
  const late = async (slow: () => unknown, undo: (result: unknown) => void, { step }: { step: StepTools }) => {
    await step.run("slow", slow, { compensate: undo });
    await step.run("after", () => "after");
  };
  const times = { extended: { nowMs: 1000, deadlineMs: 1040 }, inPlace: true } as const;

  test("an undoable step is announced before it starts, finished after the deadline, and undone", async () => {
    const undone: unknown[] = [];
    let toldBefore = 0;
    const slow = async (): Promise<string> => {
      toldBefore = engine.checkpoints.length;
      await new Promise((resolve) => setTimeout(resolve, 120));
      return "S";
    };
    const engine = engineFor((tools) => late(slow, (result) => void undone.push(result), tools), times);
    expect(await engine.run()).toMatchObject({
      status: "failed",
      value: { code: "RUN_DEADLINE_EXCEEDED", compensation: { undone: ["slow"], failed: [], notRun: [] } },
    });
    expect(toldBefore).toBe(1);
    expect(engine.checkpoints[0]).toMatchObject([{ op: "StepPlanned", id: hash("slow"), opts: { compensate: true } }]);
    expect(undone).toEqual(["S"]);
    expect(named(engine, "after")).toEqual([]);
  });

  test("an announced step does not start when another worker has the work", async () => {
    let begun = 0;
    const engine = engineFor(
      (tools) =>
        late(
          () => (begun += 1),
          () => {},
          tools,
        ),
      {
        ...times,
        answer: () => "stale",
        maxPasses: 3,
      },
    );
    await expect(engine.run()).rejects.toThrow("did not end");
    expect([begun, engine.losses]).toEqual([0, 3]);
  });

  test("an announced step starts when the gateway does not support announcements", async () => {
    const engine = engineFor(
      (tools) =>
        late(
          () => "S",
          () => {},
          tools,
        ),
      {
        ...times,
        extended: { nowMs: 1000, deadlineMs: 100_000 },
        answer: (ops) => (ops[0]?.op === "StepPlanned" ? "invalid" : "stored"),
      },
    );
    expect(await engine.run()).toMatchObject({ status: "completed" });
  });

  test("without a deadline no step is announced", async () => {
    const engine = engineFor(
      (tools) =>
        late(
          () => "S",
          () => {},
          tools,
        ),
      { inPlace: true },
    );
    await engine.run();
    expect(allOps(engine).map((op) => op.op)).toEqual(["StepRun", "StepRun"]);
  });
});

const saga = async ({ step }: { step: StepTools }): Promise<void> => {
  await step.run("a", () => "A", { compensate: () => {} });
  throw new NonRetriableError("over");
};

test("a compensation that the code no longer has is listed", async () => {
  const engine = engineFor(saga, { haste: 50 });
  engine.memo.set(hash("gone"), { data: 1 });
  engine.memo.set(hash("a"), { data: "A" });
  engine.memo.set(hash("holdfast/failure"), { data: { error: { name: "Error", message: "x" }, steps: ["gone", "a"] } });
  expect(await engine.run()).toMatchObject({
    value: { compensation: { undone: ["a"], failed: [], notRun: ["gone"] } },
  });
});

test("in place, steps still running when the function fails are awaited and undone too", async () => {
  const undone: string[] = [];
  const engine = engineFor(({ step }) =>
    Promise.all([
      step.run("slow", () => new Promise((resolve) => setTimeout(resolve, 30, "done")), {
        compensate: (result) => void undone.push(String(result)),
      }),
      step.run("fails", () => {
        throw new NonRetriableError("no");
      }),
    ]),
  );
  expect(await engine.run()).toMatchObject({ value: { message: "no", compensation: { undone: ["slow"] } } });
  expect(undone).toEqual(["done"]);
});

test("on the plain protocol a planned step whose function has failed ends without running", async () => {
  let ran = 0;
  const engine = engineFor(
    async ({ step }) => {
      await step.run("a", () => "A", { compensate: () => {} });
      await Promise.all([
        step.run("b", () => (ran += 1)),
        step.run("c", () => {
          throw new NonRetriableError("no");
        }),
      ]);
    },
    { inPlace: false },
  );
  engine.memo.set(hash("a"), { data: "A" });
  engine.memo.set(hash("holdfast/failure"), { data: { error: { name: "Error", message: "no" }, steps: ["a"] } });
  const result = await engine.request(hash("b"));
  expect(JSON.parse(new TextDecoder().decode(result.body))).toMatchObject([{ id: hash("b"), op: "StepFailed" }]);
  expect(result).toMatchObject({ status: "NOT_COMPLETED", noRetry: true });
  expect(ran).toBe(0);
});

test("a step may have fewer retries than its function", async () => {
  let tries = 0;
  const fails = (): never => {
    tries += 1;
    throw new Error("no");
  };
  const engine = engineFor(({ step }) => step.run("a", fails, { retries: 0 }), { maxAttempts: 5 });
  expect(await engine.run()).toMatchObject({ status: "failed", value: { message: "no" } });
  expect(tries).toBe(1);
  // An object with such a key can still be an argument.
  const other = engineFor(({ step }) => step.run("a", (given: { retries: number }) => given.retries, { retries: 7 }));
  expect(await other.run()).toEqual({ status: "completed", value: 7 });
});
