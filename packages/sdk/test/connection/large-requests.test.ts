import { deferred } from "@holdfast/core";
import { encodeGatewayFrame, encodeJsonBytes } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { Ledger } from "../../src/connection/main/ledger.ts";
import { createRequestRunner } from "../../src/connection/main/request-runner.ts";
import { readThreadMessages, type ThreadMessage } from "../../src/connection/shared/messages.ts";
import { FairTurns, type Turns, UNLIMITED_TURNS } from "../../src/execution/fair-turns.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { client } from "../execution/support.ts";

const COUNT = 100;
const MEGABYTE = 1024 * 1024;

function requests(functionSlug: string): ThreadMessage[] {
  const rows = Array.from({ length: MEGABYTE / 256 }, (_, id) => ({ id, text: "x".repeat(256) }));
  const event = { id: "e", name: "n", data: { rows }, ts: 1 };
  const requestPayload = encodeJsonBytes({ version: 2, event, events: [event], steps: {}, ctx: { attempt: 0 } });
  expect(requestPayload.byteLength).toBeGreaterThan(MEGABYTE);
  return Array.from({ length: COUNT }, (_, index) => {
    const requestId = `r${index}`;
    const request = encodeGatewayFrame({
      kind: "GATEWAY_EXECUTOR_REQUEST",
      requestId,
      accountId: "",
      envId: "",
      appId: "",
      appName: "app",
      functionId: "",
      functionSlug,
      stepId: "step",
      requestPayload,
      systemTraceCtx: new Uint8Array(0),
      userTraceCtx: new Uint8Array(0),
      runId: `run${index}`,
      leaseId: "lease",
      jobId: "",
    });
    return { type: "EXECUTION_REQUEST", requestId, request, extensions: [], doubtNumber: 1, asOf: null };
  });
}

/** In how many turns of the event loop the requests of one message begin. */
async function turnsFor(turns: Turns): Promise<{ readonly turns: number; readonly order: readonly string[] }> {
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  const seen = new Set<number>();
  const order: string[] = [];
  const over = deferred<void>();
  const fn = client.createFunction({ id: "large", triggers: [] }, ({ runId }) => {
    seen.add(turn);
    order.push(runId);
  });
  const runner = createRequestRunner({
    strategy: createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), { turns }),
    ledger: new Ledger(fakeClock()),
    leaseGuard: { whenConfirmed: () => undefined, onRevocation: () => {}, recheck: () => {} },
    listeners: { hearsLeases: false, onLease: () => {} },
    sdkVersion: "test",
    log: () => {},
    send: () => {},
    onIdle: () => {
      if (order.length === COUNT) over.resolve();
    },
    lossReason: () => {
      throw new Error("Nothing is lost.");
    },
  });
  const posted = requests(fn.slug);
  setImmediate(count);
  // As the host reads what the thread has posted in one message.
  for (const message of readThreadMessages(posted)) {
    if (message.type === "EXECUTION_REQUEST") runner.onMessage(message);
  }
  await over.promise;
  isOver = true;
  return { turns: seen.size, order };
}

describe("100 requests of 1 MB in one message", () => {
  test("begin in many turns of the event loop with the gate, in one without it, in the same order", async () => {
    const gate = new FairTurns({ monotonicMs: () => performance.now(), nextTurn: (begin) => setImmediate(begin) });
    const gated = await turnsFor(gate.limitedTo(1));
    const ungated = await turnsFor(UNLIMITED_TURNS);
    expect(ungated.turns).toBe(1);
    expect(gated.turns).toBeGreaterThan(10);
    expect(gated.order).toEqual(ungated.order);
    expect(gated.order).toEqual(Array.from({ length: COUNT }, (_, index) => `run${index}`));
  });
});
