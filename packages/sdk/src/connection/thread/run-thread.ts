import {
  type Clock,
  HoldfastError,
  type Log,
  type PlainError,
  type Random,
  type Timers,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import { WORKER_FALLBACK_INTERVALS } from "@holdfast/protocol";
import { parseIntervalMs } from "../machines/intervals.ts";
import type { ConnectionState } from "../shared/connection-state.ts";
import type { InitMessage, MainMessage } from "../shared/messages.ts";
import { sharedCounters } from "../shared/shared-counters.ts";
import { type Closing, createClosing } from "./closing.ts";
import { createCoalescingPort } from "./coalescing-port.ts";
import { createDebugMirror, type DebugMirror, stateOf } from "./debug-mirror.ts";
import { createFlushScheduler } from "./flush-scheduler.ts";
import { createGatewayHttp, type GatewayFetch } from "./gateway-http.ts";
import type { OpenWebSocket } from "./gateway-socket.ts";
import { LinkDriver, type LinkListener } from "./link-driver.ts";
import { createMainPort, type MainPort, type ParentPort } from "./main-port.ts";
import { PauseDetector } from "./pause-detector.ts";
import { createPortLogger } from "./port-logger.ts";
import type { ListenToSignals } from "./process-signals.ts";
import { RequestManager } from "./request-manager.ts";
import { watchForShutdown } from "./shutdown-watch.ts";
import { stallFrame } from "./stall-frame.ts";
import { type StallActions, type StallPorts, StallWatch } from "./stall-watch.ts";

/** Everything that the thread has to do with but main. */
export interface ThreadPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly fetch: GatewayFetch;
  readonly openWebSocket: OpenWebSocket;
  readonly stalls: StallPorts;
  readonly listenToSignals: ListenToSignals;
  readonly exit: (code: number) => void;
}

/**
 * The connection thread: puts its parts together when INIT comes, and ends the thread when all is closed. Everything
 * it holds can be made again from main's ledger, so an error that nothing else catches may end it: main starts another.
 */
export function runThread(parent: ParentPort, ports: ThreadPorts): void {
  let release = (): void => {};
  const turn = createFlushScheduler(() => {
    port.flush();
    release();
  });
  const port = createMainPort(parent, () => turn.schedule());
  let session: Session | undefined;

  port.listen((message) => {
    if (message.type === "INIT") {
      if (session) throw new HoldfastError("THREAD_PROTOCOL", "INIT was received twice.");
      const made = new Session(message, port, ports, {
        touch: () => turn.schedule(),
        end: () => {
          turn.flushNow();
          port.close();
          ports.exit(0);
        },
      });
      session = made;
      release = () => made.release();
    } else if (session) {
      session.onMessage(message);
    } else {
      throw new HoldfastError("THREAD_PROTOCOL", `${message.type} was received before INIT.`);
    }
  });
}

interface Life {
  readonly touch: () => void;
  readonly end: () => void;
}

/** So that reports of a process keep different numbers when its connection thread is replaced. */
const SEQUENCES_PER_THREAD = 1_000_000;

/** The parts of a running thread. */
class Session {
  readonly #port: MainPort;
  readonly #requests: RequestManager;
  readonly #link: LinkDriver;
  readonly #mirror: DebugMirror;
  readonly #closing: Closing;
  readonly #stalls: StallWatch;
  readonly #sign: PauseDetector;
  readonly #log: Log;
  readonly #life: Life;
  readonly #endShutdownWatch: () => void;
  #state: ConnectionState = "CONNECTING";
  #refusal: PlainError | null = null;

