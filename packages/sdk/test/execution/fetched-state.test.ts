import { HoldfastError } from "@holdfast/core";
import { expect, test } from "vitest";
import type { AppClient } from "../../src/functions/app-client.ts";
import { client, engineFor, hash, jsonOf, opsOf } from "./support.ts";

const event = { id: "e1", name: "test/event", data: { n: 1 }, ts: 1 };
const large = {
  events: [],
  steps: {},
  ctx: { attempt: 0, max_attempts: 3, stack: { stack: [hash("a")] }, use_api: true },
};

function fetching(fetchRunState: AppClient["fetchRunState"]): AppClient {
  const { options, schemas } = client;
  return { options, schemas, sendEvents: async () => ({ ids: [] }), sendSignal: async () => ({}), fetchRunState };
}

test("a pass without events and steps in its request continues with the fetched state", async () => {
  const asked: string[] = [];
  const fetched = { steps: { [hash("a")]: { type: "data", data: 7 } }, events: [event, { ...event, id: "e2" }] };
  const sender = fetching(async (runId) => {
    asked.push(runId);
    return fetched;
  });
  const engine = engineFor(
    async ({ step, events }) => {
      const a = await step.run("a", () => 0);
      return step.run("b", () => [a, events.map((each) => (each as { id: string }).id)]);
    },
    { client: sender, inPlace: false },
  );
  const result = await engine.request("step", 0, large);
  expect(opsOf(result)).toMatchObject([{ op: "StepRun", id: hash("b"), data: [7, ["e1", "e2"]] }]);
  expect(asked).toEqual(["01RUN"]);
});

test("a pass whose state cannot be fetched runs no function code and may be retried", async () => {
  let runs = 0;
  const lost = fetching(() => Promise.reject(new HoldfastError("RUN_STATE_UNAVAILABLE", "not there")));
  const engine = engineFor(() => (runs += 1), { client: lost, inPlace: false });
  const result = await engine.request("step", 0, large);
  expect(result).toMatchObject({ status: "ERROR", noRetry: false });
  expect(jsonOf(result)).toMatchObject({ type: "internal", code: "RUN_STATE_UNAVAILABLE" });
  expect(runs).toBe(0);
});

test("a pass whose work is taken away stops fetching its state and is not answered", async () => {
  const stopped = fetching(
    (_, signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true })),
  );
  const engine = engineFor(() => 1, { client: stopped, inPlace: false });
  const result = engine.request("step", 0, large);
  engine.signal.abort();
  expect(await result).toMatchObject({ stale: true });
});

test("what has ended since the request was made comes after what it lists, and before new results", async () => {
  const order: string[] = [];
  const steps = Object.fromEntries(["a", "s"].map((name) => [hash(name), { type: "data", data: name }]));
  const sender = fetching(async () => ({ steps, events: [event] }));
  const engine = engineFor(
    async ({ step }) => {
      const note = (name: string) => (): void => void order.push(name);
      await Promise.all([step.run("s", () => 0).then(note("s")), step.run("a", () => 0).then(note("a"))]);
      await step.run("b", () => 1);
      await step.sleep("long", "1h");
    },
    { client: sender, inPlace: true, looksAhead: true },
  );
  const holdfast = { v: 1, retries: {}, signatures: {} };
  const result = await engine.request("step", 0, { ...large, ctx: { ...large.ctx, holdfast } });
  expect(order).toEqual(["a", "s"]);
  expect(opsOf(result)).toMatchObject([{ id: hash("b"), position: 2 }, { op: "Sleep" }]);
});
