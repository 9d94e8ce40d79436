/** The contract's part about the checker of runs at rest: it finds what a store must never show. */
import { describe, expect, it } from "vitest";
import { type CheckedStore, checkInvariants } from "../../src/index.ts";
import { type ContractBench, runDone, seedLeased } from "./harness.ts";

export function invariantsContract(bench: ContractBench): void {
  /** The store as it would look had these runs another head, or these no jobs. */
  function altered(heads: Readonly<Record<string, object>>, jobless: readonly string[]): CheckedStore {
    const { store } = bench;
    return {
      listRuns: (filter) => store.listRuns(filter),
      loadRuns: async (ids) =>
        (await store.loadRuns(ids)).map(({ head, log }) => ({ head: { ...head, ...heads[head.id] }, log })),
      getRun: async (id) => {
        const detail = await store.getRun(id);
        return detail && jobless.includes(id) ? { ...detail, jobs: [] } : detail;
      },
    };
  }

  describe("The consistency checker", () => {
    it("STORED-1, STORED-2: the checker finds a head that its log does not explain, and a run that nothing continues", async () => {
      const changed = await seedLeased(bench.store);
      const forgotten = await seedLeased(bench.store);
      const haunted = await seedLeased(bench.store);
      await bench.store.commit(runDone(haunted));
      expect(await checkInvariants(bench.store)).toEqual({ runs: 3, broken: [] });
      const heads = {
        [changed.runId]: { status: "WAITING", version: 5 },
        [haunted.runId]: { outputJson: '"other"' },
      };
      const { broken } = await checkInvariants(altered(heads, [forgotten.runId]));
      const about = (run: { runId: string }) => broken.filter((line) => line.includes(run.runId)).join("; ");
      expect(about(changed)).toMatch(/status is WAITING, its log says RUNNING; .*version is 5, its log says 1/);
      expect(about(forgotten)).toMatch(/no job/);
      expect(about(haunted)).toMatch(/output/);
      expect(broken).toHaveLength(4);
    });
  });
}
