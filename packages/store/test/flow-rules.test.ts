import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FlowRule,
  type FlowRuleState,
  type FlowRules,
  flowRuleKeyOf,
  joinWindow,
  keyOfFlowRule,
  passFlowRules,
  takeWindow,
  type WindowEntry,
} from "../src/index.ts";
import { newId } from "./contract/harness.ts";

const state = (key: { functionId: string; kind: string; key: string }): FlowRuleState => ({
  ...key,
  count: 0,
  atMs: 0,
  runId: "",
  data: "",
  dueMs: null,
  expiresMs: 0,
  live: false,
  changed: false,
});

const flowRulesFor = (...keys: { functionId: string; kind: string; key: string }[]): FlowRules =>
  new Map(keys.map((key) => [flowRuleKeyOf(key), state(key)]));

describe("Rate limits", () => {
  const rate = (limit: number, periodMs: number): FlowRule => ({
    type: "rate",
    name: "rate",
    functionId: "fn",
    key: "k",
    limit,
    periodMs,
  });

  it("a rate limit never exceeds its count within a period, and always allows a run in a new one", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 10, max: 100 }),
        (waits, limit, periodMs) => {
          const flowRule = rate(limit, periodMs);
          const flowRules = flowRulesFor(keyOfFlowRule(flowRule));
          let nowMs = 1000;
          let beganMs = Number.NEGATIVE_INFINITY;
          let count = 0;
          for (const waitMs of waits) {
            nowMs += waitMs;
            const passed = passFlowRules(flowRules, [flowRule], newId(), nowMs).skippedBy === null;
            if (nowMs >= beganMs + periodMs) {
              beganMs = nowMs;
              count = 0;
            }
            expect(passed).toBe(count < limit);
            if (passed) count += 1;
          }
        },
      ),
    );
  });

  it("a run that one flow rule skips uses no capacity of the others", () => {
    const [first, second] = [rate(1, 1000), { ...rate(5, 1000), name: "idempotency" } as FlowRule];
    const flowRules = flowRulesFor(keyOfFlowRule(first), keyOfFlowRule(second));
    expect(passFlowRules(flowRules, [first, second], "a", 10)).toEqual({ skippedBy: null, jobs: [] });
    expect(passFlowRules(flowRules, [first, second], "b", 11)).toEqual({
      skippedBy: expect.objectContaining({ rule: "rate", runId: null }),
      jobs: [],
    });
    expect(flowRules.get(flowRuleKeyOf(keyOfFlowRule(second)))?.count).toBe(1);
  });
});

describe("Windows", () => {
  const entry = (more: Partial<WindowEntry>): WindowEntry => ({
    kind: "debounce",
    functionId: "fn",
    key: "k",
    jobIds: [newId(), newId()],
    periodMs: 100,
    timeoutMs: null,
    maxSize: 0,
    flowRules: [],
    ...more,
  });

  it("debounce is due after a quiet period, at the latest after its timeout, with the last event", () => {
    const events = fc.array(fc.integer({ min: 0, max: 150 }), { minLength: 1, maxLength: 40 });
    const timeout = fc.option(fc.integer({ min: 50, max: 400 }), { nil: null });
    fc.assert(
      fc.property(events, timeout, (waits, timeoutMs) => {
        const key = { functionId: "fn", kind: "debounce" as const, key: "k" };
        const flowRules = flowRulesFor(key);
        const row = (): FlowRuleState => flowRules.get(flowRuleKeyOf(key)) as FlowRuleState;
        let nowMs = 0;
        let firstMs: number | null = null;
        let last = "";
        for (const [index, waitMs] of waits.entries()) {
          nowMs += waitMs;
          const open = row();
          if (open.runId !== "" && (open.dueMs ?? 0) <= nowMs) {
            expect(open.data).toBe(`0 ${last}`);
            expect(takeWindow(flowRules, { ...key, id: open.runId, count: open.count }, nowMs)).toBe(true);
            firstMs = null;
          }
          last = `e${index}`;
          const jobs = joinWindow(flowRules, entry({ timeoutMs }), { id: last, length: 1 }, nowMs);
          expect(jobs).toHaveLength(firstMs === null ? 1 : 0);
          firstMs ??= nowMs;
          expect(row().dueMs).toBe(Math.min(nowMs + 100, timeoutMs === null ? Infinity : firstMs + timeoutMs));
          expect(takeWindow(flowRules, { ...key, id: row().runId, count: row().count }, nowMs - 1)).toBe(false);
          expect(takeWindow(flowRules, { ...key, id: row().runId, count: row().count + 1 }, nowMs + 1000)).toBe(false);
        }
      }),
    );
  });

  it("a batch window puts every event into one batch, in order and within the size limit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 2, max: 7 }), (count, maxSize) => {
        const key = { functionId: "fn", kind: "batch" as const, key: "k" };
        const flowRules = flowRulesFor(key);
        for (let n = 0; n < count; n++)
          joinWindow(flowRules, entry({ kind: "batch", maxSize }), { id: `e${n}`, length: 1 }, n);
        const batches = [...flowRules.values()].filter((one) => one.runId !== "");
        const ids = batches.map((one) => one.data.split(" ").slice(1));
        for (const one of batches) if (one.kind === "full") expect(one.count).toBe(maxSize);
        for (const batch of ids) expect(batch.length).toBeLessThanOrEqual(maxSize);
        expect(ids.flat().sort()).toEqual(Array.from({ length: count }, (_, n) => `e${n}`).sort());
        expect(flowRules.get(flowRuleKeyOf(key))?.count).toBe(count % maxSize);
      }),
    );
  });

  it("a batch closes early when its characters exceed the limit", () => {
    const key = { functionId: "fn", kind: "batch" as const, key: "k" };
    const flowRules = flowRulesFor(key);
    const join = (id: string): number =>
      joinWindow(flowRules, entry({ kind: "batch", maxSize: 100 }), { id, length: 3_000_000 }, 1).length;
    expect([join("a"), join("b")]).toEqual([1, 2]);
    expect([...flowRules.values()].map(({ data }) => data.split(" ").slice(1).join())).toEqual(["b", "a"]);
  });
});
