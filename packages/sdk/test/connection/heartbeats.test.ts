import { randomUUID } from "node:crypto";
import { BroadcastChannel } from "node:worker_threads";
import { fakeClock, startProxy } from "@holdfast/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LinkClock } from "../../src/connection/thread/link-clock.ts";
import { loadThreadScript } from "../../src/thread-script.ts";
import { done, manualStrategy, openTest } from "./harness.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ heartbeat: "500ms", lease: "100ms" });
});
afterEach(async () => {
  vi.useRealTimers();
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

describe("Dead peers", () => {
  it("a half-open connection is detected by missing answers and closed, and work continues at another gateway", async () => {
    await using proxy = await startProxy({ target: gateway.url });
    const { calls, strategy } = manualStrategy();
    // A start call that went over a connection as dead as the socket would take a minute.
    const { connection, logs } = await openTest(proxy.url, { strategy, config: { httpMs: 60_000 } });
    const first = await gateway.peer();
    const request = gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    proxy.halfOpen();
    const second = await gateway.peer(2);
    expect(logs.some(({ message }) => message.includes("heartbeats unanswered"))).toBe(true);
    const extension = await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE")[0], "the lease");
    expect(extension.requestId).toBe(request.requestId);
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    // Had the dead socket been kept, the gateway would see it again now.
    proxy.heal();
    await until(() => first.closed && proxy.connections.webSockets === 1, "the end of the dead socket");
    expect(first.closed?.code).toBe(1006);
    await connection.close();
  });

  it("repeated half-open connections leave no socket open", async () => {
    gateway.script.answerHeartbeats = false;
    const { connection } = await openTest(gateway.url);
    await gateway.peer(4);
    gateway.script.answerHeartbeats = true;
    await until(() => gateway.openSockets === 1 && connection.state === "ACTIVE", "one open socket");
    const closed = gateway.peers.filter((peer) => peer.closed);
    expect(closed).toHaveLength(gateway.peers.length - 1);
    await connection.close();
  });

  it("a peer whose heartbeat answers are late is not treated as dead", async () => {
    gateway.script.heartbeat = "2s";
    gateway.script.intercept = (peer, frame) => {
      if (frame.kind !== "WORKER_HEARTBEAT") return false;
      // Each second one is answered: never two in a row without.
      if (peer.of("WORKER_HEARTBEAT").length % 2 === 0) peer.send({ kind: "GATEWAY_HEARTBEAT" });
      return true;
    };
    const { connection } = await openTest(gateway.url);
    const peer = await gateway.peer();
    await until(() => peer.of("WORKER_HEARTBEAT").length >= 5, "heartbeats");
    expect(gateway.peers).toHaveLength(1);
    await connection.close();
  });
});

describe("The heartbeat", () => {
  function beating() {
    const clock = fakeClock();
    const beats: number[] = [];
    const link = new LinkClock(clock, clock, () => beats.push(clock.monotonicMs()));
    link.startHeartbeats(1, 1_000);
    return { clock, beats, link };
  }

  it("heartbeats keep to their grid and ignore changes of the wall clock", async () => {
    const { clock, beats, link } = beating();
    await clock.advance(2_500);
    clock.setWallClock(0);
    await clock.advance(2_000);
    clock.setWallClock(4_000_000_000_000);
    await clock.advance(1_000);
    expect(beats).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    link.cancel(1);
    expect(clock.pending).toEqual([]);
  });

  it("after the process was suspended for long one heartbeat is sent, and the next one a full interval later", () => {
    let nowMs = 0;
    const set: { atMs: number; fire: () => void }[] = [];
    const timers = {
      set: (delayMs: number, fire: () => void) => {
        set.push({ atMs: nowMs + delayMs, fire });
        return { cancel: () => {} };
      },
    };
    const beats: number[] = [];
    const link = new LinkClock(timers, { nowMs: () => nowMs, monotonicMs: () => nowMs }, () => beats.push(nowMs));
    link.startHeartbeats(1, 1_000);
    // The process is stopped for more than ten intervals, and continued a moment before the grid's next beat.
    nowMs = 10_999;
    set.shift()!.fire();
    for (let steps = 0; steps < 3; steps += 1) {
      const next = set.shift()!;
      nowMs = Math.max(nowMs, next.atMs);
      next.fire();
    }
    expect(beats).toEqual([10_999, 11_000, 12_000, 13_000]);
  });
});

describe("Jumps of the wall clock", () => {
  it.each([3_600_000, -3_600_000])(
    "a wall clock jump of %d ms affects neither heartbeats nor leases nor requests in flight",
    async (jumpMs) => {
      const channel = `jump-${randomUUID()}`;
      gateway.script.heartbeat = "2s";
      const trap = `{ const now = Date.now; let jump = 0; Date.now = () => now() + jump;
      const channel = new (require("node:worker_threads").BroadcastChannel)(${JSON.stringify(channel)});
      channel.onmessage = ({ data }) => { jump = data; }; channel.unref(); }\n`;
      const { calls, strategy } = manualStrategy();
      const { connection } = await openTest(gateway.url, {
        strategy,
        script: { text: trap + (await loadThreadScript()) },
      });
      const peer = await gateway.peer();
      gateway.dispatch(peer);
      await until(() => calls.length === 1, "the call");
      const out = new BroadcastChannel(channel);
      out.postMessage(jumpMs);
      vi.useFakeTimers({ toFake: ["Date"] });
      vi.setSystemTime(Date.now() + jumpMs);
      const [beats, leases] = [peer.of("WORKER_HEARTBEAT").length, peer.of("WORKER_REQUEST_EXTEND_LEASE").length];
      await until(() => peer.of("WORKER_HEARTBEAT").length >= beats + 3, "heartbeats");
      await until(() => peer.of("WORKER_REQUEST_EXTEND_LEASE").length >= leases + 5, "lease extensions");
      const written = (): number => connection.debugState().thread?.writtenAtMs ?? 0;
      await until(() => Math.abs(written() - Date.now()) < 60_000, "a debug state of the new time");
      expect(connection.debugState().ageMs).toBeLessThan(60_000);
      expect(connection.debugState().thread?.inFlight[0]?.ageMs).toBeLessThan(60_000);
      expect(gateway.peers).toHaveLength(1);
      calls[0]!.result.resolve(done());
      await connection.close();
      out.close();
    },
  );

  it("a wall clock jump does not make an old thread report look new", async () => {
    const { connection } = await openTest(gateway.url, { config: { debugMs: 60_000 } });
    const before = await until(() => connection.debugState().ageMs, "a debug state");
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() - 3_600_000);
    await until(() => (connection.debugState().ageMs ?? 0) > before, "its ageing");
    await connection.close();
  });
});
