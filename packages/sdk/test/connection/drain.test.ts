import type { WorkerFrame } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, manualStrategy, openTest } from "./harness.ts";
import { type GatewayPeer, readyFrame, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ lease: "60ms" });
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

type Extend = Extract<WorkerFrame, { kind: "WORKER_REQUEST_EXTEND_LEASE" }>;

/**
 * Leases as the strictest gateway keeps them: the present id gets a new one; the one before gets the present one again,
 * because its answer may have been lost; any other is refused.
 */
function strictLeases() {
  const leases = new Map<string, { current: string; previous: string }>();
  let count = 0;
  const decide = ({ requestId, leaseId }: Extend): string | undefined => {
    const lease = leases.get(requestId) ?? { current: leaseId, previous: leaseId };
    if (leaseId !== lease.current) return leaseId === lease.previous ? lease.current : undefined;
    count += 1;
    leases.set(requestId, { current: `strict-${count}`, previous: leaseId });
    return `strict-${count}`;
  };
  const answer = (peer: GatewayPeer, frame: Extend, newLeaseId: string | undefined): void => {
    const { requestId, accountId, envId, appId, functionSlug } = frame;
    const grant = newLeaseId === undefined ? {} : { newLeaseId };
    peer.send({ kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", requestId, accountId, envId, appId, functionSlug, ...grant });
  };
  return { decide, answer };
}

describe("Lease extensions during a change of connections", () => {
  it.each([
    ["was granted, and the answer is lost", "drop"],
    ["was granted, and the answer comes on the old socket when it is replaced", "late"],
    ["never reached the gateway", "lose"],
  ])("no lease is lost when the last extension before a change of connections %s", async (_what, fate) => {
    const { decide, answer } = strictLeases();
    const held: (() => void)[] = [];
    let changing = false;
    gateway.script.intercept = (peer, frame) => {
      if (frame.kind === "WORKER_READY" && peer.number === 2) {
        // The old socket is not read any more, so that its end is not seen before these have left.
        gateway.peers[0]!.socket.pause();
        for (const late of held) late();
        gateway.peers[0]!.socket.resume();
      }
      if (frame.kind !== "WORKER_REQUEST_EXTEND_LEASE") return false;
      if (!changing || peer.number > 1) {
        answer(peer, frame, decide(frame));
        return true;
      }
      if (fate === "lose") return true;
      const granted = decide(frame);
      if (fate === "late") held.push(() => answer(peer, frame, granted));
      return true;
    };
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => first.of("WORKER_REQUEST_EXTEND_LEASE").length >= 2, "extensions");
    changing = true;
    const before = first.of("WORKER_REQUEST_EXTEND_LEASE").length;
    await until(() => first.of("WORKER_REQUEST_EXTEND_LEASE").length > before, "one that is in flight");
    first.send({ kind: "GATEWAY_CLOSING" });
    const second = await gateway.peer(2);
    await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE").length >= 4, "extensions on the new connection");
    expect(calls[0]!.signal.aborted).toBe(false);
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
  });
});

describe("GATEWAY_CLOSING", () => {
  it("GATEWAY_CLOSING on a replaced connection changes nothing", async () => {
    const { connection } = await openTest(gateway.url);
    const first = await gateway.peer();
    gateway.script.intercept = (peer, frame) => {
      if (frame.kind === "WORKER_READY" && peer.number === 2) first.socket.pause();
      return false;
    };
    first.send({ kind: "GATEWAY_CLOSING" });
    const second = await gateway.peer(2);
    for (let times = 0; times < 3; times += 1) first.send({ kind: "GATEWAY_CLOSING" });
    // What comes after it on the other socket, and back, has overtaken nothing.
    await until(() => connection.state === "ACTIVE", "the state");
    gateway.dispatch(second);
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    first.socket.resume();
    await until(() => first.closed, "the end of the old socket");
    expect(first.closed).toEqual({ code: 1000, reason: "GATEWAY_DRAINING" });
    expect(connection.connectionId).toBe(second.connect!.connectionId);
    expect(gateway.starts).toHaveLength(2);
    expect(gateway.starts[1]!.excludeGateways).toEqual(["test"]);
    await connection.close();
  });

  it("requests that still arrive on a draining connection are accepted and answered over either connection", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const first = await gateway.peer();
    let welcome = (): void => {};
    gateway.script.welcome = (peer) => {
      welcome = () => peer.send(readyFrame(gateway.script));
    };
    first.send({ kind: "GATEWAY_CLOSING" });
    await until(() => gateway.peers[1]?.connect, "the second handshake");
    gateway.dispatch(first);
    gateway.dispatch(first);
    await until(() => calls.length === 2 && first.of("WORKER_REQUEST_ACK").length === 2, "the calls");
    calls[0]!.result.resolve(done());
    await until(() => first.of("WORKER_REPLY")[0], "the reply on the old connection");
    welcome();
    const second = await gateway.peer(2);
    calls[1]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply on the new connection");
    await connection.close();
  });

  it("work continues when a draining connection breaks before its replacement is ready", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    gateway.script.startStatus = () => 503;
    first.send({ kind: "GATEWAY_CLOSING" });
    await until(() => connection.state === "RECONNECTING", "the state");
    first.socket.terminate();
    await until(() => gateway.starts.length >= 3, "further tries");
    gateway.script.startStatus = () => 200;
    const second = await gateway.peer(2);
    await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE")[0], "the lease");
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
  });

  it("consecutive GATEWAY_CLOSING frames drain each replacement in turn and leave one socket", async () => {
    const { connection } = await openTest(gateway.url);
    for (let count = 1; count <= 4; count += 1) {
      const peer = await gateway.peer(count);
      await until(() => connection.connectionId === peer.connect!.connectionId, "the new one to be active");
      if (count < 4) peer.send({ kind: "GATEWAY_CLOSING" });
    }
    await until(() => gateway.openSockets === 1, "one open socket");
    expect(gateway.peers.slice(0, 3).map((peer) => peer.closed?.reason)).toEqual(Array(3).fill("GATEWAY_DRAINING"));
    await connection.close();
  });
});
