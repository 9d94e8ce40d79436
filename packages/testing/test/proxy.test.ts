import { randomBytes } from "node:crypto";
import { Agent as HttpAgent, request } from "node:http";
import { connect } from "node:net";
import {
  decodeStartResponse,
  encodeGatewayFrame,
  encodeStartResponse,
  encodeWorkerFrame,
  START_PATH,
} from "@holdfast/protocol";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { checkLeaks, waitFor } from "../src/index.ts";
import { connectWorker, proxyTo, startPeer } from "./support.ts";

checkLeaks({ beforeAll, afterAll });

const heartbeat = encodeWorkerFrame({ kind: "WORKER_HEARTBEAT" });
const replyAck = (requestId: string): Uint8Array => encodeGatewayFrame({ kind: "WORKER_REPLY_ACK", requestId });
const what = { timeoutMs: 100_000 };

describe("HTTP through the proxy", () => {
  test("HTTP passes unchanged over reused connections", async () => {
    const peer = await startPeer((incoming, response, body) => {
      if (incoming.url === "/chunked") {
        response.write("one,");
        response.write("two");
        response.end();
      } else {
        response.setHeader("x-peer", "yes");
        response.end(`${incoming.method} ${incoming.url} ${body.toString("hex")}`);
      }
    });
    const proxy = await proxyTo({ target: `http://127.0.0.1:${peer.port}` });
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const body = randomBytes(200_000);
    expect(await call(proxy.port, "POST", "/big?x=1", body, agent)).toMatchObject({
      status: 200,
      text: `POST /big?x=1 ${body.toString("hex")}`,
    });
    expect(await call(proxy.port, "GET", "/chunked", undefined, agent)).toMatchObject({ text: "one,two" });
    expect(await call(proxy.port, "GET", "/after", undefined, agent)).toMatchObject({ text: "GET /after " });
    expect(await call(proxy.port, "HEAD", "/head", undefined, agent)).toMatchObject({ status: 200, text: "" });
    expect(proxy.requests.map(({ method, path, status, connection }) => [method, path, status, connection])).toEqual([
      ["POST", "/big", 200, 1],
      ["GET", "/chunked", 200, 1],
      ["GET", "/after", 200, 1],
      ["HEAD", "/head", 200, 1],
    ]);
  });

  test("pipelined HTTP requests pass byte by byte", async () => {
    const peer = await startPeer((incoming, response) => response.end(`<${incoming.url}>`));
    const proxy = await proxyTo({ target: { port: peer.port } });
    const socket = connect(proxy.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let text = "";
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    const requests = ["/a", "/b"].map((path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`);
    for (const byte of Buffer.from(requests.join(""))) {
      socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor(() => text.includes("</a>") && text.includes("</b>"), { what: "both answers", ...what });
    expect(proxy.requests.map(({ path, status }) => [path, status])).toEqual([
      ["/a", 200],
      ["/b", 200],
    ]);
  });

  test("bytes that are not HTTP pass unchanged", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const socket = connect(proxy.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write("\0\0\0nonsense\r\n\r\n");
    const answer = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(String(data))));
    expect(answer).toMatch(/^HTTP\/1\.1 400/);
  });

  test("the proxy ends a connection when there is no gateway", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    peer.http.close();
    await expect(call(proxy.port, "GET", "/")).rejects.toThrow(/ECONNRESET|socket hang up/);
  });
});

describe("Start responses through the proxy", () => {
  const start = (endpoint: string): Uint8Array =>
    encodeStartResponse({
      connectionId: "01JZ0000000000000000000000",
      gatewayEndpoint: endpoint,
      gatewayGroup: "g",
      sessionToken: "s",
      syncToken: "y",
    });

  test("a start response naming the requested address leads the socket to the gateway, not back to the proxy", async () => {
    let endpoint = "";
    const peer = await startPeer((_, response) => response.end(start(endpoint)));
    const proxy = await proxyTo({ target: { port: peer.port } });
    for (const host of ["127.0.0.1", "localhost"]) {
      endpoint = `ws://${host}:${proxy.port}/v0/connect`;
      const { bytes } = await call(proxy.port, "POST", START_PATH, Buffer.alloc(0));
      expect(decodeStartResponse(bytes).gatewayEndpoint).toBe(`ws://127.0.0.1:${proxy.port}/v0/connect`);
      const before = peer.sockets.length;
      await connectWorker(proxy.port);
      expect(peer.sockets.length).toBe(before + 1);
    }
  });

  test("a start response names the proxy, which leads the socket to the address that the gateway gave", async () => {
    const sockets = await startPeer();
    const api = await startPeer((_, response) => response.end(start(`ws://127.0.0.1:${sockets.port}/v0/connect?a=1`)));
    const proxy = await proxyTo({ target: { port: api.port } });
    const answer = await call(proxy.port, "POST", START_PATH, Buffer.alloc(0));
    const response = decodeStartResponse(answer.bytes);
    expect(response).toMatchObject({
      connectionId: "01JZ0000000000000000000000",
      gatewayEndpoint: `ws://127.0.0.1:${proxy.port}/v0/connect?a=1`,
      sessionToken: "s",
    });
    const worker = await connectWorker(proxy.port);
    worker.socket.send(heartbeat);
    await proxy.waitForFrame("WORKER_HEARTBEAT");
    await waitFor(() => sockets.received.length === 1, { what: "the heartbeat at the other port", ...what });
    expect(api.sockets).toHaveLength(0);
  });

  test("a start response is unchanged on request, when it is no success and when it cannot be read", async () => {
    const body = start("ws://127.0.0.1:1/v0/connect");
    let status = 200;
    let bytes: Uint8Array = body;
    const peer = await startPeer((_, response) => {
      response.statusCode = status;
      response.end(bytes);
    });
    const plain = await proxyTo({ target: { port: peer.port }, rewriteEndpoint: false });
    expect((await call(plain.port, "POST", START_PATH)).bytes).toEqual(Buffer.from(body));
    const proxy = await proxyTo({ target: { port: peer.port } });
    status = 401;
    expect(await call(proxy.port, "POST", START_PATH)).toMatchObject({ status: 401, bytes: Buffer.from(body) });
    status = 200;
    bytes = Buffer.from("<html>no gateway</html>");
    expect(await call(proxy.port, "POST", START_PATH)).toMatchObject({ text: "<html>no gateway</html>" });
    expect(proxy.requests.map((each) => each.status)).toEqual([401, 200]);
  });
});

describe("Frames through the proxy", () => {
  test("frames pass unchanged in both directions and are decoded", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    worker.socket.send(heartbeat);
    await proxy.waitForFrame("WORKER_HEARTBEAT");
    peer.sockets[0]?.send(replyAck("r1"));
    const ack = await proxy.waitForFrame(({ frame }) => frame?.kind === "WORKER_REPLY_ACK");
    expect(ack).toMatchObject({ direction: "to-worker", connection: 1, fate: "forwarded", frame: { requestId: "r1" } });
    await waitFor(() => worker.received.length === 1 && peer.received.length === 1, { what: "both messages", ...what });
    expect(peer.received[0]).toEqual(heartbeat);
    expect(worker.received[0]).toEqual(replyAck("r1"));
    expect(proxy.framesOf("WORKER_HEARTBEAT")).toHaveLength(1);
    expect(proxy.connections).toEqual({ all: 1, webSockets: 1 });
  });

  test.each([0, 125, 126, 65_535, 65_536, 3_000_000])(
    "frames of %i bytes pass, whatever their content",
    async (size) => {
      const peer = await startPeer();
      const proxy = await proxyTo({ target: { port: peer.port } });
      const worker = await connectWorker(proxy.port);
      const payload = Buffer.concat([Buffer.of(0xff).subarray(0, size), Buffer.alloc(Math.max(0, size - 1), 0xff)]);
      worker.socket.send(payload);
      await waitFor(() => peer.sockets.length === 1, { what: "the connection", ...what });
      peer.sockets[0]?.send(payload);
      await waitFor(() => worker.received.length === 1 && peer.received.length === 1, {
        what: "both messages",
        ...what,
      });
      expect(Buffer.compare(peer.received[0] ?? Buffer.of(1), payload)).toBe(0);
      expect(Buffer.compare(worker.received[0] ?? Buffer.of(1), payload)).toBe(0);
      expect(proxy.frames).toHaveLength(2);
      // An empty message is a GATEWAY_HELLO, and of its kind on the way up too; the rest is no frame.
      for (const seen of proxy.frames) expect(seen.frame === undefined).toBe(size > 0);
    },
  );

  test("a fragmented message with a ping in between is recorded as one message", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    const pinged = new Promise<string>((resolve) => peer.sockets[0]?.once("ping", (data) => resolve(String(data))));
    const bytes = encodeWorkerFrame({ kind: "WORKER_STATUS", inFlightRequestIds: ["a", "b"], shutdownRequested: true });
    worker.socket.send(bytes.subarray(0, 3), { fin: false });
    worker.socket.ping("hi");
    worker.socket.send(bytes.subarray(3, 5), { fin: false });
    worker.socket.send(bytes.subarray(5), { fin: true });
    const seen = await proxy.waitForFrame("WORKER_STATUS");
    expect(seen.frame).toMatchObject({ inFlightRequestIds: ["a", "b"], shutdownRequested: true });
    expect(await pinged).toBe("hi");
    await waitFor(() => peer.received.length === 1, { what: "the message", ...what });
    expect(peer.received[0]).toEqual(bytes);
  });

  test("text frames and compressed frames pass and are marked", async () => {
    const peer = await startPeer(undefined, { perMessageDeflate: true });
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port, { perMessageDeflate: true });
    worker.socket.send("text");
    worker.socket.send(Buffer.alloc(5000));
    await waitFor(() => peer.received.length === 2, { what: "both messages", ...what });
    expect(proxy.frames.map(({ undecodable }) => undecodable)).toEqual(["compressed", "compressed"]);
    const plain = await connectWorker(proxy.port);
    plain.socket.send("text");
    await waitFor(() => peer.received.length === 3, { what: "the third", ...what });
    expect(proxy.frames.at(-1)).toMatchObject({ undecodable: "not a binary message", connection: 2 });
  });

  test("frames that break the protocol pass, and the connection ends as it would without the proxy", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    (worker.socket as unknown as { _socket: { write(bytes: Buffer): void } })._socket.write(
      Buffer.of(0x8f, 0x80, 0, 0, 0, 0),
    );
    expect(await worker.closed).toBe(1002);
    expect(proxy.frames).toMatchObject([{ undecodable: "bad opcode 15", fate: "forwarded" }]);
  });

  test("a close frame has the same code on both sides", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    peer.sockets[0]?.close(1008, "policy");
    expect(await worker.closed).toBe(1008);
    await waitFor(() => proxy.connections.all === 0, { what: "the connection to go", ...what });
  });
});

