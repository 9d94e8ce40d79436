import { seededRandom, sleep, systemTimers } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, op, runDetail, send, start, triggered, useGateway, waits } from "./harness.ts";
import type { RawWorker, WorkerFunction, WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const functions: readonly WorkerFunction[] = [{ id: "order", event: "shop/order", retries: 1 }];

const sinceRun = (id: string, more: object = {}) =>
  op("WaitForEvent", id, { name: "shop/paid", opts: { timeout: "1h", since: "run", ...more } });
const ofOrder = { if: "event.data.n == async.data.n" };

/** Ends the run of the next pass with its memo. */
async function finish(worker: RawWorker, runId: string): Promise<Record<string, unknown>> {
  const { request, payload } = await worker.request("step");
  expect(request.runId).toBe(runId);
  await worker.replied(request, { status: "DONE", value: "over" });
  return payload.steps;
}

const jobsOf = async (gateway: Gateway): Promise<readonly string[]> => {
  const { queue } = (await call(gateway, "/v1/metrics")) as { queue: Record<string, number> };
  return Object.entries(queue).flatMap(([name, count]) => (count > 0 && name !== "later" ? [name] : []));
};

describe.each([
  { name: "plain", options: { extensions: [], functions } },
  { name: "in place", options: { functions } },
] satisfies { name: string; options: Partial<WorkerOptions> }[])(
  "Waits since the run was made, $name",
  ({ options }) => {
    test("an event that came before the wait began ends it; others, and those from before the run, do not", async () => {
      const gateway = await bench.gateway();
      const worker = await bench.worker(gateway, options);
      await send(gateway, "shop/paid", { n: 0 });
      const [runId = ""] = await start(gateway);
      const { request } = await worker.request();
      await send(gateway, "shop/paid", { n: 1 });
      await send(gateway, "shop/other", { n: 0 });
      const id = await send(gateway, "shop/paid", { n: 0 });
      await send(gateway, "shop/paid", { n: 0 });
      await worker.replied(request, { value: [sinceRun("w", ofOrder)] });
      expect((await finish(worker, runId)).w).toMatchObject({ type: "data", data: { id, data: { n: 0 } } });
      expect((await ended(gateway, runId)).waits).toEqual([]);
      await waitFor(async () => (await jobsOf(gateway)).length === 0, { what: "no job to be left" });
    });

    test("an event that comes after the wait began ends it as well, and the look finds nothing", async () => {
      const gateway = await bench.gateway();
      const worker = await bench.worker(gateway, options);
      const [runId = ""] = await start(gateway);
      const { request } = await worker.request();
      await worker.replied(request, { value: [sinceRun("w", ofOrder)] });
      await waits(gateway, runId, "shop/paid");
      await waitFor(async () => (await jobsOf(gateway)).length === 0, { what: "the look to be over" });
      const id = await send(gateway, "shop/paid", { n: 0 });
      expect((await finish(worker, runId)).w).toMatchObject({ data: { id } });
    });

    test("EARLIER-4: waits one after the other are given the events in their order, each once", async () => {
      const gateway = await bench.gateway();
      const worker = await bench.worker(gateway, options);
      const [runId = ""] = await start(gateway);
      const { request } = await worker.request();
      const ids = [await send(gateway, "shop/paid", { n: 0 }), await send(gateway, "shop/paid", { n: 0 })];
      await worker.replied(request, { value: [sinceRun("a")] });
      const second = await worker.request("step");
      await worker.replied(second.request, { value: [sinceRun("b")] });
      const third = await worker.request("step");
      await worker.replied(third.request, { value: [sinceRun("c", { timeout: "1s" })] });
      const steps = await finish(worker, runId);
      expect([steps.a, steps.b, steps.c]).toMatchObject([
        { data: { id: ids[0] } },
        { data: { id: ids[1] } },
        { data: null },
      ]);
    });

    test("EARLIER-4: the event that the run was made of does not count", async () => {
      const gateway = await bench.gateway();
      const worker = await bench.worker(gateway, options);
      const [runId = ""] = await start(gateway);
      const { request } = await worker.request();
      await worker.replied(request, {
        value: [sinceRun("w", { timeout: "500ms" }), { ...sinceRun("own", { timeout: "500ms" }), name: "shop/order" }],
      });
      const memo: Record<string, unknown> = {};
      while (Object.keys(memo).length < 2) {
        const next = await worker.request("step");
        Object.assign(memo, next.payload.steps);
        const isDone = Object.keys(memo).length === 2;
        await worker.replied(
          next.request,
          isDone
            ? { status: "DONE", value: 1 }
            : { value: [sinceRun("w"), sinceRun("own")].filter((one) => !((one as { id: string }).id in memo)) },
        );
      }
      expect(memo).toMatchObject({ w: { data: null }, own: { data: null } });
      await ended(gateway, runId);
    });
  },
);

/** After the id of any event that is sent. */
const LATEST_ID = "01ZZZZZZZZZZZZZZZZZZZZZZZZ";

/** As an intake writes it that has not seen the wait. */
async function insertPaid(sql: postgres.Sql): Promise<void> {
  const payload = JSON.stringify({ id: LATEST_ID, name: "shop/paid", data: { n: 0 }, ts: 1, user: {} });
  await sql`insert into holdfast.events (id, name, ts, received_at, run_ids, payload)
    values (${LATEST_ID}, 'shop/paid', now(), now(), '', ${payload})`;
}

test("EARLIER-2: an event whose write began before the wait was stored, and has not ended, is waited for", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const sql = postgres(bench.db.url, { max: 1 });
  const id = LATEST_ID;
  try {
    await sql`begin`;
    await insertPaid(sql);
    await worker.replied(request, { value: [sinceRun("w", ofOrder)] });
    await waits(gateway, runId, "shop/paid");
    // Longer than the first look is put off for writes that are soon over.
    await sleep(systemTimers, 200);
    expect(await jobsOf(gateway)).toEqual(["leased"]);
    expect((await runDetail(gateway, runId)).endedMs).toBeNull();
    await sql`commit`;
  } finally {
    await sql.end();
  }
  expect((await finish(worker, runId)).w).toMatchObject({ data: { id, data: { n: 0 } } });
});

