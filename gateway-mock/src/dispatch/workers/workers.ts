/**
 * Owns who is connected to this gateway and how much room each has, in groups of workers that run the same
 * (docs/decisions/0063). Admission reserves here; `../../ws/routing.ts` chooses among equals.
 */
import type { RecallWant } from "@holdfast/store";
import { Availability } from "./availability.ts";
import type { ChooseWorker, ConnectedWorker, WorkerSession } from "./connected-worker.ts";
import { WorkerGroup } from "./worker-group.ts";

/** What only `Workers` changes of a worker, so that its totals stay true. */
type Mutable = { -readonly [Key in keyof ConnectedWorker]: ConnectedWorker[Key] };

/** Who is connected here, by what they can run. */
export class Workers {
  readonly #workers = new Map<string, ConnectedWorker>();
  readonly #byInstance = new Map<string, Set<ConnectedWorker>>();
  readonly #groups = new Map<string, WorkerGroup>();
  readonly #groupOf = new Map<ConnectedWorker, WorkerGroup>();
  /** Groups that have the function, in the order in which they are offered. */
  readonly #byFunction = new Map<string, Set<WorkerGroup>>();
  readonly #availability = new Availability((worker) => this.#recount(worker));
  readonly #choose: ChooseWorker;
  readonly #maxSilentBeats: number;

