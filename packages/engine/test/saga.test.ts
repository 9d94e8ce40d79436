import type { PlainError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { checkpointRows } from "../src/decide/checkpoint.ts";
import { begunRow } from "../src/run/log-rows.ts";
import { compensationKey, FAILURE_KEY } from "../src/run/saga.ts";
import { hashStepId } from "./hash.ts";
import { done, failing, op, ops, planned, sleeping, undoable, World } from "./world.ts";

const LOST = { name: "HoldfastError", code: "RUN_LOST", message: "lost" };
const NO = { name: "Error", message: "no" };
const undone = (id: string) => op("StepRun", compensationKey(id), { data: null });
const notUndone = (id: string) => op("StepFailed", compensationKey(id), { error: NO });

/** What the SDK ends with. */
const withReport = (compensation: object, error: PlainError = LOST): PlainError =>
  Object.assign({ ...error }, { compensation });

/** A run that has begun to undo a and b. */
function undoing(): World {
  const world = new World({ maxAttempts: 1 });
  world.pass(ops([undoable("a")]));
  world.pass(ops([undoable("b")]));
  world.decide({ type: "fail", jobId: world.job("pass").id, error: LOST });
  return world;
}

const error = (world: World, decision = world.log.at(-1)): unknown => JSON.parse(decision?.dataJson ?? "{}").error;

describe("Sagas", () => {
  test("the key of the reserved step is the hash of its id", () => {
    expect(FAILURE_KEY).toBe(hashStepId("holdfast/failure"));
  });

  test("the last attempt of a step that lost a race fails alone, and what can be undone is undone", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a")]));
    world.pass(ops([planned("slow", true), planned("quick", true)]));
    world.step("quick", ops([done("quick")]));
    // The handler went on and failed: what it says of that is a step, and the undoing waits for the slow one.
    world.pass(ops([op("StepRun", FAILURE_KEY, { data: { error: NO } })]));
    world.step("slow", { status: "ERROR", error: NO });
    expect(world.state.status).toBe("RUNNING");
    expect(world.kinds()).toContain("STEP_FAILED slow");
    world.pass(ops([undone("a")]));
    expect(world.state.memo.has(compensationKey("a"))).toBe(true);
    // A compensation that cannot be made ends the run.
    const other = undoing();
    other.pass(ops([planned(compensationKey("b")), planned(compensationKey("a"))]));
    other.step(compensationKey("b"), { status: "ERROR", error: NO });
    expect(other.state.status).toBe("FAILED");
  });

  test("a run with steps to undo does not fail at once: the failure is recorded and a pass undoes them", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a"), planned("p"), sleeping("s", "1h"), op("WaitForEvent", "w", { name: "x" })]));
    world.step("p", { status: "ERROR", error: NO });
    expect(world.state.status).toBe("RUNNING");
    expect(world.state.memo.get(FAILURE_KEY)?.text).toBe(JSON.stringify({ type: "data", data: { error: NO } }));
    expect([...world.queue.values()].map(({ kind }) => kind)).toEqual(["pass"]);
    expect([...world.waits.keys(), ...world.state.pending, ...world.state.open.keys()]).toEqual([]);
    world.pass(ops([undone("a")]), true);
    const failed = withReport({ undone: ["a"], failed: [], notRun: [] }, NO);
    world.pass({ status: "FAILED", error: failed });
    expect(world.state.status).toBe("FAILED");
    expect(error(world)).toEqual(failed);
  });

  test("what undoes a run's steps does not count towards the limit of its steps", () => {
    const world = new World();
    const ids = Array.from({ length: world.context().maxSteps }, (_, at) => `s${at}`);
    world.pass(ops(ids.map((id) => undoable(id))));
    world.pass({ status: "FAILED", error: NO });
    const [first = "", ...rest] = ids.toReversed();
    expect(checkpointRows(world.state, [undone(first)], world.context())).toMatchObject({ ok: true });
    world.pass(ops([first, ...rest].map(undone)), true);
    expect(ids.filter((id) => !world.state.memo.has(compensationKey(id)))).toEqual([]);
    expect(world.state.status).toBe("RUNNING");
  });

  test("a handler that fails after as many steps as a run may have has them undone", () => {
    const world = new World();
    const ids = Array.from({ length: world.context().maxSteps }, (_, at) => `s${at}`);
    world.pass(ops([...ids.map((id) => undoable(id)), op("StepRun", FAILURE_KEY, { data: { error: NO } })]), true);
    expect(world.state.status).toBe("RUNNING");
    world.pass(ops(ids.toReversed().map(undone)), true);
    expect(ids.filter((id) => !world.state.memo.has(compensationKey(id)))).toEqual([]);
  });

  test("a run that has too many steps undoes them all", () => {
    const world = new World();
    const ids = Array.from({ length: world.context().maxSteps + 1 }, (_, at) => `s${at}`);
    world.pass(ops(ids.map((id) => undoable(id))));
    expect(world.state.memo.get(FAILURE_KEY)?.text).toContain("RUN_TOO_LARGE");
    world.pass(ops(ids.toReversed().map(undone)), true);
    expect(ids.filter((id) => !world.state.memo.has(compensationKey(id)))).toEqual([]);
    expect(world.state.status).toBe("RUNNING");
  });

  test.each(["InvokeFunction", "Gateway"] as const)(
    "a call (%s) whose end the code has not heard of is undone by the step that it names",
    (kind) => {
      const world = new World({ maxAttempts: 1 });
      const opts = { function_id: "shop-pay", url: "http://pay.test/", undoStep: "pay~undo" };
      world.pass(ops([op(kind, "pay", { opts })]));
      const result = { type: "data", text: "1" } as const;
      if (kind === "Gateway") world.decide({ type: "fetched", jobId: world.job("fetch", "pay").id, result });
      else world.decide({ type: "arrived", key: "pay", result });
      world.decide({ type: "fail", jobId: world.job("pass").id, error: LOST });
      expect(world.state.status).toBe("RUNNING");
      // The step that carries it begins all the same, and stands for the call.
      world.pass(ops([undoable("pay~undo")]), true);
      expect(world.state.undoable).toEqual([{ key: "pay~undo", id: "pay~undo" }]);
      world.pass(ops([undone("pay~undo")]), true);
      world.decide({ type: "fail", jobId: world.job("pass").id, error: LOST });
      expect(error(world)).toMatchObject({ compensation: { undone: ["pay~undo"], failed: [], notRun: [] } });
      expect(world.reread()).toEqual(world.state);
    },
  );

  test("a run without steps to undo fails at once; a failed step has nothing to undo", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([{ ...failing("a"), opts: { compensate: true }, userland: { id: "a" } }]));
    world.pass({ status: "ERROR", error: NO });
    expect(world.state.status).toBe("FAILED");
  });

  test("the error says how far a saga got when workers cannot finish it", () => {
    const world = undoing();
    world.pass(ops([undone("b")]));
    world.decide({ type: "fail", jobId: world.job("pass").id, error: { ...LOST, message: "again" } });
    expect(world.state.status).toBe("FAILED");
    expect(error(world)).toMatchObject({ ...LOST, compensation: { undone: ["b"], failed: [], notRun: ["a"] } });
  });

  test("failed compensations can be retried on their own, and a second failure is reported again", () => {
    const world = undoing();
    world.pass(ops([notUndone("b"), undone("a")]));
    const report = { undone: ["a"], failed: [{ stepId: "b", error: NO }], notRun: [] };
    world.pass({ status: "FAILED", error: withReport(report) });
    for (const round of [1, 2]) {
      const before = world.events.length;
      const decision = world.decide({ type: "revive" });
      expect(decision).toMatchObject({ revives: true, head: { status: "RUNNING" } });
      expect(world.state.memo.has(compensationKey("b"))).toBe(false);
      expect(world.state.memo.has(compensationKey("a"))).toBe(true);
      world.pass(ops([round === 1 ? notUndone("b") : undone("b")]), true);
      world.pass({ status: "FAILED", error: withReport(report) });
      expect(world.state.status).toBe("FAILED");
      const names = world.events.slice(before).map(({ name, id }) => [name, id === "run-1"]);
      expect(names).toEqual([
        ["inngest/function.finished", false],
        ["inngest/function.failed", false],
      ]);
    }
    expect(world.decide({ type: "revive" })).toBeNull();
    expect(world.reread()).toEqual(world.state);
  });

  test("a run that failed without compensations, or did not fail, cannot be revived", () => {
    const world = new World();
    expect(world.decide({ type: "revive" })).toBeNull();
    world.pass({ status: "FAILED", error: NO });
    expect(world.decide({ type: "revive" })).toBeNull();
  });
});

