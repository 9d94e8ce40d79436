/**
 * Owns who is connected to this gateway and how much room each has, indexed by function. Admission reserves here;
 * `../../ws/routing.ts` chooses among equals.
 */
import type { Log } from "@holdfast/core";
import type { Extension, GatewayFrame } from "@holdfast/protocol";
import type { AppRecord, RecallWant } from "@holdfast/store";

/** A connected worker as the engine sees it: the port that the socket's side fills. */
export interface WorkerSession {
  /** Connection id. */
  readonly id: string;
  /** Of the process behind it; the same after a reconnect. */
  readonly instanceId: string;
  readonly environment: string;
  /** The functions it runs. */
  readonly functionIds: readonly string[];
  /** What it has registered. */
  readonly apps: readonly AppRecord[];
  /** Requests that it may hold at once. */
  readonly capacity: number;
  /** It has named its capacity. */
  readonly isLimited: boolean;
  readonly extensions: ReadonlySet<Extension>;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  readonly extendLeaseMs: number;
  /** When it was last heard of, monotonic. */
  readonly seenMs: number;
  /** Requests wait for room on its socket. */
  readonly congested: boolean;
  /** For lines about what it sent, so that it cannot write too many. */
  readonly log: Log;
  send(frame: GatewayFrame): void;
  /**
   * Sends a request once the socket has room, in the order of the calls: at once, mostly. `make` is called right
   * before; null: it is not wanted any more.
   */
  sendWhenRoom(make: () => GatewayFrame | null): void;
}

/** One worker and what it holds. */
export interface Slot {
  readonly id: string;
  readonly session: WorkerSession;
  readonly functionIds: Set<string>;
  /** Those that it has registered. */
  readonly appIds: ReadonlySet<string>;
  /** The version of the app behind each function. */
  readonly versions: ReadonlyMap<string, string>;
  readonly capacity: number;
  readonly heartbeatMs: number;
  readonly seenMs: number;
  /** Requests it holds or will be sent as soon as they are committed. */
  inFlight: number;
  readonly requests: Set<string>;
  /** False: takes no new work. */
  open: boolean;
  /** Refused work a moment ago: nothing for it before this instant, monotonic. */
  restUntilMs: number;
  /** Silent for longer it is given nothing. */
  readonly maxSilentMs: number;
}

/** Picks who gets the work; pure, given by the socket's side. */
export type ChooseSlot = (candidates: Iterable<Slot>, nowMs: number) => Slot | undefined;

/** Who is connected here, by what they can run. */
export class Workers {
  readonly #slots = new Map<string, Slot>();
  readonly #byFunction = new Map<string, Set<Slot>>();
  readonly #choose: ChooseSlot;

  readonly #maxSilentBeats: number;

  /** Who was silent for more than `maxSilentBeats` heartbeat intervals is given nothing. */
  constructor(choose: ChooseSlot, maxSilentBeats = Number.POSITIVE_INFINITY) {
    this.#choose = choose;
    this.#maxSilentBeats = maxSilentBeats;
  }

  get size(): number {
    return this.#slots.size;
  }

  all(): Iterable<Slot> {
    return this.#slots.values();
  }

  get(sessionId: string): Slot | undefined {
    return this.#slots.get(sessionId);
  }

  add(session: WorkerSession, open: boolean): Slot {
    const slot: Slot = {
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
    this.#slots.set(slot.id, slot);
    if (open) this.#index(slot);
    return slot;
  }

  /** No new work for it from now on. */
  close(slot: Slot): void {
    slot.open = false;
    for (const functionId of slot.functionIds) this.#unindex(slot, functionId);
  }

  /** Work for it again. */
  reopen(slot: Slot): void {
    slot.open = true;
    this.#index(slot);
  }

  /** It turned out not to know this function. */
  removeFunction(slot: Slot, functionId: string): void {
    slot.functionIds.delete(functionId);
    this.#unindex(slot, functionId);
  }

  #unindex(slot: Slot, functionId: string): void {
    const slots = this.#byFunction.get(functionId);
    slots?.delete(slot);
    if (slots?.size === 0) this.#byFunction.delete(functionId);
  }

  /** Among equals the others are given work before it. */
  putLast(slot: Slot): void {
    for (const functionId of slot.functionIds) {
      const slots = this.#byFunction.get(functionId);
      if (slots?.delete(slot)) slots.add(slot);
    }
  }

  remove(slot: Slot): void {
    this.close(slot);
    this.#slots.delete(slot.id);
  }

