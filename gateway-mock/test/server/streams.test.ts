/** Live streams over real sockets and a real database: nothing is missing and nothing comes twice, whatever goes away. */
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, it, onTestFinished } from "vitest";
import { type Gateway, REAL_PORTS, startGatewayOn } from "../../src/server.ts";
import { holdWrites } from "../store-postgres/held-writes.ts";
import { call, did, ended, metrics, SIGNING_KEY, start, useGateway } from "./harness.ts";
import { follow, type LiveStream } from "./live-stream.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const EVENT_KEY = "event-key-0123456789";

/** What the log has of these runs; null = of all. */
async function logOf(runIds: readonly string[] | null): Promise<string[]> {
  const sql = postgres(bench.db.url, { max: 1 });
  const rows = await sql`SELECT run_id, seq::float8 AS seq FROM holdfast.run_log
    WHERE ${runIds === null} OR run_id = ANY(${runIds ?? []})`;
  await sql.end();
  return rows.map(({ run_id, seq }) => `${run_id} ${seq}`).sort();
}

/** Each run takes two steps, one pass each, and returns. */
const answering = (worker: RawWorker): void =>
  worker.answer((_, { steps }) => {
    const known = Object.keys(steps).length;
    if (known < 2) return { value: [did(`step-${known}`)] };
    return { status: "DONE", value: "all done" };
  });

const isEnded = (stream: LiveStream): boolean => stream.messages.at(-1)?.event === "end";

/** With a worker; in memory nothing is left of it once it is closed. */
async function opened(store: "postgres" | "memory"): Promise<{ gateway: Gateway; worker: RawWorker }> {
  if (store === "postgres") {
    const gateway = await bench.gateway();
    return { gateway, worker: await bench.worker(gateway) };
  }
  const gateway = await startGatewayOn(REAL_PORTS, { port: 0, store });
  onTestFinished(() => gateway.close());
  return { gateway, worker: await bench.worker(gateway) };
}

it.each(["postgres", "memory"] as const)("a run is followed from a snapshot to its end, %s", async (store) => {
  const { gateway, worker } = await opened(store);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const live = await follow(gateway, `/v1/runs/${runId}/stream`);
  await live.until("the snapshot", ({ messages }) => messages.length > 0);
  expect(live.messages[0]).toMatchObject({
    event: "snapshot",
    data: { run: { id: runId, functionId: "shop-order", status: "RUNNING", steps: [] } },
  });
  worker.checkpoint(request, 1, [did("charge", { paid: true })]);
  await live.until("the step", (stream) => stream.kinds().includes("STEP_COMPLETED"));
  worker.reply(request, { status: "DONE", value: { n: 1 } });
  await live.until("the end", isEnded);
  const facts = live.messages.filter(({ event }) => event === "facts").flatMap(({ data }) => data.facts);
  expect(facts).toMatchObject([
    { kind: "STEP_COMPLETED", attempt: 0, step: { name: "charge", op: "StepRun" }, output: { paid: true } },
    { kind: "RUN_COMPLETED", output: { n: 1 } },
  ]);
  expect(live.messages.at(-1)?.data).toEqual({ status: "COMPLETED" });
  await waitFor(() => live.isOver || undefined, { what: "the stream to be closed" });
  const again = await follow(gateway, `/v1/runs/${runId}/stream`);
  await again.until("the end of what had ended", isEnded);
  expect(again.messages.map(({ event }) => event)).toEqual(["snapshot", "end"]);
  const whole = await follow(gateway, `/v1/runs/${runId}/stream?from=start`);
  await whole.until("the end of the whole log", isEnded);
  expect(whole.kinds()).toEqual(["RUN_CREATED", "DISPATCHED", "STEP_COMPLETED", "RUN_COMPLETED"]);
  const rest = await follow(gateway, `/v1/runs/${runId}/stream`, { "last-event-id": whole.messages[0]?.id ?? "" });
  await rest.until("the rest", isEnded);
  expect(rest.rows()).toEqual(whole.rows().slice(1));
});

