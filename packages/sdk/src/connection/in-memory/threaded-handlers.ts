/**
 * Runs handlers of isolated functions in pool threads without a connection, for tests of functions. It stands where the
 * connection thread stands in an app, with that thread's own parts: who has which request, and what becomes of one whose
 * thread is lost, is decided by `thread/isolated-requests.ts`, and a pool thread sees no difference.
 */
import {
  HoldfastError,
  type Log,
  type PlainError,
  readClocks,
  systemClock,
  systemTimers,
  unreachable,
} from "@holdfast/core";
import { decodeSdkResponse, type ExecutorRequest, encodeGatewayFrame, encodeJsonBytes } from "@holdfast/protocol";
import type {
  CheckpointPort,
  ExecutionRequest,
  ExecutionResult,
  ExecutionStrategy,
} from "../../execution/execution.ts";
import type { AppInput } from "../../functions/registry.ts";
import type { Isolation, IsolationOptions } from "../../isolation/main/isolation.ts";
import { nodeModule } from "../../runtime.ts";
import { SDK_NAME } from "../../version.ts";
import type { ConnectionPool } from "../main/connection-pool.ts";
import { createIsolation, defaultIsolation } from "../main/create-isolation.ts";
import { createHandlerPool } from "../main/handler-pool.ts";
import type { IsolatedFunctions } from "../pool-thread/isolated-strategy.ts";
import type { TestDouble } from "../pool-thread/test-messages.ts";
import type { RequestWork } from "../shared/isolated-messages.ts";
import type { ThreadMessage } from "../shared/messages.ts";
import { identityOf } from "../shared/reply.ts";
import { COUNTERS_BYTES, sharedCounters } from "../shared/shared-counters.ts";
import { IsolatedRequests } from "../thread/isolated-requests.ts";
import type { DrainPort } from "../thread/pool-threads.ts";
import type { IsolatedEffect } from "../thread/thread-effect.ts";
import { type AnswerTestCall, openTestPort } from "./test-answers.ts";

export interface ThreadedHandlersOptions {
  /** Its functions are isolated. */
  readonly app: AppInput;
  /** Ids of steps whose bodies are the test's. */
  readonly mocked: readonly string[];
  readonly answer: AnswerTestCall;
  readonly log: Log;
}

/** Executes requests of isolated functions in pool threads; `close` ends these. */
export interface ThreadedHandlers extends ExecutionStrategy {
  close(): Promise<void>;
}

/** Nothing is suspended here: no confirmation is ever too old, in so far as 32 bits have room for that. */
const NEVER_MS = 0x7fff_ffff;
const NO_BYTES = new Uint8Array();

/**
 * Evaluates the modules first, as `connect()` does.
 * @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`, `ISOLATE_LISTEN`, `ISOLATE_THREAD_LOST`
 */
export async function openThreadedHandlers(options: ThreadedHandlersOptions): Promise<ThreadedHandlers> {
  const { app, mocked, answer, log } = options;
  // One run needs one thread at a time, and one that is on its way when another is lost.
  const rules: IsolationOptions = { ...defaultIsolation(), threads: 2 };
  const handlerPool = createHandlerPool([app], rules);
  if (handlerPool === null) throw new HoldfastError("OPTION_INVALID", "The app has no isolated function.");
  const isolation = createIsolation(log, rules, {
    modules: handlerPool.modules,
    onTurnLost: handlerPool.onTurnLost,
    onLogged: handlerPool.onLogged,
    dataFor: () => {
      const double: TestDouble = { port: openTestPort(answer), mocked };
      const handlers: IsolatedFunctions = { ...handlerPool.handlers, double };
      return { handlers, transfer: [double.port] };
    },
  });
  try {
    const pool = await isolation.open();
    await pool.load([]);
    const config = { isolated: handlerPool.config.isolated, sdkVersion: SDK_NAME };
    return new Handlers(config, handlerPool.portsOf(pool), isolation, log);
  } catch (error) {
    await isolation.close();
    throw error;
  }
}

interface Executing {
  readonly port: CheckpointPort;
  readonly resolve: (result: ExecutionResult) => void;
  /** Its end waits for what was stored before. */
  stored: Promise<unknown>;
}

class Handlers implements ThreadedHandlers {
  readonly #pool: ConnectionPool;
  readonly #isolation: Isolation;
  readonly #requests: IsolatedRequests;
  readonly #executing = new Map<string, Executing>();
  #isFlushing = false;

