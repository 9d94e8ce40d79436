import { performance } from "node:perf_hooks";
import { ulidFromSeed } from "@holdfast/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, manualStrategy, openTest } from "./harness.ts";
import { type Killable, openKillable } from "./killable.ts";
import { type GatewayPeer, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ heartbeat: "5s", lease: "200ms" });
});
afterEach(() => gateway.close());

/** With these intervals so much silence is a suspension for certain. */
const SUSPENSION_MS = 700;

/** The connection thread stalls, what the gateway sends meanwhile stays in the kernel, and it goes on. */
async function suspended(thread: Killable, meanwhile: () => void): Promise<void> {
  thread.kill("nap");
  await until(() => thread.naps, "the thread to stall");
  meanwhile();
  const endMs = performance.now() + SUSPENSION_MS;
  await until(() => performance.now() >= endMs, "the suspension to be long enough");
  thread.wake();
}

const asked = (peer: GatewayPeer, requestId: string): boolean =>
  peer.of("WORKER_REQUEST_EXTEND_LEASE").some((frame) => frame.requestId === requestId);

describe.each([
  ["with extensions", ["checkpoint", "nack", "cancel"] as const],
  ["on the plain protocol", [] as const],
])("A connection thread that was suspended, %s", (_name, extensions) => {
  it("DOUBT-2: requests read after a suspension are confirmed before the main thread sees them", async () => {
    gateway.script.extensions = extensions;
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, config: { extensions } });
    const peer = await gateway.peer();
    const requests: string[] = [];
    await suspended(thread, () => {
      for (let count = 0; count < 3; count++) requests.push(gateway.dispatch(peer).requestId);
    });
    await until(() => calls.length === 3, "the calls");
    const kindsOf = (requestId: string): string[] =>
      peer.frames.flatMap((frame) => ("requestId" in frame && frame.requestId === requestId ? [frame.kind] : []));
    for (const requestId of requests) {
      await until(() => kindsOf(requestId).includes("WORKER_REQUEST_ACK"), "the acknowledgement");
      expect(kindsOf(requestId).slice(0, 2)).toEqual(["WORKER_REQUEST_EXTEND_LEASE", "WORKER_REQUEST_ACK"]);
    }
    // What comes after the answers was sent after the suspension; another one may come on a machine that is very busy.
    for (let first: string | undefined; first !== "WORKER_REQUEST_ACK"; ) {
      const { requestId } = gateway.dispatch(peer);
      [first] = await until(() => (kindsOf(requestId).length > 0 ? kindsOf(requestId) : undefined), "a word of it");
    }
    for (const { result } of calls) result.resolve(done());
    await thread.connection.close();
  });

  it("after a suspension a request that another worker has by now is neither started nor acknowledged", async () => {
    gateway.script.extensions = extensions;
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, config: { extensions } });
    const peer = await gateway.peer();
    gateway.script.extendLeases = false;
    const requests: string[] = [];
    await suspended(thread, () => {
      for (let count = 0; count < 3; count++) requests.push(gateway.dispatch(peer).requestId);
    });
    await until(() => requests.every((requestId) => asked(peer, requestId)), "the questions");
    gateway.script.extendLeases = true;
    const { requestId } = gateway.dispatch(peer);
    await until(() => calls.length > 0, "the call");
    expect(calls.map(({ request }) => request.requestId)).toEqual([requestId]);
    await until(() => peer.of("WORKER_REQUEST_ACK").length > 0, "the acknowledgement");
    expect(peer.of("WORKER_REQUEST_ACK").map((ack) => ack.requestId)).toEqual([requestId]);
    calls[0]?.result.resolve(done());
    await until(() => thread.connection.debugState().inFlight === 0, "an empty ledger");
    await thread.connection.close();
    expect(peer.of("WORKER_REPLY").map((reply) => reply.requestId)).toEqual([requestId]);
  });

  it("DOUBT-1: after a suspension the main thread starts no held request before it is confirmed", async () => {
    gateway.script.extensions = extensions;
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, config: { extensions } });
    const peer = await gateway.peer();
    for (let count = 0; count < 2; count++) gateway.dispatch(peer);
    const [kept, lost] = await until(() => (calls.length === 2 ? calls : undefined), "the calls");
    const mine = (call: typeof kept): boolean => call?.port.whenConfirmed?.() === undefined;
    await until(() => mine(kept) && mine(lost), "both to be its own");
    gateway.script.intercept = (to, frame) => {
      if (frame.kind !== "WORKER_REQUEST_EXTEND_LEASE" || frame.requestId !== lost?.request.requestId) return false;
      to.send({ ...frame, kind: "WORKER_REQUEST_EXTEND_LEASE_ACK" });
      return true;
    };
    await suspended(thread, () => {});
    await until(() => lost?.signal.aborted === true, "the loss");
    await until(() => mine(kept), "the confirmation");
    expect(kept?.signal.aborted).toBe(false);
    for (const { result } of calls) result.resolve(done());
    await thread.connection.close();
  });

  it("the main thread starts no held work while the connection thread is silent", async () => {
    gateway.script.extensions = extensions;
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, config: { extensions } });
    const peer = await gateway.peer();
    gateway.dispatch(peer);
    const call = await until(() => calls[0], "the call");
    thread.kill("nap");
    const { waiting } = await until(() => {
      const promise = call.port.whenConfirmed?.();
      return promise && { waiting: promise };
    }, "main to notice");
    const before = peer.of("WORKER_REQUEST_EXTEND_LEASE").length;
    thread.wake();
    await waiting;
    expect(peer.of("WORKER_REQUEST_EXTEND_LEASE").length, "it was asked for").toBeGreaterThan(before);
    call.result.resolve(done());
    await thread.connection.close();
  });
});

