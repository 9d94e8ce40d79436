import type { ServerResponse } from "node:http";
import { encodeFlushResponse, encodeJsonBytes, parseJsonBytes, sharableText } from "@holdfast/protocol";
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

const impatient = { maxCount: 1000, maxBytes: 1_000_000, ackMs: 100 };
const patient = { maxCount: 1000, maxBytes: 1_000_000, ackMs: 60_000 };
const flushed = (response: ServerResponse, requestId: string): void => {
  response.writeHead(200).end(encodeFlushResponse({ requestId }));
};
const replies = (requestId: string) =>
  gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY")).filter((reply) => reply.requestId === requestId);

describe("Acknowledgements of replies", () => {
  it("a reply acknowledged late was resent unchanged and is then forgotten", async () => {
    gateway.script.ackReplies = false;
    const { connection } = await openTest(gateway.url, { config: { outbox: impatient } });
    const peer = await gateway.peer();
    const { requestId } = gateway.dispatch(peer);
    await until(() => replies(requestId).length >= 2, "the reply again");
    peer.send({ kind: "WORKER_REPLY_ACK", requestId });
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    const [first, ...others] = replies(requestId);
    for (const other of others) expect(other).toEqual(first);
    expect(connection.debugState().thread?.outbox.count ?? 0).toBeLessThanOrEqual(1);
    await connection.close();
    expect(gateway.peers).toHaveLength(1);
  });

  it("duplicate acknowledgements and those of unknown requests are harmless", async () => {
    const { connection, logs } = await openTest(gateway.url);
    const peer = await gateway.peer();
    const { requestId } = gateway.dispatch(peer);
    await until(() => connection.debugState().inFlight === 0 && replies(requestId).length === 1, "the reply");
    peer.send({ kind: "WORKER_REPLY_ACK", requestId });
    peer.send({ kind: "WORKER_REPLY_ACK", requestId: "somebody else's" });
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY").length === 2, "the next reply");
    await connection.close();
    expect(logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
    expect(connection.debugState().crashes).toBe(0);
  });

  it("a reply may be acknowledged on another connection than the one it was sent over", async () => {
    gateway.script.ackReplies = false;
    const { connection } = await openTest(gateway.url, { config: { outbox: patient } });
    const first = await gateway.peer();
    const { requestId } = gateway.dispatch(first);
    await until(() => replies(requestId).length === 1, "the reply");
    first.send({ kind: "GATEWAY_CLOSING" });
    const second = await gateway.peer(2);
    second.send({ kind: "WORKER_REPLY_ACK", requestId });
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    await connection.close();
  });

  it("an acknowledgement after a flush changes nothing", async () => {
    gateway.script.ackReplies = false;
    const { connection } = await openTest(gateway.url, { config: { outbox: impatient } });
    const peer = await gateway.peer();
    const { requestId } = gateway.dispatch(peer);
    await until(() => gateway.flushed[0], "the flush");
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    peer.send({ kind: "WORKER_REPLY_ACK", requestId });
    gateway.script.ackReplies = true;
    gateway.dispatch(peer);
    await until(() => connection.debugState().inFlight === 0 && peer.of("WORKER_REPLY").length > 1, "the next one");
    await connection.close();
    expect(gateway.flushed).toHaveLength(1);
  });

  it("a reply whose acknowledgement was lost with its socket is resent on the next connection", async () => {
    gateway.script.ackReplies = false;
    const { connection } = await openTest(gateway.url, { config: { outbox: patient } });
    const first = await gateway.peer();
    const { requestId } = gateway.dispatch(first);
    await until(() => replies(requestId).length === 1, "the reply");
    gateway.script.ackReplies = true;
    first.socket.terminate();
    const second = await gateway.peer(2);
    await until(() => second.of("WORKER_REPLY")[0], "the reply on the new connection");
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    await connection.close();
    expect(gateway.flushed).toEqual([]);
  });

  it("a reply that is neither acknowledged nor flushed is retried until accepted, and never dropped", async () => {
    gateway.script.ackReplies = false;
    gateway.script.flushStatus = () => 500;
    let refusals = 0;
    gateway.script.answerFlush = (response, requestId, count) => {
      refusals = count;
      if (count <= 3) response.writeHead(500).end("not now");
      else flushed(response, requestId);
    };
    const { connection, logs } = await openTest(gateway.url, { config: { outbox: { ...impatient, ackMs: 50 } } });
    gateway.dispatch(await gateway.peer());
    await until(() => refusals === 4, "the fourth flush");
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    expect(logs.filter(({ message }) => message.includes("not now"))).toHaveLength(3);
    await connection.close();
  });
});

describe("Flushes", () => {
  /** A connection whose replies cannot go but by HTTP. */
  async function cutOff(changes: Parameters<typeof openTest>[1]) {
    const { calls, strategy } = manualStrategy();
    const opened = await openTest(gateway.url, { strategy, ...changes });
    const peer = await gateway.peer();
    const finish = async (count: number): Promise<string[]> => {
      const requests = Array.from({ length: count }, () => gateway.dispatch(peer));
      await until(() => calls.length === count, "the calls");
      gateway.script.startStatus = () => 503;
      peer.socket.terminate();
      await until(() => opened.connection.state === "RECONNECTING", "the state");
      for (const { result } of calls) result.resolve(done());
      return requests.map(({ requestId }) => requestId);
    };
    return { ...opened, finish };
  }

  it("flushes carry one reply each, and a rejected or hanging one does not delay the others", async () => {
    const answered = new Set<string>();
    let ids: string[] = [];
    gateway.script.answerFlush = (response, requestId) => {
      if (requestId === ids[0]) return void response.writeHead(400).end("poison");
      if (requestId === ids[1]) return;
      answered.add(requestId);
      flushed(response, requestId);
    };
    const { connection, finish } = await cutOff({ drainTimeoutMs: 300, config: { outbox: impatient, httpMs: 400 } });
    ids = await finish(6);
    await until(() => answered.size === 4, "the others");
    await until(() => connection.debugState().inFlight === 2, "a ledger of two");
    await connection.close();
  });

  it("the number of concurrent flushes is limited", async () => {
    const open = new Map<ServerResponse, string>();
    const seen = new Set<string>();
    let most = 0;
    gateway.script.answerFlush = (response, requestId) => {
      open.set(response, requestId);
      seen.add(requestId);
      most = Math.max(most, open.size);
      setImmediate(() => {
        open.delete(response);
        flushed(response, requestId);
      });
    };
    const { connection, finish } = await cutOff({ config: { outbox: impatient } });
    await finish(80);
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    expect(seen.size).toBe(80);
    expect(most).toBeLessThanOrEqual(16);
    await connection.close();
  });

  it("a flush uses the fallback key only when the primary one is rejected", async () => {
    const keys: (string | undefined)[] = [];
    gateway.script.flushStatus = (authorization) => {
      keys.push(authorization);
      return authorization === "Bearer two" ? 200 : 401;
    };
    const { connection, finish } = await cutOff({
      config: { hashedSigningKey: "one", hashedFallbackKey: "two", outbox: impatient },
    });
    await finish(1);
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    expect(keys).toEqual(["Bearer one", "Bearer two"]);
    await connection.close();
  });

  it("flushes time out when the gateway does not answer, and do not delay close()", async () => {
    let calls = 0;
    gateway.script.answerFlush = () => {
      calls += 1;
    };
    const { connection, finish, logs } = await cutOff({
      drainTimeoutMs: 500,
      config: { outbox: impatient, httpMs: 60_000 },
    });
    const [requestId] = await finish(1);
    await until(() => calls > 0, "the flush");
    await connection.close();
    expect(connection.state).toBe("CLOSED");
    expect(logs.find(({ message }) => message.includes("could not be delivered"))?.data).toMatchObject({
      requestIds: [requestId],
    });
  });
});

describe("A full outbox", () => {
  it.each([
    ["by count", { maxCount: 2, maxBytes: 1e9, ackMs: 60_000 }],
    ["by bytes", { maxCount: 1e6, maxBytes: 3_000, ackMs: 60_000 }],
  ])(
    "an outbox that is full %s stops intake with a warning, and intake resumes when there is room",
    async (_what, outbox) => {
      gateway.script.ackReplies = false;
      const { connection, logs } = await openTest(gateway.url, { config: { outbox } });
      const peer = await gateway.peer();
      const requestPayload = encodeJsonBytes("x".repeat(2_000));
      const taken = [gateway.dispatch(peer, { requestPayload }), gateway.dispatch(peer, { requestPayload })];
      await until(() => peer.of("WORKER_REPLY").length === 2, "two replies");
      const refused = gateway.dispatch(peer);
      const nack = await until(() => peer.of("WORKER_REQUEST_NACK")[0], "the refusal");
      expect(nack).toMatchObject({ requestId: refused.requestId, reason: "AT_CAPACITY" });
      await until(
        () => logs.some(({ level, message }) => level === "warn" && /no new work is accepted/.test(message)),
        "it",
      );
      await until(() => connection.debugState().thread?.outbox.full, "the debug state");
      gateway.script.ackReplies = true;
      for (const { requestId } of taken) peer.send({ kind: "WORKER_REPLY_ACK", requestId });
      await until(
        () => logs.some(({ level, message }) => level === "info" && /accepting new work/.test(message)),
        "it",
      );
      gateway.dispatch(peer);
      await until(() => peer.of("WORKER_REPLY").length === 3, "the third reply");
      await connection.close();
      expect(gateway.flushed).toEqual([]);
    },
  );
});

it("an error too large for any frame is truncated, and breaks neither thread nor connection", async () => {
  const strategy = { execute: () => Promise.reject(new Error("x".repeat(9 * 1024 * 1024))) };
  const { connection } = await openTest(gateway.url, { strategy });
  const peer = await gateway.peer();
  gateway.dispatch(peer);
  const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
  expect(reply.status).toBe("ERROR");
  expect(parseJsonBytes(reply.body, "body")).toMatchObject({
    name: "Error",
    message: expect.stringMatching(/^x{1000}/),
  });
  await connection.close();
  expect(connection.debugState().crashes).toBe(0);
});

it("a checkpoint is never flushed, and is resent on a healthy connection until it is answered", async () => {
  gateway.script.ackCheckpoints = null;
  const { calls, strategy } = manualStrategy();
  const { connection } = await openTest(gateway.url, { strategy, config: { outbox: { ...impatient, ackMs: 50 } } });
  const peer = await gateway.peer();
  gateway.dispatch(peer);
  await until(() => calls.length === 1, "the call");
  const answer = calls[0]!.port.checkpoint(encodeJsonBytes([{ id: "a", op: "StepRun" }]));
  await until(() => peer.of("WORKER_CHECKPOINT").length >= 5, "the checkpoint again and again");
  for (const frame of peer.of("WORKER_CHECKPOINT")) expect(frame).toMatchObject({ sequence: 1 });
  gateway.script.ackCheckpoints = "stored";
  expect(await answer).toBe("stored");
  calls[0]!.result.resolve(done());
  await connection.close();
  expect(gateway.flushed).toEqual([]);
});

it.each([
  ["with room around its body", (text: string) => sharableText(text)],
  ["whose body is copied", (text: string) => new TextEncoder().encode(text)],
])("a large reply %s arrives whole over the socket, and by HTTP when no acknowledgement comes", async (_, bytesOf) => {
  const body = bytesOf(JSON.stringify("x".repeat(300_000)));
  gateway.script.ackReplies = false;
  const { connection } = await openTest(gateway.url, {
    config: { outbox: impatient },
    strategy: { execute: () => Promise.resolve({ status: "DONE", body, noRetry: false, requestVersion: 2 }) },
  });
  const { requestId } = gateway.dispatch(await gateway.peer());
  await until(() => gateway.flushed.length > 0, "the flush");
  const all = [...replies(requestId), ...gateway.flushed];
  expect(all.length).toBeGreaterThan(1);
  for (const reply of all) expect(Buffer.compare(reply.body, body)).toBe(0);
  await connection.close();
});
