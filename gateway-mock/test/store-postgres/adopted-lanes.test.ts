import type { Lane } from "@holdfast/store";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { adoptLanes } from "../../src/store-postgres/queue/adopted-lanes.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { fillQueue } from "./long-queues.ts";
import { PLANS, pagesRead } from "./pages-read.ts";

const JOBS = 12_000;
const ONLY: Lane = { id: "aa", slots: ["only"], throttle: null };
const ADOPTIONS = ["limited", "other", "third"].map((functionId) => ({ functionId, lane: ONLY }));

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
});

afterAll(() => db.drop());

test("jobs that others have locked are left, and so are those of a registry that is not the newest", async () => {
  await fillQueue(db, 3, { lane: "''", function_id: "'limited'" });
  const adopt = (version: number | null) =>
    adoptLanes((text, params) => db.sql.unsafe(text, params as never[]) as never, ADOPTIONS, version);
  expect(await adopt(-1)).toEqual({ moved: 0, left: [] });
  await db.sql.begin(async (tx) => {
    await tx.unsafe("SELECT id FROM holdfast.queue LIMIT 1 FOR UPDATE");
    expect(await adopt(null)).toEqual({ moved: 2, left: ["limited"] });
    expect(await adopt(null)).toEqual({ moved: 0, left: ["limited"] });
  });
  expect(await adopt(null)).toEqual({ moved: 1, left: [] });
  expect(await adopt(null)).toEqual({ moved: 0, left: [] });
});

test.each([
  ["no lane", { lane: "''" }],
  ["lanes of their own", { lane: "'k' || i % 100", slot_a: "'of ' || i % 100" }],
])("jobs of a long queue that are in %s are put into one, each looked up by itself", async (_, columns) => {
  await fillQueue(db, JOBS, { ...columns, function_id: "'limited'" });
  for (const plans of PLANS) {
    const adoptions = ["limited", "other", "third"].map((functionId) => ({ functionId, lane: ONLY }));
    const { pages, pairs, result } = await pagesRead(db.sql, plans, async ({ query }) => {
      for (let left = adoptions; left.length > 0; ) {
        const { left: ids } = await adoptLanes(query, left, null);
        left = left.filter(({ functionId }) => ids.includes(functionId));
      }
      return query<{ jobs: number }>(
        "SELECT count(*)::int AS jobs FROM holdfast.queue WHERE slot_a = 'only' AND lane = 'aa'",
      );
    });
    expect(result).toEqual([{ jobs: JOBS }]);
    expect({ plans, pairs }).toEqual({ plans, pairs: expect.toSatisfy((n: number) => n <= 6 * JOBS) });
    expect({ plans, pages }).toEqual({ plans, pages: expect.toSatisfy((n: number) => n <= 60 * JOBS) });
  }
});
