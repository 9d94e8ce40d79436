import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { runDone, seedLeased, useStore } from "./harness.ts";

const bench = useStore();

/** The writer's connection breaks; as after a failover there is another server behind the next one. */
async function breakConnection(before = ""): Promise<void> {
  const pids = await bench.db.sql.unsafe(
    `${before}SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'holdfast-gateway writer'`,
  );
  await waitFor(
    async () => {
      const left = await bench.db.sql`SELECT pid FROM pg_stat_activity WHERE pid = ANY(${pids.map(({ pid }) => pid)})`;
      return left.length === 0;
    },
    { what: "the connection to end" },
  );
}

test("RUNNER-7: a database that has forgotten what it acknowledged is named, once, and work goes on", async () => {
  const logged: { message: string; data: unknown }[] = [];
  const store = bench.another({
    log: (level, message, data) => void (level === "error" && logged.push({ message, data })),
  });
  const runs = [];
  for (let n = 0; n < 5; n += 1) runs.push(await seedLeased(store));
  // Nothing is lost: nothing is said.
  await breakConnection();
  const [first] = runs;
  expect(await store.commit(runDone(first ?? { runId: "", jobId: "" }))).toMatchObject({ won: true });
  expect(store.stats().lostBatches).toBe(0);
  expect(logged).toEqual([]);
  // A standby that had not received the last two.
  await bench.db.sql.unsafe("UPDATE holdfast.writers SET batch = batch - 2 WHERE batch >= 6");
  await breakConnection();
  for (const run of runs.slice(1)) expect(await store.commit(runDone(run))).toMatchObject({ won: true });
  expect(store.stats().lostBatches).toBe(2);
  expect(logged).toEqual([
    {
      message: expect.stringContaining("COMMITS_LOST: the database has gone back"),
      data: expect.objectContaining({ lostBatches: 2 }),
    },
  ]);
  await breakConnection();
  expect(await store.commit(runDone(await seedLeased(store)))).toMatchObject({ won: true });
  expect(store.stats().lostBatches).toBe(2);
});
