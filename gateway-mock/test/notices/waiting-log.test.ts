import type { OverdueWork } from "@holdfast/store";
import { expect, test } from "vitest";
import type { RunWaiting } from "../../src/dispatch/index.ts";
import { CALM, SOON, WaitingLog, type WaitingPace } from "../../src/notices/waiting-log.ts";

type Reason = RunWaiting["reason"];

/** Runs that wait are `<function>/<number>`, since so many milliseconds; their reasons are those of their functions. */
function bench(pace: WaitingPace = SOON) {
  const nowMs = 1_000_000;
  const lines: string[] = [];
  let work: OverdueWork[] = [];
  const reasons = new Map<string, Reason>();
  let asked = 0;
  let isAway = false;
  const log = new WaitingLog(
    {
      store: {
        health: () => ({ ok: !isAway }),
        nowMs: async () => nowMs,
        overdueWork: async ({ dueForMs }) => {
          const of = (one: OverdueWork) => ({
            ...one,
            runs: one.runs.filter(({ dueMs }) => dueMs <= nowMs - dueForMs),
          });
          return work.map(of).filter(({ runs }) => runs.length > 0);
        },
      },
      dispatcher: {
        functions: { all: () => work.map(({ functionId: id }) => ({ id })) },
        waitingRuns: {
          whyWait: async (runIds) => {
            asked += 1;
            return new Map(
              runIds.map((runId) => {
                const reason = reasons.get(runId) ?? reasons.get(runId.split("/")[0] ?? "") ?? "NO_WORKER";
                return [
                  runId,
                  { reason, message: `${reason}.`, untilMs: null, step: null, runId: null, instanceId: null },
                ];
              }),
            );
          },
        },
      },
      log: (level, message) => lines.push(`${level}: ${message}`),
    },
    pace,
  );
  return {
    reasons,
    databaseIsAway: (is: boolean) => {
      isAway = is;
    },
    asked: () => asked,
    waits: (functionId: string, agesMs: readonly number[], count = agesMs.length) => {
      const runs = agesMs.map((ageMs, n) => ({ runId: `${functionId}/${n}`, dueMs: nowMs - ageMs }));
      work = [...work.filter((one) => one.functionId !== functionId), { functionId, count, runs }];
    },
    goesOn: (functionId: string) => {
      work = work.filter((one) => one.functionId !== functionId);
    },
    look: async (count = 2): Promise<string[]> => {
      for (let n = 0; n < count; n += 1) await log.look();
      return lines.splice(0);
    },
  };
}

test("WAITLOG-1: a function's reason is one line with the number of its runs, until none has it any more", async () => {
  const { waits, look, goesOn, reasons } = bench();
  waits("a", [60_000, 50_000], 1_000);
  waits("b", [7_400]);
  expect(await look()).toEqual([
    "warn: 1000 or more runs of a wait, the oldest for 1.0 min: NO_WORKER.",
    "warn: A run of b waits for 7.4 s: NO_WORKER.",
  ]);
  waits("a", [90_000], 500);
  expect(await look(3)).toEqual([]);
  goesOn("b");
  expect(await look()).toEqual(["info: No run of b waits for a worker any more"]);
  // What it waits for is another thing now: that is said, and not that it goes on.
  reasons.set("a", "FUNCTION_PAUSED");
  expect(await look(3)).toEqual(["warn: 500 runs of a wait, the oldest for 1.5 min: FUNCTION_PAUSED."]);
  goesOn("a");
  expect(await look(3)).toEqual(["info: No run of a waits for the end of a pause any more"]);
  waits("a", [60_000]);
  expect(await look()).toHaveLength(1);
});

test("while the database is away nothing is said of what else runs may wait for", async () => {
  const { waits, look, databaseIsAway } = bench();
  waits("a", [60_000]);
  databaseIsAway(true);
  expect(await look(5)).toEqual([]);
  databaseIsAway(false);
  expect(await look()).toEqual(["warn: A run of a waits for 1.0 min: NO_WORKER."]);
});

test("WAITLOG-1: runs of a function that wait for two reasons are two lines, which count what they have seen", async () => {
  const { waits, look, reasons } = bench();
  reasons.set("a/1", "VERSION");
  waits("a", [9_000, 8_000, 7_000]);
  expect(await look()).toEqual([
    "warn: 2 runs of a wait, the oldest for 9.0 s: NO_WORKER.",
    "warn: A run of a waits for 8.0 s: VERSION.",
  ]);
  reasons.set("b/1", "VERSION");
  waits("b", [9_000, 8_000, 7_000], 400);
  expect(await look()).toEqual([
    "warn: 2 or more runs of b wait, the oldest for 9.0 s: NO_WORKER.",
    "warn: 1 or more runs of b wait, the oldest for 8.0 s: VERSION.",
  ]);
});

test("WAITLOG-2: what is over by the next look is not logged, nor what moves on by itself; at rest nothing is asked", async () => {
  const { waits, look, goesOn, reasons, asked } = bench();
  expect([await look(), asked()]).toEqual([[], 0]);
  waits("a", [60_000]);
  expect(await look(1)).toEqual([]);
  goesOn("a");
  expect(await look(3)).toEqual([]);
  waits("a", [60_000]);
  expect(await look(1)).toEqual([]);
  for (const reason of ["AT_WORK", "SENT", "SLEEPING", "RETRY", "EVENT", "GATEWAY_DRAINING"] as const) {
    reasons.set("a", reason);
    expect(await look(3)).toEqual([]);
  }
});

test.each([
  ["soon", SOON, 5_000, 31_000],
  ["calmly", CALM, 31_000, 301_000],
] as const)("%s: what nothing can do is logged before what waits its turn", async (_how, pace, stuckMs, busyMs) => {
  const { waits, look, reasons } = bench(pace);
  reasons.set("busy", "LIMITS");
  waits("stuck", [stuckMs / 2]);
  waits("busy", [stuckMs]);
  expect(await look()).toEqual([]);
  waits("stuck", [stuckMs]);
  expect(await look()).toEqual([expect.stringMatching(/^warn: A run of stuck waits/)]);
  waits("busy", [busyMs]);
  expect(await look()).toEqual([expect.stringMatching(/^info: A run of busy waits/)]);
});

test("WAITLOG-3: of many functions some are listed and the others counted, as they wait and as they go on", async () => {
  const { waits, look, goesOn } = bench();
  const names = Array.from({ length: 130 }, (_, n) => `fn-${n}`);
  for (const name of names) waits(name, [60_000]);
  const lines = await look();
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe(
    "warn: And runs of 110 more functions wait, too many to list: holdfast-gateway runs --waiting",
  );
  expect(await look(3)).toEqual([]);
  for (const name of names) goesOn(name);
  const ends = await look();
  expect(ends).toHaveLength(21);
  expect(ends.at(-1)).toBe("info: And those of 80 more functions do not wait any more");
});
