import type { StepResult } from "@holdfast/engine";
import { StoreError } from "@holdfast/store";
import { expect, test } from "vitest";
import type { DecideOutcome } from "../../src/dispatch/queue/decide-outcome.ts";
import { type AskedEnd, JoinedEnds } from "../../src/dispatch/queue/joined-ends.ts";

const KIB = 1024;

const endOf = (key: string, result: StepResult = { type: "data", text: "1" }): AskedEnd => ({
  end: { type: "arrived", key, result },
  fence: null,
  endsJob: undefined,
});

/** Decisions on one run in turn; the first of them takes until all ends have come. */
function bench(together: (asked: readonly AskedEnd[]) => readonly DecideOutcome[]) {
  const groups: number[] = [];
  const alone: string[] = [];
  let tail = Promise.resolve<unknown>(undefined);
  const serial = <T>(_runId: string, task: () => Promise<T>): Promise<T> => {
    const mine = tail.then(task);
    tail = mine.catch(() => {});
    return mine;
  };
  const ends = new JoinedEnds(
    { serial },
    {
      one: async (_runId, { end }) => {
        alone.push(end.type === "arrived" ? end.key : end.jobId);
        return "won";
      },
      together: async (_runId, asked) => {
        groups.push(asked.length);
        return together(asked);
      },
    },
  );
  return { groups, alone, decide: (asked: AskedEnd) => ends.decide("run", asked) };
}

const allWon = (asked: readonly AskedEnd[]): readonly DecideOutcome[] => asked.map(() => "won");

test("groups have at most 256 ends, and 256 Ki characters of results and errors", async () => {
  const many = bench(allWon);
  const outcomes = await Promise.all(Array.from({ length: 300 }, (_, n) => many.decide(endOf(`s${n}`))));
  expect(outcomes.every((outcome) => outcome === "won")).toBe(true);
  expect(many.groups).toEqual([256, 44]);
  const long = "x".repeat(100 * KIB);
  for (const result of [
    { type: "data", text: long },
    { type: "error", error: { name: "Error", message: long } },
  ] satisfies StepResult[]) {
    const large = bench(allWon);
    await Promise.all(Array.from({ length: 4 }, (_, n) => large.decide(endOf(`s${n}`, result))));
    expect(large.groups).toEqual([2, 2]);
  }
});

test("what comes after an end that closes the run is decided on by itself", async () => {
  const { decide, alone } = bench(() => ["won", "nothing"]);
  expect(await Promise.all(["a", "b", "c", "d"].map((key) => decide(endOf(key))))).toEqual([
    "won",
    "nothing",
    "won",
    "won",
  ]);
  expect(alone).toEqual(["c", "d"]);
});

test("what the database refuses is stored one by one; other failures are those of all", async () => {
  const refused = bench(() => {
    throw new StoreError("data", "too long");
  });
  expect(await Promise.all([refused.decide(endOf("a")), refused.decide(endOf("b"))])).toEqual(["won", "won"]);
  expect(refused.alone).toEqual(["a", "b"]);
  const gone = bench(() => {
    throw new StoreError("unavailable", "no database");
  });
  const ends = await Promise.allSettled([gone.decide(endOf("a")), gone.decide(endOf("b"))]);
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(gone.alone).toEqual([]);
});
