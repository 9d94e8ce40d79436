import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { afterAll, describe, expect, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { randomFrom } from "../support/random.mjs";
import { type Cluster, type ClusterOptions, inCluster, proxied } from "./cluster.ts";
import { bodies, duplicates, redoneAfterAcknowledgement } from "./effects.ts";
import { table } from "./throughput.ts";

/** HOLDFAST_TEST_SEED=n troubles it in another way. */
const seed = Number(process.env.HOLDFAST_TEST_SEED ?? 1);
const rows: Record<string, string | number>[] = [];
const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];
const steps = 6;
const runs = 300;

afterAll(() => table(`Two gateways, ${runs} runs of ${steps} steps of 500 ms each`, rows));

interface Metrics {
  readonly store: { readonly batchRetries: number; readonly commitMs: number; readonly batches: number };
  readonly database: { readonly outages: number; readonly conflicts: number };
}

const metricsOf = async ({ members }: Cluster): Promise<Metrics[]> =>
  Promise.all(members.map(async ({ url }) => (await fetch(new URL("/v1/metrics", url))).json() as Promise<Metrics>));

/** Runs the load while `disturb` works, until all has ended, and checks what must hold whatever was done. */
async function underTrouble(
  options: Partial<ClusterOptions>,
  what: { name: string; protocol: string; plain: boolean },
  disturb: (cluster: Cluster, over: AbortSignal) => Promise<void>,
): Promise<Metrics[]> {
  let metrics: Metrics[] = [];
  await inCluster({ gateways: 2, plain: what.plain, ...options }, async (cluster) => {
    for (const { url } of cluster.members) await cluster.startApp({ functions: "chaos", url });
    const startedMs = performance.now();
    await cluster.send(Array.from({ length: runs }, () => ({ name: "test/chain", data: { steps, takesMs: 500 } })));
    await waitFor(() => bodies(cluster.journal) >= runs, { what: "every run to have begun", timeoutMs: 60_000 });
    const over = new AbortController();
    const disturbed = disturb(cluster, over.signal);
    await Promise.all([cluster.ended(runs).finally(() => over.abort()), disturbed]);
    const tookMs = performance.now() - startedMs;
    expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
    expect(await redoneAfterAcknowledgement(cluster)).toEqual([]);
    metrics = await metricsOf(cluster);
    rows.push({
      what: what.name,
      protocol: what.protocol,
      "took (ms)": Math.round(tookMs),
      "bodies run again before their result was stored": duplicates(cluster.journal).length,
      "commits tried again": metrics.reduce((sum, { store }) => sum + store.batchRetries, 0),
      "ms a commit": Math.round(
        metrics.reduce((sum, { store }) => sum + store.commitMs, 0) /
          metrics.reduce((sum, { store }) => sum + store.batches, 0),
      ),
    });
  });
  return metrics;
}

/** Repeats until the signal, at intervals. */
async function again(over: AbortSignal, intervalMs: number, act: () => Promise<unknown>): Promise<void> {
  while (!over.aborted) {
    await act();
    await sleep(intervalMs);
  }
}

describe.each(protocols)("$protocol", (mode) => {
  test("runs survive when the Postgres server is killed with -9 and restarted, twice", async () => {
    await underTrouble({ ownPostgres: {} }, { name: "killed, twice", ...mode }, async ({ server }) => {
      for (let times = 0; times < 2; times++) {
        await server?.kill();
        await server?.restart();
        await sleep(700);
      }
    });
  });

  test("runs survive a delay of 100 ms in every statement", async () => {
    const way = proxied();
    const metrics = await underTrouble(way, { name: "100 ms slower", ...mode }, async () => way.proxy().slow(100));
    for (const { store } of metrics) expect(store.commitMs / store.batches).toBeGreaterThan(50);
  });

  test("runs survive randomly cancelled statements and terminated connections", async () => {
    const random = randomFrom(seed);
    const metrics = await underTrouble({}, { name: "cancelled and ended", ...mode }, ({ sql }, over) =>
      again(over, 30, async () => {
        const how = random() < 0.7 ? "pg_cancel_backend" : "pg_terminate_backend";
        // Rather one that is at something.
        await sql.unsafe(`SELECT ${how}(pid) FROM pg_stat_activity WHERE datname = current_database()
          AND application_name LIKE 'holdfast-gateway%' ORDER BY state = 'idle', backend_start LIMIT 1`);
      }),
    );
    expect(metrics.some(({ store }) => store.batchRetries > 0)).toBe(true);
  });

  test("runs survive deadlocks with other clients that lock the same rows in another order", async () => {
    const settings = { deadlock_timeout: "20ms" };
    await underTrouble({ ownPostgres: settings }, { name: "deadlocks", ...mode }, async ({ sql }, over) => {
      // Row by row from the last to the first; the gateways lock from the first to the last.
      await again(over, 10, async () => {
        await sql`SELECT pg_sleep(0.001) FROM (
          SELECT id FROM holdfast.queue ORDER BY id DESC LIMIT 150 FOR UPDATE) AS locked`.catch(() => {});
      });
      const deadlocks = async () =>
        (await sql`SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()`)[0]?.deadlocks;
      await waitFor(deadlocks, { what: "the server to count deadlocks" });
    });
  });

  test("runs survive serialization failures under serializable isolation", async () => {
    const settings = { default_transaction_isolation: "serializable" };
    await underTrouble({ ownPostgres: settings }, { name: "serializable", ...mode }, async () => {});
  });

  test("runs survive when other clients take every connection for 5 s and the gateways' own are terminated", async () => {
    const settings = { max_connections: "30", superuser_reserved_connections: "0" };
    await underTrouble({ ownPostgres: settings }, { name: "no connection left", ...mode }, async (cluster) => {
      // The test's own connections: one to end others with, one to look with. There will be no other.
      const own = postgres(cluster.databaseUrl, { max: 1, onnotice: () => {} });
      await Promise.all([own`SELECT 1`, cluster.sql`SELECT 1`]);
      const endMs = performance.now() + 5_000;
      const taken: postgres.Sql[] = [];
      while (performance.now() < endMs) {
        const one = postgres(cluster.databaseUrl, { max: 1, onnotice: () => {} });
        const got = await one`SELECT 1`.then(() => true).catch(() => false);
        if (got) taken.push(one);
        else await one.end({ timeout: 0 });
        await own`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name LIKE 'holdfast-gateway%' AND datname = current_database()`;
      }
      const [row] = await own`SELECT count(*)::int AS gateways FROM pg_stat_activity
        WHERE application_name LIKE 'holdfast-gateway%'`;
      expect(row?.gateways, "the gateways have hardly a connection").toBeLessThan(6);
      await own.end();
      await Promise.all(taken.map((one) => one.end({ timeout: 1 })));
    });
  });
});

test("a gateway started without a database reports it and exits with an error code", async () => {
  const args = [gatewayBin, "dev", "--port", "0", "--database-url", "postgres://user:secret@127.0.0.1:9/none"];
  const failed = await promisify(execFile)(process.execPath, args).catch(
    (error: { stderr: string; code: number }) => error,
  );
  expect(failed).toMatchObject({ code: 4 });
  expect(failed.stderr).toContain("DATABASE_UNREACHABLE");
  expect(failed.stderr).not.toContain("secret");
});
