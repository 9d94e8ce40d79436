import type { CheckpointOutcome } from "@holdfast/protocol";
import { encodeJsonBytes, parseJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, manualStrategy, openTest } from "./harness.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

describe("The handshake", () => {
  it("the worker identifies itself, offers the extensions and becomes ready", async () => {
    await using connection = (await openTest(gateway.url)).connection;
    const peer = await gateway.peer();
    expect(peer.connect).toMatchObject({
      instanceId: "instance",
      sessionToken: "s",
      syncToken: "y",
      workerManualReadinessAck: true,
      maxWorkerConcurrency: 100,
      sdkVersion: "holdfast-js:v0",
    });
    expect(parseJsonBytes(peer.connect!.capabilities, "capabilities")).toEqual({
      trust_probe: "v1",
      connect: "v1",
      holdfast: { v: 1, extensions: ["checkpoint", "nack", "cancel"], uptimeMs: expect.any(Number) },
    });
    expect(peer.frames.slice(0, 3).map((frame) => frame.kind)).toEqual([
      "WORKER_CONNECT",
      "WORKER_READY",
      "WORKER_HEARTBEAT",
    ]);
    expect(connection.state).toBe("ACTIVE");
    expect(connection.connectionId).toBe(peer.connect!.connectionId);
  });

  it("with extensions off, the offered capabilities are byte for byte those of the plain protocol", async () => {
    await using _connection = (await openTest(gateway.url, { config: { extensions: [] } })).connection;
    const peer = await gateway.peer();
    expect(new TextDecoder().decode(peer.connect!.capabilities)).toBe('{"trust_probe":"v1","connect":"v1"}');
  });

  it("a request in the same read as CONNECTION_READY is not lost", async () => {
    gateway.script.welcome = (peer) => {
      const { _socket: stream } = peer.socket as unknown as { _socket: { cork(): void; uncork(): void } };
      stream.cork();
      peer.send({
        kind: "GATEWAY_CONNECTION_READY",
        heartbeatInterval: "1s",
        extendLeaseInterval: "1s",
        statusInterval: "0s",
        extensions: [],
      });
      gateway.dispatch(peer);
      stream.uncork();
    };
    await using _connection = (await openTest(gateway.url)).connection;
    const peer = await gateway.peer();
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
  });

  it("a heartbeat is sent at once and then every interval", async () => {
    gateway.script.heartbeat = "500ms";
    await using connection = (await openTest(gateway.url)).connection;
    const peer = await gateway.peer();
    await until(() => peer.of("WORKER_HEARTBEAT").length >= 4, "heartbeats");
    await until(() => connection.debugState().thread?.heartbeat.roundTripMs != null, "a round trip in the debug state");
    expect(connection.debugState()).toMatchObject({ state: "ACTIVE", threadAlive: true, crashes: 0, inFlight: 0 });
    expect(connection.debugState().thread).toMatchObject({ state: "ACTIVE", heartbeat: { intervalMs: 500 } });
    await until(() => connection.debugState().thread?.mainLagMs === 0, "a main thread that is not blocked");
  });
});

