import { performance } from "node:perf_hooks";
import { encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { done, manualStrategy } from "./harness.ts";
import { openKillable } from "./killable.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ heartbeat: "5s" });
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

const HANG_MS = 1_500;
const HOUR_MS = 3_600_000;

describe("A hung connection thread", () => {
  it("a hung connection thread is reported, terminated and replaced, and work continues", async () => {
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, hangTimeoutMs: HANG_MS });
    const { connection, logs } = thread;
    gateway.dispatch(await gateway.peer());
    const call = await until(() => calls[0], "the call");
    thread.kill("hang");
    await until(() => connection.state === "RECONNECTING", "the state");
    const [line] = logs.filter(({ message }) => message.includes("not responded"));
    expect(line).toMatchObject({ level: "error", data: { code: "THREAD_HUNG" } });
    expect(JSON.stringify(line), "what it did last").toContain("LINK_UP");
    const second = await gateway.peer(2);
    await until(() => connection.state === "ACTIVE", "the next connection");
    expect(connection.debugState().crashes).toBe(1);
    expect(await call.port.checkpoint(encodeJsonBytes([]))).toBe("stored");
    call.result.resolve(done());
    await until(() => second.of("WORKER_REPLY").length === 1, "the reply");
    await connection.close();
    expect(calls).toHaveLength(1);
  });

  it("a thread hung in native code, which cannot be terminated, is replaced without waiting for it", async () => {
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, hangTimeoutMs: HANG_MS });
    const { connection } = thread;
    const first = await gateway.peer();
    gateway.dispatch(first);
    const call = await until(() => calls[0], "the call");
    thread.kill("native");
    await until(() => thread.hangs, "the thread to hang");
    // Lies in the socket of a thread that will never read it.
    gateway.dispatch(first);
    const second = await gateway.peer(2);
    await until(() => connection.state === "ACTIVE", "the next connection");
    expect(first.closed, "the old thread is still there").toBeUndefined();
    call.result.resolve(done());
    await until(() => second.of("WORKER_REPLY").length === 1, "the reply");
    await connection.close();
    thread.wake();
    await until(() => first.closed, "the end of the old thread");
    expect(calls, "it did nothing any more").toHaveLength(1);
    expect(first.of("WORKER_REQUEST_ACK")).toHaveLength(1);
  });

  it.each(["hang", "native"] as const)(
    "CLOSE-3: a hung thread does not delay close() when nothing is in flight (%s)",
    async (how) => {
      const thread = await openKillable(gateway.url, { hangTimeoutMs: HOUR_MS, drainTimeoutMs: HOUR_MS });
      await gateway.peer();
      thread.kill(how);
      await until(() => thread.hangs, "the thread to hang");
      await thread.connection.close();
      expect(thread.connection.state).toBe("CLOSED");
      thread.wake();
    },
  );

  it("when a hung thread leaves a result undelivered, another thread delivers it before close() ends", async () => {
    const { calls, strategy } = manualStrategy();
    const thread = await openKillable(gateway.url, { strategy, hangTimeoutMs: HANG_MS, drainTimeoutMs: 60_000 });
    const request = gateway.dispatch(await gateway.peer());
    const call = await until(() => calls[0], "the call");
    thread.kill("hang");
    await until(() => thread.hangs, "the thread to hang");
    call.result.resolve(done());
    await thread.connection.close();
    const replies = [...gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY")), ...gateway.flushed];
    expect(replies.map(({ requestId }) => requestId)).toContain(request.requestId);
  });

  it("HANG-2: a main thread that was blocked itself does not report its connection thread as hung", async () => {
    const thread = await openKillable(gateway.url, { hangTimeoutMs: HANG_MS });
    await gateway.peer();
    const { connection } = thread;
    for (const endMs = performance.now() + 3 * HANG_MS; performance.now() < endMs; );
    const ticksMs = performance.now() + HANG_MS;
    await until(() => performance.now() > ticksMs, "main's own ticks");
    expect(connection.debugState().crashes).toBe(0);
    expect(connection.state).toBe("ACTIVE");
    await connection.close();
  });
});
