import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type Cluster, inCluster } from "./cluster.ts";
import { bodies, duplicates, redoneAfterAcknowledgement } from "./effects.ts";
import { endsPerSecond, feed, table } from "./throughput.ts";

const inFlight = 1000;
const steps = 5;
const rows: Record<string, string | number>[] = [];

const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];

afterAll(() => table("Three gateways, 1,000 runs in flight, one gateway after the other is taken away", rows));

/** Keeps runs in flight until `disturb` is done, waits for their end, and checks what happened. Returns how many. */
async function underLoad(cluster: Cluster, plain: boolean, disturb: () => Promise<void>): Promise<number> {
  let over = false;
  const disturbed = disturb().finally(() => {
    over = true;
  });
  const event = () => ({ name: "test/chain", data: { steps, takesMs: 700 } });
  const [total] = await Promise.all([feed(cluster, { inFlight, event, enough: () => over }), disturbed]);
  await cluster.ended(total);
  expect(await cluster.statuses()).toEqual({ COMPLETED: total });
  expect(await redoneAfterAcknowledgement(cluster)).toEqual([]);
  expect(await cluster.logged("STEP_COMPLETED")).toBe(total * steps);
  // Nothing but a lost lease uses an attempt up, and only at a gateway like the reference's.
  const lost = plain ? await cluster.logged("LEASE_LOST") : 0;
  expect(await cluster.logged("PASS_FAILED"), "attempts used up").toBeLessThanOrEqual(lost);
  return total;
}

async function report(cluster: Cluster, what: string, protocol: string, total: number): Promise<void> {
  const perSecond = await endsPerSecond(cluster);
  const sorted = [...perSecond].sort((a, b) => a - b);
  rows.push({
    what,
    protocol,
    runs: total,
    "bodies run again before their result was stored": bodies(cluster.journal) - total * steps,
    "leases lost": await cluster.logged("LEASE_LOST"),
    "ends per second: median": sorted[Math.floor(sorted.length / 2)] ?? 0,
    least: sorted[0] ?? 0,
    "second by second": perSecond.join(" "),
  });
}

describe.each(protocols)("Three gateways, $protocol", ({ protocol, plain }) => {
  test("runs survive when the gateways are killed with -9 and restarted in turn under 1,000 runs in flight", async () => {
    await inCluster({ gateways: 3, plain, lease: "5s" }, async (cluster) => {
      for (let app = 0; app < 3; app++) await cluster.startApp({ functions: "chaos" });
      const total = await underLoad(cluster, plain, async () => {
        for (const index of [0, 1, 2, 0, 1, 2]) {
          await sleep(2000);
          await cluster.member(index).kill();
          await sleep(1000);
          await cluster.member(index).start();
        }
      });
      await report(cluster, "kill -9, six times", protocol, total);
    });
  });

  test("a rolling deploy that restarts each gateway after SIGTERM fails no run and repeats no step", async () => {
    await inCluster({ gateways: 3, plain, lease: "5s", args: ["--drain", "10s"] }, async (cluster) => {
      for (let app = 0; app < 3; app++) await cluster.startApp({ functions: "chaos" });
      const total = await underLoad(cluster, plain, async () => {
        for (const member of cluster.members) {
          await sleep(1500);
          await member.stop();
          await member.start();
        }
      });
      await report(cluster, "SIGTERM, each once", protocol, total);
      expect(duplicates(cluster.journal)).toEqual([]);
    });
  });
});
