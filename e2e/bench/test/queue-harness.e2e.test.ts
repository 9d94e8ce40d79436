/** The adapter for the public harness keeps its contract: descriptor, samples, paced jobs, SIGTERM, nothing left after kill -9. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createDatabase } from "@holdfast/testing";
import postgres from "postgres";
import { afterEach, expect, inject, test } from "vitest";
import adapterManifest from "../queue-harness/adapter.json" with { type: "json" };

const program = fileURLToPath(new URL("../queue-harness/main.mjs", import.meta.url));
const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

type Line = { kind: string; metric?: string; value?: number } & Record<string, unknown>;

async function start(databaseUrl: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, DATABASE_URL: databaseUrl, PRODUCER_PACING: "harness", SAMPLE_EVERY_S: "1", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  running.push(child);
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line)));
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  return { child, lines, exited: once(child, "exit") };
}

const total = (lines: readonly Line[], metric: string): number =>
  lines.filter((line) => line.metric === metric).reduce((sum, line) => sum + (line.value ?? 0), 0);

/** Processes whose environment names this database: the adapter and its gateway. */
const processesOf = (databaseUrl: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return Number(pid) !== process.pid && readFileSync(`/proc/${pid}/environ`, "latin1").includes(databaseUrl);
    } catch {
      return false;
    }
  });

test("the adapter does the jobs that the harness asks for and says how it goes", async () => {
  await using database = await createDatabase(inject("postgresUrl"));
  const { child, lines, exited } = await start(database.url);
  const { system, event_tables, extensions } = adapterManifest;
  expect(lines[0]).toMatchObject({ kind: "descriptor", system, event_tables, extensions, db_name: database.name });

  for (let index = 0; index < 10; index++) child.stdin?.write("ENQUEUE 20\n");
  await expect.poll(() => total(lines, "completion_rate")).toBe(200);
  expect(total(lines, "enqueue_rate")).toBe(200);
  const metrics = new Set(lines.map((line) => line.metric));
  for (const name of ["claim_p50_ms", "claim_p95_ms", "claim_p99_ms", "queue_depth"]) expect(metrics).toContain(name);
  await expect.poll(() => lines.findLast((line) => line.metric === "total_backlog")?.value).toBe(0);

  const sql = postgres(database.url, { max: 1 });
  for (const table of event_tables)
    expect(await sql`SELECT to_regclass(${table}) IS NOT NULL AS there`).toEqual([{ there: true }]);
  await sql.end();

  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  await expect.poll(() => processesOf(database.url)).toEqual([]);
});

test("an adapter that is killed takes its gateway with it, and the next one does what is left", async () => {
  await using database = await createDatabase(inject("postgresUrl"));
  // Slow enough that most of the jobs are still there when it is killed.
  const first = await start(database.url, { WORKER_COUNT: "1", JOB_WORK_MS: "500" });
  first.child.stdin?.write("ENQUEUE 100\n");
  await expect.poll(() => total(first.lines, "enqueue_rate")).toBe(100);
  first.child.kill("SIGKILL");
  await expect.poll(() => processesOf(database.url)).toEqual([]);

  const second = await start(database.url);
  const backlog = () => second.lines.findLast((line) => line.metric === "total_backlog")?.value;
  // Its first sample may be taken before it has heard of what is left.
  await expect.poll(() => total(second.lines, "completion_rate")).toBeGreaterThan(0);
  await expect.poll(backlog).toBe(0);
  second.child.kill("SIGTERM");
  expect(await second.exited).toEqual([0, null]);
});
