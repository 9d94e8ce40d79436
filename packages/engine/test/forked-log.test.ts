import type { LogRow } from "@holdfast/store";
import { describe, expect, test } from "vitest";
import { fold } from "../src/run/fold.ts";
import { forkOf, resumePlan, stepKeyIn, stepNamesIn } from "../src/run/forked-log.ts";
import { jsonRow, runCreatedRow } from "../src/run/log-rows.ts";
import { emptyRun } from "../src/run/run-state.ts";
import { compensationKey, FAILURE_KEY } from "../src/run/saga.ts";
import { hashStepId } from "./hash.ts";
import { done, failing, IDENTITY, op, ops, planned, sleeping, undoable, World } from "./world.ts";

const NO = { name: "Error", message: "no" };
const OPTIONS = { maxAttempts: 5, deadlineInMs: null, finishInMs: null, cancelRules: [] };

const kinds = (rows: readonly LogRow[]): string[] => rows.map(({ kind, key }) => `${kind} ${key}`);

function rowsOf(world: World, step: string, result: string | null = null): readonly LogRow[] {
  const fork = forkOf(world.log, step, result);
  if (!fork.ok) throw new Error(`no fork: ${fork.why}`);
  return fork.rows;
}

/** A run whose handler ended with this error. */
const failedWith = (world: World, error: object): void =>
  void world.pass({ status: "FAILED", error: { ...NO, ...error } });

const resume = (world: World, dropped: readonly string[], more: object = {}) =>
  world.decide({
    type: "resume",
    headVersion: world.state.version,
    dropped,
    appVersion: "2",
    options: { ...OPTIONS, ...more },
  });

describe("Forks", () => {
  test("FORK-1: what had ended before the step appeared is kept, in its order", () => {
    const world = new World();
    world.pass(ops([done("a")]));
    world.pass(ops([done("b"), done("c")]));
    expect(kinds(rowsOf(world, "c"))).toEqual(["STEP_COMPLETED a", "STEP_COMPLETED b"]);
    expect(kinds(rowsOf(world, "a"))).toEqual([]);
  });

  test("FORK-1: of parallel steps those are kept that had ended before it was planned", () => {
    const world = new World();
    world.pass(ops([done("a")]));
    world.pass(ops([planned("slow"), planned("quick")]));
    world.step("quick", ops([done("quick")]));
    world.step("slow", ops([done("slow")]));
    for (const step of ["slow", "quick"]) expect(kinds(rowsOf(world, step))).toEqual(["STEP_COMPLETED a"]);
  });

  test("FORK-1: a step that was tried again appears with its first attempt", () => {
    const world = new World();
    world.pass(ops([done("a"), failing("b")]), true);
    world.pass(ops([done("c")]), true);
    world.pass(ops([done("b")]), true);
    expect(kinds(rowsOf(world, "b"))).toEqual(["STEP_COMPLETED a"]);
  });

  test("FORK-2: with a result the step is finished with it, under its own name and number", () => {
    const world = new World();
    world.pass(ops([op("StepFailed", "a", { error: NO, ordinal: 4 })]));
    const [row] = rowsOf(world, "a", '{"fixed":true}');
    const state = fold(emptyRun(IDENTITY), [
      { ...runCreatedRow({ maxAttempts: 1 }, "{}"), seq: 1, atMs: 1, headVersion: 1, headStatus: "PENDING" },
      { ...(row as LogRow), seq: 2, atMs: 1, headVersion: null, headStatus: null },
    ]);
    expect(state.memo.get("a")).toMatchObject({
      text: '{"type":"data","data":{"fixed":true}}',
      signature: "StepRun:a#4",
    });
  });

  test("FORK-2: a wait that is given a result stays a wait", () => {
    const world = new World();
    world.pass(ops([op("WaitForEvent", "w", { name: "x", opts: { timeout: "1h" } })]));
    expect(rowsOf(world, "w", '{"name":"x"}')[0]?.dataJson).toContain('"op":"WaitForEvent"');
  });

  test("FORK-3: what was open begins anew", () => {
    const world = new World();
    world.pass(ops([done("a"), sleeping("s", "1h"), op("WaitForEvent", "w", { name: "x" }), failing("f")]), true);
    world.pass(ops([done("b")]), true);
    expect(kinds(rowsOf(world, "b"))).toEqual(["STEP_COMPLETED a"]);
  });

  test("a failed step that the handler caught is kept as failed", () => {
    const world = new World();
    world.pass(ops([op("StepFailed", "a", { error: NO })]));
    world.pass(ops([done("b")]));
    expect(kinds(rowsOf(world, "b"))).toEqual(["STEP_FAILED a"]);
  });

  test("FORK-4: deferred runs are on record, and never begun by the fork", () => {
    const world = new World();
    world.pass(ops([done("a"), op("DeferAdd", "d", { opts: { fn_slug: "shop-later", input: {} } })]));
    world.pass(ops([done("b")]));
    const fork = rowsOf(world, "b");
    expect(kinds(fork)).toEqual(["STEP_COMPLETED a", "DEFERRED d"]);
    expect(JSON.parse(fork[1]?.dataJson ?? "{}").rejected).toMatch(/forked/);
  });

  test("FORK-5: a step that was undone is not kept, nor one whose undoing had begun", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a")]));
    world.pass(ops([done("b")]));
    world.pass({ status: "FAILED", error: NO });
    expect(forkOf(world.log, "b", null)).toMatchObject({ ok: true, undoable: ["a"] });
    world.pass(ops([failing(compensationKey("a"), { error: NO })]), true);
    expect(forkOf(world.log, "b", null)).toEqual({ ok: false, why: "undone", step: "a" });
    expect(forkOf(world.log, "a", null)).toMatchObject({ ok: true, rows: [] });
  });

  test("compensations are no steps to fork from", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a")]));
    world.pass({ status: "FAILED", error: NO });
    expect(forkOf(world.log, FAILURE_KEY, null)).toEqual({ ok: false, why: "unknown" });
    expect(stepNamesIn(world.log)).toEqual(["a"]);
  });

  test("a step is found by its author's id, with the number of a repeat, by its hash, or by a name of its own", () => {
    const named = { fetch: "Load it", "fetch:1": "Twice", third: "Twice" };
    const log = Object.entries(named).map(([id, name]) =>
      jsonRow("STEP_COMPLETED", hashStepId(id), 0, 0, { step: { op: "StepRun", name }, data: null }),
    );
    expect(stepKeyIn(log, "Load it")).toBe(hashStepId("fetch"));
    expect(stepKeyIn(log, "Twice")).toBeNull();
    expect(stepKeyIn(log, "fetch")).toBe(hashStepId("fetch"));
    expect(stepKeyIn(log, "fetch:1")).toBe(hashStepId("fetch:1"));
    expect(stepKeyIn(log, hashStepId("fetch"))).toBe(hashStepId("fetch"));
    expect(stepKeyIn(log, "other")).toBeNull();
    expect(stepKeyIn(log, "")).toBeNull();
  });
});

