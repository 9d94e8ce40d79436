import { plainError } from "@holdfast/core";
import { encodeJsonBytes, type Op, type SdkResponse } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import type { RetryOptions } from "../../src/steps/retry-policy.ts";
import { client } from "../execution/support.ts";
import { done, manualStrategy, type Opened, openTest, requestFor } from "./harness.ts";
import { type PoolStandIn, poolStandIn } from "./pool-stand-in.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ extensions: ["checkpoint", "nack", "cancel", "lookahead"] });
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

const never = (): Promise<never> => new Promise(() => {});

interface Running {
  readonly pool: PoolStandIn;
  readonly opened: Opened;
  readonly reply: () => Promise<SdkResponse>;
}

/** A run of this handler in the one thread of a pool. */
async function run(
  handler: (context: HandlerContext<unknown>) => unknown,
  retries = 2,
  delays: RetryOptions = {},
): Promise<Running> {
  const fn = client.createFunction(
    { id: "lost", triggers: [], retries: { attempts: retries, ...delays } },
    handler as never,
  );
  const registry = createRegistry([{ client, functions: [fn] }]);
  const pool = poolStandIn(1, (watch) => createMainThreadStrategy(registry, { watch }));
  const apps = [{ appName: client.id, functions: encodeJsonBytes([]) }];
  const isolated = [{ appName: client.id, functionSlug: fn.slug }];
  const extensions = ["checkpoint", "nack", "cancel", "lookahead"] as const;
  const opened = await openTest(gateway.url, { pool, config: { apps, isolated, extensions } });
  const peer = await gateway.peer();
  const request = requestFor(fn, client.id);
  const payload = JSON.parse(new TextDecoder().decode(request.requestPayload)) as { ctx: object };
  const ctx = { ...payload.ctx, max_attempts: retries + 1 };
  const { requestId } = gateway.dispatch(peer, { ...request, requestPayload: encodeJsonBytes({ ...payload, ctx }) });
  const reply = (): Promise<SdkResponse> =>
    until(() => peer.of("WORKER_REPLY").find((one) => one.requestId === requestId), "the reply");
  return { pool, opened, reply };
}

const opsOf = ({ body }: SdkResponse): readonly Op[] => JSON.parse(new TextDecoder().decode(body)) as readonly Op[];
const checkpointed = (): readonly Op[] =>
  gateway.peers
    .flatMap((peer) => peer.of("WORKER_CHECKPOINT"))
    .flatMap(({ ops }) => opsOf({ body: ops } as SdkResponse));

