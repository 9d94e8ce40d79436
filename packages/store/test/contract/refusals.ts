/** The contract's part about writes that no store takes. */
import { describe, expect, it } from "vitest";
import { type ContractBench, logRow, newRun, passJob, runDone, seedLeased, stepDone } from "./harness.ts";

/** What the same write meets each time. */
const REFUSED = { code: "STORE_FAILED", reason: "data" };

export function refusalsContract(bench: ContractBench): void {
  describe("A write whose data the store refuses", () => {
    it("a rejected write fails alone, whatever was committed with it", async () => {
      const runs = await Promise.all(Array.from({ length: 40 }, () => seedLeased(bench.store)));
      const poison = new Set([7, 23]);
      const settled = await Promise.allSettled(
        runs.map((run, index) => bench.store.commit(stepDone(run, poison.has(index) ? "nul \u0000" : "fine"))),
      );
      for (const [index, result] of settled.entries()) {
        if (!poison.has(index))
          expect(result).toMatchObject({ status: "fulfilled", value: { won: true, inserted: [true] } });
        else expect(result).toMatchObject({ status: "rejected", reason: REFUSED });
      }
      const stored = await bench.store.loadRuns(runs.map((run) => run.runId));
      expect(stored.filter((run) => run.log.some((row) => row.key === "fine"))).toHaveLength(38);
      expect(await bench.store.commit(runDone(runs[7]!))).toMatchObject({ won: true });
    });

    it("a rejected write leaves no part of itself behind", async () => {
      const run = await seedLeased(bench.store);
      const bad = { ...runDone(run), log: [logRow("RUN_COMPLETED"), logRow("STEP_COMPLETED", "\u0000")] };
      await expect(bench.store.commit(bad)).rejects.toMatchObject(REFUSED);
      const detail = await bench.store.getRun(run.runId);
      expect(detail?.head).toMatchObject({ version: 1, status: "RUNNING" });
      expect(detail?.jobs).toHaveLength(1);
      expect(detail?.log.map((row) => row.kind)).toEqual(["RUN_CREATED", "DISPATCHED"]);
    });

    it("a rejected event fails alone, as does a number out of range", async () => {
      const item = (iteration: number) => {
        const run = newRun();
        return {
          event: { id: run.eventId, name: run.eventName, tsMs: 1, payloadJson: "{}" },
          runs: [
            { run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED", "", { iteration })], jobs: [passJob(run.id)] },
          ],
        };
      };
      const items = [item(1), item(2 ** 40), item(3)];
      const settled = await Promise.allSettled(items.map((each) => bench.store.intake([each])));
      expect(settled.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await bench.store.getRun(items[1]!.runs[0]!.run.id)).toBeNull();
      expect(await bench.store.getEvent(items[1]!.event.id)).toBeNull();
    });
  });
}