  /** Who was silent for more than `maxSilentBeats` heartbeat intervals is given nothing. */
  constructor(choose: ChooseWorker, maxSilentBeats = Number.POSITIVE_INFINITY) {
    this.#choose = choose;
    this.#maxSilentBeats = maxSilentBeats;
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
    const worker: ConnectedWorker = {
      id: session.id,
      session,
      functionIds: new Set(session.functionIds),
      appIds: new Set(session.apps.map(({ id }) => id)),
      versions: new Map(session.apps.flatMap((app) => app.functions.map(({ slug }) => [slug, app.version] as const))),
      capacity: session.capacity,
      heartbeatMs: session.heartbeatMs,
      get seenMs() {
        return session.seenMs;
      },
      inFlight: 0,
      requests: new Set(),
      open,
      restUntilMs: 0,
      maxSilentMs: this.#maxSilentBeats * session.heartbeatMs,
    };
    const replaced = this.#workers.get(worker.id);
    if (replaced) this.remove(replaced);
    this.#workers.set(worker.id, worker);
    addTo(this.#byInstance, session.instanceId, worker);
    this.#availability.add(worker);
    this.#join(worker);
    return worker;
  }

  /** No new work for it from now on. */
  close(worker: Mutable): void {
    worker.open = false;
    this.#recount(worker);
  }

  /** Work for it again. */
  reopen(worker: Mutable): void {
    worker.open = true;
    this.#recount(worker);
  }

  /** It turned out not to know this function. */
  removeFunction(worker: ConnectedWorker, functionId: string): void {
    if (!this.#groupOf.has(worker) || !worker.functionIds.has(functionId)) return;
    this.#leave(worker);
    worker.functionIds.delete(functionId);
    this.#join(worker);
  }

  /** Among equals the others are given work before it. */
  putLast(worker: ConnectedWorker): void {
    const group = this.#groupOf.get(worker);
    if (!group) return;
    group.putLast(worker);
    for (const functionId of group.functionIds) {
      const groups = this.#byFunction.get(functionId);
      if (groups?.delete(group)) groups.add(group);
    }
  }

  remove(worker: Mutable): void {
    worker.open = false;
    this.#leave(worker);
    this.#availability.delete(worker);
    deleteFrom(this.#byInstance, worker.session.instanceId, worker);
    if (this.#workers.get(worker.id) === worker) this.#workers.delete(worker.id);
  }

  /** Nothing for it before this instant, monotonic. */
  rest(worker: Mutable, untilMs: number): void {
    worker.restUntilMs = untilMs;
    if (this.#groupOf.has(worker)) this.#availability.rest(worker);
  }

  /** Requests have begun to wait for room on its socket, or none does any more. */
  roomChanged(worker: ConnectedWorker): void {
    this.#recount(worker);
  }

  /**
   * Takes a place with the best worker for this function (of this version, unless null), or says that there is none.
   * Give it back with `release`. With `mayWait` also where requests wait for room: for a run whose state is cached.
   */
  reserve(functionId: string, nowMs: number, version: string | null, mayWait = false): ConnectedWorker | undefined {
    this.#availability.settle(nowMs);
    const groups = this.#open(functionId).filter(
      (group) => version === null || group.versionOf(functionId) === version,
    );
    const awake = groups.filter(({ room }) => room > 0);
    const worker =
      (awake.length > 0 ? this.#choose(candidatesOf(awake), nowMs) : undefined) ??
      (mayWait && groups.length > 0 ? this.#choose(this.#rested(groups), nowMs) : undefined);
    if (worker) this.hold(worker);
    return worker;
  }

  /** It has one request more. */
  hold(worker: Mutable): void {
    worker.inFlight += 1;
    this.#recount(worker);
  }

  /** It has one request less. */
  release(worker: Mutable): void {
    worker.inFlight -= 1;
    this.#recount(worker);
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

  /** Whether a worker of this version is connected here that has the function, whether or not it takes work now. */
  connects(functionId: string, version: string): boolean {
    for (const group of this.#byFunction.get(functionId) ?? []) {
      if (group.versionOf(functionId) === version) return true;
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
    const wants: RecallWant[] = [];
    for (const functionId of functionIds) {
      const rooms = new Map<string, number>();
      for (const group of this.#open(functionId)) {
        const version = group.versionOf(functionId);
        rooms.set(version, (rooms.get(version) ?? 0) + group.room);
      }
      for (const [appVersion, free] of rooms) wants.push({ functionId, appVersion, limit: Math.min(free, most) });
    }
    return wants;
  }

  /** What this gateway could run now, and how much of it at most. */
  roomByFunction(nowMs: number, maxPerFunction: number): { functionId: string; limit: number; leaseMs: number }[] {
    this.#availability.settle(nowMs);
    const wants: { functionId: string; limit: number; leaseMs: number }[] = [];
    for (const functionId of this.#byFunction.keys()) {
      let room = 0;
      let leaseMs = 0;
      for (const group of this.#open(functionId)) {
        room += group.room;
        leaseMs = Math.max(leaseMs, group.leaseMs);
      }
      if (room > 0) wants.push({ functionId, limit: Math.min(room, maxPerFunction), leaseMs });
    }
    return wants;
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
      for (const worker of group.open) {
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

  /** Whether a worker here takes work of this function. */
  accepts(functionId: string): boolean {
    for (const group of this.#byFunction.get(functionId) ?? []) if (group.isOpen) return true;
    return false;
  }

  #open(functionId: string): WorkerGroup[] {
    return [...(this.#byFunction.get(functionId) ?? [])].filter(({ isOpen }) => isOpen);
  }

  *#rested(groups: readonly WorkerGroup[]): Iterable<ConnectedWorker> {
    for (const { open } of groups) for (const worker of open) if (this.#availability.isRested(worker)) yield worker;
  }

  #join(worker: ConnectedWorker): void {
    const key = WorkerGroup.keyOf(worker.functionIds, worker.versions);
    let group = this.#groups.get(key);
    if (!group) {
      group = new WorkerGroup(key, new Set(worker.functionIds), worker.versions);
      this.#groups.set(key, group);
      for (const functionId of group.functionIds) addTo(this.#byFunction, functionId, group);
    }
    this.#groupOf.set(worker, group);
    group.add(worker);
    this.#recount(worker);
  }

  #leave(worker: ConnectedWorker): void {
    const group = this.#groupOf.get(worker);
    if (!group) return;
    this.#groupOf.delete(worker);
    group.delete(worker);
    if (group.size > 0) return;
    this.#groups.delete(group.key);
    for (const functionId of group.functionIds) deleteFrom(this.#byFunction, functionId, group);
  }

  /** Something has changed that its group counts. */
  #recount(worker: ConnectedWorker): void {
    const group = this.#groupOf.get(worker);
    if (!group) return;
    if (!worker.open) group.close(worker);
    else group.setOpen(worker, this.#availability.isRested(worker) && !worker.session.congested);
  }
}

function* candidatesOf(groups: readonly WorkerGroup[]): Iterable<ConnectedWorker> {
  for (const { idle } of groups) yield* idle;
  for (const group of groups) yield* group.busy();
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
