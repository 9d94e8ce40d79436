/** A worker may have a thousand functions, of which few have work: a look for it is not to cost the square. */
import { expect, onTestFinished, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
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