describe("A pool thread that is lost", () => {
  it("fails the attempt of the step whose body it was running, and of no other", async () => {
    let begun = false;
    const { pool, opened, reply } = await run(async ({ step }) => {
      await step.run("first", () => "kept");
      await step.run("second", () => {
        begun = true;
        return never();
      });
    });
    await until(() => begun, "the second body");
    pool.kill(0);
    const response = await reply();
    expect(response).toMatchObject({ status: "NOT_COMPLETED", noRetry: false });
    const message = expect.stringMatching(
      /^Step "second" \(attempt 1\) of function "app-lost", run .*: the thread was lost\.$/,
    );
    expect(opsOf(response)).toMatchObject([
      { op: "StepError", displayName: "second", error: { code: "ISOLATE_THREAD_LOST", message } },
    ]);
    expect(checkpointed()).toMatchObject([{ op: "StepRun", displayName: "first", data: "kept" }]);
    await opened.connection.close();
  });

  it("is retried by the delays of its function, which the op had before the body began", async () => {
    let begun = false;
    const handler = ({ step }: HandlerContext<unknown>): Promise<unknown> =>
      step.run("only", () => {
        begun = true;
        return never();
      });
    const { pool, opened, reply } = await run(handler, 2, { base: 700, jitter: 0 });
    await until(() => begun, "the body");
    pool.kill(0);
    expect(opsOf(await reply())).toMatchObject([{ op: "StepError", attempt: 0, retryAfter: "0.700" }]);
    await opened.connection.close();
  });

  it("fails a step permanently that has no attempt left", async () => {
    let begun = false;
    const { pool, opened, reply } = await run(async ({ step }) => {
      await step.run("only", () => {
        begun = true;
        return never();
      });
    }, 0);
    await until(() => begun, "the body");
    pool.kill(0, plainError("ISOLATE_BUDGET", "It took too long."));
    const response = await reply();
    expect(response).toMatchObject({ status: "NOT_COMPLETED", noRetry: true });
    expect(opsOf(response)).toMatchObject([{ op: "StepFailed", error: { code: "ISOLATE_BUDGET" } }]);
    await opened.connection.close();
  });

  it("between steps fails the attempt of the handler, with the same code", async () => {
    const { pool, opened, reply } = await run(async ({ step }) => {
      await step.run("first", () => "kept");
      await never();
    });
    await until(() => checkpointed().length === 1, "the checkpoint, before the handler goes on");
    pool.kill(0);
    const response = await reply();
    expect(response).toMatchObject({ status: "ERROR", noRetry: false });
    expect(JSON.parse(new TextDecoder().decode(response.body))).toMatchObject({ code: "ISOLATE_THREAD_LOST" });
    await opened.connection.close();
  });

  it("what has ended beside a body that runs is not lost with it, also when its checkpoint had not left", async () => {
    gateway.script.ackCheckpoints = null;
    let begun = false;
    let end = (_value: string): void => {};
    const second = new Promise<string>((resolve) => {
      end = resolve;
    });
    const { pool, opened, reply } = await run(async ({ step }) => {
      await Promise.all([
        step.run("first", () => "one"),
        step.run("second", () => second),
        step.run("third", () => {
          begun = true;
          return never();
        }),
      ]);
    });
    await until(() => begun && checkpointed().length === 1, "the first checkpoint");
    end("two");
    await new Promise((resolve) => setImmediate(resolve));
    pool.kill(0);
    expect(opsOf(await reply())).toMatchObject([
      { op: "StepRun", displayName: "second", data: "two" },
      { op: "StepError", displayName: "third", error: { code: "ISOLATE_THREAD_LOST" } },
    ]);
    await opened.connection.close();
  });

  it("with main blocked or silent the connection thread answers by itself", async () => {
    const { calls, strategy } = manualStrategy();
    const pool = poolStandIn(1, () => strategy);
    const isolated = [{ appName: "app", functionSlug: "app-fn" }];
    const { connection } = await openTest(gateway.url, { pool, config: { isolated } });
    const peer = await gateway.peer();
    const { requestId } = gateway.dispatch(peer);
    await until(() => calls[0], "the turn");
    pool.kill(0, null);
    const response = await until(() => peer.of("WORKER_REPLY").find((one) => one.requestId === requestId), "the reply");
    expect(response.status).toBe("ERROR");
    expect(JSON.parse(new TextDecoder().decode(response.body))).toMatchObject({ code: "ISOLATE_THREAD_LOST" });
    await connection.close();
  });

  it("what stands in line gets the next thread", async () => {
    const { calls, strategy } = manualStrategy();
    const pool = poolStandIn(1, () => strategy);
    const isolated = [{ appName: "app", functionSlug: "app-fn" }];
    const { connection } = await openTest(gateway.url, { pool, config: { isolated } });
    const peer = await gateway.peer();
    const sent = [gateway.dispatch(peer), gateway.dispatch(peer)];
    await until(() => calls[0] && pool.wanted === 1, "the first turn");
    pool.kill(0);
    pool.start(0);
    const call = await until(() => calls[1], "the second turn");
    expect(call.request.requestId).toBe(sent[1]?.requestId);
    call.result.resolve(done());
    await until(() => connection.debugState().inFlight === 0, "the end");
    const replies = peer.of("WORKER_REPLY").map(({ requestId, status }) => [requestId, status]);
    expect(Object.fromEntries(replies)).toEqual({
      [String(sent[0]?.requestId)]: "ERROR",
      [String(sent[1]?.requestId)]: "DONE",
    });
    await connection.close();
  });

  it("a reply that it has posted counts, whatever is said of its end", async () => {
    const { calls, strategy } = manualStrategy();
    const pool = poolStandIn(1, () => strategy);
    const isolated = [{ appName: "app", functionSlug: "app-fn" }];
    const { connection } = await openTest(gateway.url, { pool, config: { isolated } });
    const peer = await gateway.peer();
    const { requestId } = gateway.dispatch(peer);
    const call = await until(() => calls[0], "the turn");
    call.result.resolve(done("kept"));
    await until(() => pool.returned === 1, "the end of the turn");
    pool.kill(0);
    const response = await until(() => peer.of("WORKER_REPLY").find((one) => one.requestId === requestId), "the reply");
    expect(response.status).toBe("DONE");
    await until(() => connection.debugState().inFlight === 0, "the end");
    await connection.close();
  });
});
