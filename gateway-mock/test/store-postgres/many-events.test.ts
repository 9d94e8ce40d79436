/** What pages of events read of many: those of one environment, or of a name that is rare. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { listEvents } from "../../src/store-postgres/reads.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { PLANS, pagesRead } from "./pages-read.ts";

const MANY = 30_000;
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  await db.sql.unsafe(`INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
SELECT '01' || lpad(i::text, 24, '0'), CASE WHEN i IN (5, 29000) THEN 'rare' ELSE 'shop/order' END, now(), now(), '', '{}'
FROM generate_series(1, ${MANY}) i`);
  await db.sql.unsafe("ANALYZE holdfast.events");
});

afterAll(() => db.drop());

test("a page of events that are among the newest reads little of many", async () => {
  for (const plans of PLANS)
    for (const more of [{}, { environment: "" }, { name: "shop/*" }]) {
      const read = await pagesRead(db.sql, plans, (on) => listEvents(on, { limit: 50, ...more }));
      expect(read.result.events).toHaveLength(50);
      expect(read.result.nextCursor).not.toBeNull();
      expect(read.rows, JSON.stringify([plans, more])).toBeLessThan(5_000);
    }
});

test("a rare name is found page by page, however few events each has", async () => {
  const found: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await listEvents(
      { query: (text, params) => db.sql.unsafe(text, [...(params ?? [])]) as never },
      {
        ...{ limit: 50, name: "rare" },
        ...(cursor === undefined ? {} : { cursor }),
      },
    );
    found.push(...page.events.map(({ id }) => id));
    cursor = page.nextCursor ?? undefined;
    pages += 1;
  } while (cursor !== undefined);
  expect(found.map((id) => Number(id.slice(2)))).toEqual([29_000, 5]);
  expect(pages).toBeLessThan(4);
});
