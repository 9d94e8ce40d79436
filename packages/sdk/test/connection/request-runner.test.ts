import { deferred } from "@holdfast/core";
import { decodeSdkResponse, encodeGatewayFrame, SHARED_FROM_BYTES } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { Ledger } from "../../src/connection/main/ledger.ts";
import { createRequestRunner } from "../../src/connection/main/request-runner.ts";
import type { MainMessage } from "../../src/connection/shared/messages.ts";

const identity = {
  requestId: "r",
  accountId: "",
  envId: "",
  appId: "",
  functionSlug: "f",
  stepId: "step",
  systemTraceCtx: new Uint8Array(0),
  userTraceCtx: new Uint8Array(0),
  runId: "run",
};

const request = encodeGatewayFrame({
  ...identity,
  kind: "GATEWAY_EXECUTOR_REQUEST",
  appName: "app",
  functionId: "",
  requestPayload: new Uint8Array(1),
  leaseId: "lease",
  jobId: "",
});

/** What no test here is about. */
const QUIET = {
  leaseGuard: { whenConfirmed: () => undefined, onRevocation: () => {}, recheck: () => {} },
  sdkVersion: "test",
  log: () => {},
  listeners: { hearsLeases: false, onLease: () => {} },
  lossReason: () => {
    throw new Error("Nothing is lost.");
  },
};

/** What is posted to the thread for a request whose checkpoint and reply have bodies of this size. */
async function posted(bodyBytes: number): Promise<{ sent: readonly MainMessage[]; ledger: Ledger }> {
  const sent: MainMessage[] = [];
  const ledger = new Ledger(fakeClock());
  const body = new Uint8Array(bodyBytes).fill(0x20);
  const ended = deferred<void>();
  const runner = createRequestRunner({
    strategy: {
      execute: async (_request, port) => {
        void port.checkpoint(body);
        return { status: "DONE", body, noRetry: false, requestVersion: 2 };
      },
    },
    ledger,
    ...QUIET,
    send: (message) => sent.push(message),
    onIdle: () => ended.resolve(),
  });
  runner.onMessage({ type: "EXECUTION_REQUEST", requestId: "r", request, extensions: [], doubtNumber: 1, asOf: null });
  await ended.promise;
  return { sent, ledger };
}

const buffersOf = (sent: readonly MainMessage[]): ArrayBufferLike[] =>
  sent.flatMap((message) => {
    if (message.type === "CHECKPOINT") return [message.ops.buffer];
    return message.type === "EXECUTION_RESPONSE" ? [message.response.buffer] : [];
  });

test("large replies and checkpoints are shared with the thread, exactly as many bytes as they have", async () => {
  const { sent, ledger } = await posted(SHARED_FROM_BYTES);
  const buffers = buffersOf(sent);
  expect(buffers.map((buffer) => buffer instanceof SharedArrayBuffer)).toEqual([true, true]);
  expect(buffers[0]?.byteLength).toBe(SHARED_FROM_BYTES);
  const reply = sent.find((message) => message.type === "EXECUTION_RESPONSE");
  if (reply?.type !== "EXECUTION_RESPONSE") throw new Error("There is no reply.");
  expect(reply.response.byteLength).toBe(reply.response.buffer.byteLength);
  expect(decodeSdkResponse(reply.response).body.every((byte) => byte === 0x20)).toBe(true);
  // The next thread gets the same memory.
  const [adopted] = ledger.requestsToAdopt();
  expect(adopted?.outcome?.kind === "response" && adopted.outcome.response.buffer).toBe(reply.response.buffer);
  expect(adopted?.checkpoints[0]?.ops.buffer).toBe(buffers[0]);
});

test("small replies and checkpoints are copied", async () => {
  const { sent } = await posted(100);
  expect(buffersOf(sent).map((buffer) => buffer instanceof SharedArrayBuffer)).toEqual([false, false]);
});

test("a pass is given what its gateway ends, also what came before it asked, and nothing once it is over", async () => {
  const given: number[] = [];
  const [ask, finish, ended] = [deferred<void>(), deferred<void>(), deferred<void>()];
  const runner = createRequestRunner({
    strategy: {
      execute: async (_request, port) => {
        await ask.promise;
        port.hearResults?.({ onResults: ({ offset }) => void given.push(offset) });
        await finish.promise;
        return { status: "DONE", body: new Uint8Array(1), noRetry: false, requestVersion: 2 };
      },
    },
    ledger: new Ledger(fakeClock()),
    ...QUIET,
    send: () => {},
    onIdle: () => ended.resolve(),
  });
  const say = (offset: number, requestId = "r"): void =>
    runner.onMessage({
      type: "RESULTS",
      requestId,
      ended: { kind: "GATEWAY_RESULTS", requestId, results: "[]", offset },
    });
  say(9);
  runner.onMessage({ type: "EXECUTION_REQUEST", requestId: "r", request, extensions: [], doubtNumber: 1, asOf: null });
  say(0);
  say(8, "another");
  say(1);
  ask.resolve();
  await ask.promise;
  say(2);
  finish.resolve();
  await ended.promise;
  say(3);
  expect(given).toEqual([0, 1, 2]);
});