it("a failed attempt says when the next one is due, and a failed run says why", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", retries: 1 }] });
  worker.answer((request) => {
    return { status: "ERROR", value: { name: "Error", message: `no stock at ${request.requestId.length}` } };
  });
  const [runId = ""] = await start(gateway);
  const live = await follow(gateway, `/v1/runs/${runId}/stream?from=start`);
  await live.until("the end", isEnded);
  const facts = live.messages.filter(({ event }) => event === "facts").flatMap(({ data }) => data.facts);
  const attempt = facts.find(({ kind }: { kind: string }) => kind === "PASS_FAILED");
  expect(attempt).toMatchObject({ error: { message: expect.stringMatching(/^no stock/) }, dueMs: expect.any(Number) });
  expect(facts.at(-1)).toMatchObject({ kind: "RUN_FAILED", error: { message: expect.stringMatching(/^no stock/) } });
  expect(live.messages.at(-1)?.data).toEqual({ status: "FAILED" });
});

it("a watcher whose gateway is killed goes on at another one", async () => {
  const [first, second] = [await bench.gateway(), await bench.gateway()];
  const worker = await bench.worker(second);
  const [runId = ""] = await start(second);
  const { request } = await worker.request();
  let live = await follow(first, `/v1/runs/${runId}/stream?from=start`);
  worker.checkpoint(request, 1, [did("a")]);
  await live.until("the first step", (stream) => stream.kinds().includes("STEP_COMPLETED"));
  const before = live.rows();
  await first.close();
  await waitFor(() => live.isOver || undefined, { what: "the stream to break off" });
  worker.checkpoint(request, 2, [did("b")]);
  worker.reply(request, { status: "DONE", value: "over" });
  await ended(second, runId);
  live = await follow(second, `/v1/runs/${runId}/stream`, { "last-event-id": live.lastId ?? "" });
  await live.until("the end", isEnded);
  expect([...before, ...live.rows()].sort()).toEqual(await logOf([runId]));
});

it("a watcher of all runs that changes gateways again and again gets every row once, late ones too", async () => {
  const gateways = [await bench.gateway(), await bench.gateway()] as const;
  for (const gateway of gateways) answering(await bench.worker(gateway));
  const begun = await follow(gateways[0], "/v1/runs/stream");
  await begun.until("the snapshot", ({ messages }) => messages.length === 1);
  const rows: string[] = [];
  let from = begun.lastId ?? "";
  begun.cut();
  const sql = postgres(bench.db.url, { max: 2, onnotice: () => {} });
  const [late = ""] = await startOn(gateways[0], 1);
  const held = await holdWrites(sql, "run_log", "new.facts LIKE '%LATE%'");
  const own = postgres(bench.db.url, { max: 1 });
  const inserting = own`INSERT INTO holdfast.run_log (run_id, at, facts, data)
    VALUES (${late}, now(), 'LEASE_LOST 0 1 LATE', '{}')`.execute();
  await held.standing(1);
  const starting = Promise.all(gateways.flatMap((gateway) => [startOn(gateway, 20), startOn(gateway, 20)]));
  let isReleased = false;
  const runIds = starting.then(async (lists) => {
    const ids = lists.flat();
    await Promise.all([late, ...ids].map((id) => ended(gateways[0], id)));
    await held.release();
    await inserting;
    isReleased = true;
    return ids;
  });
  for (let turn = 0; ; turn += 1) {
    const isLast = isReleased;
    const live = await follow(gateways[turn % 2]!, "/v1/runs/stream", { "last-event-id": from });
    const total = isLast ? (await logOf(null)).length : 0;
    // Cut off after a few messages, mostly in the middle of a page.
    await live.until("some rows", (one) =>
      isLast ? rows.length + one.rows().length >= total : one.rows().length > turn % 5 || isReleased,
    );
    live.cut();
    rows.push(...live.rows());
    from = live.lastId ?? from;
    if (isLast) break;
  }
  await runIds;
  await own.end();
  await sql.end();
  expect(rows.sort()).toEqual(await logOf(null));
});

async function startOn(gateway: Gateway, count: number): Promise<string[]> {
  return start(gateway, count);
}