describe("Cancelling a run that undoes its steps", () => {
  const failure = op("StepRun", FAILURE_KEY, { data: { error: NO, steps: ["a", "b"] } });
  const begun = (run: { finishInMs?: number } = {}): World => {
    const world = new World({ run });
    world.pass(ops([undoable("a")]));
    world.pass(ops([undoable("b")]));
    world.pass(ops([failure]));
    world.pass(ops([undone("b")]));
    return world;
  };

  test("timeouts.finish and cancelOn do not interrupt a run that undoes its steps", () => {
    const world = begun({ finishInMs: 60_000 });
    world.nowMs += 60_000;
    const { id: jobId } = world.job("timer", "holdfast/finish");
    world.decide({ type: "timer", jobId, startedMs: 0 });
    expect(world.state.status).not.toBe("CANCELLED");
    expect(world.job("pass").id).toBeTruthy();
    world.state.waits = ["cancel:0"];
    expect(world.decide({ type: "cancel", reason: "stop", waitKey: "cancel:0" })).toBeNull();
  });

  test("cancelling a saga reports which steps were undone and the original failure", () => {
    const world = begun();
    world.decide({ type: "cancel", reason: "stop" });
    expect(world.state.status).toBe("CANCELLED");
    expect(error(world)).toMatchObject({
      code: "RUN_CANCELLED",
      message: "stop",
      cause: { message: NO.message },
      compensation: { undone: ["b"], failed: [], notRun: ["a"] },
    });
  });
});

