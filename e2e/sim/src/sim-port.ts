/** Message ports between threads under simulation: in order, also after the death of who posted, and closed with it. */
import type { Dice } from "./random.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import { Emitter } from "./web-socket.ts";

/** How long a message between threads takes, at most. */
const MESSAGE_MS = 0.4;

interface InTransit {
  readonly copy: unknown;
  isOver: boolean;
}

/** One end of a channel. What comes before there is an owner waits for it. */
export class SimPort extends Emitter {
  readonly #scheduler: Scheduler;
  readonly #dice: Dice;
  #peer: SimPort | undefined;
  #owner: Actor | null = null;
  #isClosed = false;
  #inTransit: InTransit[] = [];
  #lastMs = 0;

  constructor(scheduler: Scheduler, dice: Dice) {
    super();
    this.#scheduler = scheduler;
    this.#dice = dice;
  }

  static pair(scheduler: Scheduler, dice: Dice): readonly [SimPort, SimPort] {
    const ends = [new SimPort(scheduler, dice), new SimPort(scheduler, dice)] as const;
    [ends[0].#peer, ends[1].#peer] = [ends[1], ends[0]];
    return ends;
  }

  /** It is transferred to this thread, and ends with it. */
  belongTo(owner: Actor): void {
    this.#owner = owner;
    if (owner.alive) owner.onDeath(() => this.#closed());
    else this.#closed();
    for (const one of this.#inTransit) this.#arrive(one, this.#scheduler.nowMs);
  }

  /** What keeps a process alive is another question here. */
  unref(): void {}

  postMessage(value: unknown): void {
    const peer = this.#peer;
    if (this.#isClosed || peer === undefined || !this.#owner?.acts()) return;
    const one: InTransit = { copy: structuredClone(value), isOver: false };
    this.#lastMs = Math.max(this.#scheduler.nowMs + this.#dice.within(0.01, MESSAGE_MS), this.#lastMs + 0.001);
    peer.#inTransit.push(one);
    if (peer.#owner) peer.#arrive(one, this.#lastMs);
  }

  /** What was posted here and has not been handled. */
  drain(): readonly unknown[] {
    const posted = this.#inTransit.filter(({ isOver }) => !isOver);
    for (const one of posted) one.isOver = true;
    this.#inTransit = [];
    return posted.map(({ copy }) => copy);
  }

  close(): void {
    if (this.#owner?.acts()) this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const peer = this.#peer;
    if (peer === undefined) return;
    const atMs = Math.max(this.#scheduler.nowMs + MESSAGE_MS, this.#lastMs + 0.001);
    this.#scheduler.at(atMs, peer.#owner, () => peer.#onPeerClosed());
  }

  #onPeerClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.emit("close");
  }

  #arrive(one: InTransit, atMs: number): void {
    this.#scheduler.at(atMs, this.#owner, () => {
      if (one.isOver || this.#isClosed) return;
      one.isOver = true;
      this.#inTransit = this.#inTransit.filter((other) => other !== one);
      this.emit("message", one.copy);
    });
  }
}

/** Ports go over as they are, to their new owner; everything else is copied. */
export function cloneWithPorts(value: unknown, owner: Actor): unknown {
  if (Array.isArray(value)) return value.map((one) => cloneWithPorts(one, owner));
  const message = value as { readonly type?: unknown; readonly pool?: { readonly ports: readonly object[] } | null };
  if (message?.type === "POOL_THREAD_STARTED") return transferred(message, owner);
  if (message?.type !== "INIT" || !message.pool) return structuredClone(value);
  const { pool } = message;
  const ports = pool.ports.map((port) => transferred(port, owner));
  return { ...structuredClone({ ...message, pool: null }), pool: { ...pool, ports } };
}

function transferred<T extends object>(carrier: T, owner: Actor): T {
  const { port } = carrier as { readonly port?: unknown };
  if (port instanceof SimPort) port.belongTo(owner);
  return { ...carrier };
}
