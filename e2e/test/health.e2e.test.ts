/**
 * What isolation is for: an app that answers its health check while its steps compute. Beside each other in one app: the
 * same steps on the main thread and in threads, on two cores. Ratios only, the best of some rounds: what else the machine
 * does at the moment happens to both, and to two bare threads that show what a second core is worth meanwhile.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { expect, test } from "vitest";
import { Child } from "../support/child.mjs";
import { inWorld, type World } from "./world.ts";

const RUNS = 50;
const ROUNDS = 3;
/** Of the test, and of each of its parts: it computes all the time, and may have a tenth of the processors that it needs. */
const timeout = 900_000;
const extended = { name: "with extensions", extensions: true };
const probeFile = fileURLToPath(new URL("../support/health-probe.mjs", import.meta.url));

interface Figures {
  readonly tookMs: number;
  readonly p99Ms: number;
}

test(`${RUNS} runs that compute in threads leave the health check of their app alone, and end sooner`, {
  timeout,
}, async () => {
  await inWorld(extended, async (world) => {
    // Fair turns help the inline steps as well, so what is compared is computing alone; the benchmark has both.
    const app = await world.startAppOf("isolated-steps-app.mjs", { env: { HOLDFAST_YIELD_AFTER: "off" } });
    const onTwoCores = keepOn(app.pid, "0,1");
    let connections = 0;
    const probe = new Child(probeFile, { name: "probe", args: [await app.ask("healthUrl")] });
    const sql = postgres(world.databaseUrl, { max: 1, onnotice: () => {} });
    try {
      await probe.message((message) => message.ready === true);
      const compute = async (name: string): Promise<Figures> => {
        await probe.ask("delays");
        const from = performance.now();
        connections = Math.max(connections, await ended(world, sql, name));
        const tookMs = performance.now() - from;
        const delays: number[] = await probe.ask("delays");
        delays.sort((a, b) => a - b);
        return { tookMs, p99Ms: delays[Math.floor(delays.length * 0.99)] ?? Number.NaN };
      };
      await compute("computing-isolated");
      const rounds: { readonly inline: Figures; readonly bareGain: number; readonly isolated: Figures }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const inline = await compute("computing-inline");
        const bareGain: number = await app.ask("bareGain", { limitMs: timeout });
        rounds.push({ inline, bareGain, isolated: await compute("computing-isolated") });
      }
      const where = onTwoCores ? "on two cores" : "on all cores";
      console.log(`Health check while ${RUNS} runs compute ${where}: ${JSON.stringify({ rounds, connections })}`);
      const p99Ratio = Math.min(...rounds.map(({ inline, isolated }) => isolated.p99Ms / inline.p99Ms));
      // Of two free cores two bare threads make 2.
      const speedRatio = Math.max(
        ...rounds.map(({ inline, isolated, bareGain }) => ((inline.tookMs / isolated.tookMs) * 2) / bareGain),
      );
      expect(p99Ratio, "p99 of the health check, isolated against inline").toBeLessThanOrEqual(0.1);
      expect(speedRatio, "speed, isolated against inline").toBeGreaterThanOrEqual(1.6);
      expect(connections, "database connections while runs compute").toBeGreaterThan(0);
      expect(connections, "database connections while runs compute").toBeLessThanOrEqual(10);
    } finally {
      await probe.kill();
      await sql.end();
    }
    const bodies = world.journal.entries().map(({ runId, what }) => `${runId} ${what}`);
    expect(bodies.length - new Set(bodies).size, "duplicate steps").toBe(0);
    expect(bodies).toHaveLength(RUNS * 4 * (2 * ROUNDS + 1));
    await app.close();
  });
});

/** The app computes on these cores only. False: this system has no way to say so. */
function keepOn(pid: number | undefined, cores: string): boolean {
  const { status } = spawnSync("taskset", ["--all-tasks", "--cpu-list", "--pid", cores, String(pid)]);
  return status === 0;
}

/** Starts the runs at once and waits until all have ended. How many connections the database has meanwhile, at most. */
async function ended({ api, until }: World, sql: postgres.Sql, name: string): Promise<number> {
  let connections = 0;
  const count = async (): Promise<number> => {
    const [row] = await sql`SELECT count(*)::int AS count FROM holdfast.runs WHERE ended_at IS NOT NULL`;
    return row?.count ?? 0;
  };
  const before = await count();
  await api.send(Array.from({ length: RUNS }, (_, index) => ({ name: `test/${name}`, data: { index } })));
  const areOver = async (): Promise<boolean> => {
    const [row] = await sql`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    connections = Math.max(connections, row?.count ?? 0);
    return (await count()) === before + RUNS;
  };
  await until(`${RUNS} runs to end`, areOver, timeout);
  return connections;
}
