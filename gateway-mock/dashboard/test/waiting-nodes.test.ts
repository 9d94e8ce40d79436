import { expect, test } from "vitest";
import type { Step } from "../src/data/types.ts";
import { waitingNodes } from "../src/data/waiting-nodes.ts";

const step = (id: string, op: string, status: Step["status"]): Step => ({ id, op, status }) as Step;
const node = (id: string, stepId: string, status: "running" | "done" = "running") => ({ id, stepId, status });

test("a node waits when each of its iterations that run waits", () => {
  const steps = [
    step("1", "WaitForSignal", "waiting"),
    step("2", "StepRun", "planned"),
    step("3", "Sleep", "waiting"),
    step("4", "StepRun", "retrying"),
  ];
  const nodes = [
    node("approval", "1"),
    node("work", "2"),
    node("loop", "2"),
    node("loop", "3"),
    node("pause", "3"),
    node("pause", "2", "done"),
    // Its next attempt waits, which is not what the node is for.
    node("retried", "4"),
    node("unknown", "9"),
  ];
  expect([...waitingNodes(nodes, steps)]).toEqual(["approval", "pause"]);
});
