/**
 * The main thread's end of a connection: starts the thread, waits until it is connected, and gives each of its
 * messages to the part that owns the matter: `RequestRunner` (requests), `Closer` (the end), `ThreadHost` (the thread's
 * life), `ThreadWatch` (signs of life).
 */
import { deferred, HoldfastError, type PlainError, unreachable } from "@holdfast/core";
import { abandonedBodies } from "../../execution/running-body.ts";
import { UNUSED_POOL } from "../../isolation/main/isolation.ts";
import { nodeModule } from "../../runtime.ts";
import type { ConnectionState, DebugState } from "../shared/debug-state.ts";
import { type InitMessage, type MainMessage, THREAD_PROTOCOL_VERSION, type ThreadMessage } from "../shared/messages.ts";
import { type Closer, createCloser } from "./closer.ts";
import type { Connection, ConnectionDebugState } from "./connection.ts";
import { poolAccess, withLoad } from "./connection-pool.ts";
import { ConnectionStatus } from "./connection-status.ts";
import { reportExit } from "./exit-report.ts";
import { HANG_TIMEOUT_MS } from "./hang-watch.ts";
import { Ledger } from "./ledger.ts";
import { Listeners } from "./listeners.ts";
import type { OpenConnectionDeps } from "./open-connection-deps.ts";
import { closedEarly } from "./prepare-isolation.ts";
import { PresenceLines } from "./presence-lines.ts";
import { createRequestRunner, type RequestRunner } from "./request-runner.ts";
import { handleSignals, isShared, type SignalHandlers } from "./signals.ts";
import { ThreadHost } from "./thread-host.ts";
import { ThreadWatch } from "./thread-watch.ts";

/**
 * Starts the connection thread and waits until it is connected.
 * @throws HoldfastError `CONNECT_TIMEOUT`, `CONNECT_REFUSED`, `QUEUES_UNSUPPORTED`, `CONNECT_CLOSED`, `CONNECTION_FAILED`; nothing is left behind then
 */
export async function openConnection(deps: OpenConnectionDeps): Promise<Connection> {
  const connection = new ThreadedConnection(deps);
  await connection.open();
  return connection;
}

/** How many of the thread's last transitions are logged when it hangs. */
const SHOWN_TRANSITIONS = 10;

/** Main's end of a connection: what the thread says, and what the user asks for. */
class ThreadedConnection implements Connection {
  readonly instanceId: string;
  readonly closed: Promise<void>;
  readonly #deps: OpenConnectionDeps;
  readonly #opening = deferred<void>();
  readonly #closed = deferred<void>();
  readonly #watch: ThreadWatch;
  readonly #ledger: Ledger;
  readonly #host: ThreadHost;
  readonly #runner: RequestRunner;
  readonly #closer: Closer;
  #signals: SignalHandlers | undefined;
  #endExitReport: (() => void) | undefined;
  readonly #listeners: Listeners;
  readonly #status: ConnectionStatus;
  readonly #presence: PresenceLines;
  /** The thread has said something. */
  #isHeard = false;
  #mirror: { readonly debug: DebugState; readonly writtenMs: number } | null = null;