  constructor(init: InitMessage, port: MainPort, outside: ThreadPorts, life: Life) {
    const { config } = init;
    const counters = sharedCounters(init.counters);
    const logger = createPortLogger(port, counters);
    const ports = { ...outside, log: logger.log };
    const { clock, timers } = outside;
    const http = createGatewayHttp(config, clock, timers, outside.fetch);
    this.#port = port;
    this.#life = life;
    this.#log = logger.log;
    counters.epoch(init.epoch);
    this.#sign = new PauseDetector({ clock, timers, counters, onPaused: (pausedMs) => this.#onPaused(pausedMs) });
    const coalescing = createCoalescingPort(port, () => this.#stalls.lagMs);
    this.#stalls = new StallWatch({
      ...ports,
      ...outside.stalls,
      policy: config.stall,
      firstSequence: init.crashes * SEQUENCES_PER_THREAD,
      counters,
      running: () => this.#requests.inFlight.unfinished(),
      actions: this.#stallActions(() => {
        coalescing.flush();
        logger.tellDropped();
      }),
    });
    this.#requests = new RequestManager({
      ...ports,
      config,
      http,
      port,
      coalescing,
      counters,
      epoch: init.epoch,
      send: (bytes) => this.#link.send(bytes),
      onProgress: () => this.#closing.look(),
    });
    this.#link = new LinkDriver({ ...ports, config, http, touch: life.touch, listener: this.#listener() });
    this.#closing = createClosing({
      ...ports,
      requests: this.#requests,
      link: this.#link,
      http,
      onClosed: (undelivered) => this.#onClosed(undelivered),
    });
    this.#endShutdownWatch = watchForShutdown({
      ...ports,
      ...init.shutdown,
      listen: outside.listenToSignals,
      closing: this.#closing,
    });
    this.#mirror = createDebugMirror(
      {
        link: this.#link,
        requests: this.#requests,
        clock,
        crashes: init.crashes,
        lastError: () => this.#refusal ?? this.#link.lastError,
        stalls: this.#stalls,
        logsDropped: () => logger.dropped,
      },
      coalescing,
      timers,
      config.debugMs,
    );
    this.#requests.adopt(init.adopted);
  }

  release(): void {
    this.#link.release();
  }

  onMessage(message: Exclude<MainMessage, InitMessage>): void {
    this.#sign.check();
    // A main that was blocked and closes now is responsive again, but is to get no work any more: the end first.
    if (message.type === "CLOSE") this.#closing.begin(message.drainMs);
    this.#stalls.heard();
    switch (message.type) {
      case "CLOSE":
        return;
      case "CONNECT":
        return this.#link.connect(message.resumed);
      case "EXECUTION_RESPONSE":
      case "EXECUTION_ERROR":
      case "EXECUTION_DROPPED":
      case "CHECKPOINT":
      case "LEASE_WANTED":
        return this.#requests.onMain(message);
      default:
        return unreachable(message);
    }
  }

  #onPaused(pausedMs: number): void {
    this.#requests.doubt();
    const message = `The connection thread did not run for ${Math.round(pausedMs)} ms; each request it holds is confirmed before it starts.`;
    this.#log("warn", message, { code: "PROCESS_PAUSED", pausedMs: Math.round(pausedMs) });
  }

  #stallActions(moving: () => void): StallActions {
    return {
      setIntake: (open) => this.#link.stalled(!open),
      giveUp: () => this.#requests.giveUpStalled(),
      takeUp: () => this.#requests.takeUpStalled(),
      tell: (report, stalledMs, ended) => {
        if (this.#requests.extensions.includes("stall")) this.#link.send(stallFrame(report, stalledMs, ended));
      },
      changed: () => this.#mirror.changed(),
      moving,
    };
  }

  #listener(): LinkListener {
    return {
      onUp: (ready, start) => {
        this.#sign.setLeaseInterval(
          parseIntervalMs(ready.extendLeaseInterval, WORKER_FALLBACK_INTERVALS.extendLeaseMs),
        );
        this.#requests.onUp(ready);
        const { extensions } = this.#requests;
        this.#port.post({ type: "CONNECTION_READY", connectionId: start.connectionId, extensions });
      },
      onDown: () => this.#requests.onDown(),
      onFrame: (frame, bytes) => {
        this.#sign.check();
        this.#requests.onFrame(frame, bytes);
      },
      onStateChanged: () => this.#onStateChanged(),
      onRefused: (error) => {
        this.#refusal = toPlainError(error);
        this.#port.post({ type: "ERROR", error: this.#refusal, fatal: true });
      },
    };
  }

  #onStateChanged(): void {
    const next = stateOf(this.#link.state);
    if (next !== this.#state) this.#port.post({ type: "STATE_CHANGE", state: next });
    this.#state = next;
    this.#mirror.changed();
  }

  #onClosed(undelivered: readonly string[]): void {
    this.#endShutdownWatch();
    this.#mirror.changed();
    this.#mirror.stop();
    this.#stalls.stop();
    this.#sign.stop();
    this.#port.post({ type: "CLOSED", undelivered });
    this.#life.end();
  }
}
