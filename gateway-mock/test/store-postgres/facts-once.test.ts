import { type CommitOutcome, checkInvariants, type StoredLogRow, type Transition } from "@holdfast/store";
import { expect, test } from "vitest";
import { logRow, type SeededRun, seedLeased, stepDone, useStore } from "./harness.ts";
import { whileHeld } from "./held-writes.ts";

/** Two gateways write the same fact of a run at the same moment: one stands right before its commit, the other begins. */
const bench = useStore();

const HELD = { table: "run_log", when: "new.facts LIKE '%held%'" } as const;
const fact = (from: string) => logRow("STEP_COMPLETED", "held", { dataJson: JSON.stringify({ from }) });

/** A checkpoint of the gateway that has the run's pass. */
const added = (run: SeededRun, from: string, seen: number): Transition => ({
  ...stepDone(run, "held"),
  seen,
  log: [fact(from)],
});

/** A decision of a gateway that does not have the pass, such as for a timer. */
const decided = (run: SeededRun, from: string, seen: number): Transition => ({
  runId: run.runId,
  fence: null,
  cas: 1,
  seen,
  log: [fact(from), logRow("TIMER_FIRED", "other")],
  head: { status: "RUNNING" },
  removeJobs: [],
  addJobs: [],
});

async function logOf({ runId }: SeededRun): Promise<readonly StoredLogRow[]> {
  const [stored] = await bench.store.loadRuns([runId]);
  return stored?.log ?? [];
}

const isNew = (outcome: CommitOutcome): unknown => outcome.won && outcome.inserted[0];

const WRITERS = { added, decided };

test.each([
  ["added", "decided"],
  ["decided", "added"],
  ["added", "added"],
] as const)(
  "of one fact that is %s by one gateway and %s by another at once, the first is kept and the second is told",
  async (one, two) => {
    const run = await seedLeased(bench.store);
    const seen = (await logOf(run)).at(-1)?.seq ?? 0;
    const other = bench.another();
    const { first, second, waited } = await whileHeld(
      bench.db.sql,
      HELD,
      () => bench.store.commit(WRITERS[one](run, "first", seen)),
      () => other.commit(WRITERS[two](run, "second", seen)),
    );
    expect(waited).toBe(true);
    expect([first, second].map(isNew)).toEqual([true, false]);
    const facts = (await logOf(run)).filter(({ key }) => key === "held");
    expect(facts.map(({ dataJson }) => dataJson)).toEqual(['{"from":"first"}']);
    expect(second).toMatchObject({ won: true, newer: [first.won && first.seq] });
  },
);

test("a fact that the log has under the name that it had before is not written again", async () => {
  const run = await seedLeased(bench.store);
  const seen = (await logOf(run)).at(-1)?.seq ?? 0;
  await bench.db.sql`INSERT INTO holdfast.run_log (run_id, at, facts, data)
    VALUES (${run.runId}, now(), 'STEP_COMPLETED 0 0 held', '{"from":"before"}')`;
  const outcome = await bench.store.commit(added(run, "now", seen));
  expect(isNew(outcome)).toBe(false);
  const again = await bench.store.commit({
    ...added(run, "now", 0),
    log: [fact("now"), logRow("STEP_COMPLETED", "next")],
  });
  expect(again).toMatchObject({ won: true, inserted: [false, true] });
  const facts = (await logOf(run)).filter(({ kind }) => kind === "STEP_COMPLETED");
  expect(facts.map(({ key, dataJson }) => [key, dataJson])).toEqual([
    ["held", '{"from":"before"}'],
    ["next", expect.anything()],
  ]);
});

test("STORED-3: a fact that is twice in a log is found by the check of the invariants", async () => {
  const run = await seedLeased(bench.store);
  await bench.store.commit(stepDone(run, "a"));
  await bench.db.sql`INSERT INTO holdfast.run_log (run_id, at, facts, data)
    SELECT run_id, at, facts, data FROM holdfast.run_log WHERE run_id = ${run.runId} AND facts = 's  a'`;
  const { broken } = await checkInvariants(bench.store);
  expect(broken.filter((what) => what.includes(run.runId))).toEqual([
    expect.stringContaining("its log has STEP_COMPLETED a twice"),
  ]);
  await bench.db.sql`DELETE FROM holdfast.run_log WHERE run_id = ${run.runId} AND seq = (
    SELECT max(seq) FROM holdfast.run_log WHERE run_id = ${run.runId})`;
});
