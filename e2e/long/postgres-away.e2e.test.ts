import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "@holdfast/testing";
import { afterAll, describe, expect, test } from "vitest";
import { type Cluster, inCluster, proxied } from "./cluster.ts";
import { bodies, duplicates, redoneAfterAcknowledgement } from "./effects.ts";
import { table } from "./throughput.ts";

const rows: Record<string, string | number>[] = [];
const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];
const steps = 4;
const runs = 300;

afterAll(() => table(`Two gateways, ${runs} runs of ${steps} steps of 4 s each, Postgres goes away`, rows));

/** What `GET path` says at each gateway; -1 when it is not answered. */
async function statuses(cluster: Cluster, path: string): Promise<number[]> {
  return Promise.all(
    cluster.members.map(async ({ url }) => {
      const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
      return response?.status ?? -1;
    }),
  );
}

describe.each(protocols)("$protocol", ({ protocol, plain }) => {
  test("an outage of Postgres for four leases (20 s) is logged, loses nothing and repeats no step", async () => {
    const way = proxied();
    await inCluster({ gateways: 2, plain, lease: "5s", through: way.through }, async (cluster) => {
      const apps = [];
      for (const { url } of cluster.members) apps.push(await cluster.startApp({ functions: "chaos", url }));
      await cluster.send(Array.from({ length: runs }, () => ({ name: "test/chain", data: { steps, takesMs: 4000 } })));
      await waitFor(() => bodies(cluster.journal) >= runs, { what: "every run to have begun" });
      expect(await statuses(cluster, "/ready")).toEqual([200, 200]);

      const awayMs = performance.now();
      await way.proxy().stop();
      await waitFor(async () => (await statuses(cluster, "/ready")).every((status) => status === 503), {
        what: "the gateways to say that they are not ready",
      });
      const toldMs = performance.now() - awayMs;
      expect(await statuses(cluster, "/health")).toEqual([200, 200]);
      await sleep(20_000 - toldMs);
      await way.proxy().start();
      const backMs = performance.now();
      await waitFor(async () => (await statuses(cluster, "/ready")).every((status) => status === 200), {
        what: "the gateways to say that they are ready again",
      });
      const readyMs = performance.now() - backMs;
      await cluster.ended(runs);

      expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
      expect(await redoneAfterAcknowledgement(cluster)).toEqual([]);
      rows.push({
        what: "refused for 20 s",
        protocol,
        "told after (ms)": Math.round(toldMs),
        "ready again after (ms)": Math.round(readyMs),
        "bodies run twice": duplicates(cluster.journal).length,
        "leases lost": await cluster.logged("LEASE_LOST"),
      });
      expect(duplicates(cluster.journal)).toHaveLength(0);
      for (const app of apps) expect(app.tail(1000), "its connection was never lost").not.toContain("CONNECTION_LOST");
    });
  });
});
