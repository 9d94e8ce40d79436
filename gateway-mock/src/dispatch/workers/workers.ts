/**
 * Owns who is connected to this gateway and how much room each has, in groups of workers that run the same
 * (docs/decisions/0063) and serve the same queues (0070). Admission reserves here; `../../ws/routing.ts` chooses among
 * equals.
 */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import type { RecallWant } from "@holdfast/store";
import { Availability } from "./availability.ts";
import {
  type ChooseWorker,
  type ConnectedWorker,
  connectedWorker,
  type Mutable,
  type Partition,
  type WorkerSession,
} from "./connected-worker.ts";
import { type FunctionRoom, roomByFunction, roomByVersion } from "./room.ts";
import { type QueueOf, WorkerGroup } from "./worker-group.ts";

const NO_NAMED_QUEUES: QueueOf = () => DEFAULT_QUEUE;

/** Who is connected here, by what they can run. */
export class Workers {
  readonly #workers = new Map<string, ConnectedWorker>();
  readonly #byInstance = new Map<string, Set<ConnectedWorker>>();
  readonly #groups = new Map<string, WorkerGroup>();
  readonly #groupOf = new Map<Partition, WorkerGroup>();
  /** Groups that have the function, in the order in which they are offered. */
  readonly #byFunction = new Map<string, Set<WorkerGroup>>();
  readonly #availability = new Availability((worker) => this.#recount(worker));
  readonly #choose: ChooseWorker;
  readonly #maxSilentBeats: number;
  readonly #queueOf: QueueOf;
  readonly #isDrained: (session: WorkerSession) => boolean;

  /** Who was silent for more than `maxSilentBeats` heartbeat intervals is given nothing. */
  constructor(
    choose: ChooseWorker,
    maxSilentBeats = Number.POSITIVE_INFINITY,
    queueOf = NO_NAMED_QUEUES,
    isDrained: (session: WorkerSession) => boolean = () => false,
  ) {
    this.#isDrained = isDrained;
    this.#choose = choose;
    this.#maxSilentBeats = maxSilentBeats;
    this.#queueOf = queueOf;
  }

  get size(): number {
    return this.#workers.size;
  }

  all(): Iterable<ConnectedWorker> {
    return this.#workers.values();
  }

  get(sessionId: string): ConnectedWorker | undefined {
    return this.#workers.get(sessionId);
  }

  /** The sessions of one process, the oldest first. */
  ofInstance(instanceId: string): Iterable<ConnectedWorker> {
    return this.#byInstance.get(instanceId) ?? [];
  }

