import { encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ExecutionStrategy } from "../../src/execution/execution.ts";
import { done } from "./harness.ts";
import { type Death, openKillable, SMALL_MEMORY } from "./killable.ts";
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

/** When in the life of a connection the thread dies; the killer is set at the beginning of that part. */
type Part = "opening" | "working" | "respawning" | "draining" | "closing";
const moments: readonly (readonly [Part, string])[] = [
  ["opening", "at start"],
  ["opening", "before INIT"],
  ["opening", "after INIT"],
  ["opening", "before CONNECT"],
  ["opening", "after CONNECT"],
  ["opening", "before posting STATE_CHANGE"],
  ["opening", "before posting CONNECTION_READY"],
  ["opening", "after posting CONNECTION_READY"],
  ["working", "before posting EXECUTION_REQUEST"],
  ["working", "after posting EXECUTION_REQUEST"],
  ["working", "before CHECKPOINT"],
  ["working", "after CHECKPOINT"],
  ["working", "before posting CHECKPOINT_ACKED"],
  ["working", "after posting CHECKPOINT_ACKED"],
  ["working", "before posting LEASE_EXTENDED"],
  ["working", "after posting LEASE_EXTENDED"],
  ["working", "before EXECUTION_RESPONSE"],
  ["working", "after EXECUTION_RESPONSE"],
  ["working", "before posting REPLY_ACKED"],
  ["working", "after posting REPLY_ACKED"],
  ["working", "before posting DEBUG_STATE"],
  ["respawning", "at start"],
  ["respawning", "before INIT"],
  ["respawning", "after INIT"],
  ["respawning", "after CONNECT"],
  ["draining", "before CLOSE"],
  ["draining", "after CLOSE"],
  ["draining", "before posting REPLY_ACKED"],
  ["closing", "before CLOSE"],
  ["closing", "after CLOSE"],
  ["closing", "before posting CLOSED"],
  ["closing", "after posting CLOSED"],
];

/** As a real gateway does: what was not acknowledged is sent again to whoever comes next. */
function redeliver(sent: ReturnType<TestGateway["dispatch"]>[]): void {
  gateway.script.intercept = (peer, frame) => {
    if (frame.kind !== "WORKER_READY" && frame.kind !== "WORKER_PAUSE") return false;
    const acked = new Set(gateway.peers.flatMap((one) => one.of("WORKER_REQUEST_ACK")).map((ack) => ack.requestId));
    for (const request of sent) if (!acked.has(request.requestId)) peer.send(request);
    return false;
  };
}

/** Three requests, two of which have a checkpoint under way, from connect() to the end of close(), with one death. */
async function live(part: Part, moment: string, how: Death): Promise<void> {
  const started: string[] = [];
  const answers: string[] = [];
  let goOn = (): void => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const strategy: ExecutionStrategy = {
    execute: async ({ requestId }, port) => {
      started.push(requestId);
      if (started.length === 1) answers.push(await port.checkpoint(encodeJsonBytes([{ id: "a", op: "StepRun" }])));
      // Its handler is ahead of what is stored, and its reply repeats it.
      if (started.length === 2) void port.checkpoint(encodeJsonBytes([{ id: "b", op: "StepRun" }]));
      await gate;
      return done(requestId);
    },
  };
  const respawn = { baseMs: 10, factor: 1, maxMs: 10, jitter: 0, maxCrashes: 5, minUptimeMs: 60_000 };
  const changes = { strategy, respawn, hangTimeoutMs: HANG_MS, resourceLimits: SMALL_MEMORY, config: { debugMs: 50 } };
  const thread = await openKillable(gateway.url, changes, part === "opening" ? { moment, how } : undefined);
  const { connection } = thread;
  const peer = await gateway.peer();
  if (part === "working") thread.dieAt(moment, how);
  const sent: ReturnType<TestGateway["dispatch"]>[] = [];
  redeliver(sent);
  for (let count = 0; count < 3; count += 1) sent.push(gateway.dispatch(peer));
  await until(() => started.length >= 3, "three handlers");
  if (part === "respawning") {
    thread.dieAt(moment, how);
    thread.kill(how);
    await until(() => connection.debugState().crashes === 2 && connection.state === "ACTIVE", "the third thread");
  }
  if (part === "draining") thread.dieAt(moment, how);
  const closing = part === "draining" ? connection.close() : undefined;
  goOn();
  await until(() => connection.debugState().inFlight === 0, "an empty ledger");
  if (part === "closing") thread.dieAt(moment, how);
  await (closing ?? connection.close());

  expect(connection.state).toBe("CLOSED");
  expect(thread.pending, `the thread never came to "${moment}"`).toBe(false);
  expect(started.length, "no handler ran twice").toBe(3);
  expect(answers, "the checkpoint was answered once").toEqual(["stored"]);
  const replies = gateway.peers.flatMap((one) => one.of("WORKER_REPLY"));
  for (const { requestId } of sent) {
    const own = [...replies, ...gateway.flushed].filter((reply) => reply.requestId === requestId);
    expect(own.length, `replies to ${requestId}`).toBeGreaterThan(0);
    for (const { body } of own) expect(new TextDecoder().decode(body)).toBe(JSON.stringify(requestId));
  }
  const instances = new Set(gateway.peers.flatMap((one) => one.connect?.instanceId ?? []));
  expect(instances.size, "it is one and the same worker").toBe(1);
}

describe("The connection thread ends at every moment", () => {
  it.each(moments)("the thread exits while %s, %s: nothing is lost or done twice", (part, moment) =>
    live(part, moment, "exit"),
  );

  // A real loop that never returns: nothing in the thread can tell of it.
  it.each(moments)("the thread hangs while %s, %s: nothing is lost or done twice", (part, moment) =>
    live(part, moment, "hang"),
  );

  it.each([
    ["throw", "opening", "after CONNECT"],
    ["throw", "working", "after EXECUTION_RESPONSE"],
    ["throw", "draining", "after CLOSE"],
    ["reject", "working", "before posting EXECUTION_REQUEST"],
    ["reject", "respawning", "after INIT"],
    ["out of memory", "working", "after EXECUTION_RESPONSE"],
    ["out of memory", "draining", "after CLOSE"],
  ] satisfies [Death, Part, string][])(
    "the thread ends by %s while %s, %s: nothing is lost or done twice",
    (how, part, moment) => live(part, moment, how),
  );
});
