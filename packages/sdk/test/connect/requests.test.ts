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

describe("a request", () => {
  it("is acknowledged, run, replied to with the echoed identity, and forgotten", async () => {
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
});
