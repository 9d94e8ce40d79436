import { describe, expect, test } from "vitest";
import { makeReport, type ReportFacts } from "../../src/connection/machines/stall-report.ts";
import { stackText, stallHeadline, stallText } from "../../src/connection/machines/stall-text.ts";
import type { StallFrame } from "../../src/connection/shared/stall.ts";

const frame = (functionName: string, file: string, line = 1): StallFrame => ({ functionName, file, line, column: 2 });
const one = { requestId: "r1", runId: "run1", functionSlug: "shop-order" };
const two = { requestId: "r2", runId: "run2", functionSlug: "shop-order" };

const facts: ReportFacts = {
  sequence: 3,
  atMs: 1_700_000_000_000,
  stalledMs: 1_234.5,
  cause: "blocked",
  waitedMs: 0,
  suppressed: 0,
  leasesGivenUp: false,
  running: [one, two],
  seen: {
    stack: [
      frame("get performance", "node:internal/util"),
      frame("tick", "/app/node_modules/lib/index.js"),
      frame("count", "/app/src/count.ts", 7),
      frame("", "/app/src/main.ts"),
      frame("runMicrotask", "node:internal/process/task_queues"),
    ],
    execution: { ...one, step: { id: "count it", hash: "h", attempt: 0, active: true } },
  },
  problem: null,
};

describe("The culprit of a stall", () => {
  test("a stall report names the run and step of the blocking code, and its innermost frame in the app", () => {
    const report = makeReport(facts);
    expect(report.execution).toEqual({ ...one, stepId: "count it" });
    expect(report).toMatchObject({ foundBy: "stack", waiting: 1, stalledMs: 1_235 });
    expect(report.culprit).toEqual(frame("count", "/app/src/count.ts", 7));
    expect(report.stack).toHaveLength(3);
    expect(stallHeadline(report, report.stalledMs)).toBe(
      'The main thread has been blocked for 1.2 s at count (/app/src/count.ts:7:2), in function shop-order, step "count it", run run1.',
    );
  });

  test("a callback left behind by a step's body is reported as the handler's code", () => {
    const execution = { ...one, step: { id: "count it", hash: "h", attempt: 0, active: false } };
    expect(makeReport({ ...facts, seen: { stack: [], execution } }).execution?.stepId).toBeNull();
  });

  test("code outside of any function is reported as such while functions wait", () => {
    const report = makeReport({ ...facts, seen: { stack: [frame("poll", "/app/src/poll.ts")], execution: null } });
    expect(report).toMatchObject({ execution: null, foundBy: "stack", waiting: 2 });
    expect(stallHeadline(report, 12_345)).toBe(
      "The main thread has been blocked for 12 s at poll (/app/src/poll.ts:1:2), outside of any function.",
    );
  });

  test("Holdfast's own code is never to blame, and not shown", () => {
    const own = [
      frame("create_buffer", "/app/node_modules/holdfast/dist/sdk.js"),
      frame("run", "/srv/sdk/dist/sdk.js"),
    ];
    const timers = frame("processTimers", "node:internal/timers");
    const report = (stack: readonly StallFrame[]) =>
      makeReport({
        ...facts,
        isOwnFile: (file) => /holdfast|^\/srv\/sdk\//.test(file),
        seen: { stack, execution: null },
      });
    const mixed = report([...own, frame("count", "/app/src/count.ts", 7), ...own, timers]);
    expect(mixed.culprit?.functionName).toBe("count");
    expect(mixed.stack).toHaveLength(1);
    const alone = report([...own, timers]);
    expect([alone.culprit, alone.stack]).toEqual([null, []]);
    expect(stallHeadline(alone, 1_500)).toBe("The main thread has been blocked for 1.5 s, outside of any function.");
  });

  test("without a processor nothing is to blame, and the sentence is another one", () => {
    const report = makeReport({ ...facts, cause: "no-cpu", waitedMs: 1_100, seen: null, running: [one] });
    expect(report).toMatchObject({ cause: "no-cpu", waitedMs: 1_100, culprit: null, stack: [] });
    expect(stallHeadline(report, 1_234)).toBe(
      "The main thread was given no processor for 1.1 s of 1.2 s: the machine, or the CPU limit of the container, is taken up by something else. No function is to blame.",
    );
  });

  test("a dependency is named when no other frame is on the stack", () => {
    const stack = [frame("read", "node:fs"), frame("load", "/app/node_modules/lib/index.js")];
    expect(makeReport({ ...facts, seen: { stack, execution: null } }).culprit?.functionName).toBe("load");
  });
});

describe("A main thread that cannot be inspected", () => {
  const silent: ReportFacts = { ...facts, seen: null, problem: "it is in native code." };

  test("the only running request is reported as the likely culprit", () => {
    const report = makeReport({ ...silent, running: [two] });
    expect(report).toMatchObject({
      execution: { ...two, stepId: null },
      foundBy: "only-request",
      waiting: 0,
      culprit: null,
    });
    expect(stallText(report)).toContain("probably in function shop-order, run run2.");
    expect(stallText(report)).toContain("No stack is available: it is in native code.");
  });

  test("of several running requests none is named as the culprit", () => {
    expect(makeReport(silent)).toMatchObject({ execution: null, foundBy: "none", waiting: 2 });
  });

  test("an unreadable execution is reported as none", () => {
    for (const execution of [7, "x", {}, { requestId: 1 }, { ...one, runId: null }]) {
      expect(makeReport({ ...facts, seen: { stack: [], execution } }).execution).toBeNull();
    }
  });
});

test("a stall report mentions suppressed reports, returned work and waiting requests", () => {
  const text = stallText(makeReport({ ...facts, suppressed: 4, leasesGivenUp: true }));
  expect(text).toContain("4 earlier reports were suppressed.");
  expect(text).toContain("Its requests were returned");
  expect(text).toContain("1 other request is waiting for the main thread.");
});

test("a long stack is truncated for people and for the wire", () => {
  const stack = Array.from({ length: 50 }, (_, index) => frame(`f${index}`, "/app/a.ts", index + 1));
  const report = makeReport({ ...facts, seen: { stack, execution: null } });
  expect(stallText(report)).toContain("... 38 more");
  expect(stackText(report.stack, 100)).toHaveLength(100);
});
