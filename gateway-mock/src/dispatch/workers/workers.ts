/**
 * Owns who is connected to this gateway and how much room each has, indexed by function. Admission reserves here;
 * `../../ws/routing.ts` chooses among equals.
 */
import type { RecallWant } from "@holdfast/store";
import {
  type ChooseWorker,
  type ConnectedWorker,
  isAwake,
  isRested,
  isSilent,
  type WorkerSession,
} from "./connected-worker.ts";

/** Who is connected here, by what they can run. */
export class Workers {
  readonly #workers = new Map<string, ConnectedWorker>();
  readonly #byFunction = new Map<string, Set<ConnectedWorker>>();
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
    this.#workers.set(worker.id, worker);
    if (open) this.#index(worker);
    return worker;
  }

  /** No new work for it from now on. */
  close(worker: ConnectedWorker): void {
    worker.open = false;
    for (const functionId of worker.functionIds) this.#unindex(worker, functionId);
  }

  /** Work for it again. */
  reopen(worker: ConnectedWorker): void {
    worker.open = true;
    this.#index(worker);
  }

  /** It turned out not to know this function. */
  removeFunction(worker: ConnectedWorker, functionId: string): void {
    worker.functionIds.delete(functionId);
    this.#unindex(worker, functionId);
  }

  #unindex(worker: ConnectedWorker, functionId: string): void {
    const workers = this.#byFunction.get(functionId);
    workers?.delete(worker);
    if (workers?.size === 0) this.#byFunction.delete(functionId);
  }

  /** Among equals the others are given work before it. */
  putLast(worker: ConnectedWorker): void {
    for (const functionId of worker.functionIds) {
      const workers = this.#byFunction.get(functionId);
      if (workers?.delete(worker)) workers.add(worker);
    }
  }

  remove(worker: ConnectedWorker): void {
    this.close(worker);
    this.#workers.delete(worker.id);
  }

  /**
   * Takes a place with the best worker for this function (of this version, unless null), or says that there is none.
   * Give it back with `release`. With `mayWait` also where requests wait for room: for a run whose state is cached.
   */
  reserve(functionId: string, nowMs: number, version: string | null, mayWait = false): ConnectedWorker | undefined {
    const all = this.#byFunction.get(functionId);
    if (!all) return undefined;
    const workers = version === null ? all : ofVersion(all, functionId, version);
    const worker =
      workers.size === 1
        ? only(workers, nowMs, mayWait)
        : (this.#choose(awake(workers, nowMs), nowMs) ??
          (mayWait ? this.#choose(rested(workers, nowMs), nowMs) : undefined));
    if (worker) worker.inFlight += 1;
    return worker;
  }

  release(worker: ConnectedWorker): void {
    worker.inFlight -= 1;
  }

  versionOf(worker: ConnectedWorker, functionId: string): string {
    return worker.versions.get(functionId) ?? "";
  }

  hasVersion(functionId: string, version: string): boolean {
    return ofVersion(this.#byFunction.get(functionId) ?? new Set(), functionId, version).size > 0;
  }

  /** Whether all workers here that take work of the function are of this version. */
  isOnly(functionId: string, version: string): boolean {
    const workers = this.#byFunction.get(functionId) ?? new Set();
    return ofVersion(workers, functionId, version) === workers;
  }

  /** Whether a worker of this version is connected here that has the function, whether or not it takes work now. */
  connects(functionId: string, version: string): boolean {
    if (this.hasVersion(functionId, version)) return true;
    for (const worker of this.#workers.values()) {
      if (worker.functionIds.has(functionId) && this.versionOf(worker, functionId) === version) return true;
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
    const wants: RecallWant[] = [];
    for (const functionId of functionIds) {
      const room = new Map<string, number>();
      for (const worker of this.#byFunction.get(functionId) ?? []) {
        const version = this.versionOf(worker, functionId);
        const own = isAwake(worker, nowMs) ? Math.max(0, worker.capacity - worker.inFlight) : 0;
        room.set(version, (room.get(version) ?? 0) + own);
      }
      for (const [appVersion, free] of room) wants.push({ functionId, appVersion, limit: Math.min(free, most) });
    }
    return wants;
  }

  /** What this gateway could run now, and how much of it at most. */
  roomByFunction(nowMs: number, maxPerFunction: number): { functionId: string; limit: number; leaseMs: number }[] {
    const wants: { functionId: string; limit: number; leaseMs: number }[] = [];
    for (const [functionId, workers] of this.#byFunction) {
      let room = 0;
      let leaseMs = 0;
      for (const worker of awake(workers, nowMs)) {
        room += Math.max(0, worker.capacity - worker.inFlight);
        leaseMs = Math.max(leaseMs, worker.session.leaseMs);
      }
      if (room > 0) wants.push({ functionId, limit: Math.min(room, maxPerFunction), leaseMs });
    }
    return wants;
  }

  /** How long until a worker that rests may be asked again; null when none does. */
  restsForMs(nowMs: number): number | null {
    let soonest: number | null = null;
    for (const worker of this.#workers.values()) {
      if (worker.restUntilMs <= nowMs) continue;
      soonest = Math.min(soonest ?? Number.POSITIVE_INFINITY, worker.restUntilMs - nowMs);
    }
    return soonest;
  }

  /** Functions of which all who are connected are paused, drained or silent. */
  unroutable(nowMs: number): Set<string> {
    const functionIds = new Set<string>();
    for (const worker of this.#workers.values()) for (const id of worker.functionIds) functionIds.add(id);
    for (const [id, workers] of this.#byFunction) {
      for (const worker of workers) if (!isSilent(worker, nowMs)) functionIds.delete(id);
    }
    return functionIds;
  }

  functionIds(): string[] {
    return [...this.#byFunction.keys()];
  }

  /** Whether a worker here takes work of this function. */
  accepts(functionId: string): boolean {
    return this.#byFunction.has(functionId);
  }

  #index(worker: ConnectedWorker): void {
    for (const functionId of worker.functionIds) {
      const workers = this.#byFunction.get(functionId);
      if (workers) workers.add(worker);
      else this.#byFunction.set(functionId, new Set([worker]));
    }
  }
}

/** Mostly all workers are of one version: then nothing is copied. */
function ofVersion(
  workers: ReadonlySet<ConnectedWorker>,
  functionId: string,
  version: string,
): ReadonlySet<ConnectedWorker> {
  const isOf = (worker: ConnectedWorker): boolean => (worker.versions.get(functionId) ?? "") === version;
  for (const worker of workers) if (!isOf(worker)) return new Set([...workers].filter(isOf));
  return workers;
}

function only(workers: ReadonlySet<ConnectedWorker>, nowMs: number, mayWait: boolean): ConnectedWorker | undefined {
  for (const worker of workers) {
    if (worker.inFlight < worker.capacity && isRested(worker, nowMs) && (mayWait || !worker.session.congested))
      return worker;
  }
  return undefined;
}

function* rested(workers: Iterable<ConnectedWorker>, nowMs: number): Iterable<ConnectedWorker> {
  for (const worker of workers) if (isRested(worker, nowMs)) yield worker;
}

function* awake(workers: Iterable<ConnectedWorker>, nowMs: number): Iterable<ConnectedWorker> {
  for (const worker of workers) if (isAwake(worker, nowMs)) yield worker;
}