describe.each([
  ["with extensions", ["checkpoint", "nack", "cancel"] as const],
  ["on the plain protocol", [] as const],
])("A request that starts long after the gateway's last message, %s", (_name, extensions) => {
  it("a request that starts late is confirmed first, with retries, and lost if another worker has it", async () => {
    // Leases are extended so seldom that nothing but the wait asks for them.
    gateway.script.lease = "1h";
    gateway.script.extensions = extensions;
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy, config: { extensions } });
    const peer = await gateway.peer();
    for (let count = 0; count < 2; count++) gateway.dispatch(peer);
    const [kept, lost] = await until(() => (calls.length === 2 ? calls : undefined), "the calls");
    const questions = (call: typeof kept): number =>
      peer.of("WORKER_REQUEST_EXTEND_LEASE").filter(({ requestId }) => requestId === call?.request.requestId).length;
    expect([questions(kept), questions(lost)], "what begins at once costs nothing").toEqual([0, 0]);

    // Answers are delayed, not lost: each counts as of the oldest question without one.
    const unanswered: (() => void)[] = [];
    gateway.script.intercept = (to, frame) => {
      if (frame.kind !== "WORKER_REQUEST_EXTEND_LEASE") return false;
      const granted = frame.requestId === lost?.request.requestId ? {} : { newLeaseId: `late ${unanswered.length}` };
      unanswered.push(() => to.send({ ...frame, kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", ...granted }));
      return true;
    };
    const { waits } = await until(() => {
      const promises = [kept?.port.whenConfirmed?.(), lost?.port.whenConfirmed?.()];
      return promises.every((promise) => promise !== undefined) && { waits: promises };
    }, "its last word to be old");
    await until(() => questions(kept) >= 2 && questions(lost) >= 2, "more than one question");
    gateway.script.intercept = (to, frame) => {
      if (frame.kind !== "WORKER_REQUEST_EXTEND_LEASE" || frame.requestId !== lost?.request.requestId) return false;
      to.send({ ...frame, kind: "WORKER_REQUEST_EXTEND_LEASE_ACK" });
      return true;
    };
    for (const answer of unanswered) answer();
    await Promise.all(waits);
    await until(() => lost?.signal.aborted === true, "the loss");
    await until(() => kept?.port.whenConfirmed?.() === undefined, "the answer");
    expect(kept?.signal.aborted).toBe(false);
    for (const { result } of calls) result.resolve(done());
    await connection.close();
  });
});

describe("A request delayed by the network", () => {
  /** A lease of 20 s, granted so long ago by the gateway's clock, which is an hour off. */
  const granted = (agoMs: number) => ({ leaseId: ulidFromSeed(Date.now() + 3_600_000 + 20_000 - agoMs, entropy, 0) });
  const entropy = new Uint8Array(10);

  it("a request delayed by the network is confirmed before it starts", async () => {
    gateway.script.lease = "5s";
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const peer = await gateway.peer();
    gateway.dispatch(peer, granted(0));
    await until(() => calls.length === 1, "the first call");
    gateway.script.extendLeases = false;
    const late = gateway.dispatch(peer, granted(8_000));
    await until(() => asked(peer, late.requestId), "the question");
    gateway.script.extendLeases = true;
    const kept = gateway.dispatch(peer, granted(8_000));
    await until(() => calls.length === 2, "the second call");
    expect(calls[1]?.request.requestId).toBe(kept.requestId);
    for (const { result } of calls) result.resolve(done());
    await connection.close();
    expect(peer.of("WORKER_REQUEST_ACK").map(({ requestId }) => requestId)).not.toContain(late.requestId);
  });
});
