import { emptyRun } from "@holdfast/engine";
import { expect, test } from "vitest";
import { LastSteps, lossMessage } from "../../src/dispatch/workers/last-steps.ts";

const request = (jobId: string, ...ids: readonly string[]) => ({
  fence: { jobId, epoch: 1 },
  running: { steps: ids.map((id) => ({ id, runningMs: 9_000 })), saidMs: 0 },
});

test("the step that began last is kept until the job is lost without one", () => {
  const steps = new LastSteps();
  steps.note(request("a", "one", "two"));
  expect(steps.of("a")).toBe("two");
  steps.note({ fence: { jobId: "a", epoch: 2 } });
  expect(steps.of("a")).toBeUndefined();
});

test("of many jobs the oldest is forgotten", () => {
  const steps = new LastSteps();
  for (let job = 0; job <= 1_000; job += 1) steps.note(request(String(job), "s"));
  expect(["0", "1", "1000"].map((job) => steps.of(job))).toEqual([undefined, "s", "s"]);
});

test("a run that is given up names the running step, or else the one before it", () => {
  const run = emptyRun({ runId: "r", functionId: "f", appId: "a", appVersion: "", version: 0 });
  const lost = "The work was lost 20 times in a row without any progress";
  expect(lossMessage(20, run, undefined)).toBe(`${lost}.`);
  const step = (signature: string) => ({ text: "{}", signature, isUndefined: false });
  run.memo.set("1", step("StepRun ok"));
  expect(lossMessage(20, run, undefined)).toBe(`${lost} after step "ok".`);
  expect(lossMessage(20, run, "bad")).toBe(`${lost}, the last time while step "bad" was running.`);
  run.memo.set("2", step("Sleep 5s"));
  expect(lossMessage(20, run, undefined)).toBe(`${lost}.`);
});
