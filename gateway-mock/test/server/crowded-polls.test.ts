import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import { call, metrics, start, useGateway } from "./harness.ts";

const bench = useGateway();
const run = promisify(execFile);

const CALLERS = 10_000;
const RUNS = 200;
/** Of one gateway. */
const MAX_CONNECTIONS = 10;

/** In a process of their own: each end of a connection is a file. */
async function callers(url: string, runIds: readonly string[]): Promise<unknown> {
  const script = fileURLToPath(new URL("poll-callers.mjs", import.meta.url));
  const { stdout } = await run(process.execPath, [script, url, String(CALLERS), ...runIds]);
  return JSON.parse(stdout);
}

test("ten thousand callers wait for runs at a gateway with ten connections to its database, and all are answered", async () => {
  const [one, two] = [
    await bench.gateway({ maxConnections: MAX_CONNECTIONS }),
    await bench.gateway({ maxConnections: MAX_CONNECTIONS }),
  ];
  const worker = await bench.worker(one, { maxWorkerConcurrency: RUNS });
  const runIds = await start(one, RUNS);
  const requests = [];
  for (let n = 0; n < RUNS; n += 1) requests.push((await worker.request()).request);
  const answers = callers(two.url, runIds);
  await waitFor(async () => (await metrics(two)).dispatcher.waiting === CALLERS || undefined, {
    what: `${CALLERS} waiting callers`,
    context: async () => JSON.stringify(await metrics(two)),
    timeoutMs: 55_000,
  });
  const sql = postgres(bench.db.url, { max: 1 });
  const rows = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database()`;
  await sql.end();
  // Two gateways, and the test's own.
  expect(rows[0]?.count).toBeLessThanOrEqual(2 * MAX_CONNECTIONS + 6);
  expect(await call(two, "/ready")).toEqual({ ready: true });
  for (const request of requests) worker.reply(request, { status: "DONE", value: "ok" });
  expect(await answers).toEqual({ COMPLETED: CALLERS });
  await waitFor(async () => (await metrics(two)).dispatcher.waiting === 0 || undefined, { what: "no waiting callers" });
});
