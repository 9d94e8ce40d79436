import { Worker } from "node:worker_threads";
import {
  type BackoffPolicy,
  backoffDelayMs,
  type Clock,
  createDriver,
  HoldfastError,
  type Log,
  messageOf,
  type Random,
  type TimerHandle,
  type Timers,
  unreachable,
} from "@holdfast/core";
import {
  createRespawnStep,
  RESPAWN_START,
  type RespawnEffect,
  type RespawnEvent,
  type RespawnState,
} from "../core/respawn-machine.ts";
import { type MainMessage, readThreadMessages, type ThreadMessage } from "../shared/messages.ts";
import { drainStream } from "./thread-output.ts";

export interface RespawnPolicy extends BackoffPolicy {
  /** Crashes in a row after which the thread is given up. */
  readonly maxCrashes: number;
  readonly minUptimeMs: number;
}

export interface ThreadHostDeps {
  /** The script's text, or where it is. */
  readonly script: { readonly text: string } | { readonly url: string | URL };
  readonly resourceLimits: ResourceLimits | undefined;
  readonly policy: RespawnPolicy;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** The first messages of a new thread. */
  readonly greet: (crashes: number) => readonly MainMessage[];
  readonly onMessage: (message: ThreadMessage) => void;
  /** The thread died and another will be started. */
  readonly onCrash: (error: HoldfastError) => void;
  /** Too many crashes: there will be no other. */
  readonly onFailed: (error: HoldfastError) => void;
}

export interface ResourceLimits {
  readonly maxOldGenerationSizeMb?: number;
  readonly maxYoungGenerationSizeMb?: number;
  readonly codeRangeSizeMb?: number;
  readonly stackSizeMb?: number;
}

/** Keeps one connection thread running. What is sent while none lives is dropped: the next one is greeted with it. */
export interface ThreadHost {
  readonly crashes: number;
  readonly alive: boolean;
  start(): void;
  send(message: MainMessage): void;
  /** The connection is ready, or is not any more. */
  ready(isReady: boolean): void;
  /** Starts the next thread now instead of after the backoff. */
  hurry(): void;
  /** No other thread is started; resolves when the present one has ended, at once when there is none. */
  stop(): Promise<void>;
  terminate(): void;
}

export function createThreadHost(deps: ThreadHostDeps): ThreadHost {
  const { policy, timers, log } = deps;
  let worker: { readonly thread: Worker; readonly generation: number } | undefined;
  let wait: TimerHandle | undefined;
  let uptime: TimerHandle | undefined;
  let lastCrash = "unknown";
  let stopped: (() => void) | undefined;
  let outgoing: MainMessage[] = [];

  const driver = createDriver<RespawnState, RespawnEvent, RespawnEffect>({
    initial: RESPAWN_START,
    step: createRespawnStep(policy),
    run: (effect) => run(effect),
    nowMs: () => deps.clock.nowMs(),
  });

  const spawn = (generation: number): void => {
    let thread: Worker;
    try {
      thread = createWorker(deps);
    } catch (error) {
      lastCrash = messageOf(error);
      driver.send({ type: "EXITED", generation });
      return;
    }
    worker = { thread, generation };
    outgoing = [];
    drainStream(thread.stdout, "stdout", log);
    drainStream(thread.stderr, "stderr", log);
    lastCrash = "";
    thread.on("message", (posted: unknown) => {
      try {
        for (const message of readThreadMessages(posted)) deps.onMessage(message);
      } catch (error) {
        lastCrash = messageOf(error);
        log("error", `A message of the connection thread could not be handled: ${lastCrash}`);
        void thread.terminate();
      }
    });
    thread.on("error", (error) => {
      lastCrash = messageOf(error);
    });
    thread.once("exit", (code) => {
      worker = undefined;
      lastCrash ||= `It ended with code ${code}.`;
      driver.send({ type: "EXITED", generation });
    });
    for (const message of deps.greet(driver.state.crashes)) thread.postMessage(message);
  };

  const run = (effect: RespawnEffect): void => {
    switch (effect.do) {
      case "SPAWN":
        return spawn(effect.generation);
      case "WAIT": {
        const delayMs = backoffDelayMs(policy, effect.crashes, deps.random);
        wait = timers.set(delayMs, () => driver.send({ type: "BACKOFF_OVER" }));
        return deps.onCrash(
          new HoldfastError(
            "THREAD_CRASHED",
            `The connection thread ended: ${lastCrash} Another one starts in ${delayMs} ms.`,
          ),
        );
      }
      case "CANCEL_WAIT":
        return wait?.cancel();
      case "SET_UPTIME": {
        const { generation } = effect;
        uptime?.cancel();
        uptime = timers.set(policy.minUptimeMs, () => driver.send({ type: "UPTIME", generation }), { unref: true });
        return;
      }
      case "CANCEL_UPTIME":
        return uptime?.cancel();
      case "FAIL":
        return deps.onFailed(
          new HoldfastError(
            "CONNECTION_FAILED",
            `The connection thread ended ${effect.crashes} times in a row and was given up. The last time: ${lastCrash}`,
          ),
        );
      case "STOPPED":
        return stopped?.();
      default:
        return unreachable(effect);
    }
  };

  const flush = (): void => {
    const messages = outgoing;
    outgoing = [];
    if (messages.length > 0) worker?.thread.postMessage(messages.length === 1 ? messages[0] : messages);
  };

  return {
    get crashes() {
      return driver.state.crashes;
    },
    get alive() {
      return worker !== undefined;
    },
    start: () => driver.send({ type: "BEGIN" }),
    send: (message) => {
      if (worker === undefined) return;
      outgoing.push(message);
      if (outgoing.length === 1) queueMicrotask(flush);
    },
    ready: (isReady) => {
      if (worker) driver.send({ type: isReady ? "READY" : "NOT_READY", generation: worker.generation });
    },
    hurry: () => driver.send({ type: "HURRY" }),
    stop: () =>
      new Promise((resolve) => {
        const { phase } = driver.state;
        if (phase === "stopped" || phase === "failed") return resolve();
        stopped = resolve;
        driver.send({ type: "STOP" });
      }),
    terminate: () => void worker?.thread.terminate(),
  };
}

/** All that reaches the thread of the environment: keys and the like stay here. */
const VARIABLES = ["NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"];

function scrubbedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

function createWorker({ script, resourceLimits }: ThreadHostDeps): Worker {
  const source = "text" in script ? script.text : script.url;
  return new Worker(source, {
    eval: "text" in script,
    name: "holdfast-connection",
    execArgv: [],
    env: scrubbedEnvironment(),
    stdout: true,
    stderr: true,
    ...(resourceLimits ? { resourceLimits: { ...resourceLimits } } : {}),
  });
}
