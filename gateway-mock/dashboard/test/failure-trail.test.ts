import { expect, test } from "vitest";
import { failedCallOf, MAX_LEVELS, trailOf } from "../src/data/failure-trail.ts";
import type { RunDetail, Step } from "../src/data/types.ts";
import { detail, step } from "./runs.ts";

const broken = { name: "Error", message: "The printer is out of paper." };

/** Failed in a step that had invoked `child`. */
function caller(id: string, child: string, more: Partial<RunDetail> = {}): RunDetail {
  const call: Step = step(`call ${child}`, 1_200, { op: "InvokeFunction", status: "failed", error: broken });
  const data = { wait: { kind: "invoke", name: child } };
  const log = [{ seq: 1, atMs: 1_200, kind: "STEP_WAITING", key: call.id, attempt: 0, iteration: 0, data }];
  const error = { ...broken, data: { stepId: call.name } };
  return detail([call], { id, functionId: `shop-${id}`, status: "FAILED", error, log, ...more });
}

const last = detail([], {
  id: "c",
  functionId: "shop-c",
  status: "FAILED",
  error: { ...broken, data: { stepId: "print" } },
});

test("a failure is followed through the runs that were invoked, down to the one that failed by itself", async () => {
  const runs = new Map([caller("b", "c"), last].map((run) => [run.id, run]));
  expect(await trailOf(caller("a", "b"), async (id) => runs.get(id) ?? null)).toEqual([
    { step: "call b", runId: "b", functionId: "shop-b", failedStep: null },
    { step: "call c", runId: "c", functionId: "shop-c", failedStep: "print" },
  ]);
});

test("the way down ends at a run that is gone, that was there before, and after so many", async () => {
  expect(await trailOf(caller("a", "b"), async () => null)).toEqual([]);
  expect(await trailOf(caller("a", "a"), async () => last)).toEqual([]);
  const endless = await trailOf(caller("0", "1"), async (id) => caller(id, `${Number(id) + 1}`));
  expect(endless).toHaveLength(MAX_LEVELS);
});

test("a run fails with an invocation whose error it threw, as it is or as the cause of another, and with none that it caught", () => {
  expect(failedCallOf(caller("a", "b"))).toEqual({ step: "call b", runId: "b" });
  expect(
    failedCallOf(caller("a", "b", { error: { name: "Error", message: "no label", cause: broken } })),
  ).not.toBeNull();
  expect(failedCallOf(caller("a", "b", { error: { name: "Error", message: "another" } }))).toBeNull();
  expect(failedCallOf(caller("a", "b", { status: "COMPLETED", error: null }))).toBeNull();
});