  /**
   * Takes a place with the best worker for this function (of this version, unless null), or says that there is none.
   * Give it back with `release`. With `mayWait` also where requests wait for room: for a run whose state is cached.
   */
  reserve(functionId: string, nowMs: number, version: string | null, mayWait = false): Slot | undefined {
    const all = this.#byFunction.get(functionId);
    if (!all) return undefined;
    const slots = version === null ? all : ofVersion(all, functionId, version);
    const slot =
      slots.size === 1
        ? only(slots, nowMs, mayWait)
        : (this.#choose(awake(slots, nowMs), nowMs) ??
          (mayWait ? this.#choose(rested(slots, nowMs), nowMs) : undefined));
    if (slot) slot.inFlight += 1;
    return slot;
  }

  release(slot: Slot): void {
    slot.inFlight -= 1;
  }

  versionOf(slot: Slot, functionId: string): string {
    return slot.versions.get(functionId) ?? "";
  }

  hasVersion(functionId: string, version: string): boolean {
    return ofVersion(this.#byFunction.get(functionId) ?? new Set(), functionId, version).size > 0;
  }

  /** Whether all workers here that take work of the function are of this version. */
  isOnly(functionId: string, version: string): boolean {
    const slots = this.#byFunction.get(functionId) ?? new Set();
    return ofVersion(slots, functionId, version) === slots;
  }

  /** Whether a worker of this version is connected here that has the function, whether or not it takes work now. */
  connects(functionId: string, version: string): boolean {
    if (this.hasVersion(functionId, version)) return true;
    for (const slot of this.#slots.values()) {
      if (slot.functionIds.has(functionId) && this.versionOf(slot, functionId) === version) return true;
    }
    return false;
  }

  /** What the worker's app said of the function; undefined when it does not have it. */
  configOf({ session }: Slot, functionId: string): string | undefined {
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
      for (const slot of this.#byFunction.get(functionId) ?? []) {
        const version = this.versionOf(slot, functionId);
        const own = isAwake(slot, nowMs) ? Math.max(0, slot.capacity - slot.inFlight) : 0;
        room.set(version, (room.get(version) ?? 0) + own);
      }
      for (const [appVersion, free] of room) wants.push({ functionId, appVersion, limit: Math.min(free, most) });
    }
    return wants;
  }

  /** What this gateway could run now, and how much of it at most. */
  roomByFunction(nowMs: number, maxPerFunction: number): { functionId: string; limit: number; leaseMs: number }[] {
    const wants: { functionId: string; limit: number; leaseMs: number }[] = [];
    for (const [functionId, slots] of this.#byFunction) {
      let room = 0;
      let leaseMs = 0;
      for (const slot of awake(slots, nowMs)) {
        room += Math.max(0, slot.capacity - slot.inFlight);
        leaseMs = Math.max(leaseMs, slot.session.leaseMs);
      }
      if (room > 0) wants.push({ functionId, limit: Math.min(room, maxPerFunction), leaseMs });
    }
    return wants;
  }

  /** How long until a worker that rests may be asked again; null when none does. */
  restsForMs(nowMs: number): number | null {
    let soonest: number | null = null;
    for (const slot of this.#slots.values()) {
      if (slot.restUntilMs <= nowMs) continue;
      soonest = Math.min(soonest ?? Number.POSITIVE_INFINITY, slot.restUntilMs - nowMs);
    }
    return soonest;
  }

  /** Functions of which all who are connected are paused, drained or silent. */
  unroutable(nowMs: number): Set<string> {
    const functionIds = new Set<string>();
    for (const slot of this.#slots.values()) for (const id of slot.functionIds) functionIds.add(id);
    for (const [id, slots] of this.#byFunction) {
      for (const slot of slots) if (!isSilent(slot, nowMs)) functionIds.delete(id);
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

  #index(slot: Slot): void {
    for (const functionId of slot.functionIds) {
      const slots = this.#byFunction.get(functionId);
      if (slots) slots.add(slot);
      else this.#byFunction.set(functionId, new Set([slot]));
    }
  }
}

/** Mostly all workers are of one version: then nothing is copied. */
function ofVersion(slots: ReadonlySet<Slot>, functionId: string, version: string): ReadonlySet<Slot> {
  const isOf = (slot: Slot): boolean => (slot.versions.get(functionId) ?? "") === version;
  for (const slot of slots) if (!isOf(slot)) return new Set([...slots].filter(isOf));
  return slots;
}

function only(slots: ReadonlySet<Slot>, nowMs: number, mayWait: boolean): Slot | undefined {
  for (const slot of slots) {
    if (slot.inFlight < slot.capacity && isRested(slot, nowMs) && (mayWait || !slot.session.congested)) return slot;
  }
  return undefined;
}

const isRested = (slot: Slot, nowMs: number): boolean => slot.restUntilMs <= nowMs && !isSilent(slot, nowMs);
const isSilent = (slot: Slot, nowMs: number): boolean => nowMs - slot.seenMs > slot.maxSilentMs;
const isAwake = (slot: Slot, nowMs: number): boolean => isRested(slot, nowMs) && !slot.session.congested;

function* rested(slots: Iterable<Slot>, nowMs: number): Iterable<Slot> {
  for (const slot of slots) if (isRested(slot, nowMs)) yield slot;
}

function* awake(slots: Iterable<Slot>, nowMs: number): Iterable<Slot> {
  for (const slot of slots) if (isAwake(slot, nowMs)) yield slot;
}

/** For a job that is leased on creation to the worker of this slot. */
export function leaseOf({ session }: Slot, gatewayId: string): { gatewayId: string; leaseMs: number } {
  return { gatewayId, leaseMs: session.leaseMs };
}
