import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { ended, metrics, start, useGateway } from "./harness.ts";
import type { WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const mover: Partial<WorkerOptions> = { instanceId: "mover", extensions: [] };

/** A worker that has work, on a gateway that is told to stop; and a worker elsewhere that would take the work. */
async function workOnAGatewayThatStops(reconnectGraceMs: number) {
  const one = await bench.gateway({ reconnectGraceMs, drainMs: 60_000 });
  const two = await bench.gateway();
  const before = await bench.worker(one, mover);
  const [runId = ""] = await start(one);
  const { request } = await before.request();
  const stopped = stop(one);
  await before.frame("GATEWAY_CLOSING");
  const after = await bench.worker(two, mover);
  const other = await bench.worker(two, { instanceId: "other", extensions: [] });
  before.socket.close(1000, "GATEWAY_DRAINING");
  await before.gone();
  const requests = () => [...after.frames, ...other.frames].filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST");
  return { two, runId, request, after, stopped, requests };
}

async function stop(gateway: Gateway): Promise<void> {
  await gateway.drain();
  await gateway.close();
}

test("a worker keeps its work when its gateway stops and it reconnects to another one, which learns of it", async () => {
  const { two, runId, request, after, stopped, requests } = await workOnAGatewayThatStops(5_000);
  expect(await after.extend(request)).toBeDefined();
  await stopped;
  await after.replied(request, { status: "DONE", value: "mine" });
  expect(await ended(two, runId)).toMatchObject({ output: "mine", leasesLost: 0 });
  expect(requests()).toEqual([]);
});

test("a plain worker that moved to another gateway keeps its lease without reporting it", async () => {
  const { two, runId, request, after, stopped, requests } = await workOnAGatewayThatStops(200);
  await stopped;
  expect((await metrics(two)).queue).toMatchObject({ leased: 1, due: 0 });
  await after.replied(request, { status: "DONE", value: "mine" });
  expect(await ended(two, runId)).toMatchObject({ output: "mine", leasesLost: 0 });
  expect(requests()).toEqual([]);
});
