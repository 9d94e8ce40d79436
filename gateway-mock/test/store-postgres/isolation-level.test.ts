/** A database or user may have another isolation level by default; statements here rest on seeing what was committed. */
import { expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { createTestDatabase, runDone, seedLeased } from "./harness.ts";

test.each(["repeatable read", "serializable"])(
  "where transactions are %s by default a run that is put on hold while it is being deleted stays",
  async (level) => {
    const db = await createTestDatabase();
    const { pathname } = new URL(db.url);
    await db.sql.unsafe(`ALTER DATABASE "${pathname.slice(1)}" SET default_transaction_isolation = '${level}'`);
    const store = openPostgresStore({ url: db.url, maxConnections: 4 });
    onTestFinished(async () => {
      await store.close();
      await db.drop();
    });
    await store.migrate();
    const run = await seedLeased(store);
    await store.commit(runDone(run));
    const deleting = await db.sql.begin("ISOLATION LEVEL READ COMMITTED", async (tx) => {
      await tx`SELECT FROM holdfast.runs WHERE id = ${run.runId} FOR KEY SHARE`;
      await tx`INSERT INTO holdfast.run_holds (run_id, held_at, reason) VALUES (${run.runId}, now(), 'audit')`;
      const outcomes = store.deleteRuns([run.runId]);
      await expect
        .poll(async () => (await db.sql`SELECT FROM pg_locks WHERE NOT granted`).length, { timeout: 10_000 })
        .toBeGreaterThan(0);
      return { outcomes };
    });
    expect(await deleting.outcomes).toEqual(["held"]);
    expect(await store.loadRuns([run.runId])).toHaveLength(1);
  },
);
