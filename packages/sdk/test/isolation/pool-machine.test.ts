/**
 * The pool machine in a world of threads that start, fail, overrun, are taken by the connection thread and do not end,
 * in any order.
 */
import type { PlainError } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { createPoolStep } from "../../src/isolation/machines/pool-machine.ts";
import {
  POOL_START,
  type PoolEffect,
  type PoolEvent,
  type PoolRules,
  type PoolState,
} from "../../src/isolation/machines/pool-types.ts";

const REASON: PlainError = { name: "Error", message: "it ended" };

interface WorldThread {
  readonly memoryMb: number;
  phase: "starting" | "free" | "busy" | "lent" | "doomed" | "told to end" | "terminated";
  key?: number;
}

/** Does what the effects ask for, and checks after each step what must hold. */
class World {
  readonly #rules: PoolRules;
  readonly #step: ReturnType<typeof createPoolStep>;
  state: PoolState = POOL_START;
  readonly threads = new Map<number, WorldThread>();
  /** How often each submitted turn was settled. */
  readonly settled = new Map<number, number>();
  readonly given = new Map<number, number[]>();
  isBackingOff = false;
  stopped = 0;
  nowMs = 0;
  #nextKey = 1;
  /** Whether the connection thread takes a free thread just before main does. */
  takesNext = false;
  /** Turns that a thread had and did not begin with. */
  readonly #cameBack = new Set<number>();
  readonly #withdrawn = new Set<number>();

  constructor(rules: PoolRules) {
    this.#rules = rules;
    this.#step = createPoolStep(rules);
  }

  send(event: PoolEvent): void {
    const waiting: PoolEvent[] = [event];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [state, effects] = this.#step(this.state, next);
      this.state = state;
      for (const effect of effects) waiting.push(...this.#run(effect));
      this.#check();
    }
  }

  submit(memoryMb: number): void {
    const key = this.#nextKey;
    this.#nextKey += 1;
    this.settled.set(key, 0);
    this.send({ type: "SUBMIT", turn: { key, memoryMb } });
  }

  /** One of the last turns, or one that is not there. */
  withdraw(which: number): void {
    const key = Math.max(0, this.#nextKey - which);
    if (this.settled.has(key)) this.#withdrawn.add(key);
    this.send({ type: "WITHDRAW", key });
  }

  /** Something happens to a thread. */
  happen(what: number, whom: number): void {
    this.nowMs += 1;
    const ids = [...this.threads.keys()];
    const id = ids[whom % Math.max(1, ids.length)];
    const thread = id === undefined ? undefined : this.threads.get(id);
    if (id === undefined || thread === undefined) return;
    const kind = what % 6;
    if (kind === 0) return this.#exit(id);
    switch (thread.phase) {
      case "starting":
        if (kind === 1) return this.#exit(id, { isShortage: true });
        thread.phase = "free";
        return this.send({ type: "READY", id, nowMs: this.nowMs });
      case "free":
        if (kind === 3) return this.send({ type: "CUT", id, reason: REASON, why: "left-behind" });
        if (kind > 2) return;
        thread.phase = "lent";
        return kind === 1 ? this.send({ type: "LENT", id }) : undefined;
      case "busy":
        if (kind === 1) return this.send({ type: "CUT", id, reason: REASON, why: "overrun" });
        if (kind === 2) {
          if (thread.key !== undefined) this.#cameBack.add(thread.key);
          delete thread.key;
          return this.send({ type: "CUT", id, reason: REASON, why: "left-behind" });
        }
        if (kind === 3) {
          if (thread.key !== undefined) this.#cameBack.add(thread.key);
          return this.#exit(id, { isUnbegun: true });
        }
        return this.#finish(id, thread, kind === 4);
      case "lent":
        if (kind === 1) return this.send({ type: "CUT", id, reason: REASON, why: "overrun" });
        if (kind === 2) {
          thread.phase = "doomed";
          this.send({ type: "LENT", id });
        } else thread.phase = "free";
        return this.send({ type: "RETURNED", id, nowMs: this.nowMs, isSpent: kind === 2 });
      case "doomed":
      case "told to end":
        return;
      case "terminated":
        return kind === 1 ? this.send({ type: "NOT_ENDING", id, reason: REASON }) : this.#exit(id);
    }
  }

  /** Threads do what they should from now on. */
  calmDown(): void {
    for (let round = 0; round < 200; round += 1) {
      if (this.isBackingOff) this.#endBackoff();
      for (const [id, thread] of [...this.threads]) {
        this.nowMs += 1;
        if (thread.phase === "starting") {
          thread.phase = "free";
          this.send({ type: "READY", id, nowMs: this.nowMs });
        } else if (thread.phase === "busy") this.#finish(id, thread);
        else if (thread.phase === "lent") {
          thread.phase = "free";
          this.send({ type: "RETURNED", id, nowMs: this.nowMs, isSpent: false });
        } else if (thread.phase !== "free") this.#exit(id);
      }
    }
  }

  backOffEnds(): void {
    if (this.isBackingOff) this.#endBackoff();
  }

  #endBackoff(): void {
    this.isBackingOff = false;
    this.send({ type: "BACKOFF_OVER" });
  }

