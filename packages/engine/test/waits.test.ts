import { describe, expect, test } from "vitest";
import { op, ops, World } from "./world.ts";

const forEvent = op("WaitForEvent", "w", { name: "shop/paid", opts: { timeout: "1m" } });
const forSignal = (id: string, conflict: "fail" | "replace") =>
  op("WaitForSignal", id, { opts: { signal: "go", timeout: "1m", conflict } });

const ARRIVED = { type: "arrived", key: "w", result: { type: "data", text: '"paid"' } } as const;

/** A run that waits; the timeout's job is read before anything ends it. */
function waiting() {
  const world = new World();
  world.pass(ops([forEvent]));
  const timeout = { type: "timer", jobId: world.job("timer", "w").id } as const;
  const settled = () => world.kinds().filter((kind) => kind.endsWith(" w") && kind.startsWith("STEP_COMPLETED"));
  return { world, timeout, settled };
}

describe("Ends of waits", () => {
  test("DECIDE-7: an event that arrives ends a wait once; its timeout and a second event change nothing", () => {
    const { world, timeout, settled } = waiting();
    expect(world.decide(ARRIVED)).not.toBeNull();
    expect(world.decide(timeout)).toBeNull();
    expect(world.decide(ARRIVED)).toBeNull();
    expect(settled()).toHaveLength(1);
    expect(world.state.memo.get("w")).toMatchObject({ text: '{"type":"data","data":"paid"}' });
  });

  test("DECIDE-7: a timeout ends a wait once; an event that arrives later changes nothing", () => {
    const { world, timeout, settled } = waiting();
    world.nowMs += 60_000;
    expect(world.decide(timeout)).not.toBeNull();
    expect(world.decide(ARRIVED)).toBeNull();
    expect(world.decide(timeout)).toBeNull();
    expect(settled()).toHaveLength(1);
    expect(world.state.memo.get("w")).toMatchObject({ text: '{"type":"data","data":null}' });
  });
});

test("DECIDE-9: when two steps of one report wait for the same signal the first keeps it and the second fails", () => {
  const world = new World();
  const decision = world.pass(ops([forSignal("a", "fail"), forSignal("b", "fail")]));
  expect(decision?.addWaits.map(({ key }) => key)).toEqual(["a"]);
  expect(world.log.find(({ kind, key }) => kind === "STEP_FAILED" && key === "b")?.dataJson).toContain(
    "SIGNAL_CONFLICT",
  );
});

test("DECIDE-9: a step that replaces takes the signal of an earlier step of the same report", () => {
  const world = new World();
  const decision = world.pass(ops([forSignal("a", "fail"), forSignal("b", "replace"), forSignal("c", "replace")]));
  expect(decision?.addWaits.map(({ key }) => key)).toEqual(["c"]);
  // The others wait on for their timeouts alone.
  for (const key of ["a", "b", "c"]) expect(world.has("timer", key)).toBe(true);
});
