import { once } from "node:events";
import { encodeWorkerFrame, SUBPROTOCOL } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { REAL_PORTS, startGatewayOn } from "../../src/server.ts";
import { call, ended, metrics, send, start, useGateway } from "./harness.ts";
import { helloFrame, RawWorker } from "./raw-worker.ts";

const bench = useGateway();

test("the intervals are sent in the units of the offered extensions", async () => {
  const gateway = await startGatewayOn(REAL_PORTS, { port: 0, store: "memory" });
  onTestFinished(() => gateway.close());
  const greet = async (extensions: readonly string[]) => {
    const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
    await worker.frame("GATEWAY_HELLO");
    worker.send(helloFrame({ url: "", extensions }, connectionId, "i"));
    const ready = await worker.frame("GATEWAY_CONNECTION_READY");
    await worker.close();
    return ready;
  };
  expect(await greet(["checkpoint", "later", "nack"])).toMatchObject({
    heartbeatInterval: "5s",
    extendLeaseInterval: "5s",
    extensions: ["checkpoint", "nack"],
  });
  expect(await greet([])).toMatchObject({ heartbeatInterval: "10s", extendLeaseInterval: "10s", extensions: [] });
});

test("nothing is dispatched before WORKER_READY, and heartbeats are answered after it", async () => {
  const gateway = await bench.gateway({ heartbeatMs: 5_000 });
  const first = await bench.worker(gateway);
  await first.close();
  await start(gateway, 3);
  const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
  await worker.frame("GATEWAY_HELLO");
  worker.send(helloFrame({ url: "" }, connectionId, "i"));
  await worker.frame("GATEWAY_CONNECTION_READY");
  worker.send({ kind: "WORKER_HEARTBEAT" });
  // Meanwhile another worker is given its work, and a pong comes after whatever was sent before it.
  const other = await bench.worker(gateway, { functions: [{ id: "other", event: "shop/other" }] });
  await send(gateway, "shop/other", {});
  const { request: others } = await other.request();
  await other.replied(others, { status: "DONE", value: 1 });
  worker.socket.ping();
  await once(worker.socket, "pong");
  expect(worker.frames).toEqual([]);
  worker.send({ kind: "WORKER_READY" });
  for (let count = 0; count < 3; count += 1) {
    const { request } = await worker.request();
    await worker.replied(request, { status: "DONE", value: count });
  }
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await worker.frame("GATEWAY_HEARTBEAT");
  await worker.close();
});

test("an invalid handshake is closed with a reason that workers know", async () => {
  const gateway = await bench.gateway();
  const greet = async (change: object) => {
    const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
    await worker.frame("GATEWAY_HELLO");
    worker.send({ ...(helloFrame({ url: "" }, connectionId, "i") as object), ...change } as never);
    return { ...(await worker.gone()), frames: worker.frames.map((frame) => frame.kind) };
  };
  expect(await greet({ kind: "WORKER_READY" })).toMatchObject({
    code: 1008,
    reason: "connect_worker_hello_invalid_msg",
  });
  expect(await greet({ connectionId: "x" })).toMatchObject({
    code: 1008,
    reason: "connect_worker_hello_invalid_payload",
  });
  expect(await greet({ instanceId: "" })).toMatchObject({ code: 1008, reason: "connect_worker_hello_invalid_payload" });
  expect(await greet({ apps: [] })).toMatchObject({ code: 1008, reason: "connect_worker_hello_invalid_payload" });
  const functions = new TextEncoder().encode('[{"id":"a"},{"id":"a"}]');
  expect(await greet({ apps: [{ appName: "shop", functions }] })).toMatchObject({
    code: 1008,
    reason: "config_invalid",
    frames: ["SYNC_FAILED"],
  });
});

test("upgrade requests are checked for path, subprotocol and origin", async () => {
  const gateway = await bench.gateway();
  const base = gateway.url.replace("http", "ws");
  const upgrade = async (url: string, protocol: string, headers = {}): Promise<number | string> => {
    const socket = new WebSocket(url, protocol, { headers });
    const result = await Promise.race([
      once(socket, "open").then(() => socket.protocol),
      once(socket, "unexpected-response").then(([, response]) => (response as { statusCode: number }).statusCode),
    ]);
    socket.terminate();
    return result;
  };
  expect(await upgrade(`${base}/v0/connect`, SUBPROTOCOL)).toBe(SUBPROTOCOL);
  expect(await upgrade(gateway.connectUrl, SUBPROTOCOL)).toBe(SUBPROTOCOL);
  expect(await upgrade(`${base}/elsewhere`, SUBPROTOCOL)).toBe(404);
  expect(await upgrade(`${base}/v0/connect`, "other")).toBe(400);
  expect(await upgrade(`${base}/v0/connect`, SUBPROTOCOL, { origin: "https://evil.example" })).toBe(403);
});

