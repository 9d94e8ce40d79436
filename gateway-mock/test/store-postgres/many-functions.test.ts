/** A worker may have a thousand functions, of which few have work: a look for it is not to cost the square. */
import { expect, onTestFinished, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { overdueWork } from "../../src/store-postgres/overdue-work.ts";
import { adoptLanes } from "../../src/store-postgres/queue/adopted-lanes.ts";
import { DueBounds } from "../../src/store-postgres/queue/due-bounds.ts";
import { claim, nextDueInMs } from "../../src/store-postgres/queue/leases.ts";
import { claimLimited } from "../../src/store-postgres/queue/limited-claims.ts";
import { createTestDatabase } from "./harness.ts";
import { fillQueue } from "./long-queues.ts";
import { PLANS, pagesRead, type Statements } from "./pages-read.ts";

const limits = { slots: [10], shared: false, throttle: null };
const wantOf = (functionId: string) => ({ functionId, limit: 10, leaseMs: 1_000, room: 0, limits });

/** Behind a slow look others are bounded. */
async function boundsOf(functionIds: readonly string[], isBounded: boolean): Promise<DueBounds> {
  let nowMs = 0;
  const bounds = new DueBounds(() => nowMs);
  if (!isBounded) return bounds;
  await bounds.look(functionIds, async () => {
    nowMs += 1_000;
  });
  bounds.recordTaken(functionIds.flatMap((id) => [0, 5].map((priority) => ({ function_id: id, priority, due_ms: 1 }))));
  return bounds;
}

type Act = (on: Statements, functionIds: readonly string[], bounds: DueBounds) => Promise<unknown>;

const base = { gatewayId: "gateway", leaseMs: 1_000, rooms: [10] };

test.each<[string, Act]>([
  ["the next due job", (on, ids, bounds) => nextDueInMs(on.query, bounds, ids)],
  ["a claim", (on, ids, bounds) => claim(on, bounds, "claim", { ...base, wants: ids.map(wantOf) })],
  [
    "a claim within limits",
    (on, ids, bounds) => claimLimited(on, bounds, "claim", "", { ...base, wants: ids.map(wantOf) }),
  ],
])("%s of ten times as many functions handles at most about ten times as many rows", async (_, act) => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await migrate(db.url);
  await fillQueue(db, 1_000, { function_id: "'other-' || i % 10" });
  for (const isBounded of [false, true])
    for (const plans of PLANS) {
      const [few, many] = await Promise.all(
        [50, 500].map(async (count) => {
          const ids = Array.from({ length: count }, (_, index) => `shop-fn-${index}`);
          const bounds = await boundsOf(ids, isBounded);
          return (await pagesRead(db.sql, plans, (on) => act(on, ids, bounds))).rows;
        }),
      );
      expect(many, `bounded: ${isBounded}, ${plans}: ${few} and ${many}`).toBeLessThan(12 * (few as number));
    }
});

test.each<[string, (on: Statements, functionIds: readonly string[]) => Promise<unknown>]>([
  ["overdue work", (on, ids) => overdueWork(on.query, { functionIds: ids, dueForMs: 0 })],
  [
    "jobs in other lanes",
    (on, ids) =>
      adoptLanes(
        on.query,
        ids.map((functionId) => ({ functionId, lane: null })),
        null,
      ),
  ],
])("a look for %s asks only functions that have jobs, however many there are", async (_, act) => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  await migrate(db.url);
  await fillQueue(db, 10_000, { function_id: "'busy-' || i % 10" });
  for (const plans of PLANS) {
    const look = (count: number) => {
      const ids = Array.from({ length: count }, (_, index) => `idle-${index}`);
      return pagesRead(db.sql, plans, (on) => act(on, [...ids, "busy-3"]));
    };
    const few = await look(100);
    const many = await look(3_000);
    expect(many.result, plans).toEqual(few.result);
    expect(many.pages, `${plans}: ${few.pages} and ${many.pages}`).toBeLessThan(2 * few.pages + 50);
  }
});