  add(session: WorkerSession, open: boolean): ConnectedWorker {
    const worker = connectedWorker(session, open, this.#maxSilentBeats);
    const replaced = this.#workers.get(worker.id);
    if (replaced) this.remove(replaced);
    this.#workers.set(worker.id, worker);
    addTo(this.#byInstance, session.instanceId, worker);
    this.#availability.add(worker);
    for (const partition of worker.partitions()) this.#join(partition);
    this.#reviewDrain(worker);
    return worker;
  }

  /** Other workers are drained than before; returns those that take work again. */
  reviewDrains(): ConnectedWorker[] {
    return [...this.all()].filter((worker) => this.#reviewDrain(worker) && !worker.isDrained);
  }

  /** True when it is another state now. */
  #reviewDrain(worker: Mutable<ConnectedWorker>): boolean {
    const isDrained = this.#isDrained(worker.session);
    if (worker.isDrained === isDrained) return false;
    worker.isDrained = isDrained;
    worker.session.setDrained(isDrained);
    this.#recount(worker);
    return true;
  }

  /** No new work for it from now on. */
  close(worker: Mutable<ConnectedWorker>): void {
    worker.open = false;
    this.#recount(worker);
  }

  /** Work for it again. */
  reopen(worker: Mutable<ConnectedWorker>): void {
    worker.open = true;
    this.#recount(worker);
  }

  /** Its main thread stalls, or does not any more: nothing new of the functions that are in no partition meanwhile. */
  setMainPaused({ main }: ConnectedWorker, isPaused: boolean): void {
    const partition: Mutable<Partition> = main;
    partition.isPaused = isPaused;
    this.#recountPart(main);
  }

  /** It turned out not to know this function. */
  removeFunction(worker: ConnectedWorker, functionId: string): void {
    const partition = worker.partitionOf(functionId);
    if (!this.#groupOf.has(partition) || !partition.functionIds.has(functionId)) return;
    this.#leave(partition);
    partition.functionIds.delete(functionId);
    worker.functionIds.delete(functionId);
    this.#join(partition);
  }

  /** Among equals the others are given work before it. */
  putLast(worker: ConnectedWorker): void {
    for (const partition of worker.partitions()) {
      const group = this.#groupOf.get(partition);
      if (!group) return;
      group.putLast(partition);
      for (const functionId of group.functionIds) {
        const groups = this.#byFunction.get(functionId);
        if (groups?.delete(group)) groups.add(group);
      }
    }
  }

  remove(worker: Mutable<ConnectedWorker>): void {
    worker.open = false;
    for (const partition of worker.partitions()) this.#leave(partition);
    this.#availability.delete(worker);
    deleteFrom(this.#byInstance, worker.session.instanceId, worker);
    if (this.#workers.get(worker.id) === worker) this.#workers.delete(worker.id);
  }

  /** Nothing for it before this instant, monotonic. */
  rest(worker: Mutable<ConnectedWorker>, untilMs: number): void {
    worker.restUntilMs = untilMs;
    if (this.#workers.get(worker.id) === worker) this.#availability.rest(worker);
  }

  /** Requests have begun to wait for room on its socket, or none does any more. */
  roomChanged(worker: ConnectedWorker): void {
    this.#recount(worker);
  }

  /**
   * Takes a place with the best worker for this function (of this version, unless null), or says that there is none.
   * Give it back with `release`, for the same function. With `mayWait` also where requests wait for room: for a run whose state is cached.
   */
  reserve(functionId: string, nowMs: number, version: string | null, mayWait = false): ConnectedWorker | undefined {
    this.#availability.settle(nowMs);
    const partition =
      this.#choose(this.#candidates(functionId, version), nowMs) ??
      (mayWait ? this.#choose(this.#congested(functionId, version), nowMs) : undefined);
    if (partition) this.#change(partition, 1);
    return partition?.worker;
  }

  /** Those that have room, the idle ones first. */
  *#candidates(functionId: string, version: string | null): Iterable<Partition> {
    const groups = this.#byFunction.get(functionId) ?? NO_GROUPS;
    for (const group of groups) if (takes(group, functionId, version)) for (const one of group.idle) yield one;
    for (const group of groups) if (takes(group, functionId, version)) for (const one of group.busy) yield one;
  }

  *#congested(functionId: string, version: string | null): Iterable<Partition> {
    const groups = this.#byFunction.get(functionId) ?? NO_GROUPS;
    for (const group of groups) if (takes(group, functionId, version)) yield* group.congested;
  }

  /** It has one request of this function more. */
  hold(worker: ConnectedWorker, functionId: string): void {
    this.#change(worker.partitionOf(functionId), 1);
  }

  /** It has one request of this function less. */
  release(worker: ConnectedWorker, functionId: string): void {
    this.#change(worker.partitionOf(functionId), -1);
  }

  #change(partition: Mutable<Partition>, by: 1 | -1): void {
    partition.inFlight += by;
    this.#recountPart(partition);
  }

  versionOf(worker: ConnectedWorker, functionId: string): string {
    return worker.versions.get(functionId) ?? "";
  }

  hasVersion(functionId: string, version: string): boolean {
    return this.#open(functionId).some((group) => group.versionOf(functionId) === version);
  }

  /** Whether all workers here that take work of the function are of this version. */
  isOnly(functionId: string, version: string): boolean {
    return this.#open(functionId).every((group) => group.versionOf(functionId) === version);
  }

  /** Whether a worker of this version is connected here that runs the function, whether or not it takes work now. */
  connects(functionId: string, version: string): boolean {
    for (const group of this.#byFunction.get(functionId) ?? []) {
      if (group.versionOf(functionId) === version && group.serves(functionId)) return true;
    }
    return false;
  }

  /** What the worker's app said of the function; undefined when it does not have it. */
  configOf({ session }: ConnectedWorker, functionId: string): string | undefined {
    for (const { functions } of session.apps) {
      for (const { slug, configJson } of functions) if (slug === functionId) return configJson;
    }
    return undefined;
  }

  /** How much more of each version of these functions could run here now; of a version without room: 0. */
  roomByVersion(functionIds: Iterable<string>, nowMs: number, most: number): RecallWant[] {
    this.#availability.settle(nowMs);
    return roomByVersion(functionIds, (functionId) => this.#open(functionId), most);
  }

  /** What this gateway could run now, and how much of it at most. */
  roomByFunction(nowMs: number, mostOfEach: number): FunctionRoom[] {
    this.#availability.settle(nowMs);
    return roomByFunction(this.#byFunction.keys(), (functionId) => this.#open(functionId), mostOfEach);
  }

  /** How long until a worker that rests may be asked again; null when none does. */
  restsForMs(nowMs: number): number | null {
    return this.#availability.restsForMs(nowMs);
  }

  /** Functions of which all who are connected are paused, drained or silent. */
  unroutable(nowMs: number): Set<string> {
    this.#availability.settle(nowMs);
    const functionIds = new Set(this.#byFunction.keys());
    for (const group of this.#groups.values()) {
      for (const { worker } of group.open) {
        if (this.#availability.isSilent(worker)) continue;
        for (const functionId of group.functionIds) functionIds.delete(functionId);
        break;
      }
    }
    return functionIds;
  }

  /** Functions of which a worker here takes work. */
  functionIds(): string[] {
    return [...this.#byFunction.keys()].filter((functionId) => this.accepts(functionId));
  }

  /** Whether a worker is connected here that runs the function, whether or not it takes work now. */
  serves(functionId: string): boolean {
    for (const group of this.#byFunction.get(functionId) ?? []) if (group.serves(functionId)) return true;
    return false;
  }

  /** Whether a worker here takes work of this function. */
  accepts(functionId: string): boolean {
    for (const group of this.#byFunction.get(functionId) ?? []) {
      if (group.isOpen && group.serves(functionId)) return true;
    }
    return false;
  }

  #open(functionId: string): WorkerGroup[] {
    return [...(this.#byFunction.get(functionId) ?? [])].filter((group) => group.isOpen && group.serves(functionId));
  }

  #join(partition: Partition): void {
    const key = WorkerGroup.keyOf(partition);
    let group = this.#groups.get(key);
    if (!group) {
      group = new WorkerGroup(key, partition, this.#queueOf);
      this.#groups.set(key, group);
      for (const functionId of group.functionIds) addTo(this.#byFunction, functionId, group);
    }
    this.#groupOf.set(partition, group);
    group.add(partition);
    this.#recountPart(partition);
  }

  #leave(partition: Partition): void {
    const group = this.#groupOf.get(partition);
    if (!group) return;
    this.#groupOf.delete(partition);
    group.delete(partition);
    if (group.size > 0) return;
    this.#groups.delete(group.key);
    for (const functionId of group.functionIds) deleteFrom(this.#byFunction, functionId, group);
  }

  /** Something has changed that its groups count. */
  #recount(worker: ConnectedWorker): void {
    for (const partition of worker.partitions()) this.#recountPart(partition);
  }

  #recountPart(partition: Partition): void {
    const { worker } = partition;
    const group = this.#groupOf.get(partition);
    if (!group) return;
    if (!worker.open || worker.isDrained || partition.isPaused) group.close(partition);
    else if (!this.#availability.isRested(worker)) group.setOpen(partition, "resting");
    else group.setOpen(partition, worker.session.congested ? "congested" : "awake");
  }
}

const NO_GROUPS: readonly WorkerGroup[] = [];

/** Whether workers of the group take work of the function, of this version unless null. */
function takes(group: WorkerGroup, functionId: string, version: string | null): boolean {
  if (!group.isOpen || !group.serves(functionId)) return false;
  return version === null || group.versionOf(functionId) === version;
}

function addTo<Key, Value>(sets: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}

function deleteFrom<Key, Value>(sets: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const set = sets.get(key);
  if (set?.delete(value) && set.size === 0) sets.delete(key);
}
