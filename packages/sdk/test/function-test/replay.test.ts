import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { type ExportedFact, type ExportedRun, readExportedRun } from "../../src/function-test/exported-run.ts";
import { Replay } from "../../src/function-test/replay.ts";
import type { Handler, HoldfastFunction } from "../../src/functions/define-function.ts";
import { hashStepId } from "../../src/steps/step-id.ts";
import { silent } from "../execution/support.ts";

const app = new Holdfast({ id: "shop", isDev: true, logger: silent }, {});
const build = (handler: Handler<never>, id = "order"): HoldfastFunction =>
  app.createFunction({ id, triggers: { event: "shop/order" } }, handler as never);

const fact = (kind: string, key: string, data: unknown): ExportedFact => ({
  kind,
  key,
  attempt: 0,
  iteration: 0,
  atMs: 1,
  data,
});
const created = fact("RUN_CREATED", "", {
  run: { maxAttempts: 3 },
  event: { id: "e", name: "shop/order", data: { n: 1 } },
});
const done = (id: string, ordinal: number, data: unknown = id): ExportedFact =>
  fact("STEP_COMPLETED", hashStepId(id), { step: { op: "StepRun", name: id, ordinal }, data });
const waiting = (id: string, ordinal: number): ExportedFact =>
  fact("STEP_WAITING", hashStepId(id), { op: "Sleep", name: id, ordinal, delayMs: 3_600_000 });

const recorded = (status: string, log: readonly ExportedFact[], functionId = "shop-order"): ExportedRun => ({
  format: "holdfast-run/1",
  run: { id: "R", functionId, appId: "shop", appVersion: "1", status, log: [created, ...log] },
});

async function replay(fn: HoldfastFunction, run: ExportedRun) {
  const opened = await Replay.open(async () => ({ fn }));
  return opened.run(readExportedRun(JSON.stringify(run)));
}

const bodies: string[] = [];
const body = (id: string) => () => void bodies.push(id);
const charge: Handler<never> = async ({ step }) => {
  await step.run("reserve", body("reserve"));
  await step.run("charge", body("charge"));
  await step.sleep("pause", "1h");
  await step.run("ship", body("ship"));
};
const LIVING = recorded("WAITING", [done("reserve", 0), done("charge", 1), waiting("pause", 2)]);
const ENDED = recorded("COMPLETED", [done("reserve", 0), done("charge", 1)]);

describe("Replay", () => {
  test("the code that made a run does the same again, without running a body", async () => {
    expect(await replay(build(charge), LIVING)).toEqual({
      ...{ runId: "R", functionId: "shop-order", appVersion: "1", status: "WAITING" },
      ...{ divergence: null, steps: 3, next: [] },
    });
    const between = recorded("RUNNING", [done("reserve", 0)]);
    expect(await replay(build(charge), between)).toMatchObject({ divergence: null, next: ["charge"] });
    expect(bodies).toEqual([]);
  });

  test.each<[string, Handler<never>, ExportedRun, object]>([
    [
      "a step that is not there any more",
      async ({ step }) => void (await step.run("reserve", body("reserve"))),
      ENDED,
      { type: "step-missing", step: "charge" },
    ],
    [
      "a step that has another id",
      async ({ step }) => {
        await step.run("reserve", body("reserve"));
        await step.run("charge the card", body("charge"));
      },
      ENDED,
      {
        type: "step-different",
        recorded: 'the 2nd step, "charge" (step.run)',
        found: 'the 2nd step, "charge the card" (step.run)',
      },
    ],
    [
      "a step that has another id of several lines",
      async ({ step }) => void (await step.run("mail\nto them", body("mail"))),
      recorded("COMPLETED", [done("mail\nto all", 0)]),
      {
        type: "step-different",
        recorded: 'the 1st step, "mail\nto all" (step.run)',
        found: 'the 1st step, "mail\nto them" (step.run)',
      },
    ],
    [
      "another order",
      async ({ step }) => {
        await step.run("charge", body("charge"));
        await step.run("reserve", body("reserve"));
      },
      ENDED,
      { type: "step-order", step: "reserve", after: "charge" },
    ],
    [
      "a new step of a run that has ended",
      async ({ step }) => {
        await step.run("reserve", body("reserve"));
        await step.run("charge", body("charge"));
        await step.run("mail", body("mail"));
      },
      ENDED,
      { type: "step-new", step: "mail" },
    ],
    [
      "a handler that throws where the run went on",
      async ({ step }) => {
        await step.run("reserve", body("reserve"));
        throw new TypeError("oops");
      },
      LIVING,
      { type: "handler-failed", message: "TypeError: oops" },
    ],
  ])("%s is named", async (_what, handler, run, divergence) => {
    expect((await replay(build(handler), run)).divergence).toEqual(divergence);
    expect(bodies).toEqual([]);
  });

  test("a function that this build does not have is named", async () => {
    expect((await replay(build(charge, "other"), LIVING)).divergence).toEqual({ type: "function-missing" });
  });

  test("functions that a module connects are found, and nothing is connected", async () => {
    const opened = await Replay.open(async () => {
      const connection = await app.connect({ functions: [build(charge)] });
      expect(connection.state).toBe("CLOSED");
      await connection.close();
      return {};
    });
    expect(opened.functions).toEqual(["shop-order"]);
    expect(await opened.run(LIVING)).toMatchObject({ divergence: null });
  });

  test("a module that waits for the end of its connection is not waited for", async () => {
    const opened = await Replay.open(async () => {
      const connection = await app.connect({ functions: [build(charge)] });
      await connection.closed;
    });
    expect(opened.functions).toEqual(["shop-order"]);
  });

  test("functions of a module that connects after it was evaluated are found", async () => {
    const opened = await Replay.open(async () => {
      setImmediate(() => app.connect({ functions: [build(charge)] }));
      return {};
    });
    expect(opened.functions).toEqual(["shop-order"]);
  });

  test("a module without functions and lines that are no export are refused", async () => {
    await expect(Replay.open(async () => ({ port: 1 }))).rejects.toMatchObject({ code: "REPLAY_APP_INVALID" });
    expect(() => readExportedRun("{")).toThrow(expect.objectContaining({ code: "EXPORT_INVALID" }));
    expect(() => readExportedRun('{"format":"holdfast-run/9"}')).toThrow(
      /has the format "holdfast-run\/9"; this version reads/,
    );
  });
});

