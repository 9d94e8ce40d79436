import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, metrics, op, runDetail, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const virtual = (): Promise<Gateway> => bench.gateway({ virtualTime: true });

const connect = (gateway: Gateway, config: object, event = "shop/order"): Promise<RawWorker> =>
  bench.worker(gateway, { functions: [{ id: "order", event, config }] });

/** Sends events one after the other; each is stored before the next one goes. */
async function send(gateway: Gateway, datas: readonly object[], more: object = {}): Promise<string[]> {
  const ids: string[] = [];
  for (const data of datas) {
    const body = JSON.stringify({ name: "shop/order", data, ...more });
    const answer = (await call(gateway, "/e/test", { method: "POST", body })) as { ids: string[] };
    ids.push(...answer.ids);
  }
  return ids;
}

const done = { status: "DONE", value: "ok" } as const;
const runIds = async (): Promise<string[]> => {
  const { runs } = await bench.store.listRuns({ limit: 1000 });
  return runs.map(({ id }) => id).sort();
};
const dataOf = async (gateway: Gateway, runId: string): Promise<unknown> =>
  ((await runDetail(gateway, runId)) as unknown as { event: { data: unknown } }).event.data;

test("triggers may be several events, a condition or a wildcard", async () => {
  const gateway = await bench.gateway();
  const triggers = [
    { event: "shop/order", expression: "event.data.total > 100" },
    { event: "user/*" },
    { event: "shop/refund" },
  ];
  const worker = await connect(gateway, { triggers });
  worker.answer(() => done);
  for (const [name, data] of [
    ["shop/order", { total: 5 }],
    ["shop/order", { total: 500 }],
    ["shop/order", {}],
    ["user/created", {}],
    ["user", {}],
    ["shop/refund", {}],
    ["shop/refunds", {}],
  ] as const) {
    await call(gateway, "/e/test", { method: "POST", body: JSON.stringify({ name, data }) });
  }
  const { runs } = await bench.store.listRuns({ limit: 100 });
  expect(runs.map(({ eventName }) => eventName).sort()).toEqual(["shop/order", "shop/refund", "user/created"]);
  for (const { id } of runs) await ended(gateway, id);
});

test("an invalid flow-control configuration is rejected with its reason", async () => {
  const said: string[] = [];
  const gateway = await bench.gateway({ log: (_, message) => said.push(message) });
  const wrong: [object, RegExp][] = [
    [{ triggers: [{ event: "a", expression: "event.data." }] }, /triggers\[0\]\.if/],
    [{ triggers: [{ cron: "61 * * * *" }] }, /triggers\[0\]\.cron/],
    [{ triggers: [{ cron: "TZ=Mars/Base 0 0 * * *" }] }, /triggers\[0\]\.cron/],
    [{ concurrency: [{ limit: 1 }, { limit: 2 }, { limit: 3 }] }, /concurrency/],
    [{ concurrency: { limit: 1, key: "event.data.(" } }, /concurrency\.key/],
    [{ debounce: { period: "10ms" } }, /debounce\.period/],
    [{ rateLimit: { limit: 1, period: "25h" } }, /rateLimit\.period/],
    [{ batchEvents: { maxSize: 1, timeout: "5s" } }, /batchEvents\.maxSize/],
    [{ batchEvents: { maxSize: 5, timeout: "5s" }, debounce: { period: "5s" } }, /combined/],
    [{ singleton: { mode: "often" } }, /singleton\.mode/],
    [{ throttle: { limit: 0, period: "5s" } }, /throttle\.limit/],
    [{ priority: { run: "1 +" } }, /priority\.run/],
  ];
  for (const [config, why] of wrong) {
    await expect(connect(gateway, config)).rejects.toThrow("config_invalid");
    const reason = said.findLast((message) => message.includes(`Function "shop-order"`));
    expect(reason).toMatch(why);
  }
});

test("an event in the future starts its run at that time", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, {});
  worker.answer(() => done);
  await send(gateway, [{}], { ts: Date.now() + HOUR_MS });
  const [runId = ""] = await runIds();
  await gateway.skipTime(HOUR_MS - MINUTE_MS);
  expect(await runDetail(gateway, runId)).toMatchObject({ status: "PENDING" });
  await gateway.skipTime(MINUTE_MS);
  await ended(gateway, runId);
});

