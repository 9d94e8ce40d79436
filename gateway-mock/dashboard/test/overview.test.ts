import { describe, expect, test } from "vitest";
import { alertsOf, asksForCauses, type Metrics, type Situation } from "../src/data/alerts.ts";
import { type Causes, causesOf, type ServedFunction, strandedOf, strandedSince } from "../src/data/causes.ts";
import { counted } from "../src/data/rates.ts";
import { partText, percentiles, rateText, statsOf } from "../src/data/stats.ts";
import type { FunctionDetail, Waiting, Worker } from "../src/data/types.ts";
import { run } from "./runs.ts";

const well: Metrics = {
  dispatcher: { orphans: 0 },
  store: { lostBatches: 0 },
  database: { ok: true, awayMs: 0, error: null },
  queue: { due: 3, leased: 1, later: 0, oldestDueMs: 20 },
  tables: [],
};
const worker = { drained: false } as Worker;
const texts = (situation: Partial<Situation>): string[] =>
  alertsOf({
    metrics: well,
    workers: [worker],
    functions: [],
    newest: null,
    causes: null,
    stranded: [],
    ...situation,
  }).map(({ text }) => text);

describe("What to look at", () => {
  test("is nothing while all is well, or not yet known", () => {
    expect(texts({})).toEqual([]);
    expect(texts({ metrics: null, workers: null, functions: null })).toEqual([]);
  });

  test("is said in a sentence each", () => {
    const away = { ...well, database: { ok: false, awayMs: 65_000, error: "connection refused" } };
    expect(texts({ metrics: away })).toEqual(["The database has been away for 1 min 5 s: connection refused"]);
    expect(texts({ metrics: { ...well, dispatcher: { orphans: 2 } } })).toEqual([
      "2 runs cannot go on: nothing moves them.",
    ]);
    expect(texts({ metrics: { ...well, store: { lostBatches: 1 } } })).toHaveLength(1);
    const late = { ...well, queue: { due: 1, leased: 0, later: 0, oldestDueMs: 90_000 } };
    expect(texts({ metrics: late, workers: [] })).toEqual([
      "Work is late: 1 due, the oldest for 1 min 30 s.",
      "Work is due, and no worker is connected.",
    ]);
    const paused = { id: "shop-order", paused: true } as FunctionDetail;
    expect(texts({ functions: [paused], workers: [{ ...worker, drained: true }] })).toEqual([
      "Paused: shop-order.",
      "1 worker drained.",
    ]);
  });

  test("are failures where enough runs have ended to say so", () => {
    const ended = (failed: number, all: number): string[] => {
      const runs = Array.from({ length: all }, (_, n) =>
        run(`${n}`, { status: n < failed ? "FAILED" : "COMPLETED", endedMs: 2_000 }),
      );
      return texts({ newest: statsOf(runs) });
    };
    expect([ended(3, 3), ended(1, 20), ended(5, 20)]).toEqual([
      [],
      [],
      ["5 of the last 20 runs that ended have failed."],
    ]);
  });
});

