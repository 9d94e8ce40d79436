import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { RunWaiting } from "../../src/dispatch/admission/waiting-facts.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, runDetail, start, useGateway } from "./harness.ts";
import type { WorkerOptions } from "./raw-worker.ts";

/** A worker goes on with a request while its gateway is started again: the new one did not give it out. */

const bench = useGateway();
const mover: Partial<WorkerOptions> = { instanceId: "mover", maxWorkerConcurrency: 1 };
const isRequest = ({ kind }: { readonly kind: string }): boolean => kind === "GATEWAY_EXECUTOR_REQUEST";

/** Longer than any test waits. */
const LEASE_MS = 600_000;

async function workThatGoesOn(reconnectGraceMs: number) {
  const before = await bench.gateway();
  const worker = await bench.worker(before, mover);
  const [runId = ""] = await start(before);
  const { request } = await worker.request();
  worker.cut();
  await before.close();
  const gateway = await bench.gateway({ reconnectGraceMs, leaseMs: LEASE_MS });
  const after = await bench.worker(gateway, mover);
  const leaseId = await after.extend(request);
  expect(leaseId).toBeDefined();
  return { gateway, runId, request: { ...request, leaseId: leaseId ?? "" }, after };
}

const inFlight = async (gateway: Gateway): Promise<(number | null)[]> => {
  const { workers } = (await call(gateway, "/v1/workers")) as { workers: { inFlight: number | null }[] };
  return workers.map((one) => one.inFlight);
};

const reasonFor = (gateway: Gateway, runId: string, reason: RunWaiting["reason"]): Promise<RunWaiting> =>
  waitFor(
    async () => {
      const { waiting } = await runDetail(gateway, runId);
      return waiting?.reason === reason ? waiting : undefined;
    },
    { what: `run ${runId} to wait: ${reason}` },
  );

test("CONT-2: the gateway says who has it, and gives a worker without another place nothing more", async () => {
  const { gateway, runId, request, after } = await workThatGoesOn(60_000);
  const waiting = await reasonFor(gateway, runId, "AT_WORK");
  expect(waiting).toMatchObject({ instanceId: "mover", message: expect.stringContaining('on worker "mover" for') });
  expect(await inFlight(gateway)).toEqual([1]);
  const [second = ""] = await start(gateway);
  await reasonFor(gateway, second, "NO_ROOM");
  expect(after.frames.filter(isRequest)).toEqual([]);
  await after.replied(request, { status: "DONE", value: "mine" });
  expect(await ended(gateway, runId)).toMatchObject({ output: "mine", leasesLost: 0 });
  const next = await after.request();
  expect(next.request.runId).toBe(second);
  expect(await inFlight(gateway)).toEqual([1]);
  await after.replied(next.request, { status: "DONE", value: "too" });
  expect(await inFlight(gateway)).toEqual([0]);
});

test("a worker that is lost with it is said to be", async () => {
  const { gateway, runId, after } = await workThatGoesOn(60_000);
  after.cut();
  const waiting = await reasonFor(gateway, runId, "WORKER_DISCONNECTED");
  expect(waiting).toMatchObject({ instanceId: "mover", message: expect.stringContaining("lost its connection") });
});

test("after the grace another worker has it, however long its lease was to last", async () => {
  const { gateway, runId, after } = await workThatGoesOn(1_000);
  const other = await bench.worker(gateway, { instanceId: "other" });
  after.cut();
  const again = await other.request();
  await other.replied(again.request, { status: "DONE", value: "again" });
  expect(await ended(gateway, runId)).toMatchObject({ output: "again", leasesLost: 1 });
});

test("CONT-1: a worker that comes back within the grace keeps it until it has replied", async () => {
  const { gateway, runId, request, after } = await workThatGoesOn(60_000);
  after.cut();
  const back = await bench.worker(gateway, mover);
  const leaseId = await back.extend(request);
  expect(await inFlight(gateway)).toEqual([1]);
  await back.replied({ ...request, leaseId: leaseId ?? "" }, { status: "DONE", value: "mine" });
  expect(await ended(gateway, runId)).toMatchObject({ output: "mine", leasesLost: 0 });
  expect(await inFlight(gateway)).toEqual([0]);
});