describe("Run deadlines", () => {
  test("the deadline fails a run with a code although attempts are left, but not while it undoes steps", () => {
    const world = new World({ run: { deadlineInMs: 60_000 } });
    world.pass(ops([done("a")]));
    world.nowMs += 60_000;
    world.timer("holdfast/deadline");
    expect(error(world)).toMatchObject({ name: "RunDeadlineError", code: "RUN_DEADLINE_EXCEEDED" });
    const saga = new World({ run: { deadlineInMs: 60_000 } });
    saga.pass(ops([undoable("a")]));
    const before = saga.job("pass").id;
    saga.nowMs += 60_000;
    const decision = saga.timer("holdfast/deadline");
    expect(decision?.removeJobs).toContain(before);
    expect(saga.job("pass").id).not.toBe(before);
    expect(saga.state.memo.get(FAILURE_KEY)?.text).toContain("RUN_DEADLINE_EXCEEDED");
  });

  test("the deadline allows a started step that can be undone a short extra time", () => {
    const begin = (): World => {
      const world = new World({ run: { deadlineInMs: 60_000 } });
      world.write([begunRow(undoable("a"), 0)]);
      world.nowMs += 60_000;
      world.timer("holdfast/deadline");
      return world;
    };
    const world = begin();
    expect(world.reread()).toEqual(world.state);
    const pass = world.job("pass");
    expect(world.job("timer", "holdfast/deadline").dueMs).toBe(world.nowMs + 30_000);
    world.pass(ops([undoable("a"), op("StepRun", FAILURE_KEY, { data: { error: NO } })]), true);
    expect(world.job("pass").id).not.toBe(pass.id);
    world.nowMs += 30_000;
    world.timer("holdfast/deadline");
    world.pass(ops([undone("a")]), true);
    world.pass({ status: "FAILED", error: withReport({ undone: ["a"], failed: [], notRun: [] }, NO) });
    expect(world.state.status).toBe("FAILED");

    const stuck = begin();
    stuck.nowMs += 30_000;
    stuck.timer("holdfast/deadline");
    expect(error(stuck)).toMatchObject({ code: "RUN_DEADLINE_EXCEEDED" });
    expect(stuck.queue.size).toBe(0);
  });

  test("the deadline does not wait for a step whose outcome is known", () => {
    for (const outcome of [undoable("a"), { ...failing("a"), opts: { compensate: true } }]) {
      const world = new World({ run: { deadlineInMs: 60_000 } });
      world.write([begunRow(undoable("a"), 0)]);
      world.pass(ops([outcome]), true);
      world.nowMs += 60_000;
      world.timer("holdfast/deadline");
      expect(world.state.begun).toEqual([]);
      expect([...world.queue.values()].filter(({ kind }) => kind === "timer")).toEqual([]);
    }
  });

  test("timeouts.finish counts from the start of the run, and cancels it", () => {
    const world = new World({ run: { finishInMs: 60_000 } });
    const fire = (startedMs: number | null) =>
      world.decide({ type: "timer", jobId: world.job("timer", "holdfast/finish").id, startedMs });
    world.nowMs += 60_000;
    expect(fire(null)?.head.status, "a run that no worker has had has not started").toBe("PENDING");
    expect(world.job("timer", "holdfast/finish").dueMs).toBe(world.nowMs + 60_000);
    world.nowMs += 60_000;
    fire(world.nowMs - 20_000);
    expect(world.job("timer", "holdfast/finish").dueMs).toBe(world.nowMs + 40_000);
    world.nowMs += 40_000;
    fire(world.nowMs - 60_000);
    expect(world.state.status).toBe("CANCELLED");
    expect(world.queue.size).toBe(0);
  });
});
