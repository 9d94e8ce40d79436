import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, manualStrategy, openTest } from "./harness.ts";
import { readyFrame, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

describe("A lost connection", () => {
  it("a lost connection is re-established outside its group and extends its leases at once", async () => {
    const { calls, strategy } = manualStrategy();
    await using connection = (await openTest(gateway.url, { strategy })).connection;
    const first = await gateway.peer();
    gateway.script.lease = "60s";
    const request = gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    first.socket.terminate();
    const second = await gateway.peer(2);
    expect(gateway.starts[1]!.excludeGateways).toEqual(["test"]);
    await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE")[0], "the extension");
    expect(second.of("WORKER_REQUEST_EXTEND_LEASE")[0]!.requestId).toBe(request.requestId);
    await until(() => connection.state === "ACTIVE", "the state");
    expect(connection.connectionId).toBe(second.connect!.connectionId);
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply on the new connection");
  });

  it("results finished while disconnected are delivered over the next connection", async () => {
    const { calls, strategy } = manualStrategy();
    await using connection = (await openTest(gateway.url, { strategy })).connection;
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    gateway.script.startStatus = () => 503;
    first.socket.terminate();
    await until(() => connection.state === "RECONNECTING", "the state");
    expect(connection.connectionId).toBeNull();
    calls[0]!.result.resolve(done());
    gateway.script.startStatus = () => 200;
    await until(() => gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY"))[0] ?? gateway.flushed[0], "the reply");
  });

  it("a dead connection is detected by missing heartbeats and its socket is closed", async () => {
    gateway.script.heartbeat = "200ms";
    await using connection = (await openTest(gateway.url)).connection;
    const first = await gateway.peer();
    gateway.script.heartbeat = "1s";
    gateway.script.answerHeartbeats = false;
    await until(() => first.closed, "the end of the dead socket");
    gateway.script.answerHeartbeats = true;
    const next = await gateway.peer(2);
    await until(() => connection.state === "ACTIVE" && !next.closed && gateway.openSockets === 1, "one open socket");
  });

  it("a connection survives invalid bytes, text frames and unknown kinds", async () => {
    const { connection, logs } = await openTest(gateway.url);
    const peer = await gateway.peer();
    peer.socket.send(Buffer.from([0xff, 0xff, 0xff, 0xff]), { binary: true });
    peer.socket.send("hello");
    peer.socket.send(Buffer.from([0x08, 0xe7, 0x07]), { binary: true });
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(gateway.peers).toHaveLength(1);
    expect(logs.filter((log) => log.message.startsWith("Ignored ")).length).toBe(3);
    await connection.close();
  });
});

describe("A gateway that closes", () => {
  it("a closing gateway keeps its connection until the replacement is ready, and work started there completes", async () => {
    const { calls, strategy } = manualStrategy();
    await using connection = (await openTest(gateway.url, { strategy })).connection;
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    let welcome = (): void => {};
    gateway.script.welcome = (peer) => {
      welcome = () => peer.send(readyFrame(gateway.script));
    };
    first.send({ kind: "GATEWAY_CLOSING" });
    first.send({ kind: "GATEWAY_CLOSING" });
    await until(() => gateway.peers[1]?.connect, "the second handshake");
    const before = first.of("WORKER_REQUEST_EXTEND_LEASE").length;
    await until(
      () => first.of("WORKER_REQUEST_EXTEND_LEASE").length > before,
      "a lease extension on the old connection",
    );
    expect(connection.state).toBe("RECONNECTING");
    expect(first.closed).toBeUndefined();
    welcome();
    await until(() => first.closed, "the end of the old connection");
    expect(first.closed).toEqual({ code: 1000, reason: "GATEWAY_DRAINING" });
    calls[0]!.result.resolve(done());
    await until(() => gateway.peers[1]!.of("WORKER_REPLY")[0], "the reply");
    expect(gateway.peers).toHaveLength(2);
    expect(gateway.openSockets).toBe(1);
  });
});

const impatient = { maxCount: 100, maxBytes: 1_000_000, ackMs: 300 };

describe("A reply without acknowledgement", () => {
  it("an unacknowledged reply is resent on the healthy connection, then flushed over HTTP, and forgotten", async () => {
    gateway.script.ackReplies = false;
    await using connection = (await openTest(gateway.url, { config: { outbox: impatient } })).connection;
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    await until(() => gateway.flushed[0], "the flush");
    expect(gateway.flushed[0]!.requestId).toBe(request.requestId);
    expect(peer.of("WORKER_REPLY").length).toBe(3);
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
  });

  it("a reply is flushed over HTTP without a connection, with the fallback key if the primary one is rejected", async () => {
    const { calls, strategy } = manualStrategy();
    await using _connection = (
      await openTest(gateway.url, {
        strategy,
        config: { hashedSigningKey: "one", hashedFallbackKey: "two", outbox: impatient },
      })
    ).connection;
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    gateway.script.startStatus = () => 503;
    gateway.script.flushStatus = (authorization) => (authorization === "Bearer two" ? 200 : 401);
    peer.socket.terminate();
    calls[0]!.result.resolve(done());
    await until(() => gateway.flushed[0], "the flush");
  });
});