it("runs of a function, and rows by which runs fail, can be asked for alone", async () => {
  const gateway = await bench.gateway();
  const functions = [
    { id: "order", event: "shop/order", retries: 0 },
    { id: "pack", event: "shop/pack", retries: 0 },
  ];
  const worker = await bench.worker(gateway, { functions });
  worker.answer(({ functionSlug }) =>
    functionSlug === "shop-pack"
      ? { status: "ERROR", value: { name: "Error", message: "torn" } }
      : { status: "DONE", value: 1 },
  );
  const packs = await follow(gateway, "/v1/runs/stream?function=shop-pack");
  const bad = await follow(gateway, "/v1/runs/stream?status=failed,cancelled&limit=0");
  for (const live of [packs, bad]) await live.until("the snapshot", ({ messages }) => messages.length === 1);
  const orders = await start(gateway, 3);
  const [pack = ""] = await start(gateway, 1, "shop/pack");
  for (const id of [...orders, pack]) await ended(gateway, id);
  await packs.until("the failure", (one) => one.kinds().includes("RUN_FAILED"));
  await bad.until("the failure", (one) => one.kinds().includes("RUN_FAILED"));
  expect(packs.rows().sort()).toEqual(await logOf([pack]));
  expect(bad.messages.slice(1).map(({ data }) => [data.runId, data.status])).toEqual([[pack, "FAILED"]]);
  const later = await follow(gateway, "/v1/runs/stream?status=FAILED&limit=1");
  await later.until("the snapshot", ({ messages }) => messages.length === 1);
  expect(later.messages[0]?.data.runs).toMatchObject([{ id: pack, status: "FAILED" }]);
});

it("a watcher that reads nothing for a while misses nothing, and costs no memory meanwhile", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const large = "x".repeat(15_000);
  worker.answer(() => ({ status: "DONE", value: large }));
  const live = await follow(gateway, "/v1/runs/stream?limit=0");
  await live.until("the snapshot", ({ messages }) => messages.length === 1);
  live.pause();
  const runIds = await start(gateway, 1_000);
  const areEnded = async (): Promise<boolean> => (await metrics(gateway)).dispatcher.runsEnded === 1_000;
  await waitFor(areEnded, { what: "all runs to end" });
  const received = live.text.length;
  // 15 MB have been written; of that the socket has taken what it holds.
  expect(received).toBeLessThan(8_000_000);
  live.resume();
  await live.until("all rows", (one) => one.rows().length >= 2_000);
  expect(live.rows().sort()).toEqual(await logOf(runIds));
});

it("a thousand watchers share one reader; one more is refused", async () => {
  const gateway = await bench.gateway({ maxConnections: 5 });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const paths = [`/v1/runs/${runId}/stream`, "/v1/runs/stream?limit=1", "/v1/runs/stream?function=shop-order&limit=0"];
  const streams: LiveStream[] = [];
  for (let count = 0; count < 1_000; count += 50) {
    const some = await Promise.all(Array.from({ length: 50 }, (_, n) => follow(gateway, paths[(count + n) % 3] ?? "")));
    await waitFor(() => some.every(({ messages }) => messages.length === 1), { what: "the snapshots" });
    streams.push(...some);
  }
  const refused = await follow(gateway, `/v1/runs/${runId}/stream`);
  expect(refused.status).toBe(503);
  await waitFor(() => refused.text.includes("WATCHERS_FULL") || undefined, { what: "the refusal" });
  worker.reply(request, { status: "DONE", value: "over" });
  const hasEnded = (one: LiveStream): boolean => one.kinds().includes("RUN_COMPLETED");
  await waitFor(() => streams.every(hasEnded), { what: "the last row of each" });
  const sql = postgres(bench.db.url, { max: 1 });
  const [row] = await sql`SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'holdfast-gateway%'`;
  await sql.end();
  // Five of the gateway, three of the store by which the harness looks on.
  expect(row?.count).toBeLessThanOrEqual(8);
  for (const one of streams) one.cut();
  const watchers = async (): Promise<boolean | undefined> => {
    const { process } = (await call(gateway, "/v1/metrics")) as { process: { watchers: number } };
    return process.watchers === 0 || undefined;
  };
  await waitFor(watchers, { what: "the gateway to forget those who have gone" });
});

