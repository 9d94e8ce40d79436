import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Session } from "node:inspector/promises";
import { afterEach, expect, test } from "vitest";
import type { HoldfastChannels, StepEndMessage, StepStartMessage } from "../../src/diagnostics/channels.ts";
import { NonRetriableError } from "../../src/steps/errors.ts";
import { engineFor, hash } from "../execution/support.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function listen<Name extends keyof HoldfastChannels>(
  name: Name,
  onMessage: (message: HoldfastChannels[Name]) => void,
): void {
  const listener = (message: unknown): void => onMessage(message as HoldfastChannels[Name]);
  subscribe(name, listener);
  cleanups.push(() => unsubscribe(name, listener));
}

test("each attempt of a body is published as it starts and as it ends, with what became of it", async () => {
  const starts: StepStartMessage[] = [];
  const ends: StepEndMessage[] = [];
  listen("holdfast:step:start", (message) => starts.push(message));
  listen("holdfast:step:end", (message) => ends.push(message));
  let tries = 0;
  const engine = engineFor(async ({ step }) => {
    await step.run("flaky", () => {
      tries += 1;
      if (tries === 1) throw new Error("not yet");
    });
    await step.sleep("wait", "1s");
    await step.run("never", () => {
      throw new NonRetriableError("no");
    });
  });
  expect(await engine.run()).toMatchObject({ status: "failed" });
  const common = { requestId: "r1", runId: "01RUN", functionSlug: "app-f", kind: "run" };
  expect(starts).toMatchObject([
    { ...common, stepId: "flaky", stepHash: hash("flaky"), attempt: 0 },
    { ...common, stepId: "flaky", attempt: 1 },
    { ...common, stepId: "never", attempt: 0 },
  ]);
  expect(ends).toMatchObject([
    { stepId: "flaky", attempt: 0, status: "failed", willRetry: true, error: { message: "not yet" } },
    { stepId: "flaky", attempt: 1, status: "completed", willRetry: false, error: null },
    { stepId: "never", status: "failed", willRetry: false, error: { name: "NonRetriableError" } },
  ]);
  expect(ends.map(({ startedAtMs }) => startedAtMs)).toEqual(starts.map(({ startedAtMs }) => startedAtMs));
});

test("subscribers that throw change nothing for the run", async () => {
  for (const name of ["holdfast:step:start", "holdfast:step:end"] as const) {
    listen(name, () => {
      throw new Error("the metrics are down");
    });
  }
  const engine = engineFor(async ({ step }) => [await step.run("a", () => 1), await step.run("b", async () => 2)]);
  expect(await engine.run()).toEqual({ status: "completed", value: [1, 2] });
});

test("where nothing listens no message is made: nothing is allocated for it", async () => {
  const steps = async (): Promise<void> => {
    const engine = engineFor(({ step }) =>
      Promise.all(Array.from({ length: 500 }, (_, index) => step.run(`s${index}`, () => index))),
    );
    await engine.run();
  };
  const isOurs = (url: string): boolean => /\/src\/(diagnostics\/|execution\/step-messages)/.test(url);
  // What the engine allocates for code that is new to it is over after some rounds.
  const rounds: number[] = [];
  while (rounds.at(-1) !== 0 && rounds.length < 50) rounds.push(await allocatedIn(isOurs, steps));
  expect(rounds.at(-1)).toBe(0);
  // The same measurement sees it where something does.
  listen("holdfast:step:end", () => {});
  expect(await allocatedIn(isOurs, steps)).toBeGreaterThan(500 * 64);
});

interface AllocationNode {
  readonly callFrame: { readonly url: string };
  readonly selfSize: number;
  readonly children: readonly AllocationNode[];
}

/** Bytes that functions of some files allocated, sampled every 64 bytes. */
async function allocatedIn(isCounted: (url: string) => boolean, code: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    await session.post("HeapProfiler.startSampling", { samplingInterval: 64, ...collected });
    await code();
    const { profile } = await session.post("HeapProfiler.stopSampling");
    const sum = (node: AllocationNode): number =>
      (isCounted(node.callFrame.url) ? node.selfSize : 0) + node.children.reduce((total, one) => total + sum(one), 0);
    return sum(profile.head);
  } finally {
    session.disconnect();
  }
}
