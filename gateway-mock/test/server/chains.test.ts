import { HANDLER_END_ID } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, did, ended, op, runDetail, send, start, triggered, useGateway, waits } from "./harness.ts";
import { follow, type LiveStream, rowsOf } from "./live-stream.ts";
import type { RawWorker, WorkerFunction } from "./raw-worker.ts";

const bench = useGateway();
const functions: readonly WorkerFunction[] = [
  { id: "order", event: "shop/order", retries: 1 },
  { id: "pack", event: "shop/pack" },
  { id: "only", event: "shop/only", config: { singleton: { mode: "skip", key: "event.data.customer" } } },
];

const continueAs = (data: object): object => ({
  id: HANDLER_END_ID,
  op: "RunComplete",
  data: null,
  opts: { continueAs: { data } },
});

interface Chained {
  readonly continuedFrom: string | null;
  readonly continuedAs: string | null;
}

const detail = (gateway: Gateway, runId: string) =>
  runDetail(gateway, runId) as Promise<Chained & Awaited<ReturnType<typeof runDetail>>>;

/** Answers the next pass by going on; returns its run. */
async function goOn(worker: RawWorker, data: object, more: readonly object[] = []): Promise<string> {
  const { request } = await worker.request();
  await worker.replied(request, { value: [...more, continueAs(data)] });
  return request.runId;
}

async function done(worker: RawWorker, value: unknown): Promise<{ readonly runId: string; readonly event: unknown }> {
  const { request, payload } = await worker.request();
  await worker.replied(request, { status: "DONE", value });
  return { runId: request.runId, event: payload.event };
}

