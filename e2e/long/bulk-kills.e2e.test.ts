/** Bulk jobs and prunes whose gateway is killed with -9 half-way: another one goes on, each run once, the counts true. */
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { type Cluster, inCluster } from "./cluster.ts";

const RUNS = Number(process.env.HOLDFAST_TEST_RUNS ?? 400);

interface Bulk {
  readonly id: string;
  readonly status: string;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
}

async function call<T>(url: string, path: string, body?: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  const init = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(new URL(path, url), init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

/**
 * Only the first gateway is there when the job begins; it is killed half-way, and the second one goes on, or is killed
 * as well. Each kill takes as long as the lease of a bulk job.
 */
async function bulkWithKills(
  { members, sql }: Cluster,
  { action, status, kills = 1 }: { readonly action: string; readonly status: string; readonly kills?: number },
): Promise<Bulk> {
  const [first, second] = members;
  if (!first || !second) throw new Error("Two gateways are needed.");
  await second.kill();
  const { id } = await call<Bulk>(first.url, "/v1/bulk", { action, filter: { status, functionId: "long-called" } });
  const reached = async (least: number): Promise<number | undefined> => {
    const [row] = await sql<{ done: number; status: string }[]>`
      SELECT done, status FROM holdfast.bulk_jobs WHERE id = ${id}`;
    expect(row?.status, "the job is over before it was interrupted: more runs are needed").toBe("RUNNING");
    return row && row.done >= least ? row.done : undefined;
  };
  const half = await waitFor(() => reached(1), { what: `${action} to have begun`, intervalMs: 5 });
  await first.kill();
  await second.start();
  if (kills > 1) {
    await waitFor(() => reached(half + 1), { what: `${action} to go on`, timeoutMs: 60_000, intervalMs: 5 });
    await second.kill();
    await second.start();
  }
  await first.start();
  return waitFor(
    async () => {
      const bulk = await call<Bulk>(first.url, `/v1/bulk/${id}`);
      return bulk.status === "RUNNING" ? undefined : bulk;
    },
    { what: `${action} to end`, timeoutMs: 90_000 },
  );
}

const all = { status: "DONE", done: RUNS, skipped: 0, failed: 0 };

test("bulk jobs go on when their gateway is killed: each run is cancelled, resumed, run again and deleted once", {
  timeout: 300_000,
}, async () => {
  await inCluster({ gateways: 2, lease: "5s", args: ["--reconnect-grace", "1s"] }, async (cluster) => {
    const { sql, members } = cluster;
    const url = members[0]?.url ?? "";
    await cluster.startApp({ functions: "programs" });
    const count = async (where: string): Promise<number> =>
      Number((await sql.unsafe(`SELECT count(*)::int AS n FROM holdfast.${where}`))[0]?.n);
    await call(url, "/v1/functions/long-called/pause", {});
    const data = (n: number) => ({ name: "program/called", data: { runId: "none", name: `body ${n}` } });
    await cluster.send(Array.from({ length: RUNS }, (_, n) => data(n)));

    expect(await bulkWithKills(cluster, { action: "cancel", status: "PENDING" })).toMatchObject(all);
    expect(await cluster.statuses()).toEqual({ CANCELLED: RUNS });

    await call(url, "/v1/functions/long-called/resume", {});
    expect(await bulkWithKills(cluster, { action: "resume", status: "CANCELLED" })).toMatchObject(all);
    await cluster.ended(RUNS);
    expect(await cluster.logged("RUN_REVIVED")).toBe(RUNS);

    expect(await bulkWithKills(cluster, { action: "rerun", status: "COMPLETED", kills: 2 })).toMatchObject(all);
    await cluster.ended(2 * RUNS);
    expect(await cluster.statuses()).toEqual({ COMPLETED: 2 * RUNS });
    expect(await count("run_origins")).toBe(RUNS);
    expect((await sql`SELECT DISTINCT origin_id FROM holdfast.run_origins`).length).toBe(RUNS);

    expect(await bulkWithKills(cluster, { action: "delete", status: "COMPLETED" })).toMatchObject({
      ...all,
      done: 2 * RUNS,
    });
    for (const table of ["runs", "run_log", "run_origins", "queue", "waits", "events"]) {
      expect(await count(table), table).toBe(0);
    }
    await cluster.send([data(RUNS)]);
    await cluster.ended(1);
  });
});