describe("Requests", () => {
  it("a request is acknowledged, executed, replied to with the echoed identity, and forgotten", async () => {
    const { connection } = await openTest(gateway.url);
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(reply).toMatchObject({
      requestId: request.requestId,
      accountId: "account",
      envId: "env",
      appId: "app-id",
      runId: request.runId,
      status: "DONE",
      noRetry: false,
      sdkVersion: "holdfast-js:v0",
      requestVersion: 2,
      systemTraceCtx: request.systemTraceCtx,
    });
    expect(reply.body).toEqual(request.requestPayload);
    const kinds = peer.frames.map((frame) => frame.kind);
    expect(kinds.indexOf("WORKER_REQUEST_ACK")).toBeGreaterThan(kinds.indexOf("WORKER_READY"));
    expect(kinds.indexOf("WORKER_REQUEST_ACK")).toBeLessThan(kinds.indexOf("WORKER_REPLY"));
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    await connection.close();
    await connection.closed;
    expect(connection.state).toBe("CLOSED");
    await until(() => peer.closed, "the end of the socket");
    expect(peer.closed).toEqual({ code: 1000, reason: "WORKER_SHUTDOWN" });
    expect(peer.of("WORKER_PAUSE")).toHaveLength(1);
    expect(gateway.openSockets).toBe(0);
  });

  it("payloads of megabytes pass both ways unchanged", async () => {
    await using _connection = (
      await openTest(gateway.url, { config: { outbox: { maxCount: 10, maxBytes: 1e8, ackMs: 5_000 } } })
    ).connection;
    const peer = await gateway.peer();
    const requestPayload = encodeJsonBytes("x".repeat(3 * 1024 * 1024));
    gateway.dispatch(peer, { requestPayload });
    const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(Buffer.compare(reply.body, requestPayload)).toBe(0);
  });

  it("a running request keeps its lease, extended with the newest lease id", async () => {
    const { calls, strategy } = manualStrategy();
    await using _connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REQUEST_EXTEND_LEASE").length >= 3, "lease extensions");
    const ids = peer.of("WORKER_REQUEST_EXTEND_LEASE").map((frame) => frame.leaseId);
    expect(ids[0]).toBe(request.leaseId);
    expect(new Set(ids).size).toBe(ids.length);
    calls[0]!.result.resolve(done());
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
  });

  it("a request whose lease is lost is dropped: its signal fires and no reply is sent", async () => {
    const { calls, strategy } = manualStrategy();
    await using connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    gateway.script.extendLeases = false;
    gateway.dispatch(peer);
    await until(() => calls[0]?.signal.aborted, "the signal");
    expect(calls[0]!.signal.reason).toMatchObject({ code: "LEASE_LOST" });
    expect(await calls[0]!.port.checkpoint(encodeJsonBytes([]))).toBe("stale");
    expect(connection.debugState()).toMatchObject({ inFlight: 0, runningHandlers: 1 });
    calls[0]!.result.resolve(done());
    await connection.close();
    expect(peer.of("WORKER_REPLY")).toHaveLength(0);
  });

  it("a cancelled request fires its signal and sends nothing for a stale result", async () => {
    const { calls, strategy } = manualStrategy();
    await using connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    peer.send({ kind: "GATEWAY_CANCEL", requestId: request.requestId, reason: "No longer wanted." });
    await until(() => calls[0]!.signal.aborted, "the signal");
    expect(calls[0]!.signal.reason).toMatchObject({ code: "RUN_CANCELLED", message: "No longer wanted." });
    calls[0]!.result.resolve({ ...done(), stale: true });
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    await until(() => connection.debugState().thread?.inFlightCount === 0, "an empty table in the thread");
    await connection.close();
    expect(peer.of("WORKER_REPLY")).toHaveLength(0);
  });

  it("a request delivered twice runs once, also when it was already answered", async () => {
    const { calls, strategy } = manualStrategy();
    await using _connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    const request = gateway.dispatch(peer);
    peer.send(request);
    await until(() => peer.of("WORKER_REQUEST_ACK").length === 2, "both acknowledgements");
    calls[0]!.result.resolve(done());
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    peer.send(request);
    gateway.dispatch(peer);
    await until(() => calls.length === 2, "the other request");
    expect(calls[1]!.request.requestId).not.toBe(request.requestId);
    calls[1]!.result.resolve(done());
  });

  it("a strategy that violates its contract produces an ERROR reply", async () => {
    const strategy = { execute: () => Promise.reject(new TypeError("broken strategy")) };
    await using _connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(reply).toMatchObject({ status: "ERROR", noRetry: false });
    expect(parseJsonBytes(reply.body, "body")).toMatchObject({ name: "TypeError", message: "broken strategy" });
  });
});