test("an unreadable frame is ignored, and bytes that are not a frame end the connection", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  // Kind 6 (a reply) with a payload that is no message; then an unknown kind.
  worker.socket.send(Uint8Array.from([0x08, 0x06, 0x12, 0x02, 0x0a, 0x7f]));
  worker.socket.send(Uint8Array.from([0x08, 0x63]));
  await worker.replied(request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  worker.socket.send(Uint8Array.from([0xff, 0xff, 0xff]));
  expect(await worker.gone()).toMatchObject({ code: 1007 });
});

test("a socket that stays silent for five heartbeat intervals is dropped", async () => {
  const gateway = await bench.gateway({ heartbeatMs: 1_000 });
  const worker = await bench.worker(gateway);
  expect((await worker.gone()).code).toBe(1006);
});

test("a drain notifies workers once, accepts their results, then closes the sockets", async () => {
  const gateway = await bench.gateway({ drainMs: 20_000 });
  const worker = await bench.worker(gateway);
  const [runId = "", other = ""] = await start(gateway, 2);
  const first = await worker.request();
  const second = await worker.request();
  const drained = gateway.drain();
  await worker.frame("GATEWAY_CLOSING");
  expect((await fetch(`${gateway.url}/ready`)).status).toBe(503);
  expect((await fetch(`${gateway.url}/v0/connect/start`, { method: "POST" })).status).toBe(503);
  expect(await worker.extend(first.request)).toBeDefined();
  await worker.replied(first.request, { value: [{ op: "StepRun", id: "a", data: 1 }] });
  // The follow-up waits for another gateway.
  const next = await bench.gateway();
  const there = await bench.worker(next);
  const { request } = await there.request();
  expect([runId, other]).toContain(request.runId);
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await worker.frame("GATEWAY_HEARTBEAT");
  await worker.replied(second.request, { status: "DONE", value: 2 });
  await worker.close();
  await drained;
  await gateway.close();
  await there.replied(request, { status: "DONE", value: 1 });
  for (const id of [runId, other]) expect((await ended(next, id)).status).toBe("COMPLETED");
  expect(worker.frames.filter(({ kind }) => kind === "GATEWAY_CLOSING")).toEqual([]);
});

test("a drain ends at its time limit", async () => {
  const gateway = await bench.gateway({ drainMs: 100 });
  const worker = await bench.worker(gateway);
  await gateway.drain();
  expect(await worker.gone()).toMatchObject({ code: 1001, reason: "connect_gateway_closing" });
});

test("an idle worker with no other gateway to connect to does not delay a drain", async () => {
  const gateway = await bench.gateway({ drainMs: 600_000 });
  const worker = await bench.worker(gateway);
  const drained = gateway.drain();
  await worker.frame("GATEWAY_CLOSING");
  await drained;
  await gateway.close();
  await worker.gone();
});

test("a gateway that stops leaves to a worker what it has: its reply counts at the next one", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await gateway.close();
  const next = await bench.gateway();
  const other = await bench.worker(next);
  const again = await bench.worker(next);
  await again.replied(request, { status: "DONE", value: 1 });
  expect(await ended(next, runId)).toMatchObject({ status: "COMPLETED", output: 1, leasesLost: 0 });
  expect(other.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
});

test("with keys configured, a socket needs the token of its start call", async () => {
  const gateway = await bench.gateway({ signingKey: "signkey-test-00112233445566778899aabbccddeeff", eventKey: "e" });
  const headers = {
    Authorization: "Bearer signkey-test-a8faed6abbf35c12a4b26e40f6feb19d736d90045c83b9f9a31f638d323e6811",
  };
  await expect(RawWorker.open({ url: gateway.url })).rejects.toThrow("401");
  const greet = async (withToken: (token: string) => string) => {
    const { worker, connectionId, token } = await RawWorker.open({ url: gateway.url, headers });
    await worker.frame("GATEWAY_HELLO");
    worker.socket.send(encodeWorkerFrame(helloFrame({ url: "" }, connectionId, "i", withToken(token))));
    return worker;
  };
  const good = await greet((token) => token);
  await good.frame("GATEWAY_CONNECTION_READY");
  await good.close();
  expect(await (await greet(() => "")).gone()).toMatchObject({ reason: "connect_authentication_failed" });
  expect(await (await greet((token) => `${token}0`)).gone()).toMatchObject({ reason: "connect_authentication_failed" });
  expect((await metrics(gateway, { headers })).dispatcher.workers).toBe(0);
});

test("no more workers connect at once than the option allows; one that leaves makes room", async () => {
  const gateway = await bench.gateway({ maxWorkers: 1 });
  const first = await bench.worker(gateway);
  await expect(RawWorker.open({ url: gateway.url })).rejects.toThrow(/503/);
  await first.close();
  const isGone = async (): Promise<boolean> =>
    ((await call(gateway, "/v1/metrics")) as { process: { sockets: number } }).process.sockets === 0;
  await waitFor(isGone, { what: "the first socket to be gone" });
  await bench.worker(gateway);
});
