import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, manualStrategy, openTest } from "./harness.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

describe("close", () => {
  it("close() pauses, drains under heartbeats and leases, delivers and ends; a second call changes nothing", async () => {
    const { calls, strategy } = manualStrategy();
    // Longer than a heartbeat takes to come.
    const { connection } = await openTest(gateway.url, { strategy, drainTimeoutMs: 100_000 });
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    let ended = false;
    const closing = Promise.all([connection.close(), connection.close()]).then(() => {
      ended = true;
    });
    expect(connection.state).toBe("CLOSING");
    await until(() => peer.of("WORKER_PAUSE").length === 1, "WORKER_PAUSE");
    const late = gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REQUEST_NACK")[0], "the refusal");
    expect(peer.of("WORKER_REQUEST_NACK")[0]).toMatchObject({ requestId: late.requestId, reason: "SHUTTING_DOWN" });
    const [beats, leases] = [peer.of("WORKER_HEARTBEAT").length, peer.of("WORKER_REQUEST_EXTEND_LEASE").length];
    await until(() => peer.of("WORKER_HEARTBEAT").length > beats, "heartbeats");
    await until(() => peer.of("WORKER_REQUEST_EXTEND_LEASE").length > leases + 1, "lease extensions");
    expect(ended).toBe(false);
    calls[0]!.result.resolve(done());
    await closing;
    expect(peer.of("WORKER_REPLY")).toHaveLength(1);
    expect(connection.state).toBe("CLOSED");
    expect(connection.debugState().threadAlive).toBe(false);
    await connection.close();
  });

  it("close() waits for acknowledgements and flushes a reply that gets none", async () => {
    gateway.script.ackReplies = false;
    const outbox = { maxCount: 100, maxBytes: 1_000_000, ackMs: 300 };
    const { connection } = await openTest(gateway.url, { config: { outbox } });
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
    expect(gateway.flushed.map((reply) => reply.requestId)).toEqual([request.requestId]);
  });

  it("close() flushes replies at once when no connection can be made", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, {
      strategy,
      config: { outbox: { maxCount: 10, maxBytes: 1e6, ackMs: 60_000 } },
    });
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    gateway.script.startStatus = () => 503;
    peer.socket.terminate();
    await until(() => connection.state === "RECONNECTING", "the state");
    const closing = connection.close();
    calls[0]!.result.resolve(done());
    await closing;
    expect(gateway.flushed).toHaveLength(1);
  });

  it("close() reconnects while draining with WORKER_PAUSE, never WORKER_READY", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    const closing = connection.close();
    await until(() => first.of("WORKER_PAUSE").length === 1, "WORKER_PAUSE");
    first.socket.terminate();
    const second = await gateway.peer(2);
    await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE")[0], "a lease extension");
    calls[0]!.result.resolve(done());
    await closing;
    expect(second.of("WORKER_READY")).toHaveLength(0);
    expect(second.of("WORKER_PAUSE")).toHaveLength(1);
    expect(second.of("WORKER_REPLY")).toHaveLength(1);
  });

  it("close() returns unfinished requests at its deadline and aborts them", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy, drainTimeoutMs: 300 });
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    await connection.close();
    expect(peer.of("WORKER_REQUEST_NACK")).toMatchObject([{ requestId: request.requestId, reason: "DRAIN_TIMEOUT" }]);
    expect(calls[0]!.signal.reason).toMatchObject({ code: "DRAIN_TIMEOUT" });
    expect(peer.of("WORKER_REPLY")).toHaveLength(0);
    calls[0]!.result.resolve(done());
  });

  it("after a signal work is returned as soon as that has its own, shorter time", async () => {
    const { calls, strategy } = manualStrategy();
    const hour = 3_600_000;
    const times = { drainTimeoutMs: hour, signalDrainMs: 50 };
    const { connection } = await openTest(gateway.url, { strategy, ...times, signals: ["SIGUSR2"] });
    // The process is not to end by it.
    const stay = (): void => {};
    process.on("SIGUSR2", stay);
    try {
      const peer = await gateway.peer();
      const request = gateway.dispatch(peer);
      await until(() => calls.length === 1, "the call");
      process.kill(process.pid, "SIGUSR2");
      await connection.closed;
      expect(peer.of("WORKER_REQUEST_NACK")).toMatchObject([{ requestId: request.requestId, reason: "DRAIN_TIMEOUT" }]);
      calls[0]!.result.resolve(done());
    } finally {
      process.off("SIGUSR2", stay);
    }
  });

  it("close() ends at its deadline when the gateway is gone, and reports what was not delivered", async () => {
    gateway.script.ackReplies = false;
    gateway.script.flushStatus = () => 500;
    const { connection, logs } = await openTest(gateway.url, { drainTimeoutMs: 300 });
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
    expect(connection.state).toBe("CLOSED");
    expect(logs.some((log) => log.level === "error" && log.message.includes("could not be delivered"))).toBe(true);
  });

  it("close() is immediate when nothing is in flight, also while reconnecting", async () => {
    const { connection } = await openTest(gateway.url);
    const peer = await gateway.peer();
    gateway.script.holdStart = true;
    peer.socket.terminate();
    await until(() => gateway.starts.length === 2, "the next start call");
    await connection.close();
    expect(connection.state).toBe("CLOSED");
  });

  it("a signal closes the connection, a second one forces it, and the signal handlers are removed", async () => {
    const seen: string[] = [];
    const own = (): void => void seen.push("SIGUSR2");
    // The app listens, too: so the process does not end with the connection.
    process.on("SIGUSR2", own);
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy, signals: ["SIGUSR2"] });
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    process.kill(process.pid, "SIGUSR2");
    await until(() => peer.of("WORKER_PAUSE").length === 1, "WORKER_PAUSE");
    process.kill(process.pid, "SIGUSR2");
    await connection.closed;
    expect(peer.of("WORKER_REQUEST_NACK")).toMatchObject([{ reason: "DRAIN_TIMEOUT" }]);
    expect(seen).toHaveLength(2);
    expect(process.listenerCount("SIGUSR2")).toBe(1);
    process.removeListener("SIGUSR2", own);
    calls[0]!.result.resolve(done());
  });
});
