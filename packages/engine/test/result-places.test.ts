/** The order of a run's results where waits end beside a pass that is under way. */
import type { Op } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { checkpointRows } from "../src/decide/checkpoint.ts";
import { forkOf } from "../src/run/forked-log.ts";
import { done, op, ops, sleeping, World } from "./world.ts";

/** A run that sleeps as `s` while a pass is under way, in which the sleep ends. */
function overslept(): World {
  const world = new World();
  world.decide({ type: "parked", ops: [sleeping("s", "1s")] });
  world.nowMs += 1000;
  world.timer("s");
  return world;
}

const at = (position: number, of: Op): Op => ({ ...of, position });

function checkpoint(world: World, list: readonly Op[]): void {
  const made = checkpointRows(world.state, list, world.context());
  if (!made.ok) throw new Error(made.message);
  world.write(made.rows);
}

const order = (world: World): string[] => {
  expect([...world.reread().memo.keys()]).toEqual([...world.state.memo.keys()]);
  return [...world.state.memo.keys()];
};

describe("Results that the code had been given before a wait ended", () => {
  test("come before its end, from a checkpoint", () => {
    const world = overslept();
    checkpoint(world, [at(0, done("a")), done("b")]);
    checkpoint(world, [at(2, op("StepFailed", "c", { error: { name: "Error", message: "no" } }))]);
    expect(order(world)).toEqual(["a", "b", "c", "s"]);
  });

  test("come before its end, from the reply that ends the pass", () => {
    const world = overslept();
    checkpoint(world, [at(0, done("a"))]);
    world.pass(ops([at(0, done("a")), done("b"), sleeping("t", "1m")]), true);
    expect(order(world)).toEqual(["a", "b", "s"]);
  });

  test("follow it in the next pass, which was given it", () => {
    const world = overslept();
    world.pass(ops([at(0, done("a")), sleeping("s", "1s")]), true);
    checkpoint(world, [at(2, done("b"))]);
    expect(order(world)).toEqual(["a", "s", "b"]);
  });

  test("say nothing where nothing is waited for and all were given", () => {
    const world = new World();
    checkpoint(world, [at(0, done("a")), done("b")]);
    for (const row of world.log.filter(({ kind }) => kind === "STEP_COMPLETED")) {
      expect(row.dataJson).not.toContain('"at"');
    }
  });

  test("say it where a wait may have ended that this gateway has not read of", () => {
    const world = new World();
    world.decide({ type: "parked", ops: [sleeping("s", "1s")] });
    const made = checkpointRows(world.state, [at(0, done("a"))], world.context());
    world.nowMs += 1000;
    world.timer("s");
    if (made.ok) world.write(made.rows);
    expect(order(world)).toEqual(["a", "s"]);
  });

  test("a place beyond the end is the end", () => {
    const world = overslept();
    checkpoint(world, [at(7, done("a"))]);
    expect(order(world)).toEqual(["s", "a"]);
  });

  test("events that ended one of them do not end a wait that began then", () => {
    const world = overslept();
    const wait = op("WaitForEvent", "w", { name: "paid", opts: { timeout: "1m", since: "run" } });
    world.decide({ type: "parked", ops: [wait] });
    expect(world.state.open.get("w")?.earlier?.finished).toBe(1);
    checkpoint(world, [at(0, done("a"))]);
    expect(world.state.open.get("w")?.earlier?.finished).toBe(2);
    expect(world.reread().open.get("w")?.earlier?.finished).toBe(2);
  });

  test("a fork keeps what the code had been given when its step ended, and in that order", () => {
    const world = overslept();
    checkpoint(world, [at(0, done("a"))]);
    checkpoint(world, [at(1, done("b"))]);
    const kept = (step: string): string[] => {
      const fork = forkOf(world.log, step, null);
      return fork.ok ? fork.rows.map(({ key }) => key) : [fork.why];
    };
    expect(kept("a")).toEqual([]);
    expect(kept("b")).toEqual(["a"]);
    world.pass(ops([sleeping("s", "1s")]), true);
    checkpoint(world, [at(3, done("c"))]);
    expect(kept("c")).toEqual(["a", "b", "s"]);
  });
});
