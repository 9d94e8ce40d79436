import { once } from "node:events";
import { createServer, get, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { waitFor } from "@holdfast/testing";
import { afterEach, describe, expect, test } from "vitest";
import { ConnectionLimit } from "../../src/http/connection-limit.ts";
import { closeServer, listen } from "../../src/http/listen.ts";
import { useGateway } from "../server/harness.ts";

const bench = useGateway();
const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(closeServer)));

async function limited(max: number) {
  const limit = new ConnectionLimit(max);
  const server = createServer();
  servers.push(server);
  const held: ServerResponse[] = [];
  server.on("request", (_, response) => void held.push(response));
  server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    socket.on("error", () => {});
    socket.once("end", () => socket.destroy()).resume();
  });
  limit.watch(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const come = async (): Promise<Socket> => {
    const before = limit.status();
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    await once(socket, "connect");
    const admitted = (): boolean => {
      const { open, evicted, refused } = limit.status();
      return open + evicted + refused > before.open + before.evicted + before.refused;
    };
    await waitFor(admitted, { what: "the connection to be seen" });
    return socket;
  };
  return { limit, come, held };
}

const ended = async (socket: Socket): Promise<void> => {
  if (!socket.closed) await once(socket, "close");
};
const REQUEST = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

describe("HTTP connection limit", () => {
  test("at the limit, the connection idle for longest is evicted, and no other", async () => {
    const { limit, come, held } = await limited(3);
    const [first, busy, slow] = [await come(), await come(), await come()];
    // The first has had an answer after the others came, and the last says what it wants letter by letter.
    first.write(REQUEST);
    await waitFor(() => held.length === 1, { what: "the request" });
    held.shift()?.end("done");
    busy.write(REQUEST);
    await waitFor(() => held.length === 1, { what: "the second request" });
    slow.write("GET / HT");
    const fourth = await come();
    await ended(slow);
    const fifth = await come();
    await ended(first);
    expect([busy, fourth, fifth].map(({ closed }) => closed)).toEqual([false, false, false]);
    expect(limit.status()).toEqual({ open: 3, evicted: 2, refused: 0 });
  });

  test("at the limit, new connections are rejected while all others have requests, and accepted once one closes", async () => {
    const { limit, come, held } = await limited(2);
    const busy = [await come(), await come()];
    for (const socket of busy) socket.write(REQUEST);
    await waitFor(() => held.length === 2, { what: "both requests" });
    await ended(await come());
    expect(limit.status()).toEqual({ open: 2, evicted: 0, refused: 1 });
    busy[0]?.destroy();
    await waitFor(() => limit.status().open === 1, { what: "a place" });
    expect((await come()).closed).toBe(false);
  });

  test("WebSocket connections do not count towards the HTTP limit", async () => {
    const { limit, come } = await limited(1);
    const worker = await come();
    worker.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await waitFor(() => limit.status().open === 0, { what: "the upgrade" });
    await come();
    expect([worker.closed, limit.status().evicted]).toEqual([false, 0]);
    worker.destroy();
  });

  test("the HTTP limit counts connections of both ports", async () => {
    const gateway = await bench.gateway();
    const strangers = [gateway.port, gateway.connectPort].map((port) => connect(port, "127.0.0.1"));
    // Each question is a connection of its own, which ends with it.
    const open = async (): Promise<number> => {
      const [answer] = await once(get(`${gateway.url}/v1/metrics`, { agent: false }), "response");
      const { process } = JSON.parse(await text(answer)) as { process: { http: { open: number } } };
      return process.http.open;
    };
    // With that of the question.
    await waitFor(async () => (await open()) === 3, { what: "both to be counted" });
    for (const socket of strangers) socket.destroy();
    await waitFor(async () => (await open()) === 1, { what: "them to be gone" });
  });

  test("slow and large request heads have limits that are checked often", async () => {
    const { server } = await listen("127.0.0.1", 0, "--port");
    servers.push(server);
    const { headersTimeout, requestTimeout, keepAliveTimeout, maxHeadersCount } = server;
    expect({ headersTimeout, requestTimeout, keepAliveTimeout, maxHeadersCount }).toEqual({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      // Longer than the minute after which load balancers close theirs.
      keepAliveTimeout: 75_000,
      maxHeadersCount: 100,
    });
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => {
      answer += data.toString();
    });
    socket.on("error", () => {});
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(17 * 1024)}\r\n\r\n`);
    await ended(socket);
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
  });

  // Node ends a connection whose headers take longer than 10 s, looked at each second: there is no clock of ours in it.
  test("a thousand connections that trickle single bytes block no other caller", async () => {
    const gateway = await bench.gateway();
    const slow = await Promise.all(
      Array.from({ length: 1_000 }, async () => {
        const socket = connect(gateway.port, "127.0.0.1");
        socket.on("error", () => {});
        socket.resume();
        socket.write("GET /health HTTP/1.1\r\nX-");
        await once(socket, "connect");
        return socket;
      }),
    );
    for (const socket of slow) socket.write("a");
    const worker = await bench.worker(gateway);
    expect([worker.closed, (await fetch(`${gateway.url}/health`)).status]).toEqual([null, 200]);
    await waitFor(() => slow.every(({ closed }) => closed), { what: "the slow ones to be ended" });
  });
});
