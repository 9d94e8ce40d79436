import { describe, expect, test } from "vitest";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import type { Engine } from "./engine.ts";
import { Engine as InMemory } from "./engine.ts";
import { client, engineFor, hash, opsOf, turn } from "./support.ts";

type Handler = (context: HandlerContext<unknown>) => unknown;

/** What the run of `before` that is now at a sleep gives when `after` goes on with it. */
async function deploy(
  before: Handler,
  after: Handler,
): Promise<{ engine: Engine; end: { status: string; value: unknown } }> {
  const first = engineFor(before);
  const result = await first.request();
  expect(result.status).toBe("NOT_COMPLETED");
  const engine = new InMemory({
    client,
    fn: client.createFunction({ id: "f", triggers: [] }, after as never),
    inPlace: true,
    haste: 20,
  });
  for (const [id, entry] of first.memo) engine.memo.set(id, entry);
  for (const [id, signature] of first.signatures) engine.signatures.set(id, signature);
  return { engine, end: await engine.run() };
}

const ran: string[] = [];
const run = (name: string) => () => void ran.push(name);

describe("A changed sequence of steps", () => {
  const before: Handler = async ({ step }) => {
    await step.run("a", run("a"));
    await step.run("b", run("b"));
    await step.sleep("nap", "1h");
  };

  test.each([
    [
      "a renamed step",
      async ({ step }) => {
        await step.run("a", run("a"));
        await step.run("c", run("c"));
        await step.sleep("nap", "1h");
      },
      /recorded the 2nd step, "b" \(step\.run\), where the code now has the 2nd step, "c" \(step\.run\)\. /,
    ],
    [
      "a step put in between",
      async ({ step }) => {
        await step.run("a", run("a"));
        await step.run("new", run("new"));
        await step.run("b", run("b"));
        await step.sleep("nap", "1h");
      },
      /"b" \(step\.run\).*"new" \(step\.run\)/,
    ],
    [
      "a step taken out",
      async ({ step }) => {
        await step.run("a", run("a"));
        await step.sleep("nap", "1h");
      },
      /"b" \(step\.run\).*"nap" \(step\.sleep\)/,
    ],
    [
      "a step put first",
      async ({ step }) => {
        await step.sleep("wait", "1h");
        await step.run("a", run("a"));
        await step.run("b", run("b"));
      },
      /the 1st step, "a" \(step\.run\).*"wait" \(step\.sleep\)/,
    ],
    [
      "a wait in place of a step",
      async ({ step }) => {
        await step.run("a", run("a"));
        await step.waitForEvent("b", { event: "x", timeout: "1h" });
        await step.run("c", run("c"));
      },
      /"b" \(step\.run\).*"b" \(step\.waitForEvent\)/,
    ],
  ] as readonly [string, Handler, RegExp][])(
    "ORDER-2: a changed sequence (%s) is a typed, final error and runs no step",
    async (_name, after, message) => {
      ran.length = 0;
      const { engine, end } = await deploy(before, after);
      expect(end).toMatchObject({
        status: "failed",
        value: { name: "NonDeterminismError", code: "NON_DETERMINISM", message: expect.stringMatching(message) },
      });
      expect(engine.results).toHaveLength(1);
      expect(ran).toEqual(["a", "b"]);
    },
  );

  test("steps added after the recorded ones are not a change", async () => {
    ran.length = 0;
    const { end } = await deploy(before, async (context) => {
      await before(context);
      await context.step.run("c", run("c"));
      return "ok";
    });
    expect(end).toEqual({ status: "completed", value: "ok" });
    expect(ran).toEqual(["a", "b", "c"]);
  });
});

