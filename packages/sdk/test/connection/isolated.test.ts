import diagnostics from "node:diagnostics_channel";
import { encodeJsonBytes, type SdkResponse } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { done, instantStrategy, type ManualCall, manualStrategy, type OpenChanges, openTest } from "./harness.ts";
import { type PoolStandIn, poolStandIn, type WatchedStrategy } from "./pool-stand-in.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ extensions: ["checkpoint", "nack", "cancel", "stall"] });
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

const ISOLATED = { config: { isolated: [{ appName: "app", functionSlug: "app-fn" }] } } as const;

function open(pool: PoolStandIn, changes: OpenChanges = {}) {
  return openTest(gateway.url, { pool, ...changes, config: { ...ISOLATED.config, ...changes.config } });
}

const replies = (): SdkResponse[] => [...gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY")), ...gateway.flushed];
const replyTo = (requestId: string): SdkResponse | undefined => replies().find((one) => one.requestId === requestId);
const jsonOf = ({ body }: SdkResponse): unknown => JSON.parse(new TextDecoder().decode(body));

/** Calls of pool threads, answered by hand. */
function manualPool(slots: number): { readonly pool: PoolStandIn; readonly calls: ManualCall[] } {
  const { calls, strategy } = manualStrategy();
  return { pool: poolStandIn(slots, () => strategy), calls };
}

describe("Requests of isolated functions", () => {
  it("a request of an isolated function goes to a pool thread, and no other one does", async () => {
    const { pool, calls } = manualPool(1);
    const { connection } = await open(pool, { strategy: instantStrategy });
    const peer = await gateway.peer();
    const isolated = gateway.dispatch(peer);
    const plain = gateway.dispatch(peer, { functionSlug: "app-other" });
    const call = await until(() => calls[0], "the turn");
    expect(call.request.requestId).toBe(isolated.requestId);
    await until(() => replyTo(plain.requestId), "the reply of main");
    await until(() => connection.debugState().inFlight === 1, "the end of the one on main");
    call.result.resolve(done("from the thread"));
    expect(jsonOf(await until(() => replyTo(isolated.requestId), "the reply"))).toBe("from the thread");
    await until(() => connection.debugState().inFlight === 0 && pool.returned === 1, "the end");
    await connection.close();
  });

  it("each thread has one turn at a time, and the others stand in line", async () => {
    const { pool, calls } = manualPool(2);
    const { connection } = await open(pool);
    const peer = await gateway.peer();
    const sent = Array.from({ length: 5 }, () => gateway.dispatch(peer));
    await until(() => calls.length === 2 && pool.wanted === 3, "two turns and three that wait");
    for (let count = 0; count < 5; count += 1) {
      const call = await until(() => calls[count], "the next turn");
      call.result.resolve(done(count));
      await until(() => pool.returned === count + 1, "its end");
      expect(pool.lent.length - pool.returned).toBeLessThanOrEqual(2);
    }
    await until(() => sent.every(({ requestId }) => replyTo(requestId)), "all replies");
    expect(pool.lent.map(({ requestId }) => requestId)).toEqual(sent.map(({ requestId }) => requestId));
    await connection.close();
  });

  it("a large request and a large reply arrive as they are", async () => {
    const strategy: WatchedStrategy = () => ({
      execute: async ({ payload }) => ({ ...done(), body: payload.slice() }),
    });
    const { connection } = await open(poolStandIn(1, strategy));
    const requestPayload = encodeJsonBytes({ text: "x".repeat(300_000) });
    const { requestId } = gateway.dispatch(await gateway.peer(), { requestPayload });
    const { body } = await until(() => replyTo(requestId), "the reply");
    expect(Buffer.compare(body, requestPayload)).toBe(0);
    await connection.close();
  });

  it("a run that is cancelled fires the signal of its turn", async () => {
    const { pool, calls } = manualPool(1);
    const { connection } = await open(pool);
    const peer = await gateway.peer();
    const { requestId, runId } = gateway.dispatch(peer);
    const waiting = gateway.dispatch(peer);
    const call = await until(() => calls[0], "the turn");
    await until(() => pool.wanted === 1, "the one in line");
    peer.send({
      kind: "GATEWAY_CANCEL",
      requestId: waiting.requestId,
      runId: waiting.runId,
      reason: "not wanted",
    } as never);
    peer.send({ kind: "GATEWAY_CANCEL", requestId, runId, reason: "not wanted" } as never);
    await until(() => call.signal.aborted, "the signal");
    expect(call.signal.reason).toMatchObject({ code: "RUN_CANCELLED" });
    call.result.resolve({ ...done(), stale: true });
    await until(() => connection.debugState().inFlight === 0 && pool.returned === 1, "the end of both");
    expect(calls.length, "what stood in line never began").toBe(1);
    expect(replies()).toEqual([]);
    await connection.close();
  });

  it("a lease that is lost fires the signal, is published on main, and the reply is not sent", async () => {
    const heard: { readonly type: string; readonly requestId: string }[] = [];
    const onLease = (message: unknown): void => void heard.push(message as (typeof heard)[number]);
    diagnostics.subscribe("holdfast:lease", onLease);
    onTestFinished(() => void diagnostics.unsubscribe("holdfast:lease", onLease));
    const { pool, calls } = manualPool(1);
    const { connection } = await open(pool);
    const { requestId } = gateway.dispatch(await gateway.peer());
    const call = await until(() => calls[0], "the turn");
    gateway.script.extendLeases = false;
    await until(() => call.signal.aborted, "the signal");
    expect(call.signal.reason).toMatchObject({ code: "LEASE_LOST" });
    await until(() => heard.some((message) => message.type === "lost"), "the message");
    expect(heard.filter(({ type }) => type === "lost")).toMatchObject([{ requestId }]);
    call.result.resolve(done());
    await until(() => connection.debugState().inFlight === 0 && pool.returned === 1, "the end");
    expect(replies()).toEqual([]);
    await connection.close();
  });
});
