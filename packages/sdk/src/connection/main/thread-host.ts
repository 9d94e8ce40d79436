/**
 * Owns the connection thread: starts it, posts to it, ends it, and replaces it when it crashes or hangs. When to do
 * which is decided in `machines/respawn-machine.ts`.
 */
import {
  type BackoffPolicy,
  backoffDelayMs,
  type Clock,
  createDriver,
  type Driver,
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
} from "../machines/respawn-machine.ts";
import { type MainMessage, readThreadMessages, type ThreadMessage, transferOf } from "../shared/messages.ts";
import { packMessages } from "../shared/packed-bytes.ts";
import type { ThreadHandle } from "./spawn-thread.ts";
import { drainStream } from "./thread-output.ts";

export interface RespawnPolicy extends BackoffPolicy {
  /** Consecutive crashes after which no thread is started any more. */
  readonly maxCrashes: number;
  readonly minUptimeMs: number;
}

export interface ThreadHostDeps {
  readonly startThread: () => ThreadHandle;
  readonly policy: RespawnPolicy;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** The first messages of a new thread. */
  readonly greet: (crashes: number) => readonly MainMessage[];
  readonly onMessage: (message: ThreadMessage) => void;
  /** No thread lives at the moment. */
  readonly onEnded: () => void;
  /** The thread died and another will be started. */
  readonly onCrash: (error: HoldfastError) => void;
  /** Too many crashes: there will be no other. */
  readonly onFailed: (error: HoldfastError) => void;
  /** The thread inspects this thread's stack just now: ending it would abort the process. */
  readonly isInspecting: () => boolean;
}

/** How long a thread that is terminated may take to end: one in native code does not before that has returned. */
const END_MS = 500;
/** An inspection takes milliseconds once main is responsive. */
const INSPECTION_POLL_MS = 5;
const MAX_INSPECTION_POLLS = 400;

/** Keeps one connection thread running. What is sent while none lives is dropped: the next one is greeted with it. */
export class ThreadHost {
  readonly #deps: ThreadHostDeps;
  readonly #driver: Driver<RespawnState, RespawnEvent>;
  #current: { readonly thread: ThreadHandle; readonly generation: number } | undefined;
  #backoffTimer: TimerHandle | undefined;
  #uptimeTimer: TimerHandle | undefined;
  #exitTimer: TimerHandle | undefined;
  /** When `#exitTimer` is due. */
  #endAtMs = 0;
  readonly #ended = new WeakSet<ThreadHandle>();
  #lastCrash = "";
  #onStopped: (() => void) | undefined;
  #outgoing: MainMessage[] = [];