  constructor(deps: OpenConnectionDeps) {
    const { config, log, clock, timers } = deps;
    this.#deps = deps;
    this.instanceId = config.instanceId;
    this.closed = this.#closed.promise;
    // Failures are logged, too: there may be no listener.
    this.closed.catch(() => {});
    this.#listeners = new Listeners({ instanceId: this.instanceId, callbacks: deps.callbacks ?? {}, clock, log });
    this.#status = new ConnectionStatus(
      () => this.#closer.begun,
      (from, to) => this.#onStatus(from, to),
    );
    this.#presence = new PresenceLines(deps);
    this.#ledger = new Ledger(clock);
    this.#watch = new ThreadWatch({
      clock,
      timers,
      ledger: this.#ledger,
      inspectors: deps.inspectors,
      stallThresholdMs: config.stall.thresholdMs,
      hangMs: deps.hangTimeoutMs ?? HANG_TIMEOUT_MS,
      closing: () => this.#closer.closing(),
      setLeaseWanted: (requestId, wanted) => this.#host.send({ type: "LEASE_WANTED", requestId, wanted }),
      running: deps.strategy.runningSteps,
      sayLongSteps: (message) => this.#host.send(message),
      onHung: (silentMs) => this.#onHung(silentMs),
    });
    this.#host = new ThreadHost({
      ...deps,
      policy: deps.respawn,
      greet: (crashes) => this.#greeting(crashes),
      onMessage: (message) => this.#onMessage(message),
      onEnded: () => this.#watch.onThreadEnded(),
      onCrash: (error) => this.#onCrash(error),
      onFailed: (error) => this.#onFailed(error),
      isInspecting: () => this.#watch.counters.readInspecting(),
    });
    this.#runner = createRequestRunner({
      strategy: deps.strategy,
      ledger: this.#ledger,
      leaseGuard: this.#watch.leaseGuard,
      sdkVersion: config.sdkVersion,
      log,
      send: (message) => this.#host.send(message),
      listeners: this.#listeners,
      onIdle: () => this.#closer.recheck(),
      lossReason: () => this.#closer.lossReason(),
    });
    const [host, ledger, runner] = [this.#host, this.#ledger, this.#runner];
    const closePool = async (): Promise<void> => deps.isolation?.close();
    this.#closer = createCloser({ host, ledger, runner, clock, timers, log, closePool, graceMs: deps.closeGraceMs });
  }

  get state(): ConnectionState {
    return this.#status.state;
  }

  get connectionId(): string | null {
    return this.#status.connectionId;
  }

  debugState(): ConnectionDebugState {
    const mirror = this.#mirror;
    return {
      state: this.#status.state,
      instanceId: this.instanceId,
      threadAlive: this.#host.alive,
      threadSilentMs: this.#host.alive ? this.#watch.silentMs : null,
      crashes: this.#host.crashes,
      inFlight: this.#ledger.size,
      runningHandlers: this.#runner.running,
      abandonedBodies: abandonedBodies.count,
      isolation: withLoad(this.#deps.isolation?.debugState() ?? UNUSED_POOL, this.#ledger.isolatedLoad()),
      ageMs: mirror ? Math.max(0, Math.round(this.#deps.clock.monotonicMs() - mirror.writtenMs)) : null,
      thread: mirror?.debug ?? null,
    };
  }

  async open(): Promise<void> {
    const { timers, connectTimeoutMs, signals, abort, log, strategy } = this.#deps;
    if (abort?.aborted) throw closedEarly();
    abort?.addEventListener("abort", this.#onAbort);
    this.#signals = handleSignals(signals, {
      drain: (signal) => {
        log("info", this.#presence.closingMessage(signal, isShared(signal)));
        void this.#close(this.#signalDrainMs);
      },
      force: () => this.#closer.force(),
    });
    const { runningSteps } = strategy;
    if (runningSteps) this.#endExitReport = reportExit({ running: runningSteps, log });
    this.#watch.tick();
    this.#host.start();
    const late = timers.set(connectTimeoutMs, () => this.#onLate());
    try {
      await this.#opening.promise;
    } catch (error) {
      if (this.#closer.begun) await this.close();
      else await this.#abandon();
      throw error;
    } finally {
      late.cancel();
    }
  }

  readonly #onAbort = (): void => void this.close();

  close(): Promise<void> {
    return this.#close(this.#deps.drainTimeoutMs);
  }

  get #signalDrainMs(): number {
    return this.#deps.signalDrainMs ?? this.#deps.drainTimeoutMs;
  }

  #close(drainMs: number): Promise<void> {
    if (!this.#closer.begun && this.#status.state !== "FAILED") {
      // Before the first connection nothing can be in flight: there is nothing to wait for.
      const done = this.#closer.begin(this.#status.everReady ? drainMs : 0);
      this.#status.set("CLOSING");
      this.#opening.reject(closedEarly());
      void done.then(() => {
        this.#status.set("CLOSED");
        this.#release();
        this.#closed.resolve();
      });
    }
    return this.closed.catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #greeting(crashes: number): readonly MainMessage[] {
    const { config } = this.#deps;
    const adopted = this.#ledger.requestsToAdopt();
    const pool = poolAccess(this.#deps.pool, (message) => this.#host.send(message));
    return [
      {
        type: "INIT",
        version: THREAD_PROTOCOL_VERSION,
        config,
        adopted,
        ...this.#watch.prepareThread(),
        crashes,
        shutdown: this.#shutdown(),
        pool,
        // The same memory twice in one message is not the same memory in every runtime.
        poolMemory: pool === null ? (this.#deps.isolation?.memory ?? null) : null,
      },
      { type: "CONNECT", resumed: this.#status.everReady },
      ...this.#closer.greeting(),
    ];
  }

  #shutdown(): InitMessage["shutdown"] {
    const { signals } = this.#deps;
    const { constants } = nodeModule("node:os");
    return { signals: signals.map((name) => constants.signals[name]), drainMs: this.#signalDrainMs };
  }

  #onMessage(message: ThreadMessage): void {
    this.#isHeard = true;
    switch (message.type) {
      case "STATE_CHANGE":
        if (message.state === "RECONNECTING") this.#host.setReady(false);
        // It is CLOSED when the thread has ended, too.
        return message.state === "CLOSED" ? undefined : this.#status.set(message.state);
      case "CONNECTION_READY":
        return this.#onReady(message.connectionId);
      case "EXECUTION_REQUEST":
      case "REPLY_ACKED":
      case "CHECKPOINT_ACKED":
      case "LEASE_EXTENDED":
      case "LEASE_LOST":
      case "CANCEL":
      case "RESULTS":
      case "ISOLATED_REQUEST":
      case "ISOLATED_ENDED":
        return this.#runner.onMessage(message);
      case "ISOLATED_TURN":
        if (message.place) this.#deps.pool?.expect(message.place.slot, message.place.turn);
        return this.#runner.onMessage(message);
      case "POOL_THREAD_WANTED":
        return this.#deps.pool?.want(message.waiting);
      case "DEBUG_STATE":
        this.#mirror = message;
        return;
      case "LOG":
        this.#watch.counters.addLogsTaken(1);
        if (message.level === "warn" || message.level === "error") this.#status.lastProblem = message.message;
        return this.#deps.log(message.level, message.message, message.data);
      case "STALL_ENDED":
        return this.#listeners.onStall(message.report);
      case "ERROR":
        return this.#onThreadError(message.error, message.fatal);
      case "CLOSED":
        return this.#closer.onThreadClosed();
      default:
        return unreachable(message);
    }
  }

  #onStatus(from: ConnectionState, to: ConnectionState): void {
    if (from === "ACTIVE") this.#presence.onLost();
    this.#listeners.onStateChange(from, to, () => ({
      connectionId: this.#status.state === to ? this.#status.connectionId : null,
      problem: this.#status.lastProblem,
    }));
  }

  #onReady(connectionId: string): void {
    this.#presence.onReady(connectionId);
    this.#status.onReady(connectionId);
    this.#host.setReady(true);
    this.#opening.resolve();
  }

  #onThreadError(error: PlainError, fatal: boolean): void {
    this.#status.lastProblem = error.message;
    this.#deps.log("error", error.message, error.code ? { code: error.code } : undefined);
    if (!fatal || this.#status.everReady) return;
    const code = error.code === "QUEUES_UNSUPPORTED" ? error.code : "CONNECT_REFUSED";
    this.#opening.reject(new HoldfastError(code, error.message));
  }

  #onHung(silentMs: number): void {
    const transitions = this.#mirror?.debug.transitions.slice(-SHOWN_TRANSITIONS) ?? [];
    const message = `The connection thread has not responded for ${silentMs} ms while the main thread was running; terminating it.`;
    this.#deps.log("error", message, { code: "THREAD_HUNG", transitions });
    this.#status.onThreadGone(message);
    this.#host.onHung(silentMs);
  }

  #onCrash(error: HoldfastError): void {
    this.#deps.log("error", error.message, { code: error.code });
    this.#status.onThreadGone(error.message);
    if (this.#closer.begun) this.#closer.onThreadGone();
  }

  #onFailed(error: HoldfastError): void {
    this.#deps.log("error", error.message, { code: error.code });
    this.#ledger.loseAll(error);
    this.#opening.reject(error);
    if (this.#closer.begun) return this.#closer.onThreadGone();
    this.#status.set("FAILED");
    void this.#deps.isolation?.close();
    this.#release();
    this.#closed.reject(error);
  }

  #onLate(): void {
    const { config, connectTimeoutMs } = this.#deps;
    // Its first message may be what the gateway has to say.
    const hasStarted = this.#isHeard || this.#watch.hasStarted;
    const silent = hasStarted
      ? `The gateway at ${config.apiBaseUrl} has not answered yet.`
      : "The connection thread has not started yet: the process is short of CPU time, or its script hangs.";
    const last = this.#status.lastProblem || silent;
    const message = `No connection was ready within ${connectTimeoutMs} ms. The last problem: ${last}`;
    this.#opening.reject(new HoldfastError("CONNECT_TIMEOUT", message));
  }

  /** Before the first connection nothing can be in flight: there is nothing to drain. */
  async #abandon(): Promise<void> {
    const ended = this.#host.stop();
    this.#host.terminate();
    await Promise.all([ended, this.#deps.isolation?.close()]);
    this.#status.set("CLOSED");
    this.#release();
  }

  #release(): void {
    this.#watch.stop();
    this.#deps.abort?.removeEventListener("abort", this.#onAbort);
    this.#endExitReport?.();
    this.#signals?.remove();
  }
}
