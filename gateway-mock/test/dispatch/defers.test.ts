import { isUlid } from "@holdfast/core";
import { DEFERRED_SCHEDULE, deferredEventId } from "@holdfast/engine";
import type { Op } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { done, op, ops, undoable, World } from "../../../packages/engine/test/world.ts";
import { payloadOf } from "./payload-of.ts";

const add = (id: string, input: unknown = { n: 1 }, more: object = {}): Op =>
  op("DeferAdd", id, { opts: { fn_slug: "shop-later", input, ...more }, userland: { id } });
const abort = (target: string): Op =>
  op("DeferAbort", `${target}:abort`, { opts: { target_hashed_id: target, fn_slug: "shop-later", id: target } });
const complete = op("RunComplete", "c", { data: 1 });

function scheduled(world: World): Record<string, unknown>[] {
  const made = world.events.filter(({ name }) => name === DEFERRED_SCHEDULE);
  return made.map(({ payload }) => JSON.parse(payload()) as Record<string, unknown>);
}

test("a deferred run starts when its run ends, once, with its data and origin", () => {
  const world = new World();
  world.pass(ops([add("a", { n: 1 }, { meta: { sessions: { s: "1" } } }), done("one")]));
  expect(scheduled(world)).toEqual([]);
  world.pass(ops([add("a", { n: 2 }), add("b", null), complete]));
  expect(scheduled(world)).toMatchObject([
    {
      name: "inngest/deferred.schedule",
      ts: world.nowMs,
      user: {},
      meta: { sessions: { s: "1" } },
      data: {
        n: 1,
        _inngest: {
          fn_slug: "shop-later",
          parent_app_id: "shop",
          parent_fn_slug: "shop-order",
          parent_run_id: "run-1",
        },
      },
    },
    { data: { _inngest: { fn_slug: "shop-later" } } },
  ]);
  expect(world.state).toEqual(world.reread());
});

test("the event id of a deferred run is a ULID of the run's time, the same on every gateway", () => {
  const runId = "01JZ0000000000000000000002";
  const id = deferredEventId(runId, "a");
  expect(isUlid(id)).toBe(true);
  expect(id.slice(0, 10)).toBe(runId.slice(0, 10));
  expect(deferredEventId(runId, "a")).toBe(id);
  expect(deferredEventId(runId, "b")).not.toBe(id);
});

test("a deferred run that is aborted before the end does not start, and stays aborted", () => {
  const world = new World();
  world.pass(ops([add("a"), add("b"), done("one")]));
  world.pass(ops([abort("a"), done("two")]));
  world.pass(ops([add("a"), abort("unknown"), done("three")]));
  world.pass(ops([complete]));
  expect(scheduled(world)).toHaveLength(1);
  expect(world.kinds().filter((kind) => kind.startsWith("DEFER"))).toEqual([
    "DEFERRED a",
    "DEFERRED b",
    "DEFER_ABORTED a",
  ]);
});

test("a run that fails or is cancelled starts its deferred runs too; a revived run does not start them again", () => {
  const failed = new World();
  failed.pass(ops([add("a"), done("one")]));
  failed.pass({ status: "FAILED", error: { name: "Error", message: "no" } });
  expect(scheduled(failed)).toHaveLength(1);
  const cancelled = new World();
  cancelled.pass(ops([add("a"), done("one")]));
  cancelled.decide({ type: "cancel", reason: "enough" });
  expect(scheduled(cancelled)).toHaveLength(1);
});

test("workers are told which deferred runs are known", () => {
  const world = new World();
  expect(payloadOf(world.state)).not.toHaveProperty("defers");
  world.pass(ops([add("a"), add("b"), abort("b"), done("one")]));
  expect(payloadOf(world.state)).toMatchObject({ defers: { a: { abortable: true }, b: { abortable: false } } });
});

test("a deferral that is rejected is recorded with the reason and does not fail the run", () => {
  const world = new World();
  const large = { text: "x".repeat(3 * 1024 * 1024) };
  const bad = [
    op("DeferAdd", "no function", { opts: { input: {} } }),
    add("no object", 7),
    add("large", large),
    add("too large", large),
  ];
  const many = Array.from({ length: 25 }, (_, n) => add(`d${n}`));
  world.pass(ops([...bad, ...many, done("one")]));
  const reasons = [...world.log].flatMap(({ key, kind, dataJson }) =>
    kind === "DEFERRED" ? [[key, (JSON.parse(dataJson) as { rejected?: string }).rejected]] : [],
  );
  expect(Object.fromEntries(reasons)).toMatchObject({
    "no function": "It does not name a function.",
    "no object": "Its data is not an object.",
    large: undefined,
    "too large": expect.stringContaining("4194304 characters"),
    d18: undefined,
    d19: "A run can defer at most 20 runs.",
  });
  world.pass(ops([complete]));
  expect(world.state.status).toBe("COMPLETED");
  expect(scheduled(world)).toHaveLength(20);
});

test("a deferral does not change how the run continues", () => {
  const world = new World();
  world.pass(ops([done("one"), add("a")]));
  expect(world.state.pending.size).toBe(0);
  expect(world.has("pass")).toBe(true);
  const failing = { error: { name: "Error", message: "no" } };
  world.pass(ops([op("StepFailed", "two", failing), add("b")], { noRetry: true }));
  expect(world.state.memo.has("two")).toBe(true);
});

test("in place, a deferral is recorded at once while the pass continues", () => {
  const world = new World();
  const { version } = world.state;
  world.decide({ type: "parked", ops: [add("a")] });
  expect(world.state.version).toBe(version + 1);
  expect(world.decide({ type: "parked", ops: [add("a")] })).toBeNull();
  world.pass({ status: "DONE", outputText: "1" }, true);
  expect(scheduled(world)).toHaveLength(1);
});

const HANDLER = "0737c22d3bfae812339732d14d8c7dbd6dc4e09c";

test("a handler that defers and then throws is retried, then failed", () => {
  const world = new World({ maxAttempts: 2 });
  const { displayName: _, ...threw } = op("StepError", HANDLER, { error: { name: "TypeError", message: "no" } });
  world.pass(ops([add("a"), threw]));
  expect(world.job("pass").attempt).toBe(1);
  expect(world.state.attempts.size).toBe(0);
  world.pass(ops([threw]));
  expect(world.state.status).toBe("FAILED");
  expect(scheduled(world)).toHaveLength(1);
});

test("a handler that defers and throws a final error fails the run at once, after its compensations", () => {
  const world = new World();
  const { displayName: _, ...threw } = op("StepFailed", HANDLER, { error: { name: "Error", message: "never" } });
  world.pass(ops([undoable("one"), add("a"), threw], { noRetry: true }));
  expect(world.state.status).toBe("RUNNING");
  expect(world.kinds()).toContain("STEP_COMPLETED e54d2e8d43a999def9e2a2d59091b498d84639c0");
  const named = op("StepFailed", HANDLER, { error: { name: "Error", message: "x" }, userland: { id: "complete" } });
  const other = new World();
  other.pass(ops([named]));
  expect(other.state.status).not.toBe("FAILED");
});
