/**
 * Owns the totals of connected workers that run the same functions in the same versions and serve the same queues:
 * counted when a worker changes, so that no question walks over all of them. `workers.ts` says when one changes.
 */
import type { Partition } from "./connected-worker.ts";

/** The queue of a function in one version. */
export type QueueOf = (functionId: string, version: string) => string;

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
  /** Of those that are given work the ones that hold nothing, in order, and how many have each lease. */
  readonly #idle = new Set<Partition>();
  readonly #leases = new Map<number, number>();
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

  /** The others that are given work now. */
  *busy(): Iterable<Partition> {
    for (const [one, room] of this.#open) if (room !== null && room > 0 && !this.#idle.has(one)) yield one;
  }

  add(member: Partition): void {
    this.#connected.add(member);
  }

  delete(member: Partition): void {
    this.close(member);
    this.#connected.delete(member);
  }

  /** It takes new work; `isAwake`: it is given some now. */
  setOpen(member: Partition, isAwake: boolean): void {
    this.#count(member, isAwake ? Math.max(0, member.capacity - member.inFlight) : null);
  }

  close(member: Partition): void {
    this.#count(member, null);
    this.#open.delete(member);
  }

  putLast(member: Partition): void {
    const room = this.#open.get(member);
    if (room === undefined) return;
    this.#open.delete(member);
    this.#open.set(member, room);
    if (this.#idle.delete(member)) this.#idle.add(member);
  }

  #count(member: Partition, room: number | null): void {
    const before = this.#open.get(member) ?? null;
    this.#open.set(member, room);
    this.#room += (room ?? 0) - (before ?? 0);
    if (room !== null && room > 0 && member.inFlight === 0) this.#idle.add(member);
    else this.#idle.delete(member);
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
