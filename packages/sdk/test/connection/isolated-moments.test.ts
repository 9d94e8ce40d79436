import { encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ExecutionStrategy } from "../../src/execution/execution.ts";
import { done, instantStrategy } from "./harness.ts";
import { type Death, openKillable, SMALL_MEMORY } from "./killable.ts";
import { poolStandIn } from "./pool-stand-in.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ heartbeat: "2s", lease: "60ms" });
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

/** Far from what a busy machine does to a thread, and short. */
const HANG_MS = 1_500;

/** When in the life of isolated requests the connection thread dies; the killer is set at the beginning of that part. */
type Part = "working" | "respawning" | "draining";
const moments: readonly (readonly [Part, string])[] = [
  ["working", "before posting ISOLATED_REQUEST"],
  ["working", "after posting ISOLATED_REQUEST"],
  ["working", "before posting ISOLATED_TURN"],
  ["working", "after posting ISOLATED_TURN"],
  ["working", "before giving EXECUTION_REQUEST"],
  ["working", "after giving EXECUTION_REQUEST"],
  ["working", "before posting POOL_THREAD_WANTED"],
  ["working", "after posting POOL_THREAD_WANTED"],
  ["working", "before hearing TURN_BEGUN"],
  ["working", "after hearing TURN_BEGUN"],
  ["working", "before hearing CHECKPOINT"],
  ["working", "after hearing CHECKPOINT"],
  ["working", "before giving CHECKPOINT_ACKED"],
  ["working", "after giving CHECKPOINT_ACKED"],
  ["working", "before giving LEASE_EXTENDED"],
  ["working", "after posting LEASE_EXTENDED"],
  ["working", "before hearing EXECUTION_RESPONSE"],
  ["working", "after hearing EXECUTION_RESPONSE"],
  ["working", "before hearing TURN_ENDED"],
  ["working", "after hearing TURN_ENDED"],
  ["working", "before posting REPLY_ACKED"],
  ["working", "after posting REPLY_ACKED"],
  ["working", "before giving REPLY_ACKED"],
  ["working", "after giving REPLY_ACKED"],
  ["respawning", "after INIT"],
  ["respawning", "before giving SYNC"],
  ["respawning", "after giving SYNC"],
  ["respawning", "after CONNECT"],
  ["draining", "before CLOSE"],
  ["draining", "after CLOSE"],
  ["draining", "before hearing EXECUTION_RESPONSE"],
  ["draining", "before giving REPLY_ACKED"],
];

type Request = ReturnType<TestGateway["dispatch"]>;

/** As a real gateway does: what was not acknowledged is sent again, and what was handed back is dispatched anew. */
function redeliver(sent: Request[]): void {
  const returned = new Set<string>();
  const isAcked = (requestId: string): boolean =>
    gateway.peers.flatMap((one) => one.of("WORKER_REQUEST_ACK")).some((ack) => ack.requestId === requestId);
  gateway.script.intercept = (peer, frame) => {
    if (frame.kind === "WORKER_REQUEST_NACK" && isAcked(frame.requestId) && !returned.has(frame.requestId)) {
      returned.add(frame.requestId);
      const before = sent.find(({ requestId }) => requestId === frame.requestId) as Request;
      sent.push(gateway.dispatch(peer, { ...before, requestId: `${before.requestId} again` }));
    }
    if (frame.kind === "WORKER_READY" || frame.kind === "WORKER_PAUSE") {
      for (const request of sent) if (!isAcked(request.requestId)) peer.send(request);
    }
    return false;
  };
}

const nameOf = (requestId: string): string => requestId.replaceAll(" again", "");

/** Three requests for two threads, two of which have a checkpoint under way, to the end of close(), with one death. */
async function live(part: Part, moment: string, how: Death): Promise<void> {
  const started: string[] = [];
  const answers: string[] = [];
  let goOn = (): void => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const strategy: ExecutionStrategy = {
    execute: async ({ requestId }, port) => {
      started.push(nameOf(requestId));
      if (started.length === 1) answers.push(await port.checkpoint(encodeJsonBytes([{ id: "a", op: "StepRun" }])));
      if (started.length === 2) void port.checkpoint(encodeJsonBytes([{ id: "b", op: "StepRun" }]));
      await gate;
      return done(nameOf(requestId));
    },
  };
  const pool = poolStandIn(2, () => strategy);
  const respawn = { baseMs: 10, factor: 1, maxMs: 10, jitter: 0, maxCrashes: 5, minUptimeMs: 60_000 };
  const isolated = [{ appName: "app", functionSlug: "app-fn" }];
  const config = { debugMs: 50, isolated };
  const changes = {
    pool,
    strategy: instantStrategy,
    respawn,
    hangTimeoutMs: HANG_MS,
    resourceLimits: SMALL_MEMORY,
    config,
  };
  const thread = await openKillable(gateway.url, changes);
  const { connection } = thread;
  const peer = await gateway.peer();
  if (part === "working") thread.dieAt(moment, how);
  const sent: Request[] = [];
  redeliver(sent);
  // What stands in line while the worker shuts down goes elsewhere when the thread dies.
  const count = part === "draining" ? 2 : 3;
  while (sent.length < count) sent.push(gateway.dispatch(peer));
  const first = sent.slice();
  await until(() => started.length >= 2, "two handlers");
  if (part === "respawning") {
    thread.dieAt(moment, how);
    thread.kill(how);
    await until(() => connection.debugState().crashes === 2 && connection.state === "ACTIVE", "the third thread");
  }
  if (part === "draining") thread.dieAt(moment, how);
  const closing = part === "draining" ? connection.close() : undefined;
  goOn();
  await until(() => connection.debugState().inFlight === 0 && started.length >= count, "an empty ledger");
  await (closing ?? connection.close());

  expect(connection.state).toBe("CLOSED");
  expect(thread.pending, `the thread never came to "${moment}"`).toBe(false);
  expect(started.toSorted(), "each handler ran once").toEqual(first.map(({ requestId }) => requestId).toSorted());
  expect(answers, "the checkpoint was answered once").toEqual(["stored"]);
  const replies = gateway.peers.flatMap((one) => one.of("WORKER_REPLY"));
  for (const { requestId } of first) {
    const own = [...replies, ...gateway.flushed].filter((reply) => nameOf(reply.requestId) === requestId);
    expect(own.length, `replies to ${requestId}`).toBeGreaterThan(0);
    for (const { body } of own) expect(new TextDecoder().decode(body)).toBe(JSON.stringify(requestId));
  }
  for (const slot of [0, 1]) expect(pool.access.read(slot).state, "no turn is left").toBe("free");
}

describe("The connection thread ends at every moment of isolated requests", () => {
  it.each(moments)("the thread exits while %s, %s: nothing is lost or done twice", (part, moment) =>
    live(part, moment, "exit"),
  );

  it.each(moments.filter((_moment, index) => index % 3 === 0))(
    "the thread hangs while %s, %s: nothing is lost or done twice",
    (part, moment) => live(part, moment, "hang"),
  );
});