describe("Replay of code that has not changed", () => {
  const passFailed = fact("PASS_FAILED", "", { error: { name: "Error", message: "no truck" } });
  const divergence = async (handler: Handler<never>, run: ExportedRun) =>
    (await replay(build(handler), run)).divergence;

  test("a step that had lost a race when its run ended, and was never stored, is no new one", async () => {
    const raced: Handler<never> = ({ step }) =>
      Promise.race([step.sleep("too long", "1m"), step.run("charge", body("charge"))]);
    expect(await divergence(raced, recorded("COMPLETED", [done("charge", 1)]))).toBeNull();
    const any: Handler<never> = ({ step }) =>
      Promise.any([step.run("first mirror", body("first")), step.run("second mirror", body("second"))]);
    expect(await divergence(any, recorded("COMPLETED", [done("second mirror", 1)]))).toBeNull();
    const failing: Handler<never> = async (tools) => {
      await raced(tools);
      throw new Error("no truck");
    };
    expect(await divergence(failing, recorded("FAILED", [done("charge", 1), passFailed]))).toBeNull();
  });

  test("one that the end of the handler waits for is, and so is one before an error that is new", async () => {
    const run = recorded("COMPLETED", [done("charge", 0)]);
    const isNew = { type: "step-new", step: "new" };
    const all: Handler<never> = ({ step }) =>
      Promise.all([step.run("charge", body("charge")), step.run("new", body("new"))]);
    const left: Handler<never> = async ({ step }) => {
      await step.run("charge", body("charge"));
      void step.run("new", body("new"));
    };
    const throwing: Handler<never> = async (tools) => {
      await left(tools);
      throw new Error("no truck");
    };
    for (const handler of [all, left, throwing]) expect(await divergence(handler, run)).toEqual(isNew);
  });

  test("a handler that had thrown, and is to be tried again or undone, may throw", async () => {
    const throwing: Handler<never> = async ({ step }) => {
      await step.run("charge", body("charge"), { compensate: body("refund") });
      throw new Error("no truck");
    };
    expect(await divergence(throwing, recorded("WAITING", [done("charge", 0), passFailed]))).toBeNull();
    const undoes = fact("STEP_COMPLETED", hashStepId("holdfast/failure"), {
      step: { op: "StepRun", name: "holdfast/failure" },
      data: {},
    });
    expect(await divergence(throwing, recorded("RUNNING", [done("charge", 0), undoes]))).toBeNull();
    const wentOn = recorded("RUNNING", [passFailed, done("charge", 0)]);
    expect(await divergence(throwing, wentOn)).toMatchObject({ type: "handler-failed" });
  });
});
