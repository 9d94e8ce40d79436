import { silentLog } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import type { ConnectedWorker, WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { Workers } from "../../src/dispatch/workers/workers.ts";
import { chooseWorker } from "../../src/ws/routing.ts";

type Session = { -readonly [Key in keyof WorkerSession]: WorkerSession[Key] };

const FUNCTIONS = ["a", "b", "c"];
const VERSIONS = ["1", "2"];
const QUEUES = ["default", "gpu"];
const BEAT_MS = 100;
const SILENT_BEATS = 2;

interface Made {
  readonly functionIds: readonly string[];
  readonly version: string;
  readonly capacity: number;
  /** Null: every one. */
  readonly queues: readonly string[] | null;
  /** The functions that have a part of the capacity to themselves, if it has them. */
  readonly apart: readonly string[];
  readonly leaseMs: number;
  readonly open: boolean;
  readonly instance: number;
}

function sessionOf(id: string, made: Made, seenMs: number): Session {
  const functions = made.functionIds.map((slug) => ({ slug, name: slug, triggersJson: "[]", configJson: "{}" }));
  return {
    id,
    instanceId: `i${made.instance}`,
    environment: "",
    functionIds: made.functionIds,
    apps: [{ id: "app", version: made.version, sdk: "test", functions }],
    queues: made.queues && new Set(made.queues),
    partitions: made.apart
      .filter((functionId) => made.functionIds.includes(functionId))
      .map((functionId) => ({ functionIds: [functionId], capacity: 2 })),
    capacity: made.capacity,
    isLimited: true,
    log: silentLog,
    extensions: new Set(),
    heartbeatMs: BEAT_MS,
    leaseMs: made.leaseMs,
    extendLeaseMs: 1,
    seenMs,
    congested: false,
    send: () => {},
    setDrained: () => {},
    flush: () => {},
    sendWhenRoom: () => {},
  };
}

/** The same questions, each answered by a walk over all who are connected. */
class Walk {
  readonly workers: ConnectedWorker[] = [];
  /** What each worker holds, by function. */
  readonly held = new Map<ConnectedWorker, string[]>();
  /** The queues of functions in their versions, as they are registered now. */
  readonly queues = new Map<string, string>();
  readonly maxSilentMs: number;

  constructor(maxSilentMs: number) {
    this.maxSilentMs = maxSilentMs;
  }

  open(functionId: string): ConnectedWorker[] {
    return this.workers.filter((worker) => worker.open && this.runs(worker, functionId));
  }

  runs({ functionIds, versions, session }: ConnectedWorker, functionId: string): boolean {
    const queue = this.queues.get(`${functionId}@${versions.get(functionId)}`) ?? "default";
    return functionIds.has(functionId) && (session.queues?.has(queue) ?? true);
  }

  /** Of the part of the worker's capacity that the function takes: how much there is, and how much of it is taken. */
  part(worker: ConnectedWorker, functionId: string): { readonly capacity: number; readonly inFlight: number } {
    const { partitions, capacity } = worker.session;
    const partOf = (id: string): number => partitions.findIndex(({ functionIds }) => functionIds.includes(id));
    const own = partOf(functionId);
    const inFlight = (this.held.get(worker) ?? []).filter((id) => partOf(id) === own).length;
    return { capacity: partitions[own]?.capacity ?? capacity, inFlight };
  }

  room(workers: readonly ConnectedWorker[], functionId: string): number {
    return workers.reduce((sum, worker) => {
      const { capacity, inFlight } = this.part(worker, functionId);
      return sum + Math.max(0, capacity - inFlight);
    }, 0);
  }

  release(worker: ConnectedWorker, functionId: string): void {
    const held = this.held.get(worker) ?? [];
    held.splice(held.indexOf(functionId), 1);
  }

  hold(worker: ConnectedWorker, functionId: string): void {
    this.held.set(worker, [...(this.held.get(worker) ?? []), functionId]);
  }

  isSilent = (worker: ConnectedWorker, nowMs: number): boolean => nowMs - worker.session.seenMs > this.maxSilentMs;

  isRested = (worker: ConnectedWorker, nowMs: number): boolean =>
    worker.restUntilMs <= nowMs && !this.isSilent(worker, nowMs);

  isAwake = (worker: ConnectedWorker, nowMs: number): boolean =>
    this.isRested(worker, nowMs) && !worker.session.congested;

  roomByFunction(nowMs: number, most: number): unknown[] {
    return FUNCTIONS.flatMap((functionId) => {
      const awake = this.open(functionId).filter((worker) => this.isAwake(worker, nowMs));
      const room = this.room(awake, functionId);
      const leaseMs = Math.max(0, ...awake.map(({ session }) => session.leaseMs));
      const shared = { room: this.sharedRoom(functionId, nowMs) };
      return room > 0 ? [{ functionId, limit: Math.min(room, most), leaseMs, shared }] : [];
    });
  }

  /** The room of all that a function shares workers with, directly or by way of others; itself included. */
  sharedRoom(functionId: string, nowMs: number): number {
    const parts = new Map<string, { room: number; functionIds: Set<string> }>();
    for (const id of FUNCTIONS) {
      for (const worker of this.open(id).filter((one) => this.isAwake(one, nowMs))) {
        const key = `${worker.id} ${worker.session.partitions.findIndex(({ functionIds }) => functionIds.includes(id))}`;
        const part = parts.get(key) ?? { room: this.room([worker], id), functionIds: new Set() };
        if (part.room > 0) parts.set(key, part);
        part.functionIds.add(id);
      }
    }
    const shared = new Set([functionId]);
    for (let before = 0; before < shared.size; ) {
      before = shared.size;
      for (const { functionIds } of parts.values())
        if ([...functionIds].some((id) => shared.has(id))) for (const id of functionIds) shared.add(id);
    }
    const own = [...parts.values()].filter(({ functionIds }) => [...functionIds].some((id) => shared.has(id)));
    return own.reduce((sum, { room }) => sum + room, 0);
  }

  roomByVersion(nowMs: number, most: number): unknown[] {
    return FUNCTIONS.flatMap((functionId) =>
      VERSIONS.flatMap((appVersion) => {
        const own = this.open(functionId).filter(({ versions }) => versions.get(functionId) === appVersion);
        const awake = own.filter((worker) => this.isAwake(worker, nowMs));
        const room = this.room(awake, functionId);
        return own.length > 0 ? [{ functionId, appVersion, limit: Math.min(room, most) }] : [];
      }),
    );
  }

  restsForMs(nowMs: number): number | null {
    const rests = this.workers.flatMap(({ restUntilMs }) => (restUntilMs > nowMs ? [restUntilMs - nowMs] : []));
    return rests.length === 0 ? null : Math.min(...rests);
  }

  unroutable(nowMs: number): Set<string> {
    const all = new Set(this.workers.flatMap(({ functionIds }) => [...functionIds]));
    for (const functionId of FUNCTIONS) {
      const takers = this.workers.filter(({ open, functionIds }) => open && functionIds.has(functionId));
      if (takers.some((worker) => !this.isSilent(worker, nowMs))) all.delete(functionId);
    }
    return all;
  }

  candidates(functionId: string, nowMs: number, version: string | null, mayWait: boolean): ConnectedWorker[] {
    const may = (worker: ConnectedWorker): boolean =>
      (version === null || worker.versions.get(functionId) === version) && this.room([worker], functionId) > 0;
    const own = this.open(functionId).filter(may);
    const awake = own.filter((worker) => this.isAwake(worker, nowMs));
    return awake.length > 0 || !mayWait ? awake : own.filter((worker) => this.isRested(worker, nowMs));
  }
}

const made: fc.Arbitrary<Made> = fc.record({
  functionIds: fc.subarray(FUNCTIONS, { minLength: 1 }),
  version: fc.constantFrom(...VERSIONS),
  capacity: fc.integer({ min: 1, max: 3 }),
  queues: fc.option(fc.subarray(QUEUES, { minLength: 1 })),
  apart: fc.subarray(FUNCTIONS, { maxLength: 2 }),
  leaseMs: fc.constantFrom(1000, 2000),
  open: fc.boolean(),
  instance: fc.nat(2),
});
const who = fc.nat(20);
const name = fc.constantFrom(...FUNCTIONS);
const version = fc.constantFrom(null, ...VERSIONS);

type Move =
  | { readonly do: "add"; readonly made: Made }
  | { readonly do: "close" | "reopen" | "remove" | "putLast" | "speak" | "congest"; readonly who: number }
  | { readonly do: "hold" | "release"; readonly who: number; readonly functionId: string }
  | { readonly do: "register"; readonly functionId: string; readonly version: string; readonly queue: string }
  | { readonly do: "rest"; readonly who: number; readonly forMs: number }
  | { readonly do: "removeFunction"; readonly who: number; readonly functionId: string }
  | { readonly do: "reserve"; readonly functionId: string; readonly version: string | null; readonly mayWait: boolean }
  | { readonly do: "wait"; readonly forMs: number };

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("add" as const), made }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("close", "reopen", "remove", "putLast", "speak", "congest" as const),
      who,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("hold", "release" as const), who, functionId: name }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("register" as const),
      functionId: name,
      version: fc.constantFrom(...VERSIONS),
      queue: fc.constantFrom(...QUEUES),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("rest" as const), who, forMs: fc.constantFrom(0, 10, 30, 100) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("removeFunction" as const), who, functionId: name }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("reserve" as const), functionId: name, version, mayWait: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), forMs: fc.constantFrom(1, 10, 50, 150) }) },
);

