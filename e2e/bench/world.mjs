/** Gateway, app and Postgres of the benchmark, each in a process of its own; Postgres syncs every commit to disk. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDatabase, startTestPostgres } from "@holdfast/testing";
import postgres from "postgres";
import { gatewayApi } from "../support/api.mjs";
import { Child, endAll } from "../support/child.mjs";
import { startGateway } from "../support/gateway.mjs";
import { cpuUs, familyCpuUs, parentOf } from "./cpu-time.mjs";

/** @typedef {Awaited<ReturnType<typeof openWorld>>} BenchWorld */

/**
 * @param {object} options
 * @param {boolean} options.extensions
 * @param {string | undefined} options.cpuProfiles folder for CPU profiles; none are taken without it
 */
export async function openWorld({ extensions, cpuProfiles }) {
  const profiling = (/** @type {string} */ name) =>
    cpuProfiles === undefined
      ? []
      : [
          "--cpu-prof",
          `--cpu-prof-dir=${cpuProfiles}`,
          `--cpu-prof-name=${name}${extensions ? "" : "-plain"}.cpuprofile`,
        ];
  const server = await startTestPostgres({ own: true, durable: true });
  const database = await createDatabase(server.url);
  const gateway = await startGateway({ databaseUrl: database.url, extensions, nodeArgs: profiling("gateway") });
  /** @type {Map<string, Child>} */
  const apps = new Map();
  const startApp = async (/** @type {string} */ id, /** @type {Record<string, string>} */ env) => {
    const started = new Child(fileURLToPath(new URL("./app.mjs", import.meta.url)), {
      name: `The app ${id}`,
      env: { HOLDFAST_DEV: gateway.url, BENCH_APP: id, ...env },
      nodeArgs: id === "bench" ? profiling("app") : [],
    });
    await started.message((message) => message.ready === true);
    apps.set(id, started);
    return started;
  };
  const app = await startApp("bench", {});
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  // Statistics are read from another database: its own commits are not among those that are counted.
  const outside = postgres(server.url, { max: 1, onnotice: () => {} });
  const [backend] = await outside`SELECT pg_backend_pid() AS pid`;
  const postmaster = parentOf(Number(backend?.pid));

  return {
    api: gatewayApi(gateway.url),
    app,
    /** Another app beside the first; it is started once and stays. Its events are called `<id>/...`. */
    appOf: async (/** @type {string} */ id, /** @type {Record<string, string>} */ env) =>
      apps.get(id) ?? (await startApp(id, env)),
    /** Epoch milliseconds by the database's clock. */
    databaseNow: async () => {
      const [row] = await outside`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now`;
      return Number(row?.now);
    },
    /** When the last of the newest runs ended, once all of them have. */
    lastEnd: async (/** @type {number} */ runs) => {
      for (;;) {
        const [row] = await sql`
          SELECT extract(epoch FROM max(ended_at)) * 1000 AS last, count(ended_at)::int AS ended
          FROM (SELECT ended_at FROM holdfast.runs ORDER BY created_at DESC, id DESC LIMIT ${runs}) AS newest`;
        if (row?.ended === runs) return Number(row.last);
        await sleep(2);
      }
    },
    /** CPU time so far, microseconds. */
    cpu: () => ({ app: cpuUs(app.pid), gateway: cpuUs(gateway.child.pid), postgres: familyCpuUs(postmaster) }),
    /** Until so many steps wait. */
    waiting: async (/** @type {number} */ steps) => {
      for (;;) {
        const [row] = await sql`SELECT count(*)::int AS waiting FROM holdfast.waits`;
        if (row?.waiting >= steps) return;
        await sleep(5);
      }
    },
    /**
     * Transactions that wrote and bytes of write-ahead log so far. Transaction ids are exact at once, where the counters of
     * pg_stat_database come seconds late and count reads.
     */
    usage: async () => {
      const [row] = await outside`
        SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid, pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes`;
      return { commits: Number(row?.xid), walBytes: Number(row?.bytes) };
    },
    idle: () => sleep(15),
    close: async () => {
      await sql.end();
      await outside.end();
      for (const one of apps.values()) {
        if (one.alive) await one.ask("close");
        await one.exited;
      }
      await gateway.child.stop();
      await endAll();
      await server.stop();
    },
  };
}
