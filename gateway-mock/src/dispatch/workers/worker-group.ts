/**
 * Owns the totals of connected workers that run the same functions in the same versions and serve the same queues:
 * counted when a worker changes, so that no question walks over all of them. `workers.ts` says when one changes.
 */
import type { Partition } from "./connected-worker.ts";

/** The queue of a function in one version. */
export type QueueOf = (functionId: string, version: string) => string;

/** Whether one that takes new work can be given some now. */
export type OpenState = "awake" | "congested" | "resting";

/** Of those who hold something so many are looked at for each request. */
const MOST_LOOKED_AT = 32;

/**
 * Workers of one set of functions, each in one version: mostly all processes of one deployment. Of a worker whose
 * capacity is in parts each part belongs to a group of its own.
 */
export class WorkerGroup {
  readonly key: string;
  readonly functionIds: ReadonlySet<string>;
  readonly #versions: ReadonlyMap<string, string>;
  readonly #queues: ReadonlySet<string> | null;
  readonly #queueOf: QueueOf;
  readonly #connected = new Set<Partition>();
  /** Those that take new work, in the order in which they are offered, each with its room; null: it is given none now. */
  readonly #open = new Map<Partition, number | null>();
  /** Of those that are given work the ones that hold nothing, the others that have room, and how many have each lease. */
  readonly #idle = new Set<Partition>();
  readonly #busy = new Set<Partition>();
  readonly #leases = new Map<number, number>();
  readonly #congested = new Set<Partition>();
  #room = 0;

  /** That of `member`, and of all that have the same key. */
  constructor(key: string, { functionIds, worker }: Partition, queueOf: QueueOf) {
    this.key = key;
    this.functionIds = new Set(functionIds);
    this.#versions = worker.versions;
    this.#queues = worker.session.queues;
    this.#queueOf = queueOf;
  }

  static keyOf({ functionIds, worker }: Partition): string {
    const { versions, session } = worker;
    const functions = Array.from(functionIds, (functionId) => [functionId, versions.get(functionId) ?? ""]);
    return JSON.stringify([session.queues === null ? null : [...session.queues].sort(), functions]);
  }

  /** Of all who are connected, whether or not they take work. */
  get size(): number {
    return this.#connected.size;
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  get open(): Iterable<Partition> {
    return this.#open.keys();
  }

  /** How much more its workers could be given now. */
  get room(): number {
    return this.#room;
  }

  /** The longest lease of those that are given work now. */
  get leaseMs(): number {
    return Math.max(0, ...this.#leases.keys());
  }

  /** Whether its workers serve the queue of this function, one of theirs. */
  serves(functionId: string): boolean {
    return this.#queues === null || this.#queues.has(this.#queueOf(functionId, this.versionOf(functionId)));
  }

  versionOf(functionId: string): string {
    return this.#versions.get(functionId) ?? "";
  }

  /** Those that are given work now and hold nothing: there is no better choice. */
  get idle(): Iterable<Partition> {
    return this.#idle;
  }

  /**
   * The others that are given work now, or where they are many the next of them in turn: the least loaded of so many
   * is nearly the least loaded of all.
   */
  get busy(): Iterable<Partition> {
    if (this.#busy.size <= MOST_LOOKED_AT) return this.#busy;
    const next = take(this.#busy, MOST_LOOKED_AT);
    for (const one of next) moveLast(this.#busy, one);
    return next;
  }

  /** Those that could be given more if requests did not wait for room on their sockets. */
  get congested(): Iterable<Partition> {
    return this.#congested;
  }

  add(member: Partition): void {
    this.#connected.add(member);
  }

  delete(member: Partition): void {
    this.close(member);
    this.#connected.delete(member);
  }

  /** It takes new work: some now, or when its socket has room, or when it has rested. */
  setOpen(member: Partition, state: OpenState): void {
    const room = Math.max(0, member.capacity - member.inFlight);
    this.#count(member, state === "awake" ? room : null);
    keep(this.#congested, member, state === "congested" && room > 0);
  }

  close(member: Partition): void {
    this.#count(member, null);
    this.#congested.delete(member);
    this.#open.delete(member);
  }

  putLast(member: Partition): void {
    const room = this.#open.get(member);
    if (room === undefined) return;
    this.#open.delete(member);
    this.#open.set(member, room);
    for (const set of [this.#idle, this.#busy, this.#congested]) if (set.has(member)) moveLast(set, member);
  }

  #count(member: Partition, room: number | null): void {
    const before = this.#open.get(member) ?? null;
    this.#open.set(member, room);
    this.#room += (room ?? 0) - (before ?? 0);
    const isGiven = room !== null && room > 0;
    keep(this.#idle, member, isGiven && member.inFlight === 0);
    keep(this.#busy, member, isGiven && member.inFlight > 0);
    const { leaseMs } = member.worker.session;
    if (room !== null && before === null) this.#leases.set(leaseMs, (this.#leases.get(leaseMs) ?? 0) + 1);
    if (before !== null && room === null) this.#drop(leaseMs);
  }

  #drop(leaseMs: number): void {
    const left = (this.#leases.get(leaseMs) ?? 0) - 1;
    if (left > 0) this.#leases.set(leaseMs, left);
    else this.#leases.delete(leaseMs);
  }
}

function keep<T>(set: Set<T>, one: T, isIn: boolean): void {
  if (isIn) set.add(one);
  else set.delete(one);
}

function moveLast<T>(set: Set<T>, one: T): void {
  set.delete(one);
  set.add(one);
}

function take<T>(all: Iterable<T>, count: number): T[] {
  const taken: T[] = [];
  for (const one of all) {
    taken.push(one);
    if (taken.length === count) break;
  }
  return taken;
}
