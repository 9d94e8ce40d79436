import { describe, expect, test } from "vitest";
import { inCluster } from "./cluster.ts";
import { bodies, duplicates } from "./effects.ts";

const protocols = [
  { protocol: "extensions", extensions: true },
  { protocol: "plain", extensions: false },
];
const cases = [2, 3].flatMap((gateways) => protocols.map((each) => ({ gateways, ...each })));

describe.each(cases)("$gateways gateways over one database, $protocol", ({ gateways, extensions }) => {
  test("300 runs sent to all of them: every step body runs once", async () => {
    await inCluster({ gateways, extensions }, async (cluster) => {
      for (const member of cluster.members) await cluster.startApp({ functions: "chaos", url: member.url });
      const runs = await cluster.send(Array.from({ length: 300 }, () => ({ name: "test/chain", data: { steps: 4 } })));
      await cluster.ended(runs);
      expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
      expect(duplicates(cluster.journal)).toEqual([]);
      expect(bodies(cluster.journal)).toBe(runs * 4);
      expect(await cluster.logged("LEASE_LOST")).toBe(0);
    });
  });
});
