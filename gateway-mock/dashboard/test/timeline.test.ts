import { describe, expect, test } from "vitest";
import { axisOf, ticksOf, tickTexts } from "../src/data/time-axis.ts";
import { type Timeline, timelineOf } from "../src/data/timeline.ts";
import { detail, fact, step } from "./runs.ts";

/** A step's result is stored, as its worker measured it. */
const worked = (startedMs: number, atMs: number) =>
  fact(atMs, "STEP_COMPLETED", { step: { op: "StepRun", startedMs } });

const names = (timeline: Timeline): string[][] => timeline.tracks.map((track) => track.map(({ name }) => name));

describe("A timeline", () => {
  test("has steps one after the other on one track, and branches on tracks of their own", () => {
    const steps = [step("a", 1_200), step("left", 1_400), step("right", 1_450), step("b", 1_600)];
    expect(names(timelineOf(detail(steps), 0))).toEqual([["in the queue", "a", "left", "b"], ["right"]]);
  });

  test("begins with the time in the queue, which goes on for a run that no worker has", () => {
    const pending = detail([], { status: "PENDING", startedMs: null, endedMs: null });
    const [[queue] = []] = timelineOf(pending, 5_000).tracks;
    expect(queue?.bars).toEqual([{ kind: "queue", fromMs: 1_000, toMs: 5_000, isOpen: true }]);
  });

  test("has each failed attempt as its worker measured it, and the time until the next", () => {
    const failed = (attempt: number, startedMs: number, delayMs: number) => {
      const data = { step: { startedMs, durationMs: 50 }, delayMs };
      return {
        seq: attempt,
        atMs: startedMs + 50,
        kind: "STEP_ATTEMPT_FAILED",
        key: "id of mail",
        attempt,
        iteration: 0,
        data,
      };
    };
    const log = [failed(0, 1_200, 100), failed(1, 1_350, 200)];
    const [, mail] = timelineOf(detail([step("mail", 1_600)], { log }), 0).tracks[0] ?? [];
    expect(mail?.bars.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])).toEqual([
      ["failed", 1_200, 1_250],
      ["backoff", 1_250, 1_350],
      ["failed", 1_350, 1_400],
      ["backoff", 1_400, 1_600],
      ["attempt", 1_600, 1_700],
    ]);
  });

  test("has sleeps and waits up to now, and what a worker does now by its name", () => {
    const sleep = step("night", 0, {
      op: "Sleep",
      status: "waiting",
      startedMs: null,
      durationMs: null,
      openedMs: 1_300,
      dueMs: 90_000,
      endedMs: null,
    });
    const asleep = timelineOf(detail([sleep], { status: "WAITING", endedMs: null }), 9_000);
    expect(asleep.tracks[0]?.at(-1)?.bars).toEqual([{ kind: "sleep", fromMs: 1_300, toMs: 9_000, isOpen: true }]);
    const waiting = { reason: "", message: "", untilMs: null, step: "pack", runId: null, instanceId: null };
    const busy = timelineOf(detail([step("a", 1_200)], { status: "RUNNING", endedMs: null, waiting }), 2_000);
    expect(busy.tracks[0]?.at(-1)).toMatchObject({
      name: "pack",
      bars: [{ kind: "active", fromMs: 1_300, toMs: 2_000 }],
    });
  });

  test("of a run that has ended, ends with it: nothing sleeps, waits or is retried any longer", () => {
    const open = { status: "waiting", durationMs: null, endedMs: null, dueMs: 90_000 } as const;
    const steps = [
      step("night", 0, { ...open, op: "Sleep", startedMs: null, openedMs: 1_300 }),
      step("pay", 1_300, { ...open, status: "retrying" }),
      step("pack", 1_300, { ...open, status: "planned" }),
    ];
    const data = { step: { startedMs: 1_300, durationMs: 100 }, delayMs: 50_000 };
    const log = [fact(1_400, "STEP_ATTEMPT_FAILED", data, { key: "id of pay" })];
    const { tracks, toMs } = timelineOf(detail(steps, { status: "CANCELLED", log }), 9_000);
    const bars = tracks.flat().flatMap((entry) => entry.bars.filter((bar) => bar.toMs === 3_000));
    expect(toMs).toBe(3_000);
    expect(bars.map(({ kind, isOpen }) => [kind, isOpen])).toEqual([
      ["sleep", false],
      ["backoff", false],
      ["attempt", false],
    ]);
  });

  test("names the run that a step invoked", () => {
    const label = step("label", 0, {
      op: "InvokeFunction",
      startedMs: null,
      durationMs: null,
      openedMs: 1_200,
      endedMs: 1_500,
    });
    const data = { op: "InvokeFunction", wait: { kind: "invoke", name: "child" } };
    const log = [{ seq: 1, atMs: 1_200, kind: "STEP_WAITING", key: label.id, attempt: 0, iteration: 0, data }];
    expect(timelineOf(detail([label], { log }), 0).tracks[0]?.[1]?.childRunId).toBe("child");
  });

  test("has one block for reports of the same stall, with the place that was found", () => {
    const stall = { instanceId: "w", ended: false };
    const stalls = [
      { ...stall, atMs: 1_500, stalledMs: 300, location: "a.ts:1:1" },
      { ...stall, atMs: 1_700, stalledMs: 500, ended: true },
      { ...stall, atMs: 2_900, stalledMs: 100 },
    ];
    const blocks = timelineOf(detail([step("a", 1_200)], { stalls }), 0).blocks;
    expect(blocks.map(({ fromMs, toMs, stall: { location } }) => [fromMs, toMs, location])).toEqual([
      [1_200, 1_700, "a.ts:1:1"],
      [2_800, 2_900, undefined],
    ]);
  });

  test("has a run's revivals as time in which it had ended", () => {
    const log = [fact(1_400, "RUN_FAILED", {}), fact(2_000, "RUN_REVIVED", { dropped: [] })];
    expect(timelineOf(detail([], { log }), 0).ended).toEqual([{ fromMs: 1_400, toMs: 2_000 }]);
  });

  test("leaves out steps whose results were kept from another run", () => {
    expect(names(timelineOf(detail([step("old", 500, { kept: true }), step("new", 1_200)]), 0))).toEqual([
      ["in the queue", "new"],
    ]);
  });
});

