/** Timers that are claimed without their runs, which the gateway has in memory. */
import { systemTimers } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import { afterEach, expect, test } from "vitest";
import type { GatewayPorts } from "../../src/server.ts";
import { ended, metrics, op, runDetail, start, useGateway } from "./harness.ts";
import { countStatements, type StatementCounter } from "./statement-counter.ts";

let counter: StatementCounter | undefined;
// Runs after what `useGateway` registers: gateways that stop still need the way to their database.
afterEach(() => counter?.close());
const bench = useGateway();

/** A gateway that claims only while it is awake, and then takes itself to have every run in memory. */
function confident(): { readonly ports: GatewayPorts; awake: boolean } {
  const self: ReturnType<typeof confident> = {
    awake: true,
    ports: {
      timers: systemTimers,
      storeFor: (store) => ({
        ...store,
        claim: (request) => (self.awake ? store.claim({ ...request, hasRunOf: () => true }) : Promise.resolve([])),
      }),
    },
  };
  return self;
}

test("a run that slept at this gateway is woken up without its head and its log being read", async () => {
  counter = await countStatements(bench.db.url);
  const gateway = await bench.gateway({ databaseUrl: counter.url });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  counter.reset();
  await worker.replied(request, { value: [op("Sleep", "s", { name: "300ms" })] });
  const next = await worker.request("step");
  expect(next.request.runId).toBe(runId);
  expect(next.payload.steps).toMatchObject({ s: { data: null } });
  const texts = [...counter.counts().keys()];
  expect(texts.some((text) => text.startsWith("WITH known AS"))).toBe(true);
  expect(texts.filter((text) => /FROM holdfast\.run_log WHERE|FROM holdfast\.runs r WHERE/.test(text))).toEqual([]);
  await worker.replied(next.request, { status: "DONE", value: 1 });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", output: 1 });
});

test("a timer whose run is not in memory after all has it read", async () => {
  const first = await bench.gateway();
  const worker = await bench.worker(first);
  const [runId = ""] = await start(first);
  const { request } = await worker.request();
  await worker.replied(request, { value: [op("Sleep", "s", { name: "1s" })] });
  await first.close();
  const second = await bench.gateway({}, confident().ports);
  const another = await bench.worker(second);
  const next = await another.request("step");
  expect(next.request.runId).toBe(runId);
  await another.replied(next.request, { status: "DONE", value: 1 });
  expect(await ended(second, runId)).toMatchObject({ status: "COMPLETED", output: 1 });
});

test("what another gateway has decided meanwhile is not lost when a timer is decided on an old state", async () => {
  const [mine, others] = [confident(), confident()];
  const here = await bench.gateway({}, mine.ports);
  const worker = await bench.worker(here, { extensions: [] });
  const there = await bench.gateway({}, others.ports);
  const [runId = ""] = await start(here);
  const { request } = await worker.request();
  mine.awake = false;
  // No pass before both are over.
  await worker.replied(request, {
    value: [op("Sleep", "a", { name: "1ms" }), op("Sleep", "b", { name: "3s" })],
  });
  const isOver = async (): Promise<boolean> => {
    const { steps } = await runDetail(there, runId);
    return steps.some(({ id, status }) => id === "a" && status === "completed");
  };
  await waitFor(isOver, { what: "the end of the first sleep" });
  others.awake = false;
  mine.awake = true;
  const next = await worker.request("step");
  expect(next.request.runId).toBe(runId);
  expect(next.payload.steps).toMatchObject({ a: { data: null }, b: { data: null } });
  await worker.replied(next.request, { status: "DONE", value: 1 });
  expect(await ended(here, runId)).toMatchObject({ status: "COMPLETED", output: 1 });
  expect((await metrics(here)).dispatcher.casLost).toBeGreaterThan(0);
});
