import { encodeJsonBytes, type SdkResponse } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { client } from "../execution/support.ts";
import { instantStrategy, openTest, requestFor } from "./harness.ts";
import { poolStandIn } from "./pool-stand-in.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ extensions: ["checkpoint", "nack", "cancel", "lookahead"], lease: "60ms" });
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

/** Comes again and again while a request is under way: what counts is the one while the second body runs. */
const WHILE_IT_WORKS = "after hearing LEASE_EXTENDED";

/** When a pool thread ends in the life of a turn of two steps, and what the attempt comes to. */
type Outcome = "elsewhere" | "handler" | "step" | "done";
const moments: readonly (readonly [string, Outcome])[] = [
  // Another thread runs it: this one had not begun.
  ["before hearing EXECUTION_REQUEST", "elsewhere"],
  ["before TURN_BEGUN", "elsewhere"],
  ["after TURN_BEGUN", "handler"],
  ["before STEP_BEGUN", "handler"],
  ["after STEP_BEGUN", "step"],
  ["before STEP_ENDED", "step"],
  ["after CHECKPOINT", "handler"],
  ["before hearing CHECKPOINT_ACKED", "handler"],
  [WHILE_IT_WORKS, "step"],
  ["before EXECUTION_RESPONSE", "handler"],
  ["after EXECUTION_RESPONSE", "done"],
  ["before hearing REPLY_ACKED", "done"],
];

const textOf = ({ body }: SdkResponse): string => new TextDecoder().decode(body);

function outcomeOf(reply: SdkResponse): Outcome {
  if (!textOf(reply).includes("ISOLATE_THREAD_LOST")) return "done";
  return reply.status === "ERROR" ? "handler" : "step";
}

/** A run of two steps, with one death; the gateway gives it to no one again. */
async function live(moment: string, outcome: Outcome): Promise<void> {
  const begun: string[] = [];
  const fn = client.createFunction({ id: "moments", triggers: [] }, async ({ step }) => {
    const born = pool.deaths;
    const note = (name: string): void => void (pool.deaths === born && begun.push(name));
    await step.run("a", () => note("a"));
    await step.run("b", async () => {
      note("b");
      if (moment !== WHILE_IT_WORKS) return;
      pool.dieAt(moment);
      await until(() => !pool.pending, "an extended lease");
    });
    return "ended";
  });
  const registry = createRegistry([{ client, functions: [fn] }]);
  const pool = poolStandIn(1, (watch) => createMainThreadStrategy(registry, { watch }));
  const config = {
    apps: [{ appName: client.id, functions: encodeJsonBytes([]) }],
    isolated: [{ appName: client.id, functionSlug: fn.slug }],
    extensions: ["checkpoint", "nack", "cancel", "lookahead"] as const,
  };
  const { connection } = await openTest(gateway.url, { pool, strategy: instantStrategy, config });
  const peer = await gateway.peer();
  if (moment !== WHILE_IT_WORKS) pool.dieAt(moment);
  const { requestId } = gateway.dispatch(peer, requestFor(fn, client.id));
  const replies = (): SdkResponse[] => peer.of("WORKER_REPLY").filter((reply) => reply.requestId === requestId);
  await until(() => replies().length > 0 && connection.debugState().inFlight === 0, "the reply");
  await until(() => !pool.pending, `the moment "${moment}"`);
  await until(() => pool.access.read(0).state === "free", "a thread that is free");
  const [reply] = replies();
  expect(outcomeOf(reply as SdkResponse)).toBe(outcome === "elsewhere" ? "done" : outcome);
  expect(replies(), "it was answered once").toHaveLength(1);
  const checkpoints = peer.of("WORKER_CHECKPOINT").map(({ ops }) => textOf({ body: ops } as SdkResponse));
  const isStored = (name: string): boolean =>
    [...checkpoints, textOf(reply as SdkResponse)].join().includes(`"${name}"`);
  for (const name of begun) expect(isStored(name), `${name} was begun and is known of`).toBe(true);
  expect(begun.length, "no body ran twice").toBe(new Set(begun).size);
  await connection.close();
}

describe("A pool thread ends at every moment of a turn", () => {
  it.each(moments)("the thread ends %s: %s", (moment, outcome) => live(moment, outcome));
});