test("EARLIER-2: a gateway that had the run before it waited goes on with the look of one that stops", async () => {
  const first = await bench.gateway();
  const worker = await bench.worker(first, { functions });
  const [runId = ""] = await start(first);
  const { request } = await worker.request();
  // What the first gateway has of the run is from here.
  await worker.replied(request, { value: [op("Sleep", "nap", { name: "nap", opts: { duration: "1s" } })] });
  await worker.close();
  const second = await bench.gateway();
  const other = await bench.worker(second, { functions });
  const next = await other.request("step");
  const sql = postgres(bench.db.url, { max: 1 });
  try {
    await sql`begin`;
    await insertPaid(sql);
    await other.replied(next.request, { value: [sinceRun("w", ofOrder)] });
    await waits(first, runId, "shop/paid");
    await second.close();
    // Longer than the first look is put off for writes that are soon over.
    await sleep(systemTimers, 200);
    await sql`commit`;
  } finally {
    await sql.end();
  }
  const last = await bench.worker(first, { functions });
  expect((await finish(last, runId)).w).toMatchObject({ data: { id: LATEST_ID } });
});

test("EARLIER-1, EARLIER-2, EARLIER-3: with events at any moment around the wait each run is given its one", async () => {
  const gateways = [await bench.gateway(), await bench.gateway()] as const;
  const sql = postgres(bench.db.url, { max: 1 });
  try {
    await sql.unsafe(LINGER);
    await roundsAround(gateways);
  } finally {
    await sql.unsafe("DROP TRIGGER IF EXISTS linger ON holdfast.events");
    await sql.end();
  }
});