function history(moves: readonly Move[], silentBeats: number): void {
  const walk = new Walk(silentBeats * BEAT_MS);
  const queueOf = (id: string, version: string): string => walk.queues.get(`${id}@${version}`) ?? "default";
  const workers = new Workers((candidates, nowMs) => chooseWorker(candidates, { nowMs }), silentBeats, queueOf);
  const sessions = new Map<ConnectedWorker, Session>();
  let nowMs = 1000;
  let made = 0;
  for (const one of moves) {
    const worker = "who" in one ? walk.workers[one.who % Math.max(1, walk.workers.length)] : undefined;
    const session = worker && sessions.get(worker);
    if (one.do === "add") {
      made += 1;
      const fresh = sessionOf(`s${made}`, one.made, nowMs);
      const added = workers.add(fresh, one.made.open);
      walk.workers.push(added);
      sessions.set(added, fresh);
    } else if (one.do === "wait") nowMs += one.forMs;
    else if (one.do === "register") walk.queues.set(`${one.functionId}@${one.version}`, one.queue);
    else if (one.do === "reserve") expectBest(workers, walk, one, nowMs);
    else if (!worker || !session) continue;
    else if (one.do === "close") workers.close(worker);
    else if (one.do === "reopen") workers.reopen(worker);
    else if (one.do === "putLast") workers.putLast(worker);
    else if (one.do === "hold") {
      workers.hold(worker, one.functionId);
      walk.hold(worker, one.functionId);
    } else if (one.do === "release") {
      if (!walk.held.get(worker)?.includes(one.functionId)) continue;
      workers.release(worker, one.functionId);
      walk.release(worker, one.functionId);
    } else if (one.do === "rest") workers.rest(worker, nowMs + one.forMs);
    else if (one.do === "removeFunction") workers.removeFunction(worker, one.functionId);
    else if (one.do === "speak") session.seenMs = nowMs;
    else if (one.do === "congest") {
      session.congested = !session.congested;
      workers.roomChanged(worker);
    } else {
      workers.remove(worker);
      walk.workers.splice(walk.workers.indexOf(worker), 1);
      // What it held is given back after it has gone.
      for (const functionId of walk.held.get(worker) ?? []) workers.release(worker, functionId);
    }
    expectSame(workers, walk, nowMs);
  }
}

