import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { logRow, newRun, passJob, runDone, type SeededRun, seedLeased, useStore } from "./harness.ts";

const DAY_MS = 86_400_000;
const WIDTH_MS = 1_000;
const bench = useStore({ tablePartitionMs: WIDTH_MS, virtualTime: true });

/** What else a run leaves: the id that its event was given, and what it was made of. */
async function seedWithAll(n: number): Promise<SeededRun> {
  const made = n % 2 === 0 ? { graph: { uid: "graph", version: 1, test: false } } : {};
  const origin = n % 2 === 1 ? { origin: { runId: "01ORIGIN", kind: "rerun", step: null } as const } : {};
  const run = newRun({ ...made, ...origin });
  const job = passJob(run.id, { lease: { gatewayId: "gateway-a", leaseMs: 60_000 } });
  const event = { id: run.eventId, name: run.eventName, tsMs: 1, payloadJson: "{}", idempotencyKey: run.id };
  await bench.store.intake([
    { event, runs: [{ run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs: [job] }] },
  ]);
  return { runId: run.id, jobId: job.id };
}

test("with retention a database under load stops growing, also when gateways end in the middle of it", async () => {
  const policy = { completedMs: 2 * DAY_MS, failedMs: 2 * DAY_MS, functions: new Map() };
  const sizes: number[] = [];
  const sleepers: string[] = [];
  for (let day = 1; day <= 12; day += 1) {
    const beganMs = Date.now();
    await bench.store.touchConnections("gateway-a", 60_000);
    sleepers.push((await seedLeased(bench.store)).runId);
    const runs = await Promise.all(Array.from({ length: 400 }, (_, n) => seedWithAll(n)));
    await Promise.all(runs.map((run) => bench.store.commit(runDone(run))));
    // Ids have the real time: each day has partitions of its own, however quick the machine is.
    await sleep(Math.max(0, beganMs + WIDTH_MS - Date.now()));
    await bench.store.skipTime(DAY_MS);
    // One of two gives up after an instant, wherever it is; the other one goes on there.
    const short = openPostgresStore({
      url: bench.db.url,
      maxConnections: 3,
      tablePartitionMs: WIDTH_MS,
      virtualTime: true,
    });
    await short.prune(policy, { limitMs: 1, sinceMs: await bench.store.nowMs() });
    await short.close(0);
    const sinceMs = await bench.store.nowMs();
    await waitFor(async () => (await bench.store.prune(policy, { sinceMs })).state === "done", { what: "a day to go" });
    const [row] = await bench.db.sql`SELECT count(*)::int AS runs FROM holdfast.runs`;
    sizes.push(Number(row?.runs));
  }
  // Two days and what the partitions of the last ones still hold; not twelve.
  const [before = 0, last = 0] = [Math.max(...sizes.slice(3, 7)), Math.max(...sizes.slice(-3))];
  expect(last).toBeLessThan(before + 450);
  expect(last).toBeLessThan(2_400);
  // Keys count for a day. What a run was made of goes at the next look after the run.
  await bench.store.touchConnections("gateway-a", 60_000);
  const rows = async (table: string): Promise<number> =>
    Number((await bench.db.sql.unsafe(`SELECT count(*)::int AS n FROM holdfast.${table}`))[0]?.n);
  expect(await rows("event_keys")).toBeLessThan(850);
  expect((await rows("run_origins")) + (await rows("graph_runs"))).toBeLessThanOrEqual(await rows("runs"));
  const [partitions] = await bench.db
    .sql`SELECT count(*)::int AS n FROM holdfast.table_partitions WHERE parent = 'runs'`;
  expect(partitions?.n).toBeLessThan(10);
  const kept = await bench.store.loadRuns(sleepers);
  expect(kept.map(({ log }) => log.length)).toEqual(sleepers.map(() => 2));
  const bytes = async (): Promise<number> => {
    const [row] = await bench.db.sql`SELECT pg_database_size(current_database())::float8 AS bytes`;
    return Number(row?.bytes);
  };
  expect(await bytes()).toBeLessThan(64 * 1024 * 1024);
}, 280_000);