describe("Resuming", () => {
  test("RESUME-1: the step that the run's error names is dropped, what was finished stays", () => {
    const world = new World();
    world.pass(ops([done(hashStepId("a"))]));
    world.pass(ops([op("StepFailed", hashStepId("b"), { error: NO })]));
    failedWith(world, { message: "wrapped", cause: { ...NO, data: { stepId: "b" } } });
    expect(resumePlan(world.log)).toEqual({ ok: true, dropped: [hashStepId("b")] });
  });

  test("RESUME-1: a failure that the handler caught and went on from stays", () => {
    const world = new World();
    world.pass(ops([op("StepFailed", hashStepId("a"), { error: { name: "Error", message: "caught" } })]));
    world.pass(ops([done(hashStepId("fallback"))]));
    world.pass(ops([op("StepFailed", hashStepId("b"), { error: NO })]));
    failedWith(world, { data: { stepId: "b" } });
    expect(resumePlan(world.log)).toEqual({ ok: true, dropped: [hashStepId("b")] });
    expect(resume(world, [hashStepId("b")])).not.toBeNull();
    expect([...world.state.memo.keys()]).toEqual([hashStepId("a"), hashStepId("fallback")]);
  });

  test("RESUME-1: of parallel steps that failed together all are dropped", () => {
    const world = new World({ maxAttempts: 1 });
    const both = [op("StepFailed", hashStepId("a"), { error: NO }), op("StepFailed", hashStepId("b"), { error: NO })];
    world.pass(ops(both), true);
    failedWith(world, { data: { stepId: "a" } });
    expect(resumePlan(world.log)).toEqual({ ok: true, dropped: [hashStepId("a"), hashStepId("b")] });
  });

  test("RESUME-1: a step of a worker that names none in its errors is found by its error", () => {
    const world = new World();
    world.pass(ops([op("StepFailed", "a", { error: NO })]));
    world.pass(ops([done("beside")]));
    failedWith(world, {});
    expect(resumePlan(world.log)).toEqual({ ok: true, dropped: ["a"] });
  });

  test("a run whose handler threw outside of steps drops nothing", () => {
    const world = new World();
    world.pass(ops([done("a")]));
    failedWith(world, {});
    expect(resumePlan(world.log)).toEqual({ ok: true, dropped: [] });
  });

  test("RESUME-2: a run that has undone a step does not go on", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a")]));
    world.pass({ status: "FAILED", error: NO });
    world.pass(ops([op("StepRun", compensationKey("a"), { data: null })]));
    world.pass({ status: "FAILED", error: NO });
    expect(world.state.status).toBe("FAILED");
    expect(resumePlan(world.log)).toEqual({ ok: false, why: "undone", step: "a" });
  });

  test("a run that was cancelled before it undid anything goes on with its code, not with its undoing", () => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a")]));
    world.pass({ status: "FAILED", error: NO });
    world.decide({ type: "cancel", reason: "enough" });
    const plan = resumePlan(world.log);
    expect(plan).toEqual({ ok: true, dropped: [FAILURE_KEY] });
    resume(world, [FAILURE_KEY]);
    expect([...world.state.memo.keys()]).toEqual(["a"]);
    expect(world.state.undoable).toEqual([{ key: "a", id: "a" }]);
  });

  test("it goes on with new attempts, the newest version and its options", () => {
    const world = new World({ maxAttempts: 1, run: { deadlineInMs: 5_000 } });
    world.pass(ops([done("a")]));
    world.pass(ops([op("StepFailed", "b", { error: NO })]));
    failedWith(world, {});
    world.nowMs += 60_000;
    const decision = resume(world, ["b"], { deadlineInMs: 5_000, finishInMs: 9_000 });
    expect(decision).toMatchObject({ revives: true, head: { appVersion: "2", deadlineMs: world.nowMs + 5_000 } });
    expect(world.state).toMatchObject({ appVersion: "2", maxAttempts: 5, revivals: 1, passAttempt: 0 });
    expect([...world.queue.values()].map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      "pass ",
      "timer holdfast/deadline",
      "timer holdfast/finish",
    ]);
    // The step fails again, as in its first life, and its rows are new ones.
    world.pass(ops([failing("b")]), true);
    expect(world.state.attempts.get("b")).toBe(1);
    expect(world.reread()).toEqual(world.state);
  });

  test("what cancels the run is waited for again", () => {
    const world = new World();
    failedWith(world, {});
    const cancelRules = [{ event: "shop/stop", expression: null, timeout: null }];
    expect(resume(world, [], { cancelRules })?.addWaits).toMatchObject([{ key: "cancel:0", kind: "cancel" }]);
    expect(world.decide({ type: "cancel", reason: "stop", waitKey: "cancel:0" })).not.toBeNull();
    expect(world.state.status).toBe("CANCELLED");
  });

  test("its second end is an event of its own, and begins only what was deferred since", () => {
    const world = new World();
    const defer = (id: string) => op("DeferAdd", id, { opts: { fn_slug: "shop-later", input: {} } });
    world.pass(ops([done("a"), defer("one")]));
    failedWith(world, {});
    const first = world.events.splice(0);
    resume(world, []);
    world.pass(ops([done("b"), defer("two")]));
    world.decide({ type: "cancel", reason: "enough" });
    const [begun, again] = [first, world.events].map((list) =>
      list.filter(({ name }) => name === "inngest/deferred.schedule"),
    );
    expect([begun?.length, again?.length]).toEqual([1, 1]);
    expect(JSON.parse(again?.[0]?.payload() ?? "{}").data._inngest.parent_run_id).toBe("run-1");
    expect(new Set([...first, ...world.events].map(({ id }) => id)).size).toBe(first.length + world.events.length);
  });

  test("nothing happens to a run that has changed since its log was read, or has not ended badly", () => {
    const world = new World();
    expect(resume(world, [])).toBeNull();
    failedWith(world, {});
    const stale = { type: "resume", headVersion: world.state.version - 1, dropped: [], appVersion: "2" } as const;
    expect(world.decide({ ...stale, options: OPTIONS })).toBeNull();
    const completed = new World();
    completed.pass({ status: "DONE", outputText: "1" });
    expect(resume(completed, [])).toBeNull();
  });
});
