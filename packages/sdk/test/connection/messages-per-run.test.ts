import { type Extension, encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { spawnConnectionThread } from "../../src/connection/main/spawn-thread.ts";
import type { AnyMessage } from "../../src/connection/shared/messages.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { loadThreadScript } from "../../src/thread-script.ts";
import { StillClock } from "../execution/engine.ts";
import { client } from "../execution/support.ts";
import { openTest, requestFor } from "./harness.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const oneStep = client.createFunction({ id: "one", triggers: [] }, async ({ step }) => step.run("a", () => 1));
const registry = createRegistry([{ client, functions: [oneStep] }]);
const ABOUT_WORK = /^(EXECUTION_|CHECKPOINT|REPLY_ACKED)/;

/** What crosses the wire, and what crosses between the threads, for one run of one step. */
async function messagesOfOneRun(extensions: readonly Extension[]) {
  gateway.script.extensions = extensions;
  const posts: string[] = [];
  const note = (direction: string, posted: unknown): void => {
    const messages = (Array.isArray(posted) ? posted : [posted]) as AnyMessage[];
    const types = messages.map(({ type }) => type).filter((type) => ABOUT_WORK.test(type));
    if (types.length > 0) posts.push(`${direction} ${types.join(" + ")}`);
  };
  const script = { text: await loadThreadScript() };
  const { connection } = await openTest(gateway.url, {
    config: { extensions, apps: [{ appName: client.id, functions: encodeJsonBytes([]) }] },
    strategy: createMainThreadStrategy(registry, { clock: new StillClock() }),
    startThread: () => {
      const thread = spawnConnectionThread({ script, resourceLimits: undefined });
      const post = thread.postMessage.bind(thread);
      thread.postMessage = (message: unknown) => {
        note("to thread:", message);
        post(message);
      };
      thread.on("message", (message: unknown) => note("to main:", message));
      return thread;
    },
  });
  const peer = await gateway.peer();
  const before = peer.frames.length;
  gateway.dispatch(peer, requestFor(oneStep, client.id));
  await until(() => posts.some((post) => post.includes("REPLY_ACKED")), "the end");
  await connection.close();
  const frames = peer.frames.slice(before).map(({ kind }) => kind);
  return { frames: frames.filter((kind) => /REQUEST_ACK|CHECKPOINT|REPLY/.test(kind)), posts };
}

it("a run of one step takes two frames of the worker and three posts, where it may look ahead", async () => {
  expect(await messagesOfOneRun(["checkpoint", "lookahead"])).toEqual({
    frames: ["WORKER_REQUEST_ACK", "WORKER_REPLY"],
    posts: ["to main: EXECUTION_REQUEST", "to thread: EXECUTION_RESPONSE", "to main: REPLY_ACKED"],
  });
});

it("a run of one step takes three frames and five posts with a gateway that does not know of looking ahead", async () => {
  expect(await messagesOfOneRun(["checkpoint"])).toEqual({
    frames: ["WORKER_REQUEST_ACK", "WORKER_CHECKPOINT", "WORKER_REPLY"],
    posts: [
      "to main: EXECUTION_REQUEST",
      "to thread: CHECKPOINT",
      "to main: CHECKPOINT_ACKED",
      "to thread: EXECUTION_RESPONSE",
      "to main: REPLY_ACKED",
    ],
  });
});
