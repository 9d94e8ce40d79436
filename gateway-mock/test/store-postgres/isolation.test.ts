import { describe, expect, it } from "vitest";
import { runDone, seedLeased, stepDone, useStore } from "./harness.ts";

const bench = useStore();

describe("A write that the database rejects", () => {
  it("RUNNER-2: a rejected write fails alone, whatever was committed with it", async () => {
    const runs = await Promise.all(Array.from({ length: 40 }, () => seedLeased(bench.store)));
    const poison = new Set([7, 23]);
    const settled = await Promise.allSettled(
      runs.map((run, index) => bench.store.commit(stepDone(run, poison.has(index) ? "nul \u0000" : "fine"))),
    );
    for (const [index, result] of settled.entries()) {
      if (!poison.has(index))
        expect(result).toMatchObject({ status: "fulfilled", value: { won: true, inserted: [true] } });
      else expect(result).toMatchObject({ status: "rejected", reason: { code: "STORE_FAILED" } });
    }
    const stored = await bench.store.loadRuns(runs.map((run) => run.runId));
    expect(stored.filter((run) => run.log.some((row) => row.key === "fine"))).toHaveLength(38);
    expect(await bench.store.commit(runDone(runs[7]!))).toMatchObject({ won: true });
  });

  it("invalid JSON fails alone, so that it cannot be read as two values", async () => {
    const runs = await Promise.all([1, 2, 3].map(() => seedLeased(bench.store)));
    const bad = '"\u001f"';
    const settled = await Promise.allSettled(
      runs.map((run, index) => bench.store.commit(stepDone(run, "a", 1, index === 1 ? bad : String(index)))),
    );
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const stored = await bench.store.loadRuns(runs.map(({ runId }) => runId));
    expect(stored.map(({ log }) => log.find(({ key }) => key === "a")?.dataJson)).toEqual(["0", undefined, "2"]);
  });
});