it("a crowd that comes back at once stays within the limit of watchers", async () => {
  const gateway = await bench.gateway({ maxConnections: 5 });
  const first = await follow(gateway, "/v1/runs/stream?limit=0");
  await first.until("the snapshot", ({ messages }) => messages.length === 1);
  const place = { "last-event-id": first.lastId ?? "" };
  const crowd = await Promise.all(Array.from({ length: 1_200 }, () => follow(gateway, "/v1/runs/stream", place)));
  const { process } = (await call(gateway, "/v1/metrics")) as { process: { watchers: number } };
  expect(process.watchers).toBeGreaterThanOrEqual(1_000);
  // A few may be let in at the same moment.
  expect(process.watchers).toBeLessThan(1_020);
  expect(crowd.filter(({ status }) => status === 503)).toHaveLength(1_201 - process.watchers);
  for (const one of [first, ...crowd]) one.cut();
});

it("streams need the key and stay in the environment of their caller", async () => {
  const gateway = await bench.gateway({ signingKey: SIGNING_KEY, eventKey: EVENT_KEY });
  const bearer = { authorization: `Bearer ${SIGNING_KEY}` };
  for (const path of ["/v1/runs/stream", "/v1/runs/01J00000000000000000000000/stream"]) {
    expect((await follow(gateway, path)).status).toBe(401);
  }
  expect((await follow(gateway, "/v1/runs/01J00000000000000000000000/stream", bearer)).status).toBe(404);
  expect((await follow(gateway, "/v1/runs/stream", bearer)).status).toBe(200);
});

it("what one environment does another one does not see", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { environment: "staging", headers: { "x-inngest-env": "staging" } });
  worker.answer(() => ({ status: "DONE", value: 1 }));
  const staging = { "x-inngest-env": "staging" };
  const [here, there] = [await follow(gateway, "/v1/runs/stream"), await follow(gateway, "/v1/runs/stream", staging)];
  for (const live of [here, there]) await live.until("the snapshot", ({ messages }) => messages.length === 1);
  await fetch(`${gateway.url}/e/test`, {
    method: "POST",
    headers: staging,
    body: JSON.stringify({ name: "shop/order", data: {} }),
  });
  await there.until("the run", (one) => one.kinds().includes("RUN_COMPLETED"));
  const runId = there.messages.at(-1)?.data.runId;
  expect((await follow(gateway, `/v1/runs/${runId}/stream`)).status).toBe(404);
  expect((await follow(gateway, "/v1/runs/stream?function=shop-order")).status).toBe(404);
  expect(here.messages.map(({ event }) => event)).toEqual(["snapshot"]);
});

it("what cannot be followed is refused with what was wrong", async () => {
  const gateway = await bench.gateway();
  const asked = async (path: string, headers = {}) => {
    const live = await follow(gateway, path, headers);
    await waitFor(() => live.isOver || undefined, { what: "the answer" });
    return [live.status, JSON.parse(live.text).code];
  };
  expect(await asked("/v1/runs/stream", { "last-event-id": "nonsense" })).toEqual([400, "POSITION_INVALID"]);
  expect(await asked("/v1/runs/stream?lastEventId=nonsense", { "last-event-id": "" })).toEqual([
    400,
    "POSITION_INVALID",
  ]);
  const ahead = "p1.1:900000000:.0";
  expect(await asked("/v1/runs/stream", { "last-event-id": ahead })).toEqual([400, "POSITION_INVALID"]);
  expect(await asked("/v1/runs/stream?status=lost")).toEqual([400, "BODY_INVALID"]);
  expect(await asked("/v1/runs/stream?limit=9999")).toEqual([400, "BODY_INVALID"]);
  expect(await asked("/v1/runs/stream?functoin=x")).toEqual([400, "BODY_INVALID"]);
  expect(await asked("/v1/runs/stream?function=x")).toEqual([404, "NOT_FOUND"]);
});
