import { afterAll, describe, expect, test } from "vitest";
import { inCluster } from "./cluster.ts";
import { bodies, duplicates } from "./effects.ts";
import { table } from "./throughput.ts";

const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];
const rows: Record<string, string | number>[] = [];

// On the plain protocol every step costs a pass that is sent all results so far: by protocol that grows with the square.
afterAll(() => table("One run of n steps, one after the other", rows));

describe.each(protocols)("$protocol", ({ protocol, plain }) => {
  test("a run of 1,000 steps, the maximum, completes next to one of 100", async () => {
    await inCluster({ gateways: 1, plain }, async (cluster) => {
      await cluster.startApp({ functions: "chaos" });
      const msPerStep: number[] = [];
      for (const [index, steps] of [100, 1000].entries()) {
        const startedMs = performance.now();
        await cluster.send([{ name: "test/chain", data: { steps } }]);
        await cluster.ended(index + 1, 150_000);
        msPerStep.push((performance.now() - startedMs) / steps);
      }
      expect(await cluster.statuses()).toEqual({ COMPLETED: 2 });
      expect(bodies(cluster.journal)).toBe(1100);
      expect(duplicates(cluster.journal)).toEqual([]);
      const [few = 0, many = 0] = msPerStep;
      const shown = { "ms a step of 100": few.toFixed(1), "ms a step of 1,000": many.toFixed(1) };
      rows.push({ protocol, ...shown, ratio: (many / few).toFixed(2) });
    });
  });
});
