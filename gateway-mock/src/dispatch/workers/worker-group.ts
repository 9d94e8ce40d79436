/**
 * Owns the totals of connected workers that run the same functions in the same versions: counted when a worker changes,
 * so that no question walks over all of them. `workers.ts` says when one changes.
 */
import type { ConnectedWorker } from "./connected-worker.ts";

/** Workers of one set of functions, each in one version: mostly all processes of one deployment. */
export class WorkerGroup {
  readonly key: string;
  readonly functionIds: ReadonlySet<string>;
  readonly #versions: ReadonlyMap<string, string>;
  readonly #connected = new Set<ConnectedWorker>();
  /** Those that take new work, in the order in which they are offered, each with its room; null: it is given none now. */
  readonly #open = new Map<ConnectedWorker, number | null>();
  /** Of those that are given work the ones that hold nothing, in order, and how many have each lease. */
  readonly #idle = new Set<ConnectedWorker>();
  readonly #leases = new Map<number, number>();
  #room = 0;

  constructor(key: string, functionIds: ReadonlySet<string>, versions: ReadonlyMap<string, string>) {
    this.key = key;
    this.functionIds = functionIds;
    this.#versions = versions;
  }

  static keyOf(functionIds: Iterable<string>, versions: ReadonlyMap<string, string>): string {
    return JSON.stringify(Array.from(functionIds, (functionId) => [functionId, versions.get(functionId) ?? ""]));
  }

  /** Of all who are connected, whether or not they take work. */
  get size(): number {
    return this.#connected.size;
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  get open(): Iterable<ConnectedWorker> {
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

  versionOf(functionId: string): string {
    return this.#versions.get(functionId) ?? "";
  }

  /** Those that are given work now and hold nothing: there is no better choice. */
  get idle(): Iterable<ConnectedWorker> {
    return this.#idle;
  }

  /** The others that are given work now. */
  *busy(): Iterable<ConnectedWorker> {
    for (const [worker, room] of this.#open) if (room !== null && room > 0 && !this.#idle.has(worker)) yield worker;
  }

  add(worker: ConnectedWorker): void {
    this.#connected.add(worker);
  }

  delete(worker: ConnectedWorker): void {
    this.close(worker);
    this.#connected.delete(worker);
  }

  /** It takes new work; `isAwake`: it is given some now. */
  setOpen(worker: ConnectedWorker, isAwake: boolean): void {
    this.#count(worker, isAwake ? Math.max(0, worker.capacity - worker.inFlight) : null);
  }

  close(worker: ConnectedWorker): void {
    this.#count(worker, null);
    this.#open.delete(worker);
  }

  putLast(worker: ConnectedWorker): void {
    const room = this.#open.get(worker);
    if (room === undefined) return;
    this.#open.delete(worker);
    this.#open.set(worker, room);
    if (this.#idle.delete(worker)) this.#idle.add(worker);
  }

  #count(worker: ConnectedWorker, room: number | null): void {
    const before = this.#open.get(worker) ?? null;
    this.#open.set(worker, room);
    this.#room += (room ?? 0) - (before ?? 0);
    if (room !== null && room > 0 && worker.inFlight === 0) this.#idle.add(worker);
    else this.#idle.delete(worker);
    const { leaseMs } = worker.session;
    if (room !== null && before === null) this.#leases.set(leaseMs, (this.#leases.get(leaseMs) ?? 0) + 1);
    if (before !== null && room === null) this.#drop(leaseMs);
  }

  #drop(leaseMs: number): void {
    const left = (this.#leases.get(leaseMs) ?? 0) - 1;
    if (left > 0) this.#leases.set(leaseMs, left);
    else this.#leases.delete(leaseMs);
  }
}