function expectBest(workers: Workers, walk: Walk, one: Extract<Move, { do: "reserve" }>, nowMs: number): void {
  const candidates = walk.candidates(one.functionId, nowMs, one.version, one.mayWait);
  const rank = (worker: ConnectedWorker): number => {
    const { inFlight, capacity } = walk.part(worker, one.functionId);
    return inFlight / capacity + (nowMs - worker.session.seenMs > 2 * BEAT_MS ? 10 : 0);
  };
  const best = candidates.length === 0 ? undefined : Math.min(...candidates.map(rank));
  const before = new Map(candidates.map((worker) => [worker, rank(worker)]));
  const reserved = workers.reserve(one.functionId, nowMs, one.version, one.mayWait);
  expect(reserved && before.get(reserved)).toBe(best);
  if (reserved) walk.hold(reserved, one.functionId);
}

const sorted = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

function expectSame(workers: Workers, walk: Walk, nowMs: number): void {
  expect(sorted(workers.roomByFunction(nowMs, 5))).toEqual(sorted(walk.roomByFunction(nowMs, 5)));
  expect(sorted(workers.roomByVersion(FUNCTIONS, nowMs, 5))).toEqual(sorted(walk.roomByVersion(nowMs, 5)));
  expect(workers.restsForMs(nowMs)).toBe(walk.restsForMs(nowMs));
  expect(workers.unroutable(nowMs)).toEqual(walk.unroutable(nowMs));
  expect(workers.size).toBe(walk.workers.length);
  const accepted = FUNCTIONS.filter((functionId) => walk.open(functionId).length > 0);
  expect(workers.functionIds().sort()).toEqual(accepted);
  for (const instance of [0, 1, 2]) {
    const own = walk.workers.filter(({ session }) => session.instanceId === `i${instance}`);
    expect([...workers.ofInstance(`i${instance}`)]).toEqual(own);
  }
  for (const functionId of FUNCTIONS) {
    const open = walk.open(functionId);
    expect(workers.accepts(functionId)).toBe(open.length > 0);
    for (const one of VERSIONS) {
      const isOf = ({ versions }: ConnectedWorker): boolean => versions.get(functionId) === one;
      expect(workers.hasVersion(functionId, one)).toBe(open.some(isOf));
      expect(workers.isOnly(functionId, one)).toBe(open.every(isOf));
      const having = walk.workers.filter((worker) => walk.runs(worker, functionId));
      expect(workers.connects(functionId, one)).toBe(having.some(isOf));
    }
  }
}

