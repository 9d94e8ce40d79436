import {
  type Clock,
  deferred,
  HoldfastError,
  type Log,
  messageOf,
  type PlainError,
  type Random,
  type TimerHandle,
  type Timers,
  unreachable,
} from "@holdfast/core";
import type { ExecutionStrategy } from "../../execution/execution.ts";
import type { ConnectionState } from "../shared/connection-state.ts";
import type { DebugState } from "../shared/debug-state.ts";
import { type MainMessage, THREAD_PROTOCOL_VERSION, type ThreadMessage } from "../shared/messages.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import { COUNTERS_BYTES, PULSE_MS, sharedCounters } from "../shared/shared-counters.ts";
import { createCloser } from "./closer.ts";
import type { Connection } from "./connection.ts";
import { createLedger } from "./ledger.ts";
import { createRequestRunner } from "./request-runner.ts";
import { handleSignals } from "./signals.ts";
import { createThreadHost, type ResourceLimits, type RespawnPolicy, type ThreadHostDeps } from "./thread-host.ts";

export interface OpenConnectionDeps {
  readonly config: SerializableConfig;
  readonly strategy: ExecutionStrategy;
  readonly script: ThreadHostDeps["script"];
  readonly resourceLimits?: ResourceLimits | undefined;
  readonly respawn: RespawnPolicy;
  readonly connectTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly signals: readonly NodeJS.Signals[];
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}

/**
 * Starts the connection thread and waits until it is connected.
 * @throws HoldfastError `CONNECT_TIMEOUT`, `CONNECT_REFUSED`, `CONNECT_CLOSED`, `CONNECTION_FAILED`; nothing is left behind then
 */