test("rateLimit skips runs over the limit until the period ends", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, { rateLimit: { limit: 2, period: "1h", key: "event.data.user" } });
  worker.answer(() => done);
  await send(gateway, [{ user: 1 }, { user: 1 }, { user: 1 }, { user: 2 }]);
  expect(await runIds()).toHaveLength(3);
  expect((await metrics(gateway)).dispatcher.runsSkipped).toBe(1);
  await gateway.skipTime(HOUR_MS);
  await send(gateway, [{ user: 1 }]);
  expect(await runIds()).toHaveLength(4);
  for (const id of await runIds()) await ended(gateway, id);
});

test("idempotency allows one run per key in 24 hours, over two gateways reached simultaneously", async () => {
  const [one, two] = await Promise.all([virtual(), virtual()]);
  const worker = await connect(one, { idempotency: "event.data.cart" });
  worker.answer(() => done);
  await waitFor(async () => JSON.stringify(await call(two, "/dev")).includes("shop-order"), {
    what: "the other gateway",
  });
  const gateways = [one, two];
  await Promise.all(Array.from({ length: 20 }, (_, n) => send(gateways[n % 2] as Gateway, [{ cart: n % 3 }])));
  expect(await runIds()).toHaveLength(3);
  for (const id of await runIds()) await ended(one, id);
});

test("singleton with skip allows one run at a time for each key", async () => {
  const gateway = await bench.gateway();
  const worker = await connect(gateway, { singleton: { mode: "skip", key: "event.data.user" } });
  await send(gateway, [{ user: 1 }, { user: 1 }, { user: 2 }]);
  expect(await runIds()).toHaveLength(2);
  const first = await worker.request();
  const second = await worker.request();
  await worker.replied(first.request, { value: [op("Sleep", "s", { name: "1h" })] });
  await send(gateway, [{ user: 1 }]);
  expect(await runIds()).toHaveLength(2);
  await worker.replied(second.request, done);
  await ended(gateway, second.request.runId);
  const { user } = (await dataOf(gateway, second.request.runId)) as { user: number };
  worker.answer(() => done);
  await send(gateway, [{ user }]);
  expect(await runIds()).toHaveLength(3);
  await call(gateway, `/v1/runs/${first.request.runId}/cancel`, { method: "POST" });
  for (const id of await runIds()) await ended(gateway, id);
});

test("singleton with cancel replaces the old run by the new one", async () => {
  const gateway = await bench.gateway();
  const worker = await connect(gateway, { singleton: { mode: "cancel" } });
  await send(gateway, [{ n: 1 }]);
  const first = await worker.request();
  await send(gateway, [{ n: 2 }]);
  await worker.frame("GATEWAY_CANCEL");
  expect(await ended(gateway, first.request.runId)).toMatchObject({ status: "CANCELLED" });
  const second = await worker.request();
  await worker.replied(second.request, done);
  expect(await ended(gateway, second.request.runId)).toMatchObject({ status: "COMPLETED" });
});

test("debounce uses the last event, and its timeout ends a continuous stream of events", async () => {
  const gateway = await virtual();
  const config = { debounce: { period: "1m", timeout: "150s", key: "event.data.doc" } };
  const worker = await connect(gateway, config);
  worker.answer(() => done);
  await send(gateway, [
    { doc: "a", n: 1 },
    { doc: "b", n: 1 },
  ]);
  await gateway.skipTime(50_000);
  await send(gateway, [{ doc: "a", n: 2 }]);
  await gateway.skipTime(50_000);
  await send(gateway, [{ doc: "a", n: 3 }]);
  const [first = ""] = await waitFor(async () => ((await runIds()).length === 1 ? runIds() : undefined), { what: "b" });
  expect(await dataOf(gateway, first)).toEqual({ doc: "b", n: 1 });
  await gateway.skipTime(45_000);
  await send(gateway, [{ doc: "a", n: 4 }]);
  await gateway.skipTime(6_000);
  const ids = await waitFor(async () => ((await runIds()).length === 2 ? runIds() : undefined), { what: "a" });
  expect(await dataOf(gateway, ids.find((id) => id !== first) ?? "")).toEqual({ doc: "a", n: 4 });
  await gateway.skipTime(HOUR_MS);
  for (const id of ids) await ended(gateway, id);
  expect(await runIds()).toHaveLength(2);
});

