import { deferred } from "@holdfast/core";
import type { LaneAdoption, LanesAdopted } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { LaneAdoptions } from "../../src/dispatch/registry/lane-adoptions.ts";

const lane = (id: string) => ({ id, slots: [id], throttle: null });
const A: LaneAdoption = { functionId: "a", lane: lane("aa") };
const B: LaneAdoption = { functionId: "b", lane: null };

type Answer = LanesAdopted | Error | Promise<LanesAdopted>;
const DONE: LanesAdopted = { moved: 0, left: [] };

/** Of a store that answers so, one call after the other, and then that all is done. */
function bench(...answers: Answer[]) {
  const clock = fakeClock();
  const asked: string[] = [];
  const lines: string[] = [];
  let wakes = 0;
  const adoptions = new LaneAdoptions({
    store: {
      adoptLanes: async (given, version) => {
        asked.push(`${version}: ${given.map(({ functionId }) => functionId).join(" ")}`);
        const answer = await (answers.shift() ?? DONE);
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    clock,
    timers: clock,
    log: (level, message) => lines.push(`${level}: ${message}`),
    emit: () => {
      wakes += 1;
    },
  });
  const pending = (): string[] => ["a", "b"].filter((id) => adoptions.isUnderWay(id));
  return { clock, asked, lines, adoptions, pending, wakes: () => wakes };
}

test("until all jobs of a function are in their lanes none is given out", async () => {
  const second = deferred<LanesAdopted>();
  const { clock, adoptions, asked, pending, wakes } = bench({ moved: 50, left: ["a"] }, second.promise, {
    moved: 3,
    left: [],
  });
  adoptions.review([A, B], 1);
  expect(pending()).toEqual(["a", "b"]);
  await clock.advance(0);
  expect([pending(), wakes()]).toEqual([["a"], 1]);
  second.resolve({ moved: 50, left: ["a"] });
  await clock.advance(0);
  expect([pending(), wakes()]).toEqual([[], 2]);
  expect(asked).toEqual(["1: a b", "1: a", "1: a"]);
});

test("of a newer registry only functions whose lanes are others have to wait", async () => {
  const { clock, adoptions, pending, asked } = bench();
  const review = async (given: LaneAdoption[], version: number): Promise<string[]> => {
    adoptions.review(given, version);
    const waiting = pending();
    await clock.advance(0);
    return waiting;
  };
  expect(await review([A, B], 1)).toEqual(["a", "b"]);
  expect(await review([A, { ...B, lane: lane("bb") }], 2)).toEqual(["b"]);
  expect(asked).toEqual(["1: a b", "2: a b"]);
  // Without limits for a while, so that jobs of then are in no lane.
  expect(await review([B], 3)).toEqual(["b"]);
  expect(await review([A, B], 4)).toEqual(["a"]);
  expect(pending()).toEqual([]);
});

test("jobs that others have locked are tried again, and keep those beside them waiting for a second only", async () => {
  const locked = { moved: 0, left: ["a"] };
  const { clock, adoptions, asked, pending, wakes } = bench(...Array.from({ length: 21 }, () => locked));
  adoptions.review([A, B], 1);
  await clock.advance(900);
  expect(pending()).toEqual(["a"]);
  await clock.advance(200);
  expect([pending(), asked.length, wakes()]).toEqual([[], 20, 2]);
  await clock.advance(2_000);
  adoptions.review([A, B], 1);
  await clock.advance(0);
  expect([pending(), asked.length]).toEqual([["a"], 21]);
  await clock.advance(50);
  expect([pending(), asked.length]).toEqual([[], 22]);
});

test("what a transaction adds that had read the registry before is looked for, soon and then seldom", async () => {
  const { clock, adoptions, asked } = bench();
  const atMs: number[] = [];
  for (; clock.monotonicMs() <= 200_000; await clock.advance(500)) {
    const before = asked.length;
    adoptions.review([A], 1);
    await clock.advance(0);
    if (asked.length > before) atMs.push(clock.monotonicMs());
  }
  expect(atMs).toEqual([0, 2_000, 6_000, 14_000, 30_000, 62_000, 122_000, 182_000]);
});

test("a newer registry ends what is under way for an older one", async () => {
  const slow = deferred<LanesAdopted>();
  const { clock, adoptions, asked, pending } = bench({ moved: 5, left: ["a"] }, slow.promise);
  adoptions.review([A], 1);
  await clock.advance(5_000);
  adoptions.review([A], 1);
  adoptions.review([{ ...A, lane: lane("a2") }], 2);
  await clock.advance(0);
  expect(pending()).toEqual([]);
  slow.resolve({ moved: 5, left: ["a"] });
  await clock.advance(60_000);
  expect([pending(), asked]).toEqual([[], ["1: a", "1: a", "2: a"]]);
});

test.each([
  ["the first look", []],
  ["a later one", [{ moved: 5, left: ["a"] }]],
])("when %s fails, the next reading of the registry tries again, and no job is given out before", async (_, first) => {
  const { clock, adoptions, lines, pending } = bench(...first, new Error("no connection"));
  adoptions.review([A], 1);
  await clock.advance(1_000);
  expect(pending()).toEqual(["a"]);
  expect(lines).toEqual(["warn: Jobs could not be given the new limits of their functions: no connection"]);
  adoptions.review([A], 1);
  await clock.advance(0);
  expect(pending()).toEqual([]);
});

test("when the gateway stops, what is under way is waited for and nothing begins", async () => {
  const slow = deferred<LanesAdopted>();
  const { clock, adoptions, asked } = bench({ moved: 5, left: ["a"] }, slow.promise);
  adoptions.review([A], 1);
  await clock.advance(0);
  let hasStopped = false;
  const stopped = adoptions.stop().then(() => {
    hasStopped = true;
  });
  await clock.advance(1_000);
  expect(hasStopped).toBe(false);
  slow.resolve({ moved: 5, left: ["a"] });
  await stopped;
  adoptions.review([A], 2);
  expect(asked).toEqual(["1: a", "1: a"]);
});