export async function openConnection(deps: OpenConnectionDeps): Promise<Connection> {
  const { config, log, clock, timers } = deps;
  const counters = new SharedArrayBuffer(COUNTERS_BYTES);
  const shared = sharedCounters(counters);
  const ledger = createLedger(clock);
  const opening = deferred<void>();
  const closed = deferred<void>();
  // It is logged, too: nobody has to listen.
  closed.promise.catch(() => {});
  let state: ConnectionState = "CONNECTING";
  let connectionId: string | null = null;
  let everReady = false;
  let mirror: DebugState | null = null;
  let lastProblem = "";
  let pulse: TimerHandle;

  const greet = (crashes: number): readonly MainMessage[] => [
    { type: "INIT", version: THREAD_PROTOCOL_VERSION, config, adopted: ledger.adopt(), counters, crashes },
    { type: "CONNECT", resumed: everReady },
    ...closer.greeting(),
  ];

  const setState = (next: ConnectionState): void => {
    if (state === "FAILED" || state === "CLOSED") return;
    state = closer.begun && next !== "CLOSED" && next !== "FAILED" ? "CLOSING" : next;
    if (state !== "ACTIVE") connectionId = null;
  };

  const fail = (error: HoldfastError): void => {
    log("error", error.message, { code: error.code });
    setState("FAILED");
    ledger.loseAll(error);
    opening.reject(error);
    if (closer.begun) closer.threadGone();
    else {
      release();
      closed.reject(error);
    }
  };

  const host = createThreadHost({
    script: deps.script,
    resourceLimits: deps.resourceLimits,
    policy: deps.respawn,
    clock,
    timers,
    random: deps.random,
    log,
    greet,
    onMessage: (message) => onMessage(message),
    onCrash: (error) => {
      lastProblem = error.message;
      log("error", error.message, { code: error.code });
      setState(everReady ? "RECONNECTING" : "CONNECTING");
      if (closer.begun) closer.threadGone();
    },
    onFailed: fail,
  });

  const runner = createRequestRunner({
    strategy: deps.strategy,
    ledger,
    sdkVersion: config.sdkVersion,
    log,
    send: (message) => host.send(message),
    onIdle: () => closer.look(),
  });

  const closer = createCloser({ host, ledger, runner, clock, timers, log, drainTimeoutMs: deps.drainTimeoutMs });

  const onMessage = (message: ThreadMessage): void => {
    switch (message.type) {
      case "STATE_CHANGE":
        if (message.state === "RECONNECTING") host.ready(false);
        return message.state === "CLOSED" ? undefined : setState(message.state);
      case "CONNECTION_READY":
        everReady = true;
        setState("ACTIVE");
        connectionId = message.connectionId;
        host.ready(true);
        return opening.resolve();
      case "EXECUTION_REQUEST":
        return runner.take(message);
      case "REPLY_ACKED":
        ledger.remove(message.requestId);
        return;
      case "CHECKPOINT_ACKED":
        return ledger.settleCheckpoint(message.requestId, message.sequence, message.outcome);
      case "LEASE_EXTENDED":
        return ledger.extended(message.requestId, message.leaseId);
      case "LEASE_LOST":
        return ledger.lose(message.requestId, closer.lossReason());
      case "CANCEL":
        return ledger.abort(
          message.requestId,
          new HoldfastError("RUN_CANCELLED", message.reason || "The run was cancelled."),
        );
      case "DEBUG_STATE":
        mirror = message.debug;
        return;
      case "LOG":
        shared.logsTaken(1);
        if (message.level === "warn" || message.level === "error") lastProblem = message.message;
        return log(message.level, message.message, message.data);
      case "ERROR":
        return onThreadError(message.error, message.fatal);
      case "CLOSED":
        return closer.threadClosed();
      default:
        return unreachable(message);
    }
  };

  const onThreadError = (error: PlainError, fatal: boolean): void => {
    lastProblem = error.message;
    log("error", error.message, error.code ? { code: error.code } : undefined);
    if (fatal && !everReady) opening.reject(new HoldfastError("CONNECT_REFUSED", error.message));
  };

  const beat = (): void => {
    shared.pulse();
    pulse = timers.set(PULSE_MS, beat, { unref: true });
  };

  const signals = handleSignals(deps.signals, {
    drain: (signal) => {
      log("info", `${signal}: no new work is taken; the connection closes when what runs has ended.`);
      void close();
    },
    force: () => closer.force(),
  });

  const release = (): void => {
    pulse.cancel();
    signals.remove();
  };

  const close = (): Promise<void> => {
    if (!closer.begun && state !== "FAILED") {
      opening.reject(new HoldfastError("CONNECT_CLOSED", "The connection was closed before it was ready."));
      const done = closer.begin().then(() => {
        setState("CLOSED");
        release();
        closed.resolve();
      });
      done.catch((error: unknown) => log("error", `Closing failed: ${messageOf(error)}`, { code: "INTERNAL" }));
      state = "CLOSING";
    }
    return closed.promise.catch(() => {});
  };

  const opened: Connection = {
    get state() {
      return state;
    },
    get connectionId() {
      return connectionId;
    },
    instanceId: config.instanceId,
    debugState: () => ({
      state,
      instanceId: config.instanceId,
      threadAlive: host.alive,
      crashes: host.crashes,
      inFlight: ledger.size,
      runningHandlers: runner.running,
      ageMs: mirror ? Math.max(0, clock.nowMs() - mirror.writtenAtMs) : null,
      thread: mirror,
    }),
    closed: closed.promise,
    close,
    [Symbol.asyncDispose]: close,
  };

  beat();
  host.start();
  const late = timers.set(deps.connectTimeoutMs, () => {
    const last = lastProblem || mirror?.lastError?.message || "the gateway did not answer yet";
    const message = `No connection was ready within ${deps.connectTimeoutMs} ms. The last problem: ${last}`;
    opening.reject(new HoldfastError("CONNECT_TIMEOUT", message));
  });
  try {
    await opening.promise;
    return opened;
  } catch (error) {
    if (closer.begun) await close();
    else await abandon();
    throw error;
  } finally {
    late.cancel();
  }

  /** Before the first connection nothing can be in flight: there is nothing to drain. */
  async function abandon(): Promise<void> {
    const ended = host.stop();
    host.terminate();
    await ended;
    setState("CLOSED");
    release();
  }
}