describe("Runs that go on as new ones", () => {
  test("end and start in one transaction, each with its own history and the data it was given", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const [first = ""] = await start(gateway);
    expect(await goOn(worker, { n: 1 }, [did("a")])).toBe(first);
    const second = await goOn(worker, { n: 2 });
    const last = await done(worker, "over");
    expect(last.event).toMatchObject({ name: "inngest/function.invoked", data: { n: 2 } });
    expect(await ended(gateway, last.runId)).toMatchObject({ status: "COMPLETED", output: "over" });
    expect(await detail(gateway, first)).toMatchObject({
      status: "COMPLETED",
      output: null,
      continuedFrom: null,
      continuedAs: second,
    });
    expect((await detail(gateway, first)).steps).toMatchObject([{ id: "a", output: "a" }]);
    expect(await detail(gateway, second)).toMatchObject({ steps: [], continuedFrom: first, continuedAs: last.runId });
    expect(await detail(gateway, last.runId)).toMatchObject({ continuedFrom: second, continuedAs: null });
    // The chain ends once.
    const { runs } = (await call(gateway, "/v1/runs")) as { runs: { eventName: string }[] };
    expect(runs.map(({ eventName }) => eventName)).toEqual([
      "holdfast/function.continued",
      "holdfast/function.continued",
      "shop/order",
    ]);
  });

  test("a caller that waits for the first one is answered with the last one, unless it asks for one link", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const [first = ""] = await start(gateway);
    const waiting = call(gateway, `/v1/runs/${first}?wait=60s`);
    const second = await goOn(worker, { n: 1 });
    expect(second).toBe(first);
    const one = await call(gateway, `/v1/runs/${first}?wait=60s&links=one`);
    expect(one).toMatchObject({ id: first, status: "COMPLETED", continuedAs: expect.any(String) });
    // After the time that it may wait it is told how far the chain is.
    const late = await call(gateway, `/v1/runs/${first}?wait=1ms`);
    expect(late).toMatchObject({ endedMs: null, continuedFrom: first });
    const last = await done(worker, "over");
    expect(await waiting).toMatchObject({ id: last.runId, status: "COMPLETED", output: "over" });
    // What has ended is answered the same way, and without waiting it is the run itself.
    expect(await call(gateway, `/v1/runs/${first}?wait=60s`)).toMatchObject({ id: last.runId });
    expect(await call(gateway, `/v1/runs/${first}`)).toMatchObject({ id: first });
    expect(await call(gateway, `/v1/runs/${first}?links=none`)).toMatchObject({ code: "BODY_INVALID" });
  });

  test("a stream of the first one goes on with the others, nothing missing and nothing twice, from any place", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const [first = ""] = await start(gateway);
    const path = `/v1/runs/${first}/stream`;
    const all = await follow(gateway, `${path}?from=start`);
    const one = await follow(gateway, `${path}?from=start&links=one`);
    await goOn(worker, { n: 1 }, [did("a")]);
    const second = await goOn(worker, { n: 2 }, [did("b")]);
    const last = await done(worker, "over");
    const isOver = ({ messages }: LiveStream): boolean => messages.at(-1)?.event === "end";
    await all.until("the end of the chain", isOver);
    await one.until("the end of the first run", isOver);
    expect(new Set(one.rows().map((row) => row.split(" ")[0]))).toEqual(new Set([first]));
    expect(all.messages.filter(({ event }) => event === "continued").map(({ data }) => data)).toEqual([
      { continuedFrom: first, continuedAs: second },
      { continuedFrom: second, continuedAs: last.runId },
    ]);
    const rows = all.rows();
    expect(new Set(rows).size).toBe(rows.length);
    expect([...new Set(rows.map((row) => row.split(" ")[0]))]).toEqual([first, second, last.runId]);
    // Broken off after each message: what came, and what comes then, is all there is, each once.
    const ids = all.messages.map(({ id }) => id);
    for (const [index, id] of ids.entries()) {
      if (id === null) continue;
      const before = all.messages.slice(0, index + 1);
      const rest = await follow(gateway, path, { "last-event-id": id });
      await rest.until("the end", isOver);
      expect([...rowsOf(before), ...rest.rows()]).toEqual(rows);
    }
    // A snapshot is of the run that is at work, or was the last.
    const now = await follow(gateway, path);
    await now.until("the end", isOver);
    expect(now.messages[0]).toMatchObject({ event: "snapshot", data: { run: { id: last.runId, output: "over" } } });
  });

  test("the step that invoked the first one is given the result of the last one, or its error", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const [parent = ""] = await start(gateway);
    const invoke = op("InvokeFunction", "i", { opts: { function_id: "shop-pack", payload: { data: { box: 1 } } } });
    const { request } = await worker.request();
    await worker.replied(request, { value: [invoke] });
    await goOn(worker, { box: 2 });
    expect((await detail(gateway, parent)).endedMs).toBeNull();
    await goOn(worker, { box: 3 });
    await done(worker, "packed");
    const next = await worker.request();
    expect(next.request.runId).toBe(parent);
    expect(next.payload.steps.i).toMatchObject({ type: "data", data: "packed" });
    await worker.replied(next.request, { status: "DONE", value: 1 });
    await ended(gateway, parent);
  });

  test("to cancel one that went on cancels what it went on as", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const [first = ""] = await start(gateway);
    await goOn(worker, { n: 1 });
    const second = await goOn(worker, { n: 2 });
    const { request } = await worker.request();
    await worker.replied(request, { value: [op("WaitForEvent", "w", { name: "shop/paid", opts: { timeout: "1h" } })] });
    await waits(gateway, request.runId);
    expect(await call(gateway, `/v1/runs/${first}/cancel`, { method: "POST" })).toMatchObject({ cancelled: true });
    expect(await ended(gateway, request.runId)).toMatchObject({ status: "CANCELLED" });
    expect(await detail(gateway, second)).toMatchObject({ status: "COMPLETED" });
    expect(await call(gateway, `/v1/runs/${first}/cancel`, { method: "POST" })).toMatchObject({ cancelled: false });
  });

  test("a singleton goes on as one: events for it start nothing meanwhile, and start one when the chain has ended", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const customer = { customer: 7 };
    const first = await triggered(gateway, await send(gateway, "shop/only", customer));
    // What it goes on with says nothing of the customer.
    expect(await goOn(worker, { page: 1 })).toBe(first);
    expect(await triggered(gateway, await send(gateway, "shop/only", customer))).toBe("");
    await goOn(worker, { page: 2 });
    expect(await triggered(gateway, await send(gateway, "shop/only", customer))).toBe("");
    const { runId } = await done(worker, 1);
    await ended(gateway, runId);
    const again = await triggered(gateway, await send(gateway, "shop/only", customer));
    expect(again).not.toBe("");
    await done(worker, 1);
    await ended(gateway, again);
  });

  test("new workers get the next run of a chain, whatever version the run before it had", async () => {
    const gateway = await bench.gateway({ versionPolicy: "strict" });
    const old = await bench.worker(gateway, { functions, appVersion: "1" });
    const [first = ""] = await start(gateway);
    const { request } = await old.request();
    const fresh = await bench.worker(gateway, { functions, appVersion: "2" });
    await old.replied(request, { value: [continueAs({ n: 1 })] });
    const { runId } = await done(fresh, "new");
    expect(await ended(gateway, runId)).toMatchObject({ appVersion: "2", output: "new" });
    expect(await detail(gateway, first)).toMatchObject({ appVersion: "1", continuedAs: runId });
  });

  test("data beyond the limit fails the run, which does not go on", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions });
    const [runId = ""] = await start(gateway);
    await goOn(worker, { text: "x".repeat(4 * 1024 * 1024) });
    expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { code: "STEP_RESULT_TOO_LARGE" } });
    await waitFor(async () => ((await call(gateway, "/v1/runs")) as { runs: unknown[] }).runs.length === 1, {
      what: "one run",
    });
  });
});