describe("What is counted of the connected workers is what a walk over them finds", () => {
  test.each([
    ["of a gateway", Number.POSITIVE_INFINITY],
    ["of a plain gateway, which gives silent workers nothing", SILENT_BEATS],
  ])(
    "%s",
    (_, silentBeats) => {
      fc.assert(
        fc.property(fc.array(move, { minLength: 5, maxLength: 60 }), (moves) => history(moves, silentBeats)),
        { numRuns: runs(600) },
      );
    },
    60_000,
  );
});

test("a question about ten thousand connected workers looks at none of them", () => {
  let looks = 0;
  const one: Made = {
    functionIds: FUNCTIONS,
    version: "1",
    capacity: 2,
    queues: QUEUES,
    apart: ["c"],
    leaseMs: 1,
    open: true,
    instance: 0,
  };
  const workers = new Workers((candidates, nowMs) => chooseWorker(candidates, { nowMs }));
  for (let n = 0; n < 10_000; n += 1) {
    const session = sessionOf(`s${n}`, { ...one, instance: n }, 0);
    const counted = Object.defineProperty({ ...session }, "congested", {
      get: () => {
        looks += 1;
        return false;
      },
    });
    workers.add(counted, true);
  }
  looks = 0;
  const ask = (): void => {
    expect(workers.roomByFunction(1, 1e9)).toHaveLength(3);
    expect(workers.roomByVersion(FUNCTIONS, 1, 1e9)).toHaveLength(3);
    expect(workers.isOnly("a", "1") && workers.hasVersion("a", "1") && workers.connects("a", "1")).toBe(true);
  };
  ask();
  expect(looks).toBe(0);
  const reserved = workers.reserve("a", 1, null);
  if (reserved) workers.release(reserved, "a");
  workers.add(sessionOf("last", one, 0), true);
  ask();
  // Of the one worker that was reserved and released.
  expect(looks).toBeLessThan(5);
});

describe("Of thousands of workers", () => {
  const COUNT = 2_000;
  const CAPACITY = 3;
  let looked = 0;

  /** Each with a socket that the test says to be full or not. */
  function crowd(isCongested: () => boolean): Workers {
    const workers = new Workers((candidates, nowMs) =>
      chooseWorker(
        (function* () {
          for (const one of candidates) {
            looked += 1;
            yield one;
          }
        })(),
        { nowMs },
      ),
    );
    for (let n = 0; n < COUNT; n += 1) {
      const made = { functionIds: ["a"], version: "1", queues: null, apart: [], leaseMs: 1, open: true, instance: n };
      const session = sessionOf(`s${n}`, { ...made, capacity: CAPACITY }, 0);
      workers.add(Object.defineProperty(session, "congested", { get: isCongested }), true);
    }
    looked = 0;
    return workers;
  }

  test("that all hold something a few are looked at for each request, and all get their share", () => {
    const workers = crowd(() => false);
    const held = new Map<ConnectedWorker, number>();
    for (let n = 0; n < 2 * COUNT; n += 1) {
      const worker = workers.reserve("a", 1, null);
      if (worker) held.set(worker, (held.get(worker) ?? 0) + 1);
    }
    expect(held.size).toBe(COUNT);
    expect(looked / COUNT).toBeLessThan(100);
    expect(Math.max(...held.values()) - Math.min(...held.values())).toBeLessThanOrEqual(1);
  });

  test("that are all full none is looked at", () => {
    const workers = crowd(() => false);
    for (let n = 0; n < CAPACITY * COUNT; n += 1) expect(workers.reserve("a", 1, null)).toBeDefined();
    looked = 0;
    expect(workers.reserve("a", 1, null)).toBeUndefined();
    expect(workers.reserve("a", 1, null, true)).toBeUndefined();
    expect(looked).toBe(0);
  });

  test("whose sockets are full one is chosen only for a run that may wait, and only where it has room for more", () => {
    let isCongested = false;
    const workers = crowd(() => isCongested);
    const [first, ...others] = workers.all();
    isCongested = true;
    for (const worker of others) workers.roomChanged(worker);
    for (let n = 0; n < CAPACITY && first; n += 1) workers.hold(first, "a");
    expect(workers.reserve("a", 1, null)).toBeUndefined();
    expect(others).toContain(workers.reserve("a", 1, null, true));
  });
});