test("batchEvents makes full batches at once and the rest after the timeout, and other runs stay single", async () => {
  const gateway = await virtual();
  const config = { batchEvents: { maxSize: 3, timeout: "1m", key: "event.data.user", if: "event.data.free == true" } };
  const worker = await connect(gateway, config);
  const batches: unknown[][] = [];
  worker.answer((_, payload) => {
    expect(payload.event).toEqual(payload.events[0]);
    batches.push(payload.events.map((event) => (event as { data: { n: number } }).data.n));
    return done;
  });
  const user = (n: number, id = 1): object => ({ n, user: id, free: true });
  const eventIds = await send(gateway, [user(1), user(2), user(3), user(4), user(5, 2), { n: 6, user: 1 }]);
  await waitFor(() => batches.length === 2, { what: "the full batch and the one alone" });
  expect(batches.map((batch) => batch.join()).sort()).toEqual(["1,2,3", "6"]);
  const [stored] = eventIds;
  const { runIds: linked } = (await call(gateway, `/v1/events/${stored}`)) as { runIds: string[] };
  expect(linked).toHaveLength(1);
  await gateway.skipTime(MINUTE_MS);
  await waitFor(() => batches.length === 4, { what: "the rest" });
  expect(batches.map((batch) => batch.join()).sort()).toEqual(["1,2,3", "4", "5", "6"]);
  for (const id of await runIds()) await ended(gateway, id);
});

test("concurrency never exceeds the limit of a key, and sleeping runs do not count", async () => {
  const gateway = await bench.gateway();
  const config = { concurrency: [{ limit: 1, key: "event.data.user" }, { limit: 2 }] };
  const worker = await connect(gateway, config);
  await send(gateway, [{ user: 1 }, { user: 1 }, { user: 2 }, { user: 3 }]);
  const first = await worker.request();
  const second = await worker.request();
  expect(new Set([first.payload.event.data.user, second.payload.event.data.user]).size).toBe(2);
  expect((await metrics(gateway)).queue).toMatchObject({ due: 2, leased: 2 });
  await worker.replied(first.request, { value: [op("Sleep", "s", { name: "1h" })] });
  const third = await worker.request();
  await worker.replied(second.request, done);
  const fourth = await worker.request();
  for (const { request } of [third, fourth]) await worker.replied(request, done);
  await call(gateway, `/v1/runs/${first.request.runId}/cancel`, { method: "POST" });
  for (const id of await runIds()) await ended(gateway, id);
});

test("throttle starts a burst, then one run in each interval, in order", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, { throttle: { limit: 2, period: "1m", burst: 1 } });
  const started: unknown[] = [];
  worker.answer((_, payload) => {
    started.push(payload.event.data.n);
    return done;
  });
  await send(
    gateway,
    [1, 2, 3, 4, 5].map((n) => ({ n })),
  );
  await waitFor(() => started.length === 3, { what: "the burst" });
  await gateway.skipTime(29_000);
  expect((await metrics(gateway)).queue.due).toBe(2);
  expect(started).toEqual([1, 2, 3]);
  await gateway.skipTime(2_000);
  await waitFor(() => started.length === 4, { what: "the next one" });
  await gateway.skipTime(30_000);
  await waitFor(() => started.length === 5, { what: "the last one" });
  expect(started).toEqual([1, 2, 3, 4, 5]);
  for (const id of await runIds()) await ended(gateway, id);
});

test("priority runs paying customers first", async () => {
  const gateway = await bench.gateway();
  const config = { concurrency: 1, priority: { run: "event.data.plan == 'pro' ? 300 : 0" } };
  const worker = await connect(gateway, config);
  await send(gateway, [{ n: 1 }]);
  let current = await worker.request();
  await send(gateway, [{ n: 2 }, { n: 3 }, { n: 4 }, { n: 5, plan: "pro" }]);
  const order: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    await worker.replied(current.request, done);
    current = await worker.request();
    order.push(current.payload.event.data.n);
  }
  await worker.replied(current.request, done);
  // A claim that looked when only the first of them was stored may have come before.
  expect(order.indexOf(5)).toBeLessThanOrEqual(1);
  expect(order.filter((n) => n !== 5)).toEqual([2, 3, 4]);
  for (const id of await runIds()) await ended(gateway, id);
});