  #finish(id: number, thread: WorldThread, isSpent = false): void {
    const { key } = thread;
    if (key === undefined) return;
    thread.phase = isSpent ? "doomed" : "free";
    delete thread.key;
    this.#settle(key);
    this.send({ type: "FINISHED", id, key, nowMs: this.nowMs, isSpent });
  }

  #exit(id: number, how: { readonly isUnbegun?: true; readonly isShortage?: true } = {}): void {
    this.threads.delete(id);
    this.send({ type: "EXITED", id, reason: REASON, ...how });
  }

  #settle(key: number): void {
    this.settled.set(key, (this.settled.get(key) ?? 0) + 1);
  }

  #run(effect: PoolEffect): PoolEvent[] {
    switch (effect.do) {
      case "SPAWN":
        expect(this.state.isStopping, "POOL-6").toBe(false);
        expect(this.isBackingOff).toBe(false);
        this.threads.set(effect.id, { memoryMb: effect.memoryMb, phase: "starting" });
        return [];
      case "GIVE":
        return this.#give(effect);
      case "RETIRE": {
        const thread = this.threads.get(effect.id);
        if (thread === undefined || thread.phase !== "free") return [{ type: "NOT_FREE", id: effect.id }];
        thread.phase = "told to end";
        return [];
      }
      case "TERMINATE": {
        const thread = this.threads.get(effect.id);
        if (thread) thread.phase = "terminated";
        return [];
      }
      case "ABORT":
        expect(this.threads.get(effect.id)?.key).toBe(effect.key);
        return [];
      case "DROP":
      case "FAIL":
        this.#settle(effect.key);
        return [];
      case "BACK_OFF":
        expect(this.isBackingOff).toBe(false);
        this.isBackingOff = true;
        return [];
      case "STOPPED":
        this.stopped += 1;
        return [];
    }
  }

  #give({ id, turn }: Extract<PoolEffect, { do: "GIVE" }>): PoolEvent[] {
    const thread = this.threads.get(id);
    if (thread?.phase === "free" && this.takesNext) {
      thread.phase = "lent";
      this.takesNext = false;
    }
    if (thread === undefined || thread.phase === "lent") return [{ type: "NOT_FREE", id }];
    expect(thread.phase, "POOL-5").toBe("free");
    expect(thread.memoryMb).toBe(turn.memoryMb);
    expect(this.settled.get(turn.key), "POOL-2").toBe(0);
    expect(this.#withdrawn.has(turn.key), "POOL-11").toBe(false);
    for (const other of this.threads.values()) expect(other.key, "POOL-2").not.toBe(turn.key);
    const before = this.given.get(turn.memoryMb) ?? [];
    if (!this.#cameBack.has(turn.key)) for (const key of before) expect(key, "POOL-4").toBeLessThan(turn.key);
    this.given.set(turn.memoryMb, [...before, turn.key]);
    thread.phase = "busy";
    thread.key = turn.key;
    return [];
  }

  #check(): void {
    const { threads, queue, isStopping } = this.state;
    const abandoned = threads.filter(({ phase }) => phase.type === "abandoned");
    expect(threads.length - abandoned.length, "POOL-1").toBeLessThanOrEqual(this.#rules.threads);
    expect(threads.length, "POOL-1").toBeLessThanOrEqual(this.#rules.threads + this.#rules.maxAbandoned);
    expect(new Set(threads.map(({ slot }) => slot)).size, "POOL-1").toBe(threads.length);
    // Turns that the connection thread was quicker than come back.
    expect(queue.length, "POOL-9").toBeLessThanOrEqual(this.#rules.maxQueue + this.#rules.threads);
    if (isStopping) expect(queue, "POOL-6").toEqual([]);
    const isMoving = threads.some(({ phase }) => phase.type !== "abandoned" && phase.type !== "idle");
    if (queue.length > 0) expect(isMoving || this.isBackingOff, "POOL-3").toBe(true);
    for (const [key, count] of this.settled) expect(count, `POOL-2: turn ${key}`).toBeLessThanOrEqual(1);
  }
}

const rules = fc.record({
  threads: fc.integer({ min: 1, max: 4 }),
  warm: fc.integer({ min: 0, max: 2 }),
  maxQueue: fc.integer({ min: 1, max: 6 }),
  maxAbandoned: fc.integer({ min: 0, max: 2 }),
  recycleAfter: fc.option(fc.integer({ min: 1, max: 3 })),
  idleMs: fc.option(fc.integer({ min: 1, max: 20 })),
});

const moves = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant("happen"), what: fc.nat(5), whom: fc.nat(5) }) },
    {
      weight: 4,
      arbitrary: fc.record({ type: fc.constant("submit"), what: fc.constantFrom(0, 0, 0, 64), whom: fc.nat() }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constantFrom("backoff", "idle", "take", "want"),
        what: fc.nat(10),
        whom: fc.nat(20),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("withdraw"), what: fc.nat(), whom: fc.nat(5) }) },
  ),
  { maxLength: 60 },
);