describe("Faults", () => {
  test("dropped frames do not arrive, all others do, and the rule can be removed", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    const [gateway] = peer.sockets;
    const stop = proxy.dropFrames(({ frame }) => frame?.kind === "WORKER_REPLY_ACK" && frame.requestId === "a");
    for (const id of ["a", "b", "a"]) gateway?.send(replyAck(id));
    await waitFor(() => proxy.frames.length === 3, { what: "three frames", ...what });
    stop();
    gateway?.send(replyAck("a"));
    await waitFor(() => worker.received.length === 2, { what: "two messages", ...what });
    expect(worker.received).toEqual([replyAck("b"), replyAck("a")]);
    expect(proxy.frames.map(({ fate }) => fate)).toEqual(["dropped", "forwarded", "dropped", "forwarded"]);

    proxy.dropFrames("WORKER_HEARTBEAT", { direction: "to-gateway", count: 1 });
    worker.socket.send(heartbeat);
    worker.socket.send(heartbeat);
    await waitFor(() => peer.received.length === 1, { what: "the second heartbeat", ...what });
    expect(proxy.framesOf("WORKER_HEARTBEAT").map(({ fate }) => fate)).toEqual(["dropped", "forwarded"]);
  });

  test("duplicated frames arrive twice in a row, and the rule can be removed", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    const [gateway] = peer.sockets;
    const stop = proxy.duplicateFrames(({ frame }) => frame?.kind === "WORKER_REPLY_ACK" && frame.requestId === "a");
    for (const id of ["a", "b"]) gateway?.send(replyAck(id));
    await waitFor(() => worker.received.length === 3, { what: "three messages", ...what });
    stop();
    gateway?.send(replyAck("a"));
    await waitFor(() => worker.received.length === 4, { what: "four messages", ...what });
    expect(worker.received).toEqual(["a", "a", "b", "a"].map(replyAck));
    expect(proxy.frames.map(({ fate }) => fate)).toEqual(["duplicated", "forwarded", "forwarded"]);

    proxy.duplicateFrames("WORKER_HEARTBEAT", { direction: "to-gateway", count: 1 });
    worker.socket.send(heartbeat);
    await waitFor(() => peer.received.length === 2, { what: "the heartbeat, twice", ...what });
  });

  test("cut() resets both sides, and new connections work", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    const peerClosed = new Promise<number>((resolve) => peer.sockets[0]?.once("close", resolve));
    proxy.cut("web-sockets");
    expect(await worker.closed).toBe(1006);
    expect(await peerClosed).toBe(1006);
    await connectWorker(proxy.port);
    expect(proxy.connections).toEqual({ all: 1, webSockets: 1 });
  });

  test("stop() refuses connections until start(), on the same port", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const { port } = proxy;
    const worker = await connectWorker(port);
    await proxy.stop();
    expect(await worker.closed).toBe(1006);
    await expect(connectWorker(port)).rejects.toThrow(/ECONNREFUSED/);
    await proxy.start();
    expect(proxy.port).toBe(port);
    const again = await connectWorker(port);
    again.socket.send(heartbeat);
    await proxy.waitForFrame("WORKER_HEARTBEAT");
    await expect(proxyTo({ target: { port: peer.port }, port })).rejects.toMatchObject({ code: "PORT_BUSY" });
  });

  test("half-open connections pass nothing and stay open, new ones work, and healing delivers what was held", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    proxy.halfOpen();
    worker.socket.send(heartbeat);
    const seen = await proxy.waitForFrame("WORKER_HEARTBEAT");
    expect(seen.fate).toBe("held");
    const fresh = await connectWorker(proxy.port);
    fresh.socket.send(heartbeat);
    await waitFor(() => peer.received.length === 1, { what: "the other connection's message", ...what });
    expect([worker.socket.readyState, peer.sockets[0]?.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
    proxy.heal();
    await waitFor(() => peer.received.length === 2, { what: "what was held", ...what });

    // A peer that goes away behind a half-open connection is not missed by the other one.
    proxy.halfOpen();
    worker.socket.terminate();
    fresh.socket.send(heartbeat);
    await proxy.waitForFrame(({ connection, fate }) => connection === 2 && fate === "held");
    expect(peer.sockets[0]?.readyState).toBe(WebSocket.OPEN);
    const peerClosed = new Promise<number>((resolve) => peer.sockets[0]?.once("close", resolve));
    proxy.heal();
    expect(await peerClosed).toBe(1006);
  });

  test("delay() delays frames and keeps their order", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    const startMs = performance.now();
    proxy.delay(150, "to-worker");
    peer.sockets[0]?.send(replyAck("1"));
    peer.sockets[0]?.send(replyAck("2"));
    await waitFor(() => proxy.frames.length === 2, { what: "two frames", ...what });
    proxy.delay(0);
    peer.sockets[0]?.send(replyAck("3"));
    await waitFor(() => worker.received.length === 3, { what: "three messages", ...what });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(149);
    expect(worker.received).toEqual(["1", "2", "3"].map(replyAck));
  });

  test("a slow reader slows the sender down and still gets everything", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    peer.sockets[0]?.pause();
    const message = Buffer.alloc(1024 * 1024, 7);
    for (let i = 0; i < 24; i += 1) worker.socket.send(message);
    await waitFor(() => proxy.frames.length >= 4, { what: "the first messages", ...what });
    peer.sockets[0]?.resume();
    await waitFor(() => peer.received.length === 24, { what: "all messages", ...what });
    expect(peer.received.every((each) => Buffer.compare(each, message) === 0)).toBe(true);
  });
});