test("timeouts.start cancels a run that no worker has started, but not a started one", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, { concurrency: 1, timeouts: { start: "1m" } });
  await send(gateway, [{ n: 1 }, { n: 2 }]);
  const first = await worker.request();
  await gateway.skipTime(MINUTE_MS);
  const [other = ""] = (await runIds()).filter((id) => id !== first.request.runId);
  expect(await ended(gateway, other)).toMatchObject({ status: "CANCELLED" });
  await worker.replied(first.request, done);
  expect(await ended(gateway, first.request.runId)).toMatchObject({ status: "COMPLETED" });
});

test("timeouts.finish counts from when a worker was given the run, however long it waited for that", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, { concurrency: 1, timeouts: { finish: "1h" } });
  await send(gateway, [{ n: 1 }, { n: 2 }]);
  const first = await worker.request();
  await gateway.skipTime(40 * MINUTE_MS);
  await worker.replied(first.request, done);
  const second = await worker.request();
  // It looks after an hour, and finds that the run is at work for 20 minutes.
  await gateway.skipTime(20 * MINUTE_MS);
  await waitFor(
    async () => (await runDetail(gateway, second.request.runId)).log.some(({ kind }) => kind === "TIMER_FIRED"),
    {
      what: "the timeout to look for the first time",
    },
  );
  expect((await runDetail(gateway, second.request.runId)).status).toBe("RUNNING");
  await gateway.skipTime(41 * MINUTE_MS);
  expect(await ended(gateway, second.request.runId)).toMatchObject({ status: "CANCELLED" });
});

test("the look of timeouts.start at a run does not start the clock of timeouts.finish", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, { timeouts: { start: "30s", finish: "1m" } });
  await worker.close();
  await send(gateway, [{ n: 1 }]);
  const [runId = ""] = await runIds();
  // The gateway that took the job of the timeout died with it.
  const sql = postgres(bench.db.url, { max: 1 });
  await sql`UPDATE holdfast.queue SET epoch = 1, leased_by = 'gone', claimed_at = now(), available_at = now() + interval '1 day'
    WHERE run_id = ${runId} AND kind = 'start'`;
  await sql.end();
  await gateway.skipTime(MINUTE_MS);
  await waitFor(async () => (await runDetail(gateway, runId)).log.some(({ kind }) => kind === "TIMER_FIRED"), {
    what: "the timeout to look for the first time",
  });
  expect((await runDetail(gateway, runId)).endedMs).toBeNull();
});

test("cron starts one run per tick over two gateways, of missed ticks the last, and none once removed", async () => {
  const [one, two] = await Promise.all([virtual(), virtual()]);
  const triggers = [{ cron: "TZ=Europe/Paris 0 12 * * *" }];
  const workers = [await connect(one, { triggers }), await connect(two, { triggers })];
  const events: { id: string; name: string; data: Record<string, unknown> }[] = [];
  for (const worker of workers) {
    worker.answer((_, payload) => {
      events.push(payload.event as never);
      return done;
    });
  }
  for (let day = 1; day <= 3; day++) {
    await one.skipTime(24 * HOUR_MS);
    await waitFor(() => events.length === day, { what: `tick ${day}` });
  }
  expect(events[0]).toMatchObject({ name: "inngest/scheduled.timer", data: { cron: "TZ=Europe/Paris 0 12 * * *" } });
  expect(events[0]?.id).toMatch(/T1[01]:00:00Z$/);
  await one.skipTime(10 * 24 * HOUR_MS);
  await waitFor(() => events.length === 4, { what: "the latest missed tick" });
  expect(new Set(events.map(({ id }) => id)).size).toBe(4);
  for (const id of await runIds()) await ended(one, id);
  const again = await connect(one, { triggers: [{ event: "shop/order" }] });
  again.answer(() => done);
  await one.skipTime(24 * HOUR_MS);
  expect((await metrics(one)).queue).toMatchObject({ due: 0, later: 0 });
  expect(await runIds()).toHaveLength(4);
});

