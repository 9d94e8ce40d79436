import { expect, test } from "vitest";
import { ended, start, useGateway } from "./harness.ts";

const bench = useGateway();

test("a request reassigned to a worker of another gateway is withdrawn from the worker that did not acknowledge it", async () => {
  const one = await bench.gateway({ requestAckMs: 100, leaseMs: 60_000 });
  const two = await bench.gateway();
  const silent = await bench.worker(one, { acks: false });
  const [runId = ""] = await start(one);
  const { request } = await silent.request();
  const other = await bench.worker(two);
  const { request: again } = await other.request();
  expect(again.jobId).toBe(request.jobId);
  expect(await silent.frame("GATEWAY_CANCEL")).toMatchObject({ requestId: request.requestId });
  await other.replied(again, { status: "DONE", value: "other" });
  expect((await ended(one, runId)).output).toBe("other");
});

test("a reassigned request is withdrawn from a worker that has moved to another gateway", async () => {
  // So long that it is extended before it ends.
  const one = await bench.gateway({ leaseMs: 6_000 });
  const two = await bench.gateway({ leaseMs: 6_000 });
  const before = await bench.worker(one, { instanceId: "mover" });
  const [runId = ""] = await start(one);
  const { request } = await before.request();
  const after = await bench.worker(two, { instanceId: "mover" });
  expect(await after.extend(request)).toBeDefined();
  before.socket.close(1000, "GATEWAY_DRAINING");
  await before.gone();
  await after.send({ kind: "WORKER_PAUSE" });
  // It says no more of it: its lease ends.
  const other = await bench.worker(one, { instanceId: "other" });
  const { request: again } = await other.request();
  expect(again.jobId).toBe(request.jobId);
  expect(await after.frame("GATEWAY_CANCEL")).toMatchObject({ requestId: request.requestId });
  await other.replied(again, { status: "DONE", value: "other" });
  expect((await ended(one, runId)).output).toBe("other");
});