describe("What open runs wait for", () => {
  const served = (id: string, workers: number, more: Partial<ServedFunction> = {}): ServedFunction =>
    ({ id, appId: "shop", active: true, workers, ...more }) as ServedFunction;
  const waiting = (functionId: string, reason: string, count = 1) =>
    Array.from({ length: count }, (_, n) =>
      run(`${functionId}${reason}${n}`, { functionId, appId: "shop", waiting: { reason } as Waiting }),
    );
  const causes = (runs: ReturnType<typeof waiting>, functions: readonly ServedFunction[], isMore = false): Causes => {
    const all = causesOf(runs);
    return { causes: all, stranded: strandedOf(all, functions), isMore };
  };
  const all = (found: Causes, metrics: Metrics = well): string[] =>
    texts({ metrics, causes: found, stranded: found.stranded });
  const late = (oldestDueMs: number): Metrics => ({
    ...well,
    queue: { due: 6_808, leased: 1, later: 0, oldestDueMs },
  });

  test("is a worker of an app that has none, with its functions", () => {
    const functions = [served("shop-order", 0), served("shop-label", 0), served("shop-old", 0, { active: false })];
    const runs = [...waiting("shop-order", "WORKER_DISCONNECTED"), ...waiting("shop-label", "NO_WORKER", 2)];
    expect(all(causes(runs, functions))).toEqual([
      "The app shop has no connected worker: 3 runs of shop-label, shop-order wait for one.",
    ]);
    expect(all(causes(waiting("shop-order", "NO_WORKER"), functions))).toEqual([
      "The app shop has no connected worker: 1 run of shop-order waits for one.",
    ]);
    const others = [...functions, served("shop-quick", 1)];
    expect(all(causes(waiting("shop-order", "NO_WORKER_IN_QUEUE", 2), others, true))).toEqual([
      "No connected worker of the app shop has it: at least 2 runs of shop-order wait for one.",
    ]);
  });

  test("is no worker where one is there, or the run sleeps", () => {
    expect(strandedOf(causesOf(waiting("shop-order", "WORKER_DISCONNECTED")), [served("shop-order", 1)])).toEqual([]);
    expect(strandedOf(causesOf(waiting("shop-order", "SLEEP")), [served("shop-order", 0)])).toEqual([]);
    const unsaid = { id: "shop-order", appId: "shop", active: true } as ServedFunction;
    expect(strandedOf(causesOf(waiting("shop-order", "NO_WORKER")), [unsaid])).toEqual([]);
  });

  test("is remembered from the first time that it was seen, until it is over", () => {
    const { stranded } = causes(waiting("shop-order", "NO_WORKER"), [served("shop-order", 0)]);
    const first = strandedSince(new Map(), stranded, 1_000);
    expect(strandedSince(first, stranded, 5_000)).toEqual(new Map([["shop", 1_000]]));
    expect(strandedSince(first, [], 5_000)).toEqual(new Map());
  });

  test("is named beside late work, and a burst is not late", () => {
    const functions = [served("shop-order", 1)];
    const busy = causes([...waiting("shop-order", "BACKLOG", 9), ...waiting("shop-order", "NO_ROOM")], functions);
    expect(all(busy, late(8_000))).toEqual([]);
    expect(all(busy, late(17_000))).toEqual([
      "Work is late: 6,808 due, the oldest for 17.0 s. shop-order: all workers that may run it are busy.",
    ]);
    const isBad = (found: Causes, oldestDueMs: number) =>
      alertsOf({
        ...{ metrics: late(oldestDueMs), workers: [worker], functions, newest: null },
        ...{ causes: found, stranded: found.stranded },
      }).map((alert) => alert.isBad);
    const limited = causes(waiting("shop-order", "LIMITS", 3), functions);
    expect([isBad(busy, 17_000), isBad(busy, 40_000), isBad(limited, 40_000)]).toEqual([[false], [true], [false]]);
  });

  test("is asked for where something is late, or may never go on", () => {
    const idle: Metrics = { ...well, queue: { due: 0, leased: 0, later: 4, oldestDueMs: null } };
    expect(asksForCauses(well, [served("shop-order", 1)])).toBe(false);
    expect(asksForCauses(well, [served("shop-order", 0)])).toBe(true);
    expect(asksForCauses(idle, [served("shop-order", 0)])).toBe(false);
    expect(asksForCauses(late(17_000), [])).toBe(true);
    expect([asksForCauses(null, []), asksForCauses(late(17_000), null)]).toEqual([false, false]);
  });
});

test("of runs is said how many failed, how long they waited, and how long they took", () => {
  const runs = [
    run("a", { status: "COMPLETED", endedMs: 1_400 }),
    run("b", { status: "FAILED", endedMs: 2_100 }),
    run("c", { startedMs: null, status: "PENDING" }),
  ];
  expect(statsOf(runs)).toEqual({
    count: 3,
    ended: 2,
    failed: 1,
    going: 1,
    perMinute: null,
    tookMs: { p50: 300, p99: 1_000 },
    queuedMs: { p50: 100, p99: 100 },
  });
  const many = Array.from({ length: 13 }, (_, n) => run(String(n), { createdMs: n * 10_000 }));
  expect(statsOf(many).perMinute).toBe(6);
  expect([rateText(6), rateText(0.0213), rateText(12.34), rateText(1_234.5)]).toEqual(["6", "0.021", "12", "1,235"]);
  expect(percentiles([])).toBeNull();
  expect(percentiles(Array.from({ length: 200 }, (_, n) => n + 1))).toEqual({ p50: 100, p99: 198 });
  expect([partText(0, 0), partText(0, 9), partText(1, 3), partText(3, 3)]).toEqual(["none", "0 %", "33.3 %", "100 %"]);
});

test("what happens in a second is counted by what it was", () => {
  const facts = (...kinds: string[]) => {
    return { runId: "r", functionId: "f", atMs: 0, status: null, facts: kinds.map((kind) => ({ kind, attempt: 0 })) };
  };
  const second = { atMs: 0, begun: 1, ended: 0, failed: 0, steps: 0 };
  const changes = [
    facts("RUN_CREATED", "DISPATCHED"),
    facts("STEP_COMPLETED", "STEP_COMPLETED", "RUN_FAILED"),
    facts("RUN_COMPLETED"),
  ];
  expect(counted(second, changes)).toEqual({ atMs: 0, begun: 2, ended: 2, failed: 1, steps: 2 });
});
