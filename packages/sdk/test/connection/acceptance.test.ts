import { encodeJsonBytes } from "@holdfast/protocol";
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

describe("Accepting requests", () => {
  it("a request larger than the frame limit ends its connection but loses nothing in flight", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    gateway.dispatch(first, { requestPayload: encodeJsonBytes("x".repeat(9 * 1024 * 1024)) });
    await until(() => first.closed, "the end of the connection");
    expect(first.closed?.code).toBe(1009);
    const second = await gateway.peer(2);
    await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE")[0], "the lease on the new connection");
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
    expect(calls).toHaveLength(1);
  });

  it("a request that arrives on two connections runs once and is acknowledged on both", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const first = await gateway.peer();
    const request = gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    first.send({ kind: "GATEWAY_CLOSING" });
    const second = await gateway.peer(2);
    second.send(request);
    await until(() => second.of("WORKER_REQUEST_ACK")[0], "the acknowledgement");
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    second.send(request);
    gateway.dispatch(second);
    await until(() => calls.length === 2, "the next request");
    expect(calls[1]!.request.requestId).not.toBe(request.requestId);
    calls[1]!.result.resolve(done());
    await connection.close();
    expect(gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY"))).toHaveLength(2);
  });

  it("a request that arrives during shutdown is rejected, or only logged on the plain protocol", async () => {
    for (const extensions of [["nack"], []] as const) {
      gateway.script.extensions = extensions;
      const { calls, strategy } = manualStrategy();
      const { connection, logs } = await openTest(gateway.url, { strategy });
      const peer = gateway.peers.at(-1)!;
      gateway.dispatch(peer);
      await until(() => calls.length === 1, "the call");
      const closing = connection.close();
      await until(() => peer.of("WORKER_PAUSE")[0], "the pause");
      const late = gateway.dispatch(peer);
      await until(() => logs.some(({ message }) => message.includes("shutting down")), "the log");
      calls[0]!.result.resolve(done());
      await closing;
      expect(peer.of("WORKER_REQUEST_ACK").map(({ requestId }) => requestId)).not.toContain(late.requestId);
      const refused = peer.of("WORKER_REQUEST_NACK").map(({ requestId, reason }) => ({ requestId, reason }));
      expect(refused).toEqual(extensions.length > 0 ? [{ requestId: late.requestId, reason: "SHUTTING_DOWN" }] : []);
      expect(calls).toHaveLength(1);
    }
  });

  it("a request without an id, or with an unreadable payload, affects no other request", async () => {
    const { connection, logs } = await openTest(gateway.url);
    const peer = await gateway.peer();
    gateway.dispatch(peer, { requestId: "" });
    await until(() => peer.of("WORKER_REQUEST_NACK")[0], "the refusal");
    expect(peer.of("WORKER_REQUEST_NACK")[0]).toMatchObject({ requestId: "", reason: "MALFORMED" });
    // Kind 3 is a request; what is in it is none.
    peer.socket.send(Buffer.from([0x08, 0x03, 0x12, 0x02, 0xff, 0xff]), { binary: true });
    await until(() => logs.some(({ message }) => message.includes("Ignored bytes")), "the log");
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
    expect(gateway.peers).toHaveLength(1);
  });

  it("requests beyond the worker's capacity are rejected however many arrive at once; the others all run", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy, config: { maxWorkerConcurrency: 50 } });
    const peer = await gateway.peer();
    for (let count = 0; count < 3_000; count += 1) gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REQUEST_NACK").length === 2_950, "the refusals");
    expect(new Set(peer.of("WORKER_REQUEST_NACK").map(({ reason }) => reason))).toEqual(new Set(["AT_CAPACITY"]));
    await until(() => calls.length === 50, "the calls");
    for (const { result } of calls) result.resolve(done());
    await until(() => peer.of("WORKER_REPLY").length === 50, "the replies");
    await connection.close();
    expect(calls).toHaveLength(50);
  });

  it("a request for another app is rejected with its name, and requests for this app continue", async () => {
    const { connection } = await openTest(gateway.url);
    const peer = await gateway.peer();
    const strange = gateway.dispatch(peer, { appName: "stranger" });
    gateway.dispatch(peer);
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(peer.of("WORKER_REQUEST_NACK")).toMatchObject([{ requestId: strange.requestId, reason: "UNKNOWN_APP" }]);
    await connection.close();
  });
});
