import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterEach, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, useGateway } from "./harness.ts";
import { countStatements, type StatementCounter } from "./statement-counter.ts";

let counters: StatementCounter[] = [];
afterEach(async () => {
  await Promise.all(counters.map((counter) => counter.close()));
  counters = [];
});
const bench = useGateway();

const EVENTS = 1000;
/** Events of a request are stored so many at a time: `EVENTS_A_PART`. */
const BATCHES = Math.ceil(EVENTS / 128);

interface Counted {
  readonly gateway: Gateway;
  /** Tries to write events, and statements of any kind that one group commit or look-up has. */
  counts(): { readonly inserts: number; readonly rollbacks: number; readonly lookups: number };
}

async function gatewayThatCounts(): Promise<Counted> {
  const counter = await countStatements(bench.db.url);
  counters.push(counter);
  const gateway = await bench.gateway({ databaseUrl: counter.url });
  const sum = (part: string): number =>
    [...counter.counts()].reduce((all, [text, count]) => all + (text.includes(part) ? count : 0), 0);
  return {
    gateway,
    counts: () => ({
      inserts: sum("INSERT INTO holdfast.events "),
      rollbacks: sum("ROLLBACK"),
      lookups: sum("FROM holdfast.events WHERE id = "),
    }),
  };
}

/** A request as the SDK repeats it: the same events under the same name. */
function request(withIds: boolean): (gateway: Gateway) => Promise<string[]> {
  const seed = `${Date.now()},${randomBytes(10).toString("base64")}`;
  const mark = seed.slice(-8);
  const events = Array.from({ length: EVENTS }, (_, n) => {
    return { name: "shop/order", data: { n }, ...(withIds ? { id: `${mark}-${n}` } : {}) };
  });
  const init = { method: "POST", headers: { "x-inngest-event-id-seed": seed }, body: JSON.stringify(events) };
  return async (gateway) => {
    const { ids } = (await call(gateway, "/e/test", init)) as { ids: string[] };
    return ids;
  };
}

/** Rows of the whole table. */
async function countOf(table: "runs" | "events"): Promise<number> {
  const sql = postgres(bench.db.url, { max: 1 });
  try {
    const [row] = await sql`SELECT count(*)::int AS count FROM ${sql(`holdfast.${table}`)}`;
    return row?.count as number;
  } finally {
    await sql.end();
  }
}

for (const withIds of [false, true]) {
  const what = withIds ? "with ids of the sender's" : "without ids";
  test(`a request of many events ${what} is written once, however often it comes at one time and later`, async () => {
    const { gateway, counts } = await gatewayThatCounts();
    await bench.worker(gateway);
    const send = request(withIds);
    const answers = await Promise.all(Array.from({ length: 6 }, () => send(gateway)));
    answers.push(await send(gateway), await send(gateway));
    expect(new Set(answers[0]).size).toBe(EVENTS);
    for (const ids of answers) expect(ids).toEqual(answers[0]);
    expect(await countOf("runs")).toBe(EVENTS);
    // A batch is written at most twice: expected to be alone, then under locks. A repeat is one look.
    expect(counts().inserts).toBeLessThanOrEqual(2 * BATCHES);
    expect(counts().rollbacks).toBe(0);
    expect(counts().lookups).toBeLessThanOrEqual(answers.length + (withIds ? BATCHES + 1 : BATCHES));
  });

  test(`a request of many events ${what} that comes to two gateways at a time costs few failures`, async () => {
    const two = [await gatewayThatCounts(), await gatewayThatCounts()] as const;
    const send = request(withIds);
    const answers = await Promise.all([...two, ...two].map(({ gateway }) => send(gateway)));
    for (const ids of answers) expect(ids).toEqual(answers[0]);
    expect(await countOf("events")).toBe(EVENTS);
    for (const { counts } of two) {
      // Where both stand at one batch: as expected, under locks, and in halves.
      expect(counts().inserts).toBeLessThanOrEqual(6 * (BATCHES + 1));
      expect(counts().rollbacks).toBeLessThanOrEqual(3 * (BATCHES + 1));
    }
  });
}
