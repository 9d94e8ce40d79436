import type { Fact, Run, RunDetail, Step } from "../src/data/types.ts";

/** A run that was made at 1,000. */
export function run(id: string, more: Partial<Run> = {}): Run {
  return {
    id,
    functionId: "shop-order",
    appId: "shop",
    environment: "default",
    appVersion: "",
    status: "RUNNING",
    eventId: "event",
    eventName: "shop/order",
    output: null,
    error: null,
    createdMs: 1_000,
    startedMs: 1_100,
    endedMs: null,
    ...more,
  };
}

export function detail(steps: readonly Step[], more: Partial<RunDetail> = {}): RunDetail {
  return {
    ...run("run"),
    status: "COMPLETED",
    endedMs: 3_000,
    event: { name: "shop/order", data: { order: 7 }, id: "event", ts: 1 },
    parent: null,
    rerunOf: null,
    forkedFrom: null,
    descendants: [],
    continuedFrom: null,
    continuedAs: null,
    deadlineMs: null,
    compensating: false,
    steps,
    stalls: [],
    leasesLost: 0,
    maxAttempts: 3,
    log: [],
    ...more,
  };
}

export function fact(atMs: number, kind: string, data: unknown, more: Partial<Fact> = {}): Fact {
  return { seq: atMs, atMs, kind, key: "", attempt: 0, iteration: 0, data, ...more };
}

/** A step that ran from `startedMs` for 100 ms. */
export function step(name: string, startedMs: number, more: Partial<Step> = {}): Step {
  return {
    id: `id of ${name}`,
    name,
    op: "StepRun",
    status: "completed",
    attempt: 0,
    failedAttempts: [],
    startedMs,
    durationMs: 100,
    openedMs: null,
    dueMs: null,
    endedMs: startedMs + 105,
    output: name,
    ...more,
  };
}
