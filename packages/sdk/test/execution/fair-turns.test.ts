import { AsyncLocalStorage } from "node:async_hooks";
import { systemClock } from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CancelSource } from "../../src/execution/abort.ts";
import { asyncContext } from "../../src/execution/async-context.ts";
import { currentExecution } from "../../src/execution/current.ts";
import type { ExecutionResult } from "../../src/execution/execution.ts";
import { BODIES_IN_A_ROW, FairTurns, type Turns, UNLIMITED_TURNS } from "../../src/execution/fair-turns.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { client, jsonOf, opsOf, turn } from "./support.ts";

const LIMIT_MS = 10;

/** A clock that only code moves, and turns that the test begins. */
class World {
  nowMs = 0;
  #begin: (() => void) | undefined;
  readonly fair = new FairTurns({
    monotonicMs: () => this.nowMs,
    nextTurn: (begin) => {
      expect(this.#begin).toBeUndefined();
      this.#begin = begin;
    },
  });

  async turn(): Promise<void> {
    const begin = this.#begin;
    this.#begin = undefined;
    begin?.();
    await turn();
  }
}

/** Starts code that takes so long; true if it started at once. */
function startIn(turns: Turns, world: World, tookMs: number, onStart: () => void): boolean {
  let isAsked = false;
  let isAtOnce = false;
  turns.start(() => {
    isAtOnce = !isAsked;
    onStart();
    world.nowMs += tookMs;
  });
  isAsked = true;
  return isAtOnce;
}

describe("The gate", () => {
  test("in a free turn code starts at once, until the turn is used up", () => {
    const world = new World();
    const turns = world.fair.limitedTo(LIMIT_MS);
    const atOnce = [4, 4, 4, 4].map((tookMs) => startIn(turns, world, tookMs, () => {}));
    expect(atOnce).toEqual([true, true, true, false]);
  });

  test("the next turn is free again, however long the one before it was", async () => {
    const world = new World();
    const turns = world.fair.limitedTo(LIMIT_MS);
    expect(startIn(turns, world, 5_000, () => {})).toBe(true);
    await world.turn();
    expect(startIn(turns, world, 1, () => {})).toBe(true);
  });

  test("microtasks that follow from a start are a part of what it takes", async () => {
    const world = new World();
    const turns = world.fair.limitedTo(LIMIT_MS);
    const started: number[] = [];
    startIn(turns, world, 20, () => {});
    for (const one of [1, 2]) {
      startIn(turns, world, 1, () => {
        started.push(one);
        // As a handler that goes on with the body's result.
        void Promise.resolve()
          .then(() => Promise.resolve())
          .then(() => (world.nowMs += 20));
      });
    }
    await world.turn();
    expect(started).toEqual([1]);
    await world.turn();
    expect(started).toEqual([1, 2]);
  });

  test("limits of several connections share one queue, and each turn gets on", async () => {
    const world = new World();
    const started: string[] = [];
    startIn(world.fair.limitedTo(100), world, 50, () => started.push("first"));
    startIn(world.fair.limitedTo(1), world, 50, () => started.push("short limit"));
    // There would be time left, but someone waits already.
    startIn(world.fair.limitedTo(100), world, 50, () => started.push("long limit"));
    expect(started).toEqual(["first"]);
    await world.turn();
    expect(started).toEqual(["first", "short limit", "long limit"]);
  });

  test("bodies of handlers that have begun go before handlers that have not", async () => {
    const world = new World();
    const turns = world.fair.limitedTo(LIMIT_MS);
    const context = asyncContext();
    const started: string[] = [];
    const begin = (name: string, tookMs: number): void =>
      turns.start(() => {
        started.push(name);
        world.nowMs += tookMs;
      });
    const body = (name: string): void => turns.start(() => started.push(name), context);
    begin("first", 20);
    begin("second", 1);
    body("body of first");
    expect(started).toEqual(["first"]);
    await world.turn();
    expect(started).toEqual(["first", "body of first", "second"]);
    begin("third", 0);
    begin("fourth", LIMIT_MS);
    begin("fifth", 0);
    body("body of third");
    expect(started.slice(3)).toEqual(["third", "fourth"]);
    await world.turn();
    expect(started.slice(5)).toEqual(["body of third", "fifth"]);
  });

  test("TURN-2: however many bodies wait, after some of them it is the turn of a handler", async () => {
    const arrivals = fc.array(fc.boolean(), { maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(arrivals, async (areBodies) => {
        const world = new World();
        const turns = world.fair.limitedTo(LIMIT_MS);
        const context = asyncContext();
        const started: boolean[] = [];
        world.fair.limitedTo(LIMIT_MS).start(() => (world.nowMs += 20));
        for (const isBody of areBodies) {
          const code = (): void => {
            started.push(isBody);
            world.nowMs += 4;
          };
          if (isBody) turns.start(code, context);
          else turns.start(code);
        }
        for (let turn = 0; started.length < areBodies.length; turn += 1) {
          expect(turn).toBeLessThanOrEqual(areBodies.length);
          await world.turn();
        }
        let inARow = 0;
        let handlersLeft = areBodies.filter((isBody) => !isBody).length;
        for (const isBody of started) {
          inARow = isBody ? inARow + 1 : 0;
          if (!isBody) handlersLeft -= 1;
          else if (handlersLeft > 0) expect(inARow).toBeLessThanOrEqual(BODIES_IN_A_ROW);
        }
        expect(handlersLeft).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  test("TURN-1: for any starts, order is kept, all start, and none starts in a turn that is used up", async () => {
    const arrivals = fc.array(fc.array(fc.nat({ max: 25 }), { maxLength: 8 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(arrivals, async (turnsOfTimes) => {
        const world = new World();
        const turns = world.fair.limitedTo(LIMIT_MS);
        const started: number[] = [];
        let asked = 0;
        let beganMs: number | undefined;
        const check = (id: number): void => {
          beganMs ??= world.nowMs;
          expect(world.nowMs - beganMs).toBeLessThan(LIMIT_MS);
          started.push(id);
        };
        for (const times of turnsOfTimes) {
          for (const tookMs of times) {
            const id = asked++;
            startIn(turns, world, tookMs, () => check(id));
          }
          beganMs = undefined;
          await world.turn();
        }
        for (let more = 0; more < asked; more++) {
          beganMs = undefined;
          await world.turn();
        }
        expect(started).toEqual(Array.from({ length: asked }, (_, id) => id));
      }),
      { numRuns: 100 },
    );
  });
});

/** Counts turns of the real event loop until `stop`. */
function countTurns(): { readonly count: () => number; readonly stop: () => void } {
  let turns = 0;
  let next = setImmediate(onTurn);
  function onTurn(): void {
    turns += 1;
    next = setImmediate(onTurn);
  }
  return { count: () => turns, stop: () => clearImmediate(next) };
}

/** Real turns, and time that only bodies and parsing take. */
class App {
  usedMs = 0;
  readonly #limited = new FairTurns({
    monotonicMs: () => this.usedMs,
    nextTurn: (begin) => setImmediate(begin),
  }).limitedTo(LIMIT_MS);
  readonly #turns = countTurns();
  readonly perTurn = new Map<number, number>();
  readonly #isFair: boolean;

  constructor(isFair = true) {
    this.#isFair = isFair;
  }

  get turns(): Turns {
    return this.#isFair ? this.#limited : UNLIMITED_TURNS;
  }

  /** Code of the author's that computes. */
  compute(ms: number): void {
    this.usedMs += ms;
    const now = this.#turns.count();
    this.perTurn.set(now, (this.perTurn.get(now) ?? 0) + ms);
  }

  get longestTurnMs(): number {
    return Math.max(...this.perTurn.values());
  }

  /** So many runs, requested at once. */
  async play(
    runs: number,
    handler: (context: HandlerContext<unknown>) => unknown,
    { signal = new CancelSource(), payload = "" } = {},
  ): Promise<ExecutionResult[]> {
    const fn = client.createFunction({ id: "f", triggers: [] }, handler as never);
    const clock = { nowMs: systemClock.nowMs, monotonicMs: () => this.usedMs };
    const strategy = createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), {
      clock,
      turns: this.turns,
    });
    try {
      return await Promise.all(
        Array.from({ length: runs }, (_, index) =>
          strategy.execute(
            {
              requestId: `request-${index}`,
              appName: client.options.id,
              functionSlug: fn.slug,
              stepId: "step",
              runId: `run-${index}`,
              jobId: `job-${index}`,
              payload: payloadOf(payload),
              extensions: ["checkpoint"],
            },
            { checkpoint: async () => "stored" },
            signal,
          ),
        ),
      );
    } finally {
      this.#turns.stop();
    }
  }
}

const payloadOf = (data: string): Uint8Array =>
  encodeJsonBytes({
    version: 2,
    event: { id: "e1", name: "test/event", data, ts: 1 },
    events: [{ id: "e1", name: "test/event", data, ts: 1 }],
    steps: {},
    ctx: {
      run_id: "run",
      attempt: 0,
      max_attempts: 3,
      stack: { stack: [], current: 0 },
      holdfast: { v: 1, nowMs: 1, retries: {}, signatures: {} },
    },
  });

const BODY_MS = 40;

async function fourBodies({ step }: HandlerContext<unknown>, app: App): Promise<string> {
  for (const id of ["a", "b", "c", "d"]) await step.run(id, () => app.compute(BODY_MS));
  return "done";
}

describe("Runs that compute", () => {
  test("of fifty runs with bodies of 40 ms no turn has more than one body; without the gate all share one", async () => {
    const fair = new App();
    const ends = await fair.play(50, (context) => fourBodies(context, fair));
    expect(ends.every(({ status }) => status === "DONE")).toBe(true);
    expect([...fair.perTurn.values()].reduce((sum, ms) => sum + ms)).toBe(50 * 4 * BODY_MS);
    expect(fair.longestTurnMs).toBe(BODY_MS);

    const unfair = new App(false);
    await unfair.play(50, (context) => fourBodies(context, unfair));
    expect(unfair.longestTurnMs).toBeGreaterThanOrEqual(50 * BODY_MS);
  });

  test("parallel bodies of one run start in the order in which they were called, over several turns", async () => {
    const app = new App();
    const bodies: number[] = [];
    const ids = Array.from({ length: 20 }, (_, index) => index);
    await app.play(1, ({ step }) =>
      Promise.all(
        ids.map((id) =>
          step.run(`${id}`, () => {
            bodies.push(id);
            app.compute(BODY_MS);
          }),
        ),
      ),
    );
    expect(bodies).toEqual(ids);
    expect(app.longestTurnMs).toBe(BODY_MS);
  });

  test("handlers start in turn: what they compute before their first step counts", async () => {
    const app = new App();
    const started: string[] = [];
    await app.play(10, ({ runId }) => {
      started.push(runId);
      app.compute(BODY_MS);
    });
    expect(started).toEqual(Array.from({ length: 10 }, (_, index) => `run-${index}`));
    expect(app.longestTurnMs).toBe(BODY_MS);
  });

  test("payloads are parsed in turn, not all when their message comes", async () => {
    const app = new App();
    const parse = JSON.parse;
    let parsed = 0;
    JSON.parse = (...args: Parameters<typeof parse>) => {
      if (args[0].length > 100_000) {
        parsed += 1;
        app.compute(BODY_MS);
      }
      return parse(...args);
    };
    try {
      await app.play(20, () => "done", { payload: "x".repeat(200_000) });
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).toBeGreaterThanOrEqual(20);
    expect(app.longestTurnMs).toBeLessThanOrEqual((parsed / 20) * BODY_MS);
  });

  test("a step of one run alone starts without a turn in between", async () => {
    const app = new App();
    const started: number[] = [];
    const count = countTurns();
    await app.play(1, async ({ step }) => {
      started.push(count.count());
      await step.run("a", () => started.push(count.count()));
    });
    count.stop();
    expect(started).toEqual([0, 0]);
  });
});

describe("While it waits for its turn", () => {
  test("a handler that is not wanted any more does not start", async () => {
    const app = new App();
    const signal = new CancelSource();
    let started = 0;
    const results = await app.play(
      5,
      () => {
        started += 1;
        app.compute(BODY_MS);
        signal.cancel(new Error("cancelled"));
        return new Promise(() => {});
      },
      { signal },
    );
    expect(started).toBe(1);
    expect(results.every(({ stale }) => stale === true)).toBe(true);
  });

  test("a body that is not wanted any more does not start", async () => {
    const app = new App();
    const signal = new CancelSource();
    const bodies: string[] = [];
    const results = await app.play(
      1,
      ({ step }) =>
        Promise.all(
          ["a", "b", "c"].map((id) =>
            step.run(id, () => {
              bodies.push(id);
              app.compute(BODY_MS);
              setImmediate(() => signal.cancel(new Error("cancelled")));
              return turn();
            }),
          ),
        ),
      { signal },
    );
    // The second one's turn came before the signal.
    expect(bodies.length).toBeLessThan(3);
    expect(results).toMatchObject([{ stale: true }]);
  });

  test("it keeps its place in the debugger's eyes and the author's async context", async () => {
    const app = new App();
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    await app.play(3, ({ step, runId }) =>
      storage.run(`of ${runId}`, () =>
        Promise.all(
          ["a", "b"].map((id) =>
            step.run(id, () => {
              app.compute(BODY_MS);
              const current = currentExecution();
              seen.push([runId, id, current?.runId, current?.step?.id, storage.getStore()]);
            }),
          ),
        ),
      ),
    );
    expect(seen).toHaveLength(6);
    for (const [runId, id, ...current] of seen as string[][]) expect(current).toEqual([runId, id, `of ${runId}`]);
  });

  test("failed steps are reported in the order in which they were called, whichever turn they end in", async () => {
    const fail = (step: HandlerContext<unknown>["step"], app: App): Promise<unknown> =>
      Promise.all([
        step.run("rejects", () => {
          app.compute(BODY_MS);
          return turn().then(() => Promise.reject(new Error("late")));
        }),
        step.run("throws", () => {
          app.compute(BODY_MS);
          throw new Error("at once");
        }),
      ]);
    for (const isFair of [true, false]) {
      const app = new App(isFair);
      const [result] = await app.play(1, ({ step }) => fail(step, app));
      if (result === undefined) throw new Error("no result");
      if (result.status === "ERROR") throw new Error(JSON.stringify(jsonOf(result)));
      expect(opsOf(result).map(({ displayName }) => displayName)).toEqual(["rejects", "throws"]);
    }
  });
});