describe("waitForFrame", () => {
  test("waitForFrame lists the frames that came instead", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    worker.socket.send(heartbeat);
    worker.socket.send("text");
    peer.sockets[0]?.send(replyAck("r9"));
    await waitFor(() => proxy.frames.length === 3, { what: "three frames", ...what });
    const never = proxy.waitForFrame("WORKER_PAUSE", { timeoutMs: 20, what: "a pause before the end" });
    await expect(never).rejects.toMatchObject({
      code: "TEST_TIMEOUT",
      message: expect.stringMatching(/No frame was a pause before the end within 20 ms/),
    });
    const message = await never.then(String, (error: Error) => error.message);
    expect(message).toMatch(/#1 worker -> gateway WORKER_HEARTBEAT$/m);
    expect(message).toMatch(/undecodable \(not a binary message, 4 bytes\)$/m);
    expect(message).toMatch(/gateway -> worker WORKER_REPLY_ACK requestId=r9$/m);
  });

  test("waitForFrame can look at new frames only, and forgets frames after clear()", async () => {
    const peer = await startPeer();
    const proxy = await proxyTo({ target: { port: peer.port } });
    const worker = await connectWorker(proxy.port);
    worker.socket.send(heartbeat);
    const first = await proxy.waitForFrame("WORKER_HEARTBEAT");
    const second = proxy.waitForFrame("WORKER_HEARTBEAT", { since: proxy.frames.length });
    worker.socket.send(heartbeat);
    expect(await second).not.toBe(first);
    proxy.clear();
    expect([proxy.frames.length, proxy.requests.length]).toEqual([0, 0]);
    const failing = proxy.waitForFrame(() => {
      throw new Error("bad predicate");
    });
    worker.socket.send(heartbeat);
    await expect(failing).rejects.toThrow("bad predicate");
  });

  test("the proxy rejects a target that is not an address", async () => {
    await expect(proxyTo({ target: "nonsense" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(proxyTo({ target: "https://127.0.0.1" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly bytes: Buffer;
}

function call(port: number, method: string, path: string, body?: Buffer, agent?: HttpAgent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, method, path, agent: agent ?? false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(parts);
        resolve({ status: response.statusCode ?? 0, text: bytes.toString(), bytes });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