describe("Sequences that have not changed", () => {
  test("ORDER-1: a step in a branch that was delayed only by time is not a change", async () => {
    ran.length = 0;
    let slowMs = 60;
    const handler: Handler = async ({ step }) => {
      await Promise.all([
        (async () => {
          await new Promise((resolve) => setTimeout(resolve, slowMs));
          await step.run("late", run("late"));
          await step.run("later", run("later"));
        })(),
        (async () => {
          await step.run("early", run("early"));
          await new Promise((resolve) => setTimeout(resolve, 20));
          await step.run("middle", run("middle"));
          await new Promise((resolve) => setTimeout(resolve, 60));
          await step.sleep("nap", "1h");
        })(),
      ]);
      return "ok";
    };
    const engine = engineFor(handler);
    engine.onRequest = () => {
      slowMs = engine.results.length % 2 === 0 ? 60 : 1;
    };
    expect(await engine.run()).toEqual({ status: "completed", value: "ok" });
    expect(ran.toSorted()).toEqual(["early", "late", "later", "middle"]);
  });

  test("a sleep that ends while another branch is busy is not a change", async () => {
    ran.length = 0;
    const engine = engineFor(async ({ step }) => {
      await Promise.all([
        step.sleep("nap", "1s").then(() => step.run("after nap", run("after nap"))),
        (async () => {
          for (const id of ["x", "y", "z"]) await step.run(id, run(id));
          await step.sleep("end", "1h");
          await step.run("last", run("last"));
        })(),
      ]);
      return "ok";
    });
    expect(await engine.run()).toEqual({ status: "completed", value: "ok" });
    expect(ran.toSorted()).toEqual(["after nap", "last", "x", "y", "z"]);
  });

  test("a pass waits for slow code before a step that is to be retried", async () => {
    let tries = 0;
    const engine = engineFor(async ({ step }) => {
      await Promise.all([
        step.sleep("nap", "1h"),
        (async () => {
          await new Promise((resolve) => setTimeout(resolve, 40));
          await step.run("shaky", () => {
            tries += 1;
          });
        })(),
      ]);
    });
    engine.retries.set(hash("shaky"), { attempt: 1, notBeforeMs: 0 });
    const result = await engine.request();
    expect(opsOf(result).map((op) => op.op)).toEqual(["Sleep"]);
    expect(engine.memo.has(hash("shaky"))).toBe(true);
    expect(tries).toBe(1);
  });

  test("ORDER-3: without numbers from the gateway, a step that was tried before is not a change", async () => {
    const engine = engineFor(async ({ step }) => {
      await step.run("a", () => 1);
      return step.run("b", () => 2);
    });
    engine.memo.set(hash("other"), { data: 1 });
    engine.signatures.set(hash("other"), "StepRun named#0");
    expect(await engine.run()).toEqual({ status: "completed", value: 2 });
    const known = engineFor(({ step }) => step.run("a", () => 1));
    known.memo.set(hash("other"), { data: 1 });
    known.signatures.set(hash("other"), "StepRun:other#0");
    known.retries.set(hash("a"), { attempt: 1, notBeforeMs: 0 });
    await turn();
    expect(await known.run()).toEqual({ status: "completed", value: 1 });
  });
});

describe("Deadlines", () => {
  test("after the deadline no step starts and the run fails permanently with a typed error", async () => {
    ran.length = 0;
    const engine = engineFor(
      async ({ step }) => {
        await step.run("a", () => new Promise((resolve) => setTimeout(resolve, 80)));
        await step.run("b", run("b"));
      },
      { extended: { nowMs: 1000, deadlineMs: 1040 } },
    );
    expect(await engine.run()).toMatchObject({
      status: "failed",
      value: { name: "RunDeadlineError", code: "RUN_DEADLINE_EXCEEDED" },
    });
    expect(engine.memo.has(hash("a"))).toBe(true);
    expect(ran).toEqual([]);
  });

  test("the signal fires with the deadline error", async () => {
    let reason: unknown;
    const engine = engineFor(
      ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            resolve("in vain");
          }),
        ),
      { extended: { nowMs: 1000, deadlineMs: 1020 } },
    );
    expect(await engine.run()).toMatchObject({ status: "failed", value: { name: "RunDeadlineError" } });
    expect(reason).toMatchObject({ name: "RunDeadlineError" });
  });
});
