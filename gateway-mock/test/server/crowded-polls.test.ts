import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { systemTimers, type Timers } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import { REAL_PORTS } from "../../src/server.ts";
import { call, metrics, start, useGateway } from "./harness.ts";

const bench = useGateway();
const run = promisify(execFile);

const CALLERS = 10_000;
const RUNS = 200;
/** Of one gateway. */
const MAX_CONNECTIONS = 10;
/** For a machine that is busy elsewhere. */
const PATIENCE_MS = 900_000;

/**
 * The callers wait for a minute, and however long it takes until all of them are there, none of these minutes is over:
 * timers of about a minute never fire.
 */
const minutesWithoutEnd: Timers = {
  set: (ms, fire, options) =>
    ms > 30_000 && ms <= 60_000 ? { cancel: () => {} } : systemTimers.set(ms, fire, options),
};

/** In a process of their own: each end of a connection is a file. */
async function callers(url: string, runIds: readonly string[]): Promise<unknown> {
  const script = fileURLToPath(new URL("poll-callers.mjs", import.meta.url));
  const { stdout } = await run(process.execPath, [script, url, String(CALLERS), ...runIds]);
  return JSON.parse(stdout);
}

test(
  "ten thousand callers wait for runs at a gateway with ten connections to its database, and all are answered",
  async () => {
    const [one, two] = [
      await bench.gateway({ maxConnections: MAX_CONNECTIONS, leaseMs: PATIENCE_MS, heartbeatMs: PATIENCE_MS }),
      await bench.gateway({ maxConnections: MAX_CONNECTIONS }, { ...REAL_PORTS, timers: minutesWithoutEnd }),
    ];
    const worker = await bench.worker(one, { maxWorkerConcurrency: RUNS });
    const runIds = await start(one, RUNS);
    const requests = [];
    for (let n = 0; n < RUNS; n += 1) requests.push((await worker.request()).request);
    const answers = callers(two.url, runIds);
    await waitFor(async () => (await metrics(two)).dispatcher.waiting === CALLERS || undefined, {
      what: `${CALLERS} waiting callers`,
      context: async () => JSON.stringify(await metrics(two)),
      timeoutMs: PATIENCE_MS / 3,
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
    await waitFor(async () => (await metrics(two)).dispatcher.waiting === 0 || undefined, {
      what: "no waiting callers",
      timeoutMs: PATIENCE_MS / 3,
    });
  },
  PATIENCE_MS,
);