/** Some writes of events take a while from their last look at the tables until their rows can be read, as under load. */
const LINGER = `CREATE OR REPLACE FUNCTION holdfast.linger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF random() < 0.3 THEN PERFORM pg_sleep(random() * 0.06); END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON holdfast.events DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION holdfast.linger()`;

/** Each run waits for a name of its own: of a name that another one waits for all waits are looked up after the commit. */
async function roundsAround(gateways: readonly [Gateway, Gateway]): Promise<void> {
  const random = seededRandom(4711);
  const given = new Map<string, number[]>();
  for (const gateway of gateways) {
    const worker = await bench.worker(gateway, { functions });
    worker.answer((request, payload) => {
      const { n } = payload.event.data as { n: number };
      const memo = payload.steps.w as { data?: { data: { n: number } } | null } | undefined;
      if (memo === undefined) {
        void sleep(systemTimers, random() * 30).then(() => {
          const wait = { ...sinceRun("w", ofOrder), name: `shop/paid-${n}` };
          return worker.reply(request, { value: [wait] });
        });
        return "later";
      }
      given.set(request.runId, [n, memo.data?.data.n ?? -1]);
      return { status: "DONE", value: memo.data?.data.n ?? null };
    });
  }
  const runs: string[] = [];
  const either = (): Gateway => gateways[Math.floor(random() * 2)] as Gateway;
  for (let round = 0; round < 8; round += 1) {
    const numbers = Array.from({ length: 25 }, (_, index) => round * 25 + index);
    const made = await Promise.all(
      numbers.map(async (n) => {
        const eventId = await send(either(), "shop/order", { n });
        await sleep(systemTimers, random() * 15);
        await send(either(), `shop/paid-${n}`, { n });
        return triggered(gateways[0], eventId);
      }),
    );
    for (const runId of made) expect(await ended(gateways[0], runId)).toMatchObject({ status: "COMPLETED" });
    runs.push(...made);
  }
  expect(given.size).toBe(runs.length);
  for (const [own, got] of given.values()) expect(got).toBe(own);
}

test("where time was advanced before the run began, an event that came before its wait ends it as well", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const worker = await bench.worker(gateway, { functions });
  await gateway.skipTime(24 * 3_600_000);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  // Its id is of the time of the machine, and the run was created a day later by that of the database.
  const id = await send(gateway, "shop/paid", { n: 0 });
  await worker.replied(request, { value: [sinceRun("w", { ...ofOrder, timeout: "2h" })] });
  await waitFor(
    async () => (await runDetail(gateway, runId)).waits.length === 0 || (await jobsOf(gateway)).length === 0,
    {
      what: "the look to be over",
    },
  );
  // What is not found by now is not found before its time.
  await gateway.skipTime(3 * 3_600_000);
  expect((await finish(worker, runId)).w).toMatchObject({ type: "data", data: { id } });
});

test("EARLIER-5: a wait of a run that was resumed is given the event that came first, not a later one", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  const post = (path: string) => call(gateway, path, { method: "POST", body: "{}" });
  const [runId = ""] = await start(gateway);
  await worker.replied((await worker.request()).request, { value: [sinceRun("w")] });
  await waits(gateway, runId, "shop/paid");
  await waitFor(async () => !(await jobsOf(gateway)).some((name) => name === "due" || name === "leased"), {
    what: "the end of the look for earlier events",
  });
  await post(`/v1/runs/${runId}/cancel`);
  await ended(gateway, runId);
  const first = await send(gateway, "shop/paid", { n: 1 });
  await post(`/v1/runs/${runId}/resume`);
  const { request } = await worker.request();
  // Something else is being written: the look is not over when the second event comes.
  const sql = postgres(bench.db.url, { max: 1 });
  try {
    await sql`begin`;
    await sql`select pg_current_xact_id()`;
    await worker.replied(request, { value: [sinceRun("w")] });
    await send(gateway, "shop/paid", { n: 2 });
    expect((await finish(worker, runId)).w).toMatchObject({ data: { id: first } });
    await sql`rollback`;
  } finally {
    await sql.end();
  }
});
