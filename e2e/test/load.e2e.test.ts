import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { inWorld, modes } from "./world.ts";

const runs = 50;

describe.each(modes)("$name", (mode) => {
  test(`${runs} runs of 4 steps at once repeat no step and use at most 10 database connections`, async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startApp();
      const sql = postgres(world.databaseUrl, { max: 1, onnotice: () => {} });
      let most = 0;
      let sampling = true;
      const sampler = (async () => {
        while (sampling) {
          const [row] = await sql`
            SELECT count(*)::int AS count FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
          most = Math.max(most, row?.count ?? 0);
        }
      })();
      const events = Array.from({ length: runs }, (_, index) => ({ name: "test/four", data: { index } }));
      try {
        const ids = await world.api.send(events);
        expect(ids).toHaveLength(runs);
        await world.until(`${runs} runs to end`, async () => {
          const [row] = await sql`SELECT count(*)::int AS count FROM holdfast.runs WHERE ended_at IS NOT NULL`;
          return row?.count === runs;
        });
      } finally {
        sampling = false;
        await sampler;
        await sql.end();
      }
      const entries = world.journal.entries();
      const bodies = entries.map(({ runId, what }) => `${runId} ${what}`);
      expect(new Set(entries.map(({ runId }) => runId)).size).toBe(runs);
      expect(bodies.length - new Set(bodies).size, "duplicate steps").toBe(0);
      expect(bodies).toHaveLength(runs * 4);
      expect(most, "database connections").toBeLessThanOrEqual(10);
      expect(most).toBeGreaterThan(0);

      const delay = await world.api.eventLoopDelay();
      console.log(
        `[${mode.name}] ${runs} runs of 4 steps: event-loop delay of the gateway ${JSON.stringify(delay)}, ${most} database connections`,
      );
      await app.close();
    });
  });
});
