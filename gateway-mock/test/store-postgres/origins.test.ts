import { expect, test } from "vitest";
import { originsTidier } from "../../src/store-postgres/repair/origins.ts";
import { seedRun, useStore } from "./harness.ts";

const bench = useStore();

test("the origin of a run that went with its partition is forgotten, whatever page it is on", async () => {
  const { sql } = bench.db;
  const { runId } = await seedRun(bench.store);
  await sql.unsafe(`INSERT INTO holdfast.run_origins (run_id, origin_id, kind)
    SELECT '0' || lpad(n::text, 25, '0'), 'origin', 'rerun' FROM generate_series(1, 2500) AS n`);
  await sql.unsafe("INSERT INTO holdfast.run_origins (run_id, origin_id, kind) VALUES ($1, 'origin', 'fork')", [runId]);
  const tidy = originsTidier({ query: async (text, params = []) => (await sql.unsafe(text, [...params])) as never });
  for (let page = 0; page < 4; page += 1) await tidy();
  expect([...(await sql.unsafe("SELECT run_id FROM holdfast.run_origins"))]).toEqual([{ run_id: runId }]);
});