test("a schedule of six fields has seconds", async () => {
  const gateway = await virtual();
  const worker = await connect(gateway, { triggers: [{ cron: "TZ=Europe/Paris */10 * * * * *" }] });
  const ids: string[] = [];
  worker.answer((_, payload) => {
    ids.push((payload.event as { id: string }).id);
    return done;
  });
  for (let tick = 1; tick <= 3; tick += 1) {
    await gateway.skipTime(10_000);
    await waitFor(() => ids.length >= tick, { what: `tick ${tick}` });
  }
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/T\d\d:\d\d:\d0Z$/);
});

test("a schedule that was registered but not stored is restored at the next start", async () => {
  const first = await virtual();
  (await connect(first, { triggers: [{ cron: "0 * * * *" }] })).cut();
  const sql = postgres(bench.db.url, { max: 1 });
  await sql`DELETE FROM holdfast.crons`;
  await sql`DELETE FROM holdfast.queue WHERE kind = 'cron'`;
  await sql.end();
  const gateway = await virtual();
  const worker = await connect(gateway, { triggers: [{ cron: "0 * * * *" }] });
  await gateway.skipTime(HOUR_MS);
  const { request } = await worker.request();
  await worker.replied(request, done);
  await ended(gateway, request.runId);
});

test("on the plain protocol each planned step takes its own concurrency slot", async () => {
  const gateway = await bench.gateway();
  const functions = [{ id: "order", event: "shop/order", config: { concurrency: 2 } }];
  const worker = await bench.worker(gateway, { functions, extensions: [] });
  await send(gateway, [{}]);
  const first = await worker.request();
  const steps = ["a", "b", "c", "d"];
  await worker.replied(first.request, { value: steps.map((id) => op("StepPlanned", id)) });
  const running = [await worker.request(), await worker.request()];
  expect((await metrics(gateway)).queue).toMatchObject({ due: 2, leased: 2 });
  for (let count = 0; count < steps.length; count++) {
    const { request } = running.shift() as { request: (typeof first)["request"] };
    await worker.replied(request, { value: [op("StepRun", request.stepId, { data: count })] });
    if (count < 2) running.push(await worker.request());
  }
  const last = await worker.request("step");
  expect(Object.keys(last.payload.steps).sort()).toEqual(steps);
  await worker.replied(last.request, done);
  await ended(gateway, first.request.runId);
});

test("an account limit holds across two functions, two gateways and the loss of a worker", async () => {
  const gateways = [await bench.gateway({ reconnectGraceMs: 50 }), await bench.gateway({ reconnectGraceMs: 50 })];
  const concurrency = { limit: 3, scope: "account", key: '"model"' };
  const functions = ["one", "two"].map((id) => ({ id, event: "shop/order", config: { concurrency } }));
  let running = 0;
  let most = 0;
  const work = (worker: RawWorker): void => {
    worker.answer((request) => {
      running += 1;
      most = Math.max(most, running);
      setTimeout(() => {
        running -= 1;
        worker.reply(request, done);
      }, 5);
      return "later";
    });
  };
  const lost = await bench.worker(gateways[0] as Gateway, { functions });
  const events = Array.from({ length: 20 }, () => ({ name: "shop/order", data: {} }));
  await call(gateways[0] as Gateway, "/e/test", { method: "POST", body: JSON.stringify(events) });
  await Promise.all([lost.request(), lost.request(), lost.request()]);
  lost.cut();
  for (const gateway of gateways) work(await bench.worker(gateway, { functions }));
  const ids = await runIds();
  expect(ids).toHaveLength(40);
  for (const id of ids) await ended(gateways[0] as Gateway, id);
  expect(most).toBe(3);
});

test("a function removed from its app is not triggered, even after a restart", async () => {
  const gateway = await bench.gateway();
  const worker = await connect(gateway, {});
  worker.answer(() => done);
  await send(gateway, [{}]);
  const before = await runIds();
  for (const id of before) await ended(gateway, id);
  await bench.worker(gateway, { functions: [{ id: "other", event: "shop/other" }] });
  await send(gateway, [{}]);
  const restarted = await bench.gateway();
  await send(restarted, [{}]);
  expect(await runIds()).toEqual(before);
});
