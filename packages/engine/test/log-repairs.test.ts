/** What a log says of a run's repairs is what the repairs themselves would answer. */
import type { LogRow } from "@holdfast/store";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { forkOf, resumePlan } from "../src/run/forked-log.ts";
import { repairsIn } from "../src/run/log-repairs.ts";
import { jsonRow } from "../src/run/log-rows.ts";
import { compensationKey, FAILURE_KEY } from "../src/run/saga.ts";
import { done, failing, op, ops, undoable, World } from "./world.ts";

const NO = { name: "Error", message: "no" };
const KEYS = ["a", "b", "c", "d", "e"] as const;

/** Rows as a run may write them: each step ends once, until its failure is dropped. */
const logs = fc
  .array(
    fc.record({
      key: fc.constantFrom(...KEYS),
      kind: fc.constantFrom("STEP_PLANNED", "STEP_COMPLETED", "STEP_COMPLETED", "STEP_FAILED", "undo", "revive"),
      undo: fc.boolean(),
      at: fc.option(fc.nat(4), { nil: undefined }),
    }),
    { maxLength: 24 },
  )
  .map((moves) => {
    const log: LogRow[] = [];
    const ended = new Map<string, string>();
    const undoneKeys = new Map<string, string>();
    for (const { key, kind, undo, at } of moves) {
      const place = at === undefined || at >= ended.size ? {} : { at };
      const step = { op: "StepRun", name: key, ...place };
      if (kind === "revive") {
        const failed = [...ended].flatMap(([one, how]) => (how === "STEP_FAILED" ? [one] : []));
        const compensations = [...undoneKeys].flatMap(([one, how]) => (how === "STEP_FAILED" ? [one] : []));
        log.push(jsonRow("RUN_REVIVED", "", 0, 0, { dropped: [...failed, ...compensations] }));
        for (const one of failed) ended.delete(one);
        for (const one of compensations) undoneKeys.delete(one);
      } else if (kind === "undo") {
        if (!undoneKeys.has(FAILURE_KEY))
          log.push(jsonRow("STEP_COMPLETED", FAILURE_KEY, 0, 0, { step: { op: "StepRun" } }));
        undoneKeys.set(FAILURE_KEY, "STEP_COMPLETED");
        const compensation = compensationKey(key);
        if (ended.get(key) !== "undoable" || undoneKeys.has(compensation)) continue;
        const how = undo ? "STEP_COMPLETED" : "STEP_FAILED";
        undoneKeys.set(compensation, how);
        log.push(
          jsonRow(how, compensation, 0, 0, { step: { op: "StepRun", name: `compensate ${key}` }, ...ending(how) }),
        );
      } else if (kind === "STEP_PLANNED") log.push(jsonRow(kind, key, 0, 0, { op: "StepPlanned", name: key }));
      else if (!ended.has(key)) {
        const isUndoable = undo && kind === "STEP_COMPLETED";
        ended.set(key, isUndoable ? "undoable" : kind);
        log.push(
          jsonRow(kind as "STEP_COMPLETED", key, 0, 0, {
            step: { ...step, ...(isUndoable ? { undo: key } : {}) },
            ...ending(kind),
          }),
        );
      }
    }
    return log;
  });

const ending = (kind: string): object => (kind === "STEP_COMPLETED" ? { data: null } : { error: NO });

test("of any log: the steps to fork from, and whether its run can be resumed", () => {
  fc.assert(
    fc.property(logs, (log) => {
      const { forkable, isResumable } = repairsIn(log);
      const keys = [...new Set(log.map(({ key }) => key))];
      expect(keys.filter((key) => forkable.has(key))).toEqual(keys.filter((key) => forkOf(log, key, null).ok));
      expect(isResumable).toBe(resumePlan(log).ok);
    }),
    { numRuns: runs(1_000) },
  );
});

describe("A run that undoes its steps", () => {
  const undoing = (): World => {
    const world = new World({ maxAttempts: 1 });
    world.pass(ops([undoable("a")]));
    world.pass(ops([undoable("b")]));
    world.pass(ops([done("c")]));
    world.pass({ status: "FAILED", error: NO });
    return world;
  };

  test("can try again what it has not undone, until all of it is", () => {
    const world = undoing();
    const before = repairsIn(world.log);
    expect([before.isCompensating, before.isResumable, before.isUndoingIncomplete]).toEqual([true, true, true]);
    expect([...before.compensations]).toEqual([FAILURE_KEY]);
    world.pass(ops([op("StepRun", compensationKey("b"), { data: null })]));
    world.pass(ops([failing(compensationKey("a"), { error: NO })]), true);
    const failed = repairsIn(world.log);
    expect([failed.isResumable, failed.isUndoingIncomplete, [...failed.forkable]]).toEqual([false, true, ["a"]]);
    expect(failed.compensations.size).toBe(3);
  });

  test("is not said to when it was cancelled first and then resumed", () => {
    const world = undoing();
    world.decide({ type: "cancel", reason: "enough" });
    expect(repairsIn(world.log).isCompensating).toBe(true);
    const dropped = [FAILURE_KEY];
    const log = [...world.log, jsonRow("RUN_REVIVED", "", 0, 1, { dropped })];
    expect(repairsIn(log)).toMatchObject({ isCompensating: false, isResumable: true, isUndoingIncomplete: false });
  });
});
