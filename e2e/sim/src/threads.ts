/**
 * Worker threads under simulation: message ports that deliver in order, and deaths that lose nothing that was
 * posted.
 */
import type { Dice } from "./random.ts";
import type { Actor } from "./scheduler.ts";
import { cloneWithPorts } from "./sim-port.ts";
import { Emitter } from "./web-socket.ts";

/** Sees every message. */
export interface MessageTap {
  /** The thread hands it to its port. */
  posted(message: unknown): void;
  /** Main hands it to the thread. */
  sent(message: unknown): void;
  /** It arrives, at either end, and is not handled yet. */
  arrived(message: unknown): void;
}

/** How long a message between threads takes, at most. */
const MESSAGE_MS = 0.4;

/**
 * A worker thread as its owner sees it, and the port as the thread sees it. What was posted arrives in order and also
 * after the death of the thread that posted it; the exit is told last.
 */
export class SimThread extends Emitter {
  readonly stdout = new Emitter();
  readonly stderr = new Emitter();
  isRef = true;
  readonly actor: Actor;
  readonly #owner: Actor;
  readonly #dice: Dice;
  readonly #tap: MessageTap;
  readonly #inside = new Emitter();
  #portOpen = true;
  #lastToMainMs = 0;
  #lastToThreadMs = 0;
  #exitCode = 1;
  #exits = false;

  constructor(owner: Actor, actor: Actor, dice: Dice, tap: MessageTap) {
    super();
    this.#owner = owner;
    this.actor = actor;
    this.#dice = dice;
    this.#tap = tap;
    actor.onDeath(() => this.#exited());
  }

  /** Its script begins after this; what is posted before waits for it. */
  boot(delayMs: number, script: () => void): void {
    this.#lastToThreadMs = this.#owner.scheduler.nowMs + delayMs;
    this.actor.scheduler.after(delayMs, this.actor, script);
  }

  /** The thread's own end. */
  readonly parentPort = {
    on: (event: "message", listener: (value: unknown) => void): void => {
      this.#inside.on(event, listener);
    },
    postMessage: (value: unknown, transfer: readonly ArrayBuffer[] = []): void => {
      if (!this.actor.acts()) return;
      for (const message of listOf(value)) this.#tap.posted(message);
      const copy: unknown = structuredClone(value, { transfer: [...transfer] });
      this.#lastToMainMs = this.#arrivalMs(this.#lastToMainMs);
      this.#owner.scheduler.at(this.#lastToMainMs, this.#owner, () => {
        for (const message of listOf(copy)) this.#tap.arrived(message);
        this.emit("message", copy);
      });
    },
    close: (): void => {
      this.#portOpen = false;
    },
  };

  /** It ended by itself, and was not killed in the middle of something. */
  get hasExited(): boolean {
    return this.#exits;
  }

  /** `process.exit` inside the thread. */
  readonly exit = (code: number): void => {
    this.#exitCode = code;
    this.#exits = true;
    this.actor.die();
  };

  /** Something that nothing in the thread catches. */
  throws(error: unknown): void {
    this.#owner.scheduler.at(this.#lastToMainMs, this.#owner, () => this.emit("error", error));
    this.actor.die();
  }

  postMessage(value: unknown, _transfer: readonly unknown[] = []): void {
    if (!this.#owner.acts()) return;
    for (const message of listOf(value)) this.#tap.sent(message);
    // Its exit is on the way.
    if (!this.actor.alive) return;
    const copy: unknown = cloneWithPorts(value, this.actor);
    this.#lastToThreadMs = this.#arrivalMs(this.#lastToThreadMs);
    this.actor.scheduler.at(this.#lastToThreadMs, this.actor, () => {
      if (!this.#portOpen) return;
      for (const message of listOf(copy)) this.#tap.arrived(message);
      this.#inside.emit("message", copy);
    });
  }

  /** It is no reason for its process to go on. */
  unref(): void {
    this.isRef = false;
  }

  terminate(): Promise<number> {
    if (this.#owner.acts()) this.actor.scheduler.after(this.#dice.within(0, 5), null, () => this.actor.die());
    return Promise.resolve(1);
  }

  #exited(): void {
    this.#lastToMainMs = this.#arrivalMs(this.#lastToMainMs);
    this.#owner.scheduler.at(this.#lastToMainMs, this.#owner, () => this.emit("exit", this.#exitCode));
  }

  #arrivalMs(lastMs: number): number {
    return Math.max(this.#owner.scheduler.nowMs + this.#dice.within(0.01, MESSAGE_MS), lastMs + 0.001);
  }
}

function listOf(posted: unknown): readonly unknown[] {
  return Array.isArray(posted) ? posted : [posted];
}