  constructor(
    config: { readonly isolated: readonly { appName: string; functionSlug: string }[]; readonly sdkVersion: string },
    pool: ConnectionPool,
    isolation: Isolation,
    log: Log,
  ) {
    this.#pool = pool;
    this.#isolation = isolation;
    const counters = new SharedArrayBuffer(COUNTERS_BYTES);
    const shared = sharedCounters(counters);
    shared.setSuspensionLimit(NEVER_MS);
    shared.signAlive(readClocks(systemClock));
    const ports = pool.connect({
      onStarted: (port) => this.#requests.onThreadStarted(port),
      onLost: (slot, error) => this.#requests.onThreadLost(slot, error),
    });
    const port = { post: (message: ThreadMessage) => this.#onMainMessage(message) };
    this.#requests = new IsolatedRequests(
      {
        ...{ config, counters, drainPort, port, coalescing: port, log },
        ...{ clock: systemClock, timers: systemTimers },
        pool: { cells: pool.cells, ports: [] },
        mainLagMs: () => 0,
        scheduleFlush: () => this.#scheduleFlush(),
      },
      (effect) => this.#onEffect(effect),
    );
    for (const one of ports) this.#requests.onThreadStarted(one);
  }

  execute(request: ExecutionRequest, port: CheckpointPort): Promise<ExecutionResult> {
    const frame = frameOf(request);
    const { requestId } = request;
    return new Promise((resolve) => {
      this.#executing.set(requestId, { port, resolve, stored: Promise.resolve() });
      const { extensions } = request;
      const asOf = readClocks(systemClock);
      const work = { request: encodeGatewayFrame(frame), extensions, doubtNumber: 0, asOf };
      this.#requests.take(frame, identityOf(frame), work);
    });
  }

  async close(): Promise<void> {
    this.#requests.stop();
    await this.#isolation.close();
  }

  #scheduleFlush(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    queueMicrotask(() => {
      this.#isFlushing = false;
      this.#requests.prepareFlush();
      this.#requests.flush();
    });
  }

  /** What main does of this in an app. */
  #onMainMessage(message: ThreadMessage): void {
    if (message.type === "ISOLATED_TURN") this.#pool.expect(message.place.slot, message.place.turn);
    if (message.type === "POOL_THREAD_WANTED") this.#pool.want(message.waiting);
  }

  #onEffect(effect: IsolatedEffect): void {
    if (effect.do === "ISOLATED_WORK") return this.#onWork(effect.message);
    const lost = new HoldfastError("ISOLATE_THREAD_LOST", "The thread ended before it began with the function.");
    this.#end(effect.requestId, errorResult(lost));
  }

  #onWork(message: RequestWork): void {
    const { requestId } = message;
    const executing = this.#executing.get(requestId);
    if (executing === undefined) return;
    switch (message.type) {
      case "CHECKPOINT": {
        const { sequence, ops } = message;
        executing.stored = executing.port.checkpoint(ops).then((outcome) => {
          this.#requests.post({ type: "CHECKPOINT_ACKED", requestId, sequence, outcome });
        });
        return;
      }
      case "EXECUTION_RESPONSE": {
        const { status, body, noRetry, retryAfter, requestVersion } = decodeSdkResponse(message.response);
        const content = { status, body, noRetry, requestVersion };
        this.#requests.post({ type: "REPLY_ACKED", requestId });
        return this.#end(requestId, retryAfter === undefined ? content : { ...content, retryAfter });
      }
      case "EXECUTION_ERROR":
        this.#requests.post({ type: "REPLY_ACKED", requestId });
        return this.#end(requestId, errorResult(message.error));
      case "EXECUTION_DROPPED":
        return this.#end(requestId, {
          ...{ status: "NOT_COMPLETED", body: encodeJsonBytes([]), noRetry: false, requestVersion: 2 },
          stale: true,
        });
      case "LEASE_WANTED":
        return;
      default:
        return unreachable(message);
    }
  }

  #end(requestId: string, result: ExecutionResult): void {
    const executing = this.#executing.get(requestId);
    this.#executing.delete(requestId);
    this.#requests.forget(requestId);
    void executing?.stored.then(() => executing.resolve(result));
  }
}

const drainPort: DrainPort = (port) => {
  const { receiveMessageOnPort } = nodeModule("node:worker_threads");
  const posted: unknown[] = [];
  for (let one = receiveMessageOnPort(port); one !== undefined; one = receiveMessageOnPort(port))
    posted.push(one.message);
  return posted;
};

/** A gateway's request. Nothing in it but what the handler's thread reads. */
function frameOf({
  requestId,
  appName,
  functionSlug,
  stepId,
  runId,
  jobId,
  payload,
}: ExecutionRequest): ExecutorRequest {
  const none = { accountId: "", envId: "", appId: "", functionId: "", leaseId: "" };
  const contexts = { systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES };
  return {
    ...{ kind: "GATEWAY_EXECUTOR_REQUEST", ...none, ...contexts },
    ...{ requestId, appName, functionSlug, stepId, runId, jobId, requestPayload: payload },
  };
}

function errorResult({ name, message, code, stack }: PlainError | HoldfastError): ExecutionResult {
  const error = { type: "internal", name, message, code, stack, __serialized: true };
  return { status: "ERROR", body: encodeJsonBytes(error), noRetry: false, requestVersion: 2 };
}