it("a result too large for a frame becomes an ERROR reply, and the connection stays open", async () => {
  const body = encodeJsonBytes("x".repeat(9 * 1024 * 1024));
  await using _connection = (
    await openTest(gateway.url, {
      strategy: {
        execute: async (_request, port) => {
          expect(await port.checkpoint(body)).toBe("invalid");
          return { ...done(), body };
        },
      },
    })
  ).connection;
  const peer = await gateway.peer();
  gateway.dispatch(peer);
  const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
  expect(reply.status).toBe("ERROR");
  expect(parseJsonBytes(reply.body, "body")).toMatchObject({ code: "FRAME_TOO_LARGE" });
  expect(peer.of("WORKER_CHECKPOINT")).toHaveLength(0);
  expect(gateway.peers).toHaveLength(1);
});

describe("Rejections", () => {
  it("a rejection tells an extended gateway of an unknown app or a full worker", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection, logs } = await openTest(gateway.url, { strategy, config: { maxWorkerConcurrency: 1 } });
    const peer = await gateway.peer();
    const unknown = gateway.dispatch(peer, { appName: "nobody" });
    const taken = gateway.dispatch(peer);
    const over = gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REQUEST_NACK").length === 2, "the refusals");
    expect(peer.of("WORKER_REQUEST_NACK")).toMatchObject([
      { requestId: unknown.requestId, leaseId: unknown.leaseId, reason: "UNKNOWN_APP" },
      { requestId: over.requestId, reason: "AT_CAPACITY" },
    ]);
    expect(peer.of("WORKER_REQUEST_ACK").map((frame) => frame.requestId)).toEqual([taken.requestId]);
    expect(logs.some((log) => log.level === "warn" && log.message.includes('"nobody"'))).toBe(true);
    calls[0]!.result.resolve(done());
    await connection.close();
  });

  it("the functions of a partition have a capacity of their own, where the gateway knows partitions", async () => {
    const partitions = [{ functions: ["app-cut"], capacity: 1 }];
    for (const extensions of [["nack", "partitions"], ["nack"]] as const) {
      gateway.script.extensions = extensions;
      const { calls, strategy } = manualStrategy();
      const config = { maxWorkerConcurrency: 2, partitions, extensions };
      const { connection } = await openTest(gateway.url, { strategy, config });
      const peer = gateway.peers.at(-1)!;
      expect(parseJsonBytes(peer.connect!.capabilities, "capabilities")).toEqual({
        trust_probe: "v1",
        connect: "v1",
        holdfast: {
          v: 1,
          extensions,
          uptimeMs: expect.any(Number),
          ...(extensions.length === 2 ? { partitions } : {}),
        },
      });
      const slugs = ["app-cut", "app-cut", "app-order", "app-order", "app-order"];
      const requests = slugs.map((functionSlug) => gateway.dispatch(peer, { functionSlug }));
      const refused = (): (string | undefined)[] => peer.of("WORKER_REQUEST_NACK").map(({ requestId }) => requestId);
      const over = extensions.length === 2 ? [1, 4] : [2, 3, 4];
      await until(() => refused().length === over.length, "the refusals");
      expect(refused()).toEqual(over.map((index) => requests[index]?.requestId));
      // What ends makes room in its own part.
      calls[0]!.result.resolve(done());
      await until(() => peer.of("WORKER_REPLY").length === 1, "the reply");
      gateway.dispatch(peer, { functionSlug: "app-cut" });
      await until(() => calls.length === slugs.length - over.length + 1, "the next request");
      for (const call of calls) call.result.resolve(done());
      await connection.close();
    }
  });

  it("a rejection is only logged for a plain gateway", async () => {
    gateway.script.extensions = [];
    const { connection, logs } = await openTest(gateway.url);
    const peer = await gateway.peer();
    gateway.dispatch(peer, { appName: "nobody" });
    await until(() => logs.some((log) => log.message.includes('"nobody"')), "the log");
    expect(peer.of("WORKER_REQUEST_ACK")).toHaveLength(0);
    expect(peer.of("WORKER_REQUEST_NACK")).toHaveLength(0);
    await connection.close();
  });

  it("a request without a payload gets an ERROR reply", async () => {
    await using _connection = (await openTest(gateway.url)).connection;
    const peer = await gateway.peer();
    gateway.dispatch(peer, { requestPayload: new Uint8Array(0) });
    const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(reply.status).toBe("ERROR");
    expect(parseJsonBytes(reply.body, "body")).toMatchObject({ code: "REQUEST_INVALID" });
  });

  it("intake stops while too many replies wait, and resumes without losses", async () => {
    gateway.script.ackReplies = false;
    const { connection } = await openTest(gateway.url, {
      config: { outbox: { maxCount: 2, maxBytes: 1e6, ackMs: 60_000 } },
    });
    const peer = await gateway.peer();
    const first = gateway.dispatch(peer);
    const second = gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY").length === 2, "two replies");
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REQUEST_NACK")[0]?.reason === "AT_CAPACITY", "the refusal");
    for (const { requestId } of [first, second]) peer.send({ kind: "WORKER_REPLY_ACK", requestId });
    gateway.script.ackReplies = true;
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY").length === 3, "the third reply");
    await connection.close();
  });
});

