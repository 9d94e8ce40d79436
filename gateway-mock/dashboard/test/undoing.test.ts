import { describe, expect, test } from "vitest";
import type { Fact, RunDetail } from "../src/data/types.ts";
import { canResume, canRetryUndoing, FAILURE_STEP, undoingOf } from "../src/data/undoing.ts";
import { detail, step } from "./runs.ts";

const fact = (kind: string, key: string, data: unknown, seq = 0): Fact => ({
  ...{ seq, atMs: 1_000 + seq, kind, key, attempt: 0, iteration: 0, data },
});
const done = (key: string, more: object = {}): Fact => fact("STEP_COMPLETED", key, { step: { name: key, ...more } });
const undoable = (key: string): Fact => done(key, { undo: key });
const failed = (key: string): Fact => fact("STEP_FAILED", key, { step: { name: key }, error: { message: "no" } });
const begins = done(FAILURE_STEP, { name: "holdfast/failure" });
const revived = (...dropped: string[]): Fact => fact("RUN_REVIVED", "", { dropped });

interface Ended {
  readonly log: readonly Fact[];
  readonly compensation?: object;
  readonly status?: RunDetail["status"];
}

function ended({ log, compensation, status = "FAILED" }: Ended): RunDetail {
  const keys = [...new Set(log.filter(({ kind }) => kind.startsWith("STEP_")).map(({ key }) => key))];
  const error = { name: "Error", message: "No courier.", ...(compensation && { compensation }) };
  const steps = keys.map((key) => step(key, 1_200, { id: key }));
  return detail(steps, { status, error, compensating: compensation !== undefined, log });
}

/** `money` was not undone, `stock` was. */
const saga = ended({
  log: [
    done("ask"),
    undoable("stock"),
    undoable("money"),
    failed("ship"),
    begins,
    failed("compensate money"),
    done("compensate stock"),
  ],
  compensation: { undone: ["stock"], failed: [{ stepId: "money", error: { message: "closed" } }], notRun: [] },
});

describe("A run that could not undo all of its steps", () => {
  test("says which, can try that again, and is not resumed", () => {
    expect(undoingOf(saga).report?.failed.map(({ stepId }) => stepId)).toEqual(["money"]);
    expect([canRetryUndoing(saga), canResume(saga)]).toEqual([true, false]);
  });

  test("is gone on from only where no step that was undone would be kept, and from none of our own steps", () => {
    expect([...undoingOf(saga).forkable]).toEqual(["ask", "stock"]);
  });

  test("has nothing to try again once all is undone", () => {
    const log = [...(saga.log ?? []), revived("compensate money"), done("compensate money")];
    const undone = ended({ log, compensation: { undone: ["money", "stock"], failed: [], notRun: [] } });
    expect([canRetryUndoing(undone), canResume(undone)]).toEqual([false, false]);
    expect([...undoingOf(undone).forkable]).toEqual(["ask", "stock"]);
  });

  test("that was cancelled meanwhile keeps no step whose undoing had begun", () => {
    const attempt = fact("STEP_ATTEMPT_FAILED", "compensate money", { step: { name: "compensate money" } });
    const cancelled = ended({
      log: [undoable("stock"), undoable("money"), failed("ship"), begins, attempt],
      compensation: { undone: [], failed: [], notRun: ["money", "stock"] },
      status: "CANCELLED",
    });
    expect([...undoingOf(cancelled).forkable]).toEqual(["stock", "money"]);
    expect([canRetryUndoing(cancelled), canResume(cancelled)]).toEqual([false, false]);
  });
});

describe("A run that undid nothing", () => {
  const plain = ended({ log: [done("ask"), failed("ship")] });

  test("is resumed, and gone on from any of its steps", () => {
    expect(undoingOf(plain).report).toBeNull();
    expect([...undoingOf(plain).forkable]).toEqual(["ask", "ship"]);
    expect([canRetryUndoing(plain), canResume(plain)]).toEqual([false, true]);
    expect(canResume(ended({ log: [], status: "CANCELLED" }))).toBe(true);
    expect(canResume(ended({ log: [], status: "COMPLETED" }))).toBe(false);
  });

  test("takes a step of the code whose name sounds like ours for one of the code", () => {
    const named = ended({ log: [done("compensate the customer"), failed("ship")] });
    expect(undoingOf(named).forkable.has("compensate the customer")).toBe(true);
    expect(canResume(named)).toBe(true);
  });

  test("was cancelled before it undid anything: it is resumed, and its own record of the failure is no step to go on from", () => {
    const cut = ended({
      log: [undoable("money"), failed("ship"), begins],
      compensation: { undone: [], failed: [], notRun: ["money"] },
      status: "CANCELLED",
    });
    expect(canResume(cut)).toBe(true);
    expect([...undoingOf(cut).forkable]).toEqual(["money", "ship"]);
    // What it does after that is done by its code, not undone.
    const on = ended({ log: [...(cut.log ?? []), revived("ship", FAILURE_STEP), done("compensate"), done("ship")] });
    expect(undoingOf(on).hasBegun).toBe(false);
  });
});

test("a result that was stored late stands where the code was given it", () => {
  // The wait had ended before `money` was undone, and the code was given it first.
  const log = [undoable("money"), done("wait", { at: 0 }), failed("ship"), begins, done("compensate money")];
  const late = ended({ log, compensation: { undone: ["money"], failed: [], notRun: [] } });
  expect([...undoingOf(late).forkable]).toEqual(["money", "wait"]);
});
