import { waitFor } from "@holdfast/testing";
import { afterAll, describe, expect, test } from "vitest";
import { type Cluster, functionsKnown, inCluster, withoutNotifications } from "./cluster.ts";
import { bodies, duplicates } from "./effects.ts";
import { table } from "./throughput.ts";

const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];
const cases = [2, 3].flatMap((gateways) => protocols.map((each) => ({ gateways, ...each })));
const rows: Record<string, string | number>[] = [];

afterAll(() => table("From an event at a gateway without an app to the run's end at another gateway", rows));

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

describe.each(cases)("$gateways gateways on one database, $protocol", ({ gateways, plain }) => {
  test("steps, sleeps and retries of 600 runs sent to all gateways happen exactly once", async () => {
    await inCluster({ gateways, plain }, async (cluster) => {
      for (const member of cluster.members) await cluster.startApp({ functions: "chaos", url: member.url });
      const runs = await cluster.send([
        ...times(200, () => ({ name: "test/chain", data: { steps: 4 } })),
        ...times(200, () => ({ name: "test/nap", data: { ms: 1000 } })),
        ...times(200, () => ({ name: "test/shaky", data: { steps: 2 } })),
      ]);
      await cluster.ended(runs);
      expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
      expect(duplicates(cluster.journal)).toEqual([]);
      expect(bodies(cluster.journal)).toBe(200 * 4 + 200 * 2 + 200 * 4);
      expect(await cluster.logged("STEP_COMPLETED")).toBe(200 * 4 + 200 * 3 + 200 * 2);
      expect(await cluster.logged("STEP_ATTEMPT_FAILED")).toBe(200 * 2);
      expect(await cluster.logged("LEASE_LOST")).toBe(0);
    });
  });

  test("when an app is killed with -9 under 100 runs, each lease expires and is taken over once", async () => {
    const quick = { lease: "2s", args: ["--reconnect-grace", "500ms"] };
    await inCluster({ gateways, plain, ...quick }, async (cluster) => {
      const doomed = await cluster.startApp({ functions: "chaos", url: cluster.member(0).url });
      const runs = await cluster.send(times(100, () => ({ name: "test/chain", data: { steps: 2, takesMs: 3000 } })));
      await waitFor(() => bodies(cluster.journal) === runs, { what: "every run to be in its first step" });
      await doomed.kill();
      for (const member of cluster.members) await cluster.startApp({ functions: "chaos", url: member.url });
      await cluster.ended(runs);
      expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
      expect(await cluster.logged("LEASE_LOST")).toBe(runs);
      expect(await cluster.logged("PASS_FAILED"), "attempts used up").toBe(plain ? runs : 0);
      // The first step began twice, the second once.
      expect(bodies(cluster.journal)).toBe(runs * 3);
      expect(duplicates(cluster.journal).every((line) => / s0: 2$/.test(line))).toBe(true);
    });
  });
});

/** Sends events one by one to the gateway that has no app, and reports how long each run took. */
async function acrossGateways(cluster: Cluster, what: string, protocol: string): Promise<void> {
  await cluster.startApp({ functions: "chaos", url: cluster.member(1).url });
  // The first one goes when the gateways know each other's functions.
  await functionsKnown(cluster.member(0), 1);
  const tookMs: number[] = [];
  for (let index = 0; index < 10; index++) {
    const startedMs = performance.now();
    await cluster.member(0).api.send([{ name: "test/chain", data: { steps: 1 } }]);
    await cluster.ended(index + 1);
    tookMs.push(performance.now() - startedMs);
  }
  expect(duplicates(cluster.journal)).toEqual([]);
  expect(bodies(cluster.journal)).toBe(10);
  tookMs.sort((a, b) => a - b);
  rows.push({ what, protocol, "median (ms)": Math.round(tookMs[5] ?? 0), "longest (ms)": Math.round(tookMs[9] ?? 0) });
}

describe.each(protocols)("Wake-ups across gateways, $protocol", ({ protocol, plain }) => {
  test("gateways wake each other by NOTIFY", async () => {
    await inCluster({ gateways: 2, plain }, (cluster) => acrossGateways(cluster, "NOTIFY", protocol));
  });

  test("without NOTIFY, polling finds work and new functions", async () => {
    await inCluster({ gateways: 2, plain, through: withoutNotifications }, (cluster) =>
      acrossGateways(cluster, "polling", protocol),
    );
  });
});
