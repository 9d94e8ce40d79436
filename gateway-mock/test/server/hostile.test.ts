import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type Log, silentLog, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { encodeWorkerFrame, SUBPROTOCOL, type WorkerFrame } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { GATEWAY_LIMITS, resolveConfig } from "../../src/config/config.ts";
import { type CorePorts, createCore } from "../../src/gateway-core.ts";
import { hashSigningKey } from "../../src/http/keys.ts";
import type { Gateway } from "../../src/server.ts";
import { SocketServer } from "../../src/ws/server.ts";
import { call, ended, SIGNING_KEY, start, useGateway } from "./harness.ts";
import { helloFrame, RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const KEYS = { signingKey: SIGNING_KEY, eventKey: "test" };
const headers = { Authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}` };
const KIB = 1024;
const MIB = 1024 * KIB;

/** A peer that has a socket and no manners: an upgrade by hand, then whatever bytes it likes. */
class Stranger {
  readonly socket: Socket;
  received = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (data) => {
      this.received = Buffer.concat([this.received, data]);
    });
    socket.on("error", () => {});
  }

  static async open(port: number): Promise<Stranger> {
    const stranger = new Stranger(connect(port, "127.0.0.1"));
    stranger.socket.write(
      [
        "GET /v0/connect HTTP/1.1",
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        `Sec-WebSocket-Protocol: ${SUBPROTOCOL}`,
        "",
        "",
      ].join("\r\n"),
    );
    await waitFor(() => stranger.received.includes("\r\n\r\n") || stranger.socket.closed, { what: "the upgrade" });
    return stranger;
  }

  get status(): string {
    return this.received.subarray(9, 12).toString();
  }

  /** The code of the close frame; undefined when there was none. */
  get closeCode(): number | undefined {
    // GATEWAY_HELLO is the only other frame that a stranger gets.
    const at = this.received.lastIndexOf(0x88);
    return at < 0 ? undefined : this.received.readUInt16BE(at + 2);
  }

  /** The reason of the close frame. */
  get closeReason(): string {
    const at = this.received.lastIndexOf(0x88);
    return at < 0 ? "" : this.received.subarray(at + 4).toString();
  }

  /** Everything, or what the gateway takes until it ends the connection. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength && !this.socket.destroyed; at += 64 * KIB) {
      if (this.socket.write(bytes.subarray(at, at + 64 * KIB))) continue;
      await Promise.race([new Promise((resolve) => this.socket.once("drain", resolve)), this.gone()]);
    }
  }

  async gone(): Promise<void> {
    if (!this.socket.closed) await new Promise((resolve) => this.socket.once("close", resolve));
  }
}

/** A frame of a client, masked with zeros; `opcode` 2 = binary, 0 = the next piece. */
function frameOf(payload: Uint8Array, { opcode = 2, fin = true, claims = payload.byteLength } = {}): Buffer {
  const head = Buffer.alloc(14);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(claims), 2);
  return Buffer.concat([head, payload]);
}

/** A log that is kept, and how much of it there is. */
function keptLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: (level, message, data) => void lines.push(`${level} ${message} ${JSON.stringify(data ?? {})}`) };
}

/** Lines that were written, and those that are said to have been left out. */
function total(lines: readonly string[]): number {
  const leftOut = lines.map((line) => Number(/^warn (\d+) more line\(s\)/.exec(line)?.[1] ?? -1));
  return leftOut.reduce((sum, count) => sum + (count < 0 ? 1 : count), 0);
}

async function pending(gateway: Gateway): Promise<{ sockets: number; bytes: number; peakBytes: number }> {
  const { process } = (await call(gateway, "/v1/metrics", { headers })) as never as {
    process: { pendingSockets: { sockets: number; bytes: number; peakBytes: number } };
  };
  return process.pendingSockets;
}

describe("Connections before the handshake", () => {
  test("150 unfinished frames of 8 MiB use limited memory, and a well-behaved worker is still served", async () => {
    const gateway = await bench.gateway(KEYS);
    // Of each so much is sent as a slow machine can read before the gateway stops waiting for a hello.
    const unfinished = frameOf(Buffer.alloc(MIB), { claims: 8 * MIB });
    const strangers = await Promise.all(Array.from({ length: 150 }, () => Stranger.open(gateway.port)));
    const written = Promise.all(strangers.map((stranger) => stranger.write(unfinished)));
    const honest = await bench.worker(gateway, { headers });
    await written;
    await Promise.all(strangers.map((stranger) => stranger.gone()));
    const { maxSockets: _, ownBytes, sharedBytes, pieceBytes } = GATEWAY_LIMITS.pending;
    const { peakBytes } = await pending(gateway);
    const onePieceEach = 150 * (64 * KIB + pieceBytes);
    expect(peakBytes).toBeLessThanOrEqual(151 * ownBytes + sharedBytes + onePieceEach);
    expect(peakBytes).toBeGreaterThan(sharedBytes);
    expect(strangers.map(({ closeCode }) => closeCode)).toContain(1009);
    await waitFor(async () => (await pending(gateway)).bytes === 0, { what: "all of it to be returned" });
    expect(honest.closed).toBeNull();
  });

  test("a hello may be as large as a frame while there is memory", async () => {
    const gateway = await bench.gateway();
    const functions = Array.from({ length: 900 }, (_, n) => ({
      id: `shop-order-${n}`,
      event: "shop/order",
      config: { name: "x".repeat(1000) },
    }));
    const worker = await bench.worker(gateway, { functions });
    expect(worker.closed).toBeNull();
    expect((await pending(gateway)).peakBytes).toBeGreaterThan(900_000);
    expect(await pending(gateway)).toMatchObject({ sockets: 0, bytes: 0 });
  });

  test("thousands of tiny fragments of one message end the connection", async () => {
    const gateway = await bench.gateway();
    const stranger = await Stranger.open(gateway.port);
    const piece = Buffer.from([1]);
    const pieces = [
      frameOf(piece, { fin: false }),
      ...Array.from({ length: 1100 }, () => frameOf(piece, { opcode: 0, fin: false })),
    ];
    await stranger.write(Buffer.concat(pieces));
    await stranger.gone();
    // The library's own refusal; that of one who took too long has a reason.
    expect([stranger.closeCode, stranger.closeReason]).toEqual([1008, ""]);
  });

  test("silent connections are evicted for newer ones, active ones are not", async () => {
    const places = await crowd(5);
    const silent: Stranger[] = [];
    for (let n = 0; n < 5; n += 1) silent.push(await Stranger.open(places.port));
    const talking = silent.splice(2, 1);
    await talking[0]?.write(frameOf(Buffer.alloc(100), { claims: 200 }));
    await waitFor(() => places.server.pending().bytes > 0, { what: "its bytes to be counted" });
    const newer: Stranger[] = [];
    for (let n = 0; n < 4; n += 1) newer.push(await Stranger.open(places.port));
    await Promise.all(silent.map((stranger) => stranger.gone()));
    expect(silent.map(({ closeCode }) => closeCode)).toEqual([1013, 1013, 1013, 1013]);
    expect([...talking, ...newer].map(({ socket, status }) => [status, socket.closed])).toEqual(
      Array.from({ length: 5 }, () => ["101", false]),
    );
    // Everybody has said something now: who comes next waits outside.
    for (const stranger of newer) await stranger.write(frameOf(Buffer.alloc(10), { claims: 20 }));
    await waitFor(() => places.server.pending().bytes > 5 * 256, { what: "all bytes to be counted" });
    const late = await Stranger.open(places.port);
    await late.gone();
    expect(late.status).toBe("503");
    expect(places.server.pending().sockets).toBe(5);
    for (const { socket } of [...talking, ...newer]) socket.destroy();
    await waitFor(() => places.server.pending().sockets === 0, { what: "all places to be free" });
    await places.close();
  });

  test("500 invalid hellos write a few log lines, which state their number", async () => {
    const { log, lines } = keptLog();
    const gateway = await bench.gateway({ ...KEYS, log });
    const before = lines.length;
    for (let turn = 0; turn < 10; turn += 1) {
      const strangers = await Promise.all(Array.from({ length: 50 }, () => Stranger.open(gateway.port)));
      await Promise.all(strangers.map((stranger) => stranger.write(frameOf(Buffer.from([0xff, 0xff])))));
      for (const stranger of strangers) stranger.socket.end();
      await Promise.all(strangers.map((stranger) => stranger.gone()));
    }
    await gateway.close();
    const about = lines.slice(before).filter((line) => !/Stopping|Postgres/.test(line));
    expect(about.length).toBeLessThan(150);
    expect(total(about)).toBeGreaterThanOrEqual(1000);
  });

  test("text from a peer does not flood the log", async () => {
    const { log, lines } = keptLog();
    const gateway = await bench.gateway({ log });
    const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
    worker.send(helloFrame({ url: "" }, connectionId, "i".repeat(MIB)));
    expect((await worker.gone()).code).toBe(1008);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(2000);
  });
});

describe("Connected workers", () => {
  const bad = Uint8Array.from([0x08, 0x06, 0x12, 0x02, 0x0a, 0x7f]);

  test("50,000 unreadable frames end their connection after the first few, and other workers continue", async () => {
    const { log, lines } = keptLog();
    const gateway = await bench.gateway({ log });
    const hostile = await bench.worker(gateway, { app: "other", functions: [{ id: "other-pay", event: "other/pay" }] });
    const honest = await bench.worker(gateway);
    for (let count = 0; count < 50_000; count += 1) hostile.socket.send(bad);
    expect(await hostile.gone()).toMatchObject({ code: 1008, reason: "connect_worker_too_many_invalid_frames" });
    const [runId = ""] = await start(gateway);
    const { request } = await honest.request();
    await honest.replied(request, { status: "DONE", value: 1 });
    expect((await ended(gateway, runId)).status).toBe("COMPLETED");
    expect(lines.filter((line) => line.includes("malformed frame"))).toHaveLength(6);
    await gateway.close();
    expect(lines.length).toBeLessThan(60);
  });

  const nack = (message: string): WorkerFrame =>
    ({ kind: "WORKER_REQUEST_NACK", requestId: "r", runId: "r", leaseId: "l", reason: "MALFORMED", message }) as never;
  const floods: [what: string, frame: (n: number, worker: RawWorker) => Uint8Array][] = [
    ["unknown kinds", () => Uint8Array.from([0x08, 0x63])],
    ["refusals of what it was never given", (n) => encodeWorkerFrame(nack(`${n}`.repeat(1000)))],
    ["greetings", () => encodeWorkerFrame(helloFrame({ url: "" }, "01JZ0000000000000000000000", "i"))],
    ["changes of its mind", (n) => encodeWorkerFrame({ kind: n % 2 === 0 ? "WORKER_PAUSE" : "WORKER_READY" })],
  ];

  test.each(floods)("2,000 frames with %s write a few log lines, which state their number", async (_, frame) => {
    const { log, lines } = keptLog();
    const gateway = await bench.gateway({ log });
    const worker = await bench.worker(gateway);
    const before = lines.length;
    for (let n = 0; n < 2000; n += 1) worker.socket.send(frame(n, worker));
    worker.send({ kind: "WORKER_HEARTBEAT" });
    await worker.frame("GATEWAY_HEARTBEAT");
    await worker.close();
    await gateway.close();
    const about = lines.slice(before);
    expect(about.length).toBeLessThan(150);
    expect(Math.max(0, ...about.map((line) => line.length))).toBeLessThan(2000);
  });
});

/** A WebSocket server with room for `maxSockets` strangers. */
async function crowd(maxSockets: number): Promise<{ port: number; server: SocketServer; close(): Promise<void> }> {
  const config = resolveConfig({ log: silentLog });
  const call: CorePorts["call"] = () => Promise.reject(new Error("nothing is called here"));
  const ports = { store: bench.store, clock: systemClock, timers: systemTimers, random: systemRandom, call };
  const { sessions } = createCore(config, ports);
  const limits = { ...GATEWAY_LIMITS.pending, maxSockets };
  const server = new SocketServer({
    sessions,
    maxSockets: 100,
    maxMessageBytes: 1024 * 1024,
    pending: limits,
    refusal: () => undefined,
  });
  const http = createServer();
  server.listenOn(http);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    port: (http.address() as AddressInfo).port,
    server,
    close: async () => {
      server.close();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