describe("Checkpoints", () => {
  it.each(["stored", "stale", "invalid"] satisfies CheckpointOutcome[])(
    "a checkpoint answered with %s settles with that outcome",
    async (outcome) => {
      gateway.script.ackCheckpoints = outcome;
      const { calls, strategy } = manualStrategy();
      await using _connection = (await openTest(gateway.url, { strategy })).connection;
      const peer = await gateway.peer();
      const request = gateway.dispatch(peer);
      await until(() => calls.length === 1, "the call");
      expect(calls[0]!.request.extensions).toContain("checkpoint");
      const ops = encodeJsonBytes([{ id: "a", op: "StepRun", data: 1 }]);
      expect(await calls[0]!.port.checkpoint(ops)).toBe(outcome);
      expect(await calls[0]!.port.checkpoint(ops)).toBe(outcome);
      expect(peer.of("WORKER_CHECKPOINT")).toMatchObject([
        { requestId: request.requestId, runId: request.runId, sequence: 1, ops },
        { requestId: request.requestId, runId: request.runId, sequence: 2, ops },
      ]);
      calls[0]!.result.resolve(done());
      await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    },
  );

  it("checkpoints are resent after a reconnect until they are answered", async () => {
    gateway.script.ackCheckpoints = null;
    const { calls, strategy } = manualStrategy();
    await using _connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    const answer = calls[0]!.port.checkpoint(encodeJsonBytes([]));
    await until(() => peer.of("WORKER_CHECKPOINT").length === 1, "the checkpoint");
    gateway.script.ackCheckpoints = "stored";
    peer.socket.terminate();
    const second = await gateway.peer(2);
    expect(await answer).toBe("stored");
    expect(second.of("WORKER_CHECKPOINT").length).toBeGreaterThan(0);
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
  });

  it("checkpoints become `invalid` when the next gateway does not support them", async () => {
    gateway.script.ackCheckpoints = null;
    const { calls, strategy } = manualStrategy();
    await using _connection = (await openTest(gateway.url, { strategy })).connection;
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    const answer = calls[0]!.port.checkpoint(encodeJsonBytes([]));
    await until(() => peer.of("WORKER_CHECKPOINT").length === 1, "the checkpoint");
    gateway.script.extensions = [];
    peer.socket.terminate();
    expect(await answer).toBe("invalid");
    const second = await gateway.peer(2);
    expect(await calls[0]!.port.checkpoint(encodeJsonBytes([]))).toBe("invalid");
    expect(second.of("WORKER_CHECKPOINT")).toHaveLength(0);
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
  });
});
