/** What workers are given of waits that end while they are at a pass (extension "results"). */
import { EXTENSIONS } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { did, ended, op, start, useGateway } from "./harness.ts";

const bench = useGateway();

const nap = op("Sleep", "s", { name: "1s" });

test("a sleep that ends while a body runs is given to the worker, and comes after the body's result later on", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [nap]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  expect(await worker.frame("GATEWAY_RESULTS")).toEqual({
    kind: "GATEWAY_RESULTS",
    requestId: request.requestId,
    results: '[["s",{"type":"data","data":null}]]',
    offset: 0,
  });
  // The handler had not been given it when the body ended, and then goes on to a wait.
  await worker.replied(request, { value: [{ ...did("a"), position: 0 }, nap] });
  const second = await worker.request();
  expect(second.payload.ctx.stack.stack).toEqual(["a", "s"]);
  expect(Object.keys(second.payload.steps)).toEqual(["a", "s"]);
  await worker.replied(second.request, { status: "DONE", value: null });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("signals and waits that cannot begin are given in their order, each once", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const signal = op("WaitForSignal", "w", { opts: { signal: `go-${runId}`, timeout: "1m" } });
  worker.checkpoint(request, 1, [signal, op("InvokeFunction", "i", { opts: { function_id: "shop-missing" } })]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  const first = await worker.frame("GATEWAY_RESULTS");
  expect(first).toMatchObject({ offset: 0 });
  expect(JSON.parse(first.results)).toMatchObject([["i", { type: "error", error: { code: "FUNCTION_UNKNOWN" } }]]);
  await fetch(`${gateway.url}/v1/signals`, {
    method: "POST",
    body: JSON.stringify({ signal: `go-${runId}`, data: 7 }),
  });
  const second = await worker.frame("GATEWAY_RESULTS");
  expect(second).toMatchObject({ offset: 1 });
  expect(JSON.parse(second.results)).toEqual([["w", { type: "data", data: { signal: `go-${runId}`, data: 7 } }]]);
  await worker.replied(request, { status: "DONE", value: null });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("a worker that did not agree on it is given nothing until its next pass", async () => {
  const gateway = await bench.gateway();
  const extensions = EXTENSIONS.filter((name) => name !== "results");
  const worker = await bench.worker(gateway, { extensions });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [nap]);
  await worker.frame("GATEWAY_CHECKPOINT_ACK");
  await worker.replied(request, { value: [did("a"), nap] });
  const second = await worker.request();
  await worker.replied(second.request, { status: "DONE", value: null });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  expect(worker.frames.map(({ kind }) => kind)).not.toContain("GATEWAY_RESULTS");
});