function play(
  world: World,
  { type, what, whom }: { readonly type: string; readonly what: number; readonly whom: number },
): void {
  if (type === "happen") world.happen(what, whom);
  else if (type === "submit") world.submit(what);
  else if (type === "withdraw") world.withdraw(whom);
  else if (type === "backoff") world.backOffEnds();
  else if (type === "idle") world.send({ type: "IDLE_CHECK", nowMs: world.nowMs });
  else if (type === "take") world.takesNext = true;
  else world.send({ type: "WANT", count: what % 4 });
}

const ONE_THREAD: PoolRules = {
  threads: 1,
  warm: 0,
  maxQueue: 5,
  maxAbandoned: 1,
  recycleAfter: null,
  idleMs: null,
};

function playAll(
  step: ReturnType<typeof createPoolStep>,
  events: readonly PoolEvent[],
): readonly [PoolState, readonly PoolEffect[]] {
  const done: PoolEffect[] = [];
  let state = POOL_START;
  for (const event of events) {
    const [next, effects] = step(state, event);
    state = next;
    done.push(...effects);
  }
  return [state, done];
}

describe("Pool machine", () => {
  it("POOL-1 to POOL-5, POOL-9, POOL-11: the pool's rules hold in every schedule, and every turn is settled once", () => {
    fc.assert(
      fc.property(rules, moves, (given, schedule) => {
        const world = new World({ ...given, warm: Math.min(given.warm, given.threads) });
        for (const move of schedule) play(world, move);
        world.calmDown();
        for (const [key, count] of world.settled) expect(count, `POOL-2, POOL-3: turn ${key}`).toBe(1);
        expect(world.state.queue).toEqual([]);
      }),
      { numRuns: runs(1000) },
    );
  });

  it("POOL-6: a pool that stops fails what it has, starts nothing, and says once that it has stopped", () => {
    fc.assert(
      fc.property(rules, moves, moves, (given, before, after) => {
        const world = new World(given);
        for (const move of before) play(world, move);
        world.send({ type: "STOP", reason: REASON });
        for (const move of after) play(world, move);
        world.calmDown();
        for (const count of world.settled.values()) expect(count).toBe(1);
        expect(world.stopped).toBe(1);
      }),
      { numRuns: runs(500) },
    );
  });

  it("POOL-7: events of threads and turns that are gone change nothing", () => {
    const step = createPoolStep({ threads: 2, warm: 0, maxQueue: 5, maxAbandoned: 1, recycleAfter: null, idleMs: 10 });
    const [started] = step(POOL_START, { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } });
    const [busy] = step(started, { type: "READY", id: 1, nowMs: 0 });
    const late: PoolEvent[] = [
      { type: "READY", id: 1, nowMs: 5 },
      { type: "FINISHED", id: 1, key: 7, nowMs: 5, isSpent: false },
      { type: "FINISHED", id: 9, key: 1, nowMs: 5, isSpent: false },
      { type: "RETURNED", id: 1, nowMs: 5, isSpent: false },
      { type: "LENT", id: 1 },
      { type: "CUT", id: 9, reason: REASON, why: "overrun" },
      { type: "EXITED", id: 9, reason: REASON },
      { type: "NOT_ENDING", id: 1, reason: REASON },
      { type: "WITHDRAW", key: 7 },
    ];
    for (const event of late) expect(step(busy, event), event.type).toEqual([busy, []]);
  });

  it("POOL-3: with no room left but that of threads that do not end, what waits fails", () => {
    const step = createPoolStep({
      threads: 1,
      warm: 0,
      maxQueue: 5,
      maxAbandoned: 0,
      recycleAfter: null,
      idleMs: null,
    });
    const events: readonly PoolEvent[] = [
      { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } },
      { type: "READY", id: 1, nowMs: 0 },
      { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } },
      { type: "CUT", id: 1, reason: REASON, why: "overrun" },
    ];
    const waiting = events.reduce((state, event) => step(state, event)[0], POOL_START);
    expect(waiting.queue).toHaveLength(1);
    const [state, effects] = step(waiting, { type: "NOT_ENDING", id: 1, reason: REASON });
    expect(effects).toEqual([{ do: "FAIL", key: 2, cause: "EXHAUSTED", reason: null }]);
    expect(state.queue).toEqual([]);
  });

  it("POOL-9: a turn that comes while as many wait as may wait fails at once, and those that wait stay", () => {
    const step = createPoolStep({
      threads: 1,
      warm: 0,
      maxQueue: 1,
      maxAbandoned: 1,
      recycleAfter: null,
      idleMs: null,
    });
    const [waiting] = step(POOL_START, { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } });
    const [full, effects] = step(waiting, { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } });
    expect(full).toEqual(waiting);
    expect(effects).toEqual([{ do: "FAIL", key: 2, cause: "QUEUE_FULL", reason: null }]);
  });

  it("POOL-10: a turn that its thread did not begin with goes to the next thread, before those that came later", () => {
    const step = createPoolStep({
      threads: 1,
      warm: 0,
      maxQueue: 5,
      maxAbandoned: 1,
      recycleAfter: null,
      idleMs: null,
    });
    const events: PoolEvent[] = [
      { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } },
      { type: "READY", id: 1, nowMs: 1 },
      { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } },
      { type: "CUT", id: 1, reason: REASON, why: "left-behind" },
      { type: "EXITED", id: 1, reason: REASON },
    ];
    const done: PoolEffect[] = [];
    let state = POOL_START;
    for (const event of events) {
      const [next, effects] = step(state, event);
      state = next;
      done.push(...effects);
    }
    const [ready, gives] = step(state, { type: "READY", id: 2, nowMs: 2 });
    expect(done.filter((effect) => effect.do === "FAIL")).toEqual([]);
    expect(gives).toEqual([{ do: "GIVE", id: 2, turn: { key: 1, memoryMb: 0 } }]);
    expect(ready.queue).toEqual([{ key: 2, memoryMb: 0 }]);
    expect(ready.counts).toEqual({ overruns: 0, crashes: 0, recycled: 1 });
  });

  it("POOL-10: so does one whose thread ended before it began with it, and the next thread starts after a pause", () => {
    const step = createPoolStep(ONE_THREAD);
    const [state, done] = playAll(step, [
      { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } },
      { type: "READY", id: 1, nowMs: 1 },
      { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } },
      { type: "EXITED", id: 1, reason: REASON, isUnbegun: true },
    ]);
    expect(done.filter((effect) => effect.do === "FAIL")).toEqual([]);
    expect(done.at(-1)).toEqual({ do: "BACK_OFF", failures: 1, reason: null });
    expect(state.queue.map(({ key }) => key)).toEqual([1, 2]);
    expect(state.counts).toMatchObject({ crashes: 1 });
    const [, spawns] = step(state, { type: "BACKOFF_OVER" });
    expect(spawns).toEqual([{ do: "SPAWN", id: 2, slot: 0, memoryMb: 0 }]);
  });

  it("POOL-12: where the process lacks what a thread needs, turns wait while its start is tried again, longer and longer", () => {
    const step = createPoolStep(ONE_THREAD);
    const rounds = [1, 2, 3].flatMap((id): PoolEvent[] => [
      { type: "EXITED", id, reason: REASON, isShortage: true },
      { type: "BACKOFF_OVER" },
    ]);
    const [state, done] = playAll(step, [{ type: "SUBMIT", turn: { key: 1, memoryMb: 0 } }, ...rounds]);
    const pauses = [1, 2, 3].map((failures) => ({ do: "BACK_OFF", failures, reason: REASON }));
    expect(done.filter((effect) => effect.do !== "SPAWN")).toEqual(pauses);
    expect(state.queue).toEqual([{ key: 1, memoryMb: 0 }]);
    const [, gives] = step(state, { type: "READY", id: 4, nowMs: 1 });
    expect(gives).toEqual([{ do: "GIVE", id: 4, turn: { key: 1, memoryMb: 0 } }]);
  });

  it("POOL-12: what would rather fail than wait does so", () => {
    const turn = { key: 1, memoryMb: 0, isImpatient: true } as const;
    const [, done] = playAll(createPoolStep(ONE_THREAD), [
      { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } },
      { type: "SUBMIT", turn },
      { type: "EXITED", id: 1, reason: REASON, isShortage: true },
    ]);
    expect(done.filter((effect) => effect.do === "FAIL")).toEqual([
      { do: "FAIL", key: 1, cause: "NOT_STARTED", reason: REASON },
    ]);
  });

  it.each([
    ["of main's", { type: "FINISHED", id: 1, key: 1, nowMs: 2, isSpent: true }],
    ["of the connection thread's", { type: "RETURNED", id: 1, nowMs: 2, isSpent: true }],
  ] as const)("POOL-13: a thread that is spent after a turn %s is replaced and gets no further turn", (_, end) => {
    const first: readonly PoolEvent[] =
      end.type === "FINISHED"
        ? [{ type: "READY", id: 1, nowMs: 1 }]
        : [
            { type: "WITHDRAW", key: 1 },
            { type: "READY", id: 1, nowMs: 1 },
            { type: "LENT", id: 1 },
          ];
    const submits = [1, 2].map((key): PoolEvent => ({ type: "SUBMIT", turn: { key, memoryMb: 0 } }));
    const [state, done] = playAll(createPoolStep(ONE_THREAD), [
      ...submits.slice(0, 1),
      ...first,
      ...submits.slice(1),
      end,
      { type: "EXITED", id: 1, reason: REASON },
      { type: "READY", id: 2, nowMs: 3 },
    ]);
    expect(done.filter((effect) => effect.do === "GIVE" || effect.do === "TERMINATE").slice(-2)).toEqual([
      { do: "TERMINATE", id: 1 },
      { do: "GIVE", id: 2, turn: { key: 2, memoryMb: 0 } },
    ]);
    expect(state.counts).toEqual({ overruns: 0, crashes: 0, recycled: 1 });
  });

  it("a thread that computes without a turn is ended, and another one starts for what comes", () => {
    const [state, done] = playAll(createPoolStep(ONE_THREAD), [
      { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } },
      { type: "READY", id: 1, nowMs: 1 },
      { type: "FINISHED", id: 1, key: 1, nowMs: 2, isSpent: false },
      { type: "CUT", id: 1, reason: REASON, why: "left-behind" },
      { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } },
      { type: "EXITED", id: 1, reason: REASON },
    ]);
    expect(done.slice(-2)).toEqual([
      { do: "TERMINATE", id: 1 },
      { do: "SPAWN", id: 2, slot: 0, memoryMb: 0 },
    ]);
    expect(state.counts).toEqual({ overruns: 0, crashes: 0, recycled: 1 });
  });

  it("POOL-11: a turn that is withdrawn before its thread has begun with it goes to no other thread", () => {
    const step = createPoolStep({
      threads: 1,
      warm: 0,
      maxQueue: 5,
      maxAbandoned: 1,
      recycleAfter: null,
      idleMs: null,
    });
    const events: PoolEvent[] = [
      { type: "SUBMIT", turn: { key: 1, memoryMb: 0 } },
      { type: "READY", id: 1, nowMs: 1 },
      { type: "SUBMIT", turn: { key: 2, memoryMb: 0 } },
      { type: "WITHDRAW", key: 1 },
      { type: "CUT", id: 1, reason: REASON, why: "left-behind" },
      { type: "NOT_ENDING", id: 1, reason: REASON },
      { type: "READY", id: 2, nowMs: 2 },
    ];
    const done: PoolEffect[] = [];
    let state = POOL_START;
    for (const event of events) {
      const [next, effects] = step(state, event);
      state = next;
      done.push(...effects);
    }
    expect(done).toEqual([
      { do: "SPAWN", id: 1, slot: 0, memoryMb: 0 },
      { do: "GIVE", id: 1, turn: { key: 1, memoryMb: 0 } },
      { do: "ABORT", id: 1, key: 1 },
      { do: "DROP", key: 1 },
      { do: "TERMINATE", id: 1 },
      { do: "SPAWN", id: 2, slot: 1, memoryMb: 0 },
      { do: "GIVE", id: 2, turn: { key: 2, memoryMb: 0 } },
    ]);
  });

  it("POOL-8: a thread that ends fails its own turn, and one that ends while it starts fails one that waits for its like", () => {
    const step = createPoolStep({
      threads: 2,
      warm: 0,
      maxQueue: 5,
      maxAbandoned: 1,
      recycleAfter: null,
      idleMs: null,
    });
    const play = (events: readonly PoolEvent[]): [PoolState, PoolEffect[]] =>
      events.reduce<[PoolState, PoolEffect[]]>(
        ([state], event) => {
          const [next, effects] = step(state, event);
          return [next, [...effects]];
        },
        [POOL_START, []],
      );
    const submits: PoolEvent[] = [1, 2, 3].map((key) => ({
      type: "SUBMIT",
      turn: { key, memoryMb: key === 3 ? 64 : 0 },
    }));
    const [, ended] = play([...submits, { type: "READY", id: 1, nowMs: 0 }, { type: "EXITED", id: 1, reason: REASON }]);
    expect(ended.filter((effect) => effect.do === "FAIL")).toEqual([
      { do: "FAIL", key: 1, cause: "ENDED", reason: REASON },
    ]);
    const [state, unstarted] = play([...submits, { type: "EXITED", id: 2, reason: REASON }]);
    expect(unstarted).toEqual([
      { do: "FAIL", key: 1, cause: "NOT_STARTED", reason: REASON },
      { do: "BACK_OFF", failures: 1, reason: REASON },
    ]);
    expect(state.queue.map(({ key }) => key)).toEqual([2, 3]);
  });
});