  constructor(deps: ThreadHostDeps) {
    this.#deps = deps;
    this.#driver = createDriver<RespawnState, RespawnEvent, RespawnEffect>({
      initial: RESPAWN_START,
      step: createRespawnStep(deps.policy),
      run: (effect) => this.#run(effect),
      nowMs: () => deps.clock.nowMs(),
    });
  }

  get crashes(): number {
    return this.#driver.state.crashes;
  }

  get alive(): boolean {
    return this.#current !== undefined;
  }

  start(): void {
    this.#driver.send({ type: "BEGIN" });
  }

  /** Messages of one turn are posted together. */
  send(message: MainMessage): void {
    if (this.#current === undefined) return;
    this.#outgoing.push(message);
    if (this.#outgoing.length === 1) queueMicrotask(() => this.#flush());
  }

  /** The connection is ready, or is not any more. */
  setReady(isReady: boolean): void {
    const generation = this.#current?.generation;
    if (generation !== undefined) this.#driver.send({ type: isReady ? "READY" : "NOT_READY", generation });
  }

  /** Starts the next thread now instead of after the backoff. */
  respawnNow(): void {
    this.#driver.send({ type: "HURRY" });
  }

  /** No other thread is started; resolves when the present one has ended, at once when there is none. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      const { phase } = this.#driver.state;
      if (phase === "stopped" || phase === "failed") return resolve();
      this.#onStopped = resolve;
      this.#driver.send({ type: "STOP" });
    });
  }

  /** Ends the thread. After `endMs` nothing waits for it any more, whether it has ended or not. */
  terminate(endMs = END_MS): void {
    if (this.#current === undefined) return;
    const { thread, generation } = this.#current;
    this.#terminate(thread);
    const endAtMs = this.#deps.clock.monotonicMs() + endMs;
    // A second reason to end it does not prolong the wait.
    if (this.#exitTimer !== undefined && this.#endAtMs <= endAtMs) return;
    this.#exitTimer?.cancel();
    this.#endAtMs = endAtMs;
    this.#exitTimer = this.#deps.timers.set(endMs, () => {
      thread.unref();
      this.#exited(generation, "It does not exit.");
    });
  }

  /** The thread lives and does nothing. */
  onHung(silentMs: number): void {
    const generation = this.#current?.generation;
    if (generation === undefined) return;
    this.#lastCrash = `It had not responded for ${Math.round(silentMs)} ms.`;
    this.#driver.send({ type: "HUNG", generation });
  }

  /** Terminated, it runs no more of its code, wherever it is; what is native goes on until it returns. */
  #terminate(thread: ThreadHandle, polls = 0): void {
    if (this.#ended.has(thread)) return;
    if (!this.#deps.isInspecting() || polls >= MAX_INSPECTION_POLLS) return void thread.terminate();
    this.#deps.timers.set(INSPECTION_POLL_MS, () => this.#terminate(thread, polls + 1), { unref: true });
  }

  #exited(generation: number, how: string): void {
    if (this.#current?.generation !== generation) return;
    this.#exitTimer?.cancel();
    this.#exitTimer = undefined;
    this.#current = undefined;
    this.#lastCrash ||= how;
    this.#deps.onEnded();
    this.#driver.send({ type: "EXITED", generation });
  }

  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    if (outgoing.length === 0) return;
    const { messages, packs } = packMessages(outgoing);
    const transfer = [...packs, ...outgoing.flatMap(transferOf)];
    this.#current?.thread.postMessage(messages.length === 1 ? messages[0] : messages, transfer);
  }

  #run(effect: RespawnEffect): void {
    const { policy, timers, onFailed } = this.#deps;
    switch (effect.do) {
      case "SPAWN":
        return this.#spawn(effect.generation);
      case "TERMINATE":
        return this.terminate();
      case "WAIT":
        return this.#backOff(effect.crashes);
      case "CANCEL_WAIT":
        return this.#backoffTimer?.cancel();
      case "SET_UPTIME": {
        const { generation } = effect;
        const fire = (): void => this.#driver.send({ type: "UPTIME", generation });
        this.#uptimeTimer?.cancel();
        this.#uptimeTimer = timers.set(policy.minUptimeMs, fire, { unref: true });
        return;
      }
      case "CANCEL_UPTIME":
        return this.#uptimeTimer?.cancel();
      case "FAIL": {
        const message = `The connection thread crashed ${effect.crashes} times in a row and is not restarted again. Last crash: ${this.#lastCrash}`;
        return onFailed(new HoldfastError("CONNECTION_FAILED", message));
      }
      case "STOPPED":
        return this.#onStopped?.();
      default:
        return unreachable(effect);
    }
  }

  #backOff(crashes: number): void {
    const { policy, timers, random, onCrash } = this.#deps;
    const delayMs = backoffDelayMs(policy, crashes, random);
    this.#backoffTimer = timers.set(delayMs, () => this.#driver.send({ type: "BACKOFF_OVER" }));
    const why = this.#lastCrash.replace(/[^.!?\u2026]$/, "$&.");
    const message = `The connection thread ended: ${why} A new one starts in ${delayMs} ms.`;
    onCrash(new HoldfastError("THREAD_CRASHED", message));
  }

  #spawn(generation: number): void {
    this.#lastCrash = "";
    this.#outgoing = [];
    let thread: ThreadHandle;
    try {
      thread = this.#deps.startThread();
    } catch (error) {
      this.#lastCrash = messageOf(error);
      return this.#driver.send({ type: "EXITED", generation });
    }
    this.#current = { thread, generation };
    drainStream(thread.stdout, "stdout", this.#deps.log);
    drainStream(thread.stderr, "stderr", this.#deps.log);
    thread.on("message", (posted: unknown) => this.#receive(thread, posted));
    thread.on("error", (error) => {
      this.#lastCrash = messageOf(error);
    });
    // Something that cannot be read may have been anything: only a new thread and the ledger are sure to have it all.
    thread.on("messageerror", (error) => {
      this.#lastCrash = `A message could not be read: ${messageOf(error)}`;
      this.terminate();
    });
    // It comes once; from then on posting would be silently in vain.
    thread.once("exit", (code) => {
      this.#ended.add(thread);
      this.#exited(generation, `It exited with code ${code}.`);
    });
    for (const message of this.#deps.greet(this.crashes)) thread.postMessage(message, transferOf(message));
  }

  #receive(thread: ThreadHandle, posted: unknown): void {
    // Messages of an abandoned thread are ignored.
    if (this.#current?.thread !== thread) return;
    try {
      for (const message of readThreadMessages(posted)) this.#deps.onMessage(message);
    } catch (error) {
      this.#lastCrash = messageOf(error);
      this.#deps.log("error", `A message of the connection thread could not be handled: ${this.#lastCrash}`);
      this.terminate();
    }
  }
}
