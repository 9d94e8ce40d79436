import { randomUUID } from "node:crypto";
import { BroadcastChannel } from "node:worker_threads";
import { encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadThreadScript } from "../../src/thread-script.ts";
import { done, manualStrategy, type OpenChanges, openTest } from "./harness.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

/** The real script, and beside it a way to kill the thread from outside. */
async function openKillable(changes: OpenChanges) {
  const channel = `kill-${randomUUID()}`;
  const trap = `const trap = new (require("node:worker_threads").BroadcastChannel)(${JSON.stringify(channel)});
    trap.onmessage = () => process.exit(7); trap.unref();\n`;
  const script = { text: trap + (await loadThreadScript()) };
  const opened = await openTest(gateway.url, { ...changes, script });
  const kill = (): void => {
    const out = new BroadcastChannel(channel);
    out.postMessage("die");
    out.close();
  };
  return { ...opened, kill };
}

describe("The death of the connection thread", () => {
  it("after a crash the next thread adopts the request, keeps its lease and delivers its result once", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection, kill } = await openKillable({ strategy });
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    await until(() => first.of("WORKER_REQUEST_EXTEND_LEASE").length >= 2, "lease extensions");
    kill();
    await until(() => connection.debugState().crashes === 1, "the crash");
    const second = await gateway.peer(2);
    const extension = await until(() => second.of("WORKER_REQUEST_EXTEND_LEASE")[0], "the extension");
    expect(extension.leaseId).toMatch(/^lease-/);
    expect(second.connect!.instanceId).toBe(first.connect!.instanceId);
    calls[0]!.result.resolve(done("survived"));
    const reply = await until(() => second.of("WORKER_REPLY")[0], "the reply");
    expect(new TextDecoder().decode(reply.body)).toBe('"survived"');
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    await connection.close();
    expect(calls).toHaveLength(1);
    expect(gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY"))).toHaveLength(1);
  });

  it("results and checkpoints that finish while no thread runs are not lost", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection, kill } = await openKillable({
      strategy,
      respawn: { baseMs: 500, factor: 1, maxMs: 500, jitter: 0, maxCrashes: 5, minUptimeMs: 1_000 },
    });
    const first = await gateway.peer();
    gateway.dispatch(first);
    gateway.dispatch(first);
    await until(() => calls.length === 2, "the calls");
    kill();
    await until(() => !connection.debugState().threadAlive, "the death");
    const stored = calls[0]!.port.checkpoint(encodeJsonBytes([]));
    calls[1]!.result.resolve(done());
    expect(await stored).toBe("stored");
    const second = await gateway.peer(2);
    await until(() => second.of("WORKER_REPLY")[0], "the reply");
    calls[0]!.result.resolve(done());
    await until(() => second.of("WORKER_REPLY")[1], "the other reply");
    await connection.close();
  });

  it("a new thread resends a reply that was not acknowledged", async () => {
    gateway.script.ackReplies = false;
    const { connection, kill } = await openKillable({
      config: { outbox: { maxCount: 9, maxBytes: 1e6, ackMs: 60_000 } },
    });
    const first = await gateway.peer();
    gateway.dispatch(first);
    const sent = await until(() => first.of("WORKER_REPLY")[0], "the reply");
    kill();
    const second = await gateway.peer(2);
    gateway.script.ackReplies = true;
    const again = await until(() => second.of("WORKER_REPLY")[0], "the reply again");
    expect(again).toEqual(sent);
    second.send({ kind: "WORKER_REPLY_ACK", requestId: again.requestId });
    await until(() => connection.debugState().inFlight === 0, "an empty ledger");
    await connection.close();
  });

  it("a dead thread does not delay close() when nothing is in flight", async () => {
    const { connection, kill } = await openKillable({
      respawn: { baseMs: 60_000, factor: 1, maxMs: 60_000, jitter: 0, maxCrashes: 5, minUptimeMs: 1_000 },
    });
    await gateway.peer();
    kill();
    await until(() => !connection.debugState().threadAlive, "the death");
    await until(() => connection.state === "RECONNECTING", "the state");
    await connection.close();
    expect(connection.state).toBe("CLOSED");
    expect(gateway.peers).toHaveLength(1);
  });

  it("a thread that dies during close() does not prevent delivery of what is in flight", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection, kill } = await openKillable({
      strategy,
      respawn: { baseMs: 60_000, factor: 1, maxMs: 60_000, jitter: 0, maxCrashes: 5, minUptimeMs: 1_000 },
    });
    const first = await gateway.peer();
    gateway.dispatch(first);
    await until(() => calls.length === 1, "the call");
    kill();
    await until(() => !connection.debugState().threadAlive, "the death");
    const closing = connection.close();
    const second = await gateway.peer(2);
    expect(second.of("WORKER_READY")).toHaveLength(0);
    kill();
    const third = await gateway.peer(3);
    calls[0]!.result.resolve(done());
    await closing;
    expect(third.of("WORKER_REPLY").length + gateway.flushed.length).toBeGreaterThan(0);
  });

  it("repeated thread crashes fail the connection: `closed` rejects, handlers are aborted, close() returns", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection, kill, logs } = await openKillable({
      strategy,
      respawn: { baseMs: 20, factor: 1, maxMs: 20, jitter: 0, maxCrashes: 2, minUptimeMs: 60_000 },
    });
    gateway.dispatch(await gateway.peer());
    await until(() => calls.length === 1, "the call");
    for (const count of [1, 2, 3]) {
      await gateway.peer(count);
      kill();
      await until(() => connection.debugState().crashes === count, `crash ${count}`);
    }
    await expect(connection.closed).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    expect(connection.state).toBe("FAILED");
    expect(calls[0]!.signal.reason).toMatchObject({ code: "CONNECTION_FAILED" });
    expect(logs.some((log) => log.level === "error" && log.message.includes("not restarted again"))).toBe(true);
    calls[0]!.result.resolve(done());
    await connection.close();
  });
});