describe("The axis of a timeline", () => {
  const sleep = (fromMs: number, toMs: number) =>
    step("night", 0, { op: "Sleep", startedMs: null, durationMs: null, openedMs: fromMs, endedMs: toMs });

  test("goes evenly from the beginning to the end", () => {
    const axis = axisOf(timelineOf(detail([step("a", 1_000, { durationMs: 2_000 })], { startedMs: 1_000 }), 0));
    expect([1_000, 2_000, 3_000, 9_000].map(axis.at)).toEqual([0, 0.5, 1, 1]);
  });

  test("shortens a long sleep, and keeps the order of all moments", () => {
    const end = 86_401_500;
    const run = detail([step("a", 1_100), sleep(1_205, 86_401_300), step("b", 86_401_350)], { endedMs: end });
    const axis = axisOf(timelineOf(run, 0));
    expect(axis.pieces.filter(({ isShortened }) => isShortened)).toHaveLength(1);
    expect(axis.at(1_205)).toBeGreaterThan(0.2);
    const moments = [1_000, 1_100, 1_205, 40_000_000, 86_401_300, 86_401_400, end].map(axis.at);
    expect(moments).toEqual([...moments].sort((a, b) => a - b));
    expect(ticksOf(axis, 1_000, 8).every(({ ms }) => ms < 1_000 || ms > 86_400_000)).toBe(true);
  });

  test("shortens a wait that goes on after a moment's work, and leaves room to see it", () => {
    const work = step("ask", 1_240, { durationMs: 0.4, endedMs: 1_241 });
    const wait = { ...sleep(1_250, 0), op: "WaitForEvent", status: "waiting" as const, endedMs: null };
    const run = detail([work, wait], { status: "WAITING", startedMs: 1_000, endedMs: null });
    const axis = axisOf(timelineOf(run, 10_000_000));
    expect(1 - axis.at(1_250)).toBeGreaterThan(0.4);
    expect(axis.at(1_240)).toBeGreaterThan(0.4);
  });

  const partOf = (axis: ReturnType<typeof axisOf>, fromMs: number, toMs: number) => axis.at(toMs) - axis.at(fromMs);

  test("leaves room to read milliseconds of work and long gaps alike, and shows a longer gap wider", () => {
    const steps = [
      step("a", 1_010, { durationMs: 5, endedMs: 1_016 }),
      step("b", 1_020, { durationMs: 3, endedMs: 1_024 }),
      sleep(1_025, 9_025),
      step("c", 29_025, { durationMs: 3, endedMs: 29_029 }),
    ];
    const log = [fact(9_025, "DISPATCHED", { kind: "pass" }, { iteration: 3 }), worked(29_025, 29_029)];
    const axis = axisOf(timelineOf(detail(steps, { startedMs: 1_000, endedMs: 29_030, log }), 0));
    expect(axis.pieces.map(({ isShortened }) => isShortened)).toEqual([false, true, true, false]);
    const [slept, queued] = [partOf(axis, 1_025, 9_025), partOf(axis, 9_025, 29_025)];
    expect(slept).toBeGreaterThan(0.15);
    expect(queued).toBeGreaterThan(slept);
    expect(1 - slept - queued).toBeGreaterThan(0.5);
  });

  test("is not shortened where what goes on can be read anyway", () => {
    const steps = [step("a", 1_100, { durationMs: 400, endedMs: 1_501 }), sleep(1_502, 2_500), step("b", 2_501)];
    const axis = axisOf(timelineOf(detail(steps, { endedMs: 2_700 }), 0));
    expect(axis.pieces.some(({ isShortened }) => isShortened)).toBe(false);
  });

  test("shortens all of many gaps, though each of them is but a small part of the whole", () => {
    const steps = Array.from({ length: 20 }, (_, n) => [
      step(`work ${n}`, 1_000 + n * 61_000, { durationMs: 5, endedMs: 1_006 + n * 61_000 }),
      { ...sleep(1_010 + n * 61_000, 61_900 + n * 61_000), id: `sleep ${n}` },
    ]).flat();
    const axis = axisOf(timelineOf(detail(steps, { startedMs: 1_000, endedMs: 1_221_000 }), 0));
    expect(axis.pieces.filter(({ isShortened }) => isShortened)).toHaveLength(20);
    const work = steps.filter(({ op }) => op === "StepRun").map(({ startedMs }) => startedMs ?? 0);
    for (const startMs of work) expect(partOf(axis, startMs, startMs + 5)).toBeGreaterThan(0.0005);
    const gaps = axis.pieces.flatMap(({ isShortened, from, to }) => (isShortened ? to - from : []));
    expect(Math.max(...gaps) / Math.min(...gaps)).toBeLessThan(1.01);
  });

  test("shortens the time in which a resumed run had ended", () => {
    const log = [fact(1_400, "RUN_FAILED", {}), fact(3_601_000, "RUN_REVIVED", { dropped: [] })];
    const steps = [step("a", 1_200), step("b", 3_601_100)];
    const axis = axisOf(timelineOf(detail(steps, { log, endedMs: 3_601_300 }), 0));
    expect(partOf(axis, 1_400, 3_601_000)).toBeLessThan(0.5);
  });

  test("of a run that only sleeps is not shortened, and has round ticks", () => {
    const axis = axisOf(timelineOf(detail([sleep(1_000, 3_601_000)], { startedMs: 1_000, endedMs: 3_601_000 }), 0));
    expect(axis.pieces.some(({ isShortened }) => isShortened)).toBe(false);
    expect(ticksOf(axis, 1_000, 6).map(({ ms }) => ms / 60_000)).toEqual([0, 10, 20, 30, 40, 50, 60]);
  });

  test.each([
    [
      [0, 1_000, 2_000],
      ["0", "1.00 s", "2.00 s"],
    ],
    [
      [0, 237_000, 237_020, 237_040],
      ["0", "3 min 57.00 s", "3 min 57.02 s", "3 min 57.04 s"],
    ],
    [
      [237_001, 237_002],
      ["3 min 57.001 s", "3 min 57.002 s"],
    ],
    [
      [1_241, 1_242],
      ["1.241 s", "1.242 s"],
    ],
    [
      [7_805_000, 7_810_000, 7_920_000],
      ["2 h 10 min 5 s", "2 h 10 min 10 s", "2 h 12 min"],
    ],
    [
      [86_400_000, 86_401_500],
      ["1 d 0.0 s", "1 d 1.5 s"],
    ],
  ])("has ticks at %j that are called %j", (times, texts) => {
    expect(tickTexts(times.map((ms) => ({ ms })))).toEqual(texts);
  });
});
