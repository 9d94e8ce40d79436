/**
 * What isolation is for: an app that answers its health check while its steps compute. That they compute is certain: none
 * of them ends before the test has its answers. How late the answers are is the benchmark's to say (`isolated-computing`).
 */
import postgres from "postgres";
import { expect, test } from "vitest";
import { inWorld } from "./world.ts";

const RUNS = 50;
const THREADS = 2;
const CHECKS = 50;
const extended = { name: "with extensions", extensions: true };

test(`while threads of its pool compute for ${RUNS} runs, an app answers its health check`, async () => {
  await inWorld(extended, async ({ startAppOf, journal, api, until, databaseUrl }) => {
    const app = await startAppOf("isolated-steps-app.mjs", { env: { TEST_THREADS: String(THREADS) } });
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    try {
      const url: string = await app.ask("healthUrl");
      await api.send(Array.from({ length: RUNS }, (_, index) => ({ name: "test/computing-on", data: { index } })));
      const computing = () => journal.entries().filter(({ what }) => what === "computing");
      await until("all threads to compute", () => computing().length === THREADS);
      for (let check = 0; check < CHECKS; check += 1) {
        const answer = await fetch(url);
        expect(await answer.text()).toBe("ok");
      }
      expect(computing(), "the threads had no time for anything else").toHaveLength(THREADS);
      const [row] = await sql`
        SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
      expect(row?.count, "database connections while runs compute").toBeGreaterThan(0);
      expect(row?.count, "database connections while runs compute").toBeLessThanOrEqual(10);
      journal.open("computing");
      await until(`${RUNS} runs to end`, async () => {
        const [ended] = await sql`SELECT count(*)::int AS count FROM holdfast.runs WHERE ended_at IS NOT NULL`;
        return ended?.count === RUNS;
      });
      expect(new Set(computing().map(({ runId }) => runId)).size, "runs that computed").toBe(RUNS);
      expect(computing(), "duplicate steps").toHaveLength(RUNS);
    } finally {
      await sql.end();
    }
    await app.close();
  });
});
