import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { encodeStartResponse } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { retryAfterMsOf } from "../../src/connection/thread/gateway-http.ts";
import { openTest } from "./harness.ts";
import { type GatewayPeer, readyFrame, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

/** Bytes that no WebSocket library would send. */
const raw = (peer: GatewayPeer, bytes: readonly number[]): void => {
  (peer.socket as unknown as { _socket: Socket })._socket.write(Buffer.from(bytes));
};
const hello = (peer: GatewayPeer): void => peer.send({ kind: "GATEWAY_HELLO" });

/** What a gateway does the first time; the second time it does well. */
const firsts: Record<
  string,
  { first?: (peer: GatewayPeer) => void; welcome?: (peer: GatewayPeer) => void; says: RegExp }
> = {
  "says nothing": { first: () => {}, says: /did not send GATEWAY_HELLO in time/ },
  "begins with another frame": {
    first: (peer) => peer.send({ kind: "GATEWAY_HEARTBEAT" }),
    says: /first frame was GATEWAY_HEARTBEAT/,
  },
  "is ready before it was asked": {
    first: (peer) => peer.send(readyFrame(gateway.script)),
    says: /first frame was GATEWAY_CONNECTION_READY/,
  },
  "says half a frame": { first: (peer) => raw(peer, [0x82, 0x05, 0x08]), says: /did not send GATEWAY_HELLO in time/ },
  "says a text frame": { first: (peer) => peer.socket.send("hello"), says: /text frame/ },
  "announces a frame that is too large": {
    first: (peer) => raw(peer, [0x82, 0x7f, 0, 0, 0, 0, 0x7f, 0, 0, 0]),
    says: /1009|1006|payload size/i,
  },
  "breaks the WebSocket protocol": {
    first: (peer) => raw(peer, [0xff, 0xff, 0xff, 0xff]),
    says: /during the handshake/,
  },
  "says bytes that are no frame": {
    first: (peer) => peer.socket.send(Buffer.from([0xff, 0xff, 0xff])),
    says: /not a valid frame/,
  },
  "closes at once": {
    first: (peer) => peer.socket.close(1001, "connect_gateway_closing"),
    says: /1001 connect_gateway_closing/,
  },
  "is gone at once": { first: (peer) => peer.socket.terminate(), says: /during the handshake/ },
  "closes after hello": {
    first: (peer) => {
      hello(peer);
      peer.socket.close(1011, "connect_internal_error");
    },
    says: /1011 connect_internal_error/,
  },
  "says hello twice": {
    first: (peer) => {
      hello(peer);
      hello(peer);
    },
    welcome: () => {},
    says: /GATEWAY_HELLO instead of GATEWAY_CONNECTION_READY/,
  },
  "closes instead of being ready": {
    welcome: (peer) => peer.socket.close(1001, "connect_gateway_closing"),
    says: /1001/,
  },
  "is gone instead of being ready": { welcome: (peer) => peer.socket.terminate(), says: /during the handshake/ },
  "never becomes ready": { welcome: () => {}, says: /did not become ready in time/ },
  "says half of being ready": {
    welcome: (peer) => raw(peer, [0x82, 0x20, 0x08, 0x02]),
    says: /did not become ready in time/,
  },
  "missed our greeting": {
    welcome: (peer) => peer.socket.close(1008, "connect_worker_hello_timeout"),
    says: /hello_timeout/,
  },
  "is closing before it is ready": {
    welcome: (peer) => peer.send({ kind: "GATEWAY_CLOSING" }),
    says: /GATEWAY_CLOSING instead/,
  },
};

/** Short only where it has to be over: on a busy machine an answer takes its time. */
const patienceMs = (says: RegExp): number => (/in time|No answer/.test(says.source) ? 1500 : 20_000);

describe("Gateways with a broken handshake", () => {
  it.each(Object.keys(firsts))(
    "a gateway that breaks the handshake (%s) is closed, reported and avoided, and another one is tried",
    async (what) => {
      const { first = hello, welcome, says } = firsts[what]!;
      const normal = gateway.script.welcome;
      gateway.script.first = (peer) => (peer.number === 1 ? first(peer) : hello(peer));
      gateway.script.welcome = (peer) => (peer.number === 1 && welcome ? welcome(peer) : normal(peer));
      const { connection, logs } = await openTest(gateway.url, { config: { openMs: patienceMs(says) } });
      await until(() => gateway.peers[0]!.closed, "the end of the first socket");
      expect(gateway.peers).toHaveLength(2);
      expect(gateway.starts.map(({ excludeGateways }) => excludeGateways)).toEqual([[], ["test"]]);
      expect(
        logs.some(({ level, message }) => level === "warn" && says.test(message)),
        JSON.stringify(logs),
      ).toBe(true);
      expect(gateway.peers[0]!.of("WORKER_CONNECT").length).toBeLessThanOrEqual(1);
      await connection.close();
    },
  );

  it("a gateway that sends unknown frame kinds is used all the same", async () => {
    gateway.script.first = (peer) => {
      peer.socket.send(Buffer.from([0x08, 0xe7, 0x07]));
      hello(peer);
    };
    const { connection } = await openTest(gateway.url);
    expect(gateway.peers).toHaveLength(1);
    await connection.close();
  });
});

describe("Endpoints that do not work", () => {
  /** A listener that treats its first connection so; the start call names it the first time only. */
  async function endpoint(treat: (socket: Socket) => void) {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
      treat(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const close = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    };
    return { sockets, url: `ws://127.0.0.1:${port}/v0/connect`, close };
  }
  const answer = (text: string) => (socket: Socket) => void socket.once("data", () => socket.write(text));
  const treatments: Record<string, (socket: Socket) => void> = {
    "never answers the upgrade": (socket) => void socket.resume(),
    "closes instead of an upgrade": (socket) => void socket.destroy(),
    "answers with half a response": answer("HTTP/1.1 101 Switching"),
    "answers with something else": answer("SSH-2.0-OpenSSH_9.0\r\n"),
    "answers 401": answer("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"),
    "answers 302": answer("HTTP/1.1 302 Found\r\nlocation: http://example.invalid/\r\ncontent-length: 0\r\n\r\n"),
    "answers 200 and a page": answer("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>"),
    "agrees without the key": answer(
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    ),
  };

  it.each(Object.keys(treatments))("an endpoint that %s is abandoned, and another one is tried", async (what) => {
    const { sockets, url, close } = await endpoint(treatments[what]!);
    const good = `${gateway.url.replace("http", "ws")}v0/connect`;
    gateway.script.answerStart = (response, count) => {
      const gatewayEndpoint = count === 1 ? url : good;
      const start = {
        connectionId: `c${count}`,
        gatewayEndpoint,
        gatewayGroup: `g${count}`,
        sessionToken: "",
        syncToken: "",
      };
      response.writeHead(200).end(encodeStartResponse(start));
    };
    const { connection } = await openTest(gateway.url, { config: { openMs: 1500 } });
    expect(gateway.starts.map(({ excludeGateways }) => excludeGateways)).toEqual([[], ["g1"]]);
    await until(() => sockets.size === 0, "the end of the socket");
    await connection.close();
    await close();
  });

  it("an endpoint without a listener is abandoned, and another one is tried", async () => {
    const { url, close } = await endpoint(() => {});
    await close();
    const start = { connectionId: "c", gatewayGroup: "g", sessionToken: "", syncToken: "" };
    gateway.script.answerStart = (response, count) => {
      const gatewayEndpoint = count === 1 ? url : `${gateway.url.replace("http", "ws")}v0/connect`;
      response.writeHead(200).end(encodeStartResponse({ ...start, gatewayEndpoint }));
    };
    const { connection, logs } = await openTest(gateway.url);
    expect(
      logs.some(({ message }) => message.includes("ECONNREFUSED")),
      JSON.stringify(logs),
    ).toBe(true);
    await connection.close();
  });
});

describe("The start call", () => {
  const named = (gatewayEndpoint: string, connectionId = "c"): Uint8Array =>
    encodeStartResponse({ connectionId, gatewayEndpoint, gatewayGroup: "g", sessionToken: "", syncToken: "" });
  const bad: Record<string, { answer: (response: ServerResponse) => void; says: RegExp }> = {
    "500": {
      answer: (response) => void response.writeHead(500).end("the database is out"),
      says: /status 500: the database is out/,
    },
    "429 without a word on when": {
      answer: (response) => void response.writeHead(429).end("slow down"),
      says: /status 429: slow down/,
    },
    "a redirect": {
      answer: (response) => void response.writeHead(302, { location: "https://elsewhere.invalid/" }).end(),
      says: /redirected \(status 302\) to https:\/\/elsewhere\.invalid\//,
    },
    "a page": {
      answer: (response) => void response.writeHead(200).end("<!doctype html><title>Proxy</title>"),
      says: /not a StartResponse\. What answers at http:\/\/127\.0\.0\.1:\d+ is no Holdfast gateway: check `baseUrl`/,
    },
    "nothing in it": {
      answer: (response) => void response.writeHead(200).end(),
      says: /What answers at http:\/\/127\.0\.0\.1:\d+ is no Holdfast gateway: check `baseUrl`/,
    },
    "a page that is not there": {
      answer: (response) => void response.writeHead(404, { "content-type": "text/html" }).end("<h1>404</h1>"),
      says: /status 404: <h1>404<\/h1>\. What answers at http:\/\/127\.0\.0\.1:\d+ is no Holdfast gateway/,
    },
    "an address of another kind": {
      answer: (response) => void response.writeHead(200).end(named("http://127.0.0.1/")),
      says: /no usable gateway/,
    },
    "an address that is none": {
      answer: (response) => void response.writeHead(200).end(named("::::")),
      says: /no usable gateway/,
    },
    "no connection id": {
      answer: (response) => void response.writeHead(200).end(named("ws://127.0.0.1/", "")),
      says: /no usable gateway/,
    },
    "more than anybody can mean": {
      answer: (response) => void response.writeHead(200).end(Buffer.alloc(2_000_000)),
      says: /larger than/,
    },
    "an end in the middle": {
      answer: (response) => {
        response.writeHead(200, { "content-length": "100" }).write("half");
        setImmediate(() => response.destroy());
      },
      says: /start call failed/,
    },
    "no end": {
      answer: (response) => void response.writeHead(200).write("half"),
      says: /No answer within 1500 ms|start call failed/,
    },
    "nothing at all": { answer: () => {}, says: /No answer within 1500 ms/ },
    "a reset": { answer: (response) => void response.destroy(), says: /start call failed/ },
  };

  it.each(Object.keys(bad))("a start call answered with %s is reported and retried", async (what) => {
    const { answer, says } = bad[what]!;
    const good = named(`${gateway.url.replace("http", "ws")}v0/connect`);
    gateway.script.answerStart = (response, count) => {
      if (count === 1) answer(response);
      else response.writeHead(200).end(good);
    };
    const { connection, logs } = await openTest(gateway.url, { config: { httpMs: patienceMs(says) } });
    expect(
      logs.some(({ level, message }) => level === "warn" && says.test(message)),
      JSON.stringify(logs),
    ).toBe(true);
    expect(gateway.starts).toHaveLength(2);
    await connection.close();
  });

  it("when all keys get 401, every attempt carries a key and connect() is rejected with the reason", async () => {
    gateway.script.startStatus = () => 401;
    const opening = openTest(gateway.url, { config: { hashedSigningKey: "one" } });
    await expect(opening).rejects.toMatchObject({ code: "CONNECT_REFUSED" });
    await expect(opening).rejects.toThrow(/401/);
    expect(gateway.starts.map(({ authorization }) => authorization)).toEqual(["Bearer one"]);
  });

  it("a 401 after the first connection does not end the retries, each of which carries a key", async () => {
    const { connection, logs } = await openTest(gateway.url, {
      config: { hashedSigningKey: "one", reconnect: { baseMs: 5, factor: 1, maxMs: 5, jitter: 0 } },
    });
    const peer = await gateway.peer();
    gateway.script.startStatus = () => 401;
    peer.socket.terminate();
    await until(() => gateway.starts.length > 4, "more tries");
    gateway.script.startStatus = () => 200;
    await until(() => connection.state === "ACTIVE", "the connection");
    expect(new Set(gateway.starts.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer one"]));
    expect(logs.some(({ level, message }) => level === "error" && message.includes("401"))).toBe(true);
    await connection.close();
  });

  it("a start call answered with 429 and Retry-After is not retried before that time", async () => {
    const times: number[] = [];
    gateway.script.answerStart = (response, count) => {
      times.push(performance.now());
      if (count === 1) response.writeHead(429, { "retry-after": "1" }).end();
      else response.writeHead(200).end(named(`${gateway.url.replace("http", "ws")}v0/connect`));
    };
    const { connection } = await openTest(gateway.url);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(1_000);
    await connection.close();
  });

  it("Retry-After is accepted as seconds or as a date, within bounds", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(retryAfterMsOf("7", now)).toBe(7_000);
    expect(retryAfterMsOf("Thu, 01 Jan 2026 00:00:09 GMT", now)).toBe(9_000);
    expect(retryAfterMsOf("86400", now)).toBe(300_000);
    for (const none of [null, "", "0", "-5", "soon", "Wed, 31 Dec 2025 23:59:59 GMT"]) {
      expect(retryAfterMsOf(none, now)).toBeUndefined();
    }
  });
});

it("the delay grows when a gateway accepts connections and drops them at once", async () => {
  const times: number[] = [];
  gateway.script.answerStart = undefined;
  gateway.script.intercept = (peer, frame) => {
    if (frame.kind !== "WORKER_READY" || times.length >= 6) return false;
    times.push(performance.now());
    peer.socket.terminate();
    return true;
  };
  const { connection } = await openTest(gateway.url, {
    config: { reconnect: { baseMs: 20, factor: 2, maxMs: 200, jitter: 0.5 }, minUptimeMs: 60_000 },
  });
  await until(() => times.length === 6, "six drops");
  await gateway.peer(7);
  const gaps = times.slice(1).map((at, index) => at - times[index]!);
  for (const [index, gap] of gaps.entries()) {
    expect(gap, `gap ${index}`).toBeGreaterThanOrEqual(0.5 * Math.min(200, 20 * 2 ** index) - 1);
  }
  expect(connection.debugState().thread?.reconnectAttempts).toBeGreaterThanOrEqual(6);
  await connection.close();
});
