import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, runDetail, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();

interface Outcome {
  readonly outcome: string;
  readonly runId: string;
  readonly eventId: string;
  readonly isNew: boolean;
  readonly reason: string;
  readonly code: string;
  readonly error: string;
}

async function invoke(gateway: Gateway, fn: string, body: object = {}, headers = {}): Promise<Outcome> {
  const init = { method: "POST", body: JSON.stringify(body), headers };
  return (await call(gateway, `/v1/functions/${fn}/runs`, init)) as Outcome;
}

/** Runs everything, with the data of its event as the result. */
function echoes(worker: RawWorker): void {
  worker.answer((_, { event }) => ({ status: "DONE", value: (event as { data: unknown }).data }));
}

const fn = (id: string, config: object = {}) => ({ id, event: `shop/${id}`, config });

describe("A run that is asked for by name", () => {
  test("is made with its event, whatever triggers the function has, and gets the data", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway);
    echoes(worker);
    const made = await invoke(gateway, "shop-order", { data: { n: 1, _inngest: { fake: true } } });
    expect(made).toMatchObject({ outcome: "started", functionId: "shop-order", isNew: true });
    const run = await ended(gateway, made.runId);
    expect(run).toMatchObject({ status: "COMPLETED", eventId: made.eventId, eventName: "inngest/function.invoked" });
    expect(run.output).toEqual({ n: 1, _inngest: { fn_id: "shop-order" } });
    expect(await call(gateway, `/v1/events/${made.eventId}`)).toMatchObject({ runIds: [made.runId] });
  });

  test("is found by the function's name, its uuid, and its own id; another name is refused with those that come close", async () => {
    const gateway = await bench.gateway();
    await bench.worker(gateway);
    const { functions } = (await call(gateway, "/v1/functions")) as { functions: { id: string; uuid: string }[] };
    expect(functions).toMatchObject([{ id: "shop-order", appId: "shop", active: true, versions: [""] }]);
    for (const name of ["shop-order", functions[0]?.uuid ?? "", "order"]) {
      expect(await invoke(gateway, name)).toMatchObject({ outcome: "started", functionId: "shop-order" });
    }
    expect(await invoke(gateway, "shop-oder")).toMatchObject({
      code: "NOT_FOUND",
      status: 404,
      error: 'There is no function "shop-oder". Did you mean "shop-order"?',
    });
    for (const near of ["shp-order", "ordr"]) {
      expect((await invoke(gateway, near)).error).toBe(`There is no function "${near}". Did you mean "shop-order"?`);
    }
    // Two letters in the name of an app that is not there make it another app.
    expect((await invoke(gateway, "chip-order")).error).toBe(
      'There is no function "chip-order". No app that has it has connected yet. There are shop-order.',
    );
    expect(await call(gateway, "/v1/runs?functionId=nothing")).toMatchObject({ code: "NOT_FOUND" });
    expect(await call(gateway, "/v1/runs?function=order")).toMatchObject({ runs: [{}, {}, {}] });
    expect(await call(gateway, "/v1/functions/order")).toMatchObject({ id: "shop-order", maxAttempts: 5 });
  });

  test("is the same run for the same id, also when many ask at once at two gateways", async () => {
    const [one, two] = [await bench.gateway(), await bench.gateway()];
    await bench.worker(one, { functions: [fn("order"), fn("ship")] });
    const asked = Array.from({ length: 40 }, (_, n) =>
      invoke(n % 2 ? one : two, "shop-order", { id: "a", data: { n } }),
    );
    const made = await Promise.all(asked);
    expect(new Set(made.map(({ runId }) => runId)).size).toBe(1);
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    // Ids are the function's own.
    expect((await invoke(one, "shop-ship", { id: "a" })).runId).not.toBe(made[0]?.runId);
    expect((await invoke(one, "shop-order", { id: "b" })).isNew).toBe(true);
  });

  test("is made once when its request is repeated", async () => {
    const gateway = await bench.gateway();
    await bench.worker(gateway);
    const seed = { "x-inngest-event-id-seed": `${Date.now()},${Buffer.alloc(10, 7).toString("base64")}` };
    const [first, second] = [await invoke(gateway, "order", {}, seed), await invoke(gateway, "order", {}, seed)];
    expect([first.isNew, second.isNew, second.runId]).toEqual([true, false, first.runId]);
  });

  test("keeps its id for 30 days, when ids of events are forgotten", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    await bench.worker(gateway);
    const first = await invoke(gateway, "order", { id: "a" });
    await gateway.skipTime(29 * 86_400_000);
    await bench.store.touchConnections("x", 1e12);
    expect((await invoke(gateway, "order", { id: "a" })).runId).toBe(first.runId);
    await gateway.skipTime(2 * 86_400_000);
    expect((await invoke(gateway, "order", { id: "a" })).isNew).toBe(true);
  });

  test("starts when it is to, and fails when it is not over by its deadline", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway);
    const now = Date.now();
    const at = new Date(now + 3_600_000).toISOString();
    const deadline = new Date(now + 7_200_000).toISOString();
    const { runId } = await invoke(gateway, "order", { at, deadline });
    const asked = await runDetail(gateway, runId);
    expect(asked.status).toBe("PENDING");
    expect(Math.abs((asked.deadlineMs ?? 0) - (now + 7_200_000))).toBeLessThan(60_000);
    expect(worker.taken).toBe(0);
    await gateway.skipTime(3_600_000);
    await worker.request();
    await gateway.skipTime(3_700_000);
    expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { code: "RUN_DEADLINE_EXCEEDED" } });
  });

  test("a deadline that is a duration counts from when the run may begin, by the database's clock", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    await bench.worker(gateway);
    // What `skipTime` adds no clock of this process knows.
    await gateway.skipTime(86_400_000);
    const soon = await runDetail(gateway, (await invoke(gateway, "order", { deadline: "2h" })).runId);
    expect(Math.abs((soon.deadlineMs ?? 0) - soon.createdMs - 7_200_000)).toBeLessThan(60_000);
    const at = new Date(Date.now() + 2 * 86_400_000);
    const later = await invoke(gateway, "order", { at: at.toISOString(), deadline: "2h" });
    expect((await runDetail(gateway, later.runId)).deadlineMs).toBe(at.getTime() + 7_200_000);
  });

  test("begins with the version that is asked for, though a newer one is there", async () => {
    const gateway = await bench.gateway();
    const old = await bench.worker(gateway, { appVersion: "1" });
    const fresh = await bench.worker(gateway, { appVersion: "2" });
    const { runId } = await invoke(gateway, "order", { appVersion: "1" });
    const { request } = await old.request();
    expect(request.runId).toBe(runId);
    await old.replied(request, { status: "DONE", value: 1 });
    expect((await ended(gateway, runId)).appVersion).toBe("1");
    expect(fresh.taken).toBe(0);
    expect(await invoke(gateway, "order", { appVersion: "9" })).toMatchObject({
      code: "OPTION_INVALID",
      error: expect.stringContaining("known are 2, 1"),
    });
  });

  test("goes ahead of others by its priority", async () => {
    const gateway = await bench.gateway();
    const functions = [fn("order", { concurrency: [{ limit: 1 }] })];
    const worker = await bench.worker(gateway, { functions });
    const first = await invoke(gateway, "order");
    const { request } = await worker.request();
    expect(request.runId).toBe(first.runId);
    const low = await invoke(gateway, "order", { priority: -100 });
    const high = await invoke(gateway, "order", { priority: 100 });
    worker.reply(request, { status: "DONE", value: 1 });
    const second = await worker.request();
    expect(second.request.runId).toBe(high.runId);
    worker.reply(second.request, { status: "DONE", value: 1 });
    const third = await worker.request();
    expect(third.request.runId).toBe(low.runId);
    await worker.replied(third.request, { status: "DONE", value: 1 });
  });
});

describe("A run that its function holds back", () => {
  test("says so, and leaves nothing behind: the id is free", async () => {
    const gateway = await bench.gateway();
    const functions = [
      fn("order", { singleton: { mode: "skip" } }),
      fn("mail", { rateLimit: { limit: 1, period: "1h" } }),
    ];
    const worker = await bench.worker(gateway, { functions });
    const first = await invoke(gateway, "order", { id: "a" });
    const skipped = await invoke(gateway, "order", { id: "b" });
    expect(skipped).toEqual({ outcome: "skipped", functionId: "shop-order", reason: "singleton", runId: first.runId });
    const { request } = await worker.request();
    await worker.replied(request, { status: "DONE", value: 1 });
    expect(await invoke(gateway, "order", { id: "b" })).toMatchObject({ outcome: "started", isNew: true });
    expect(await invoke(gateway, "mail")).toMatchObject({ outcome: "started" });
    expect(await invoke(gateway, "mail")).toMatchObject({ outcome: "skipped", reason: "rateLimit", runId: null });
    expect((await bench.store.listEvents({ limit: 10 })).events).toHaveLength(3);
  });

  test("of two requests with one id in one batch, one of them skipped, the other is decided anew", async () => {
    const gateway = await bench.gateway();
    await bench.worker(gateway, { functions: [fn("order", { singleton: { mode: "skip" } })] });
    const outcomes = await Promise.all(["a", "b", "b", "b"].map((id) => invoke(gateway, "order", { id })));
    expect(outcomes.filter(({ outcome }) => outcome === "started").length).toBeGreaterThan(0);
    expect((await call(gateway, "/v1/runs")) as object).toMatchObject({ runs: [{}] });
  });

  test("is postponed with the event of which a run is made later", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway, { functions: [fn("order", { debounce: { period: "1m" } })] });
    echoes(worker);
    const asked = await invoke(gateway, "order", { id: "a", data: { n: 1 } });
    expect(asked).toMatchObject({ outcome: "postponed", reason: "debounce" });
    expect(await invoke(gateway, "order", { id: "a" })).toMatchObject({ outcome: "postponed", eventId: asked.eventId });
    await gateway.skipTime(61_000);
    const run = await waitFor(
      async () => ((await call(gateway, `/v1/runs?eventId=${asked.eventId}`)) as { runs: { id: string }[] }).runs[0],
      { what: "the postponed run" },
    );
    expect((await ended(gateway, run.id)).status).toBe("COMPLETED");
    expect(await invoke(gateway, "order", { id: "a" })).toMatchObject({ outcome: "started", runId: run.id });
    expect(await invoke(gateway, "order", { priority: 5 })).toMatchObject({ code: "OPTION_INVALID" });
  });
});

test("what cannot be asked for is refused, with what would be right", async () => {
  const gateway = await bench.gateway();
  await bench.worker(gateway);
  const refused: readonly (readonly [object, string, string])[] = [
    [{ data: 5 }, "EVENT_INVALID", "`data` must be an object"],
    [{ id: "" }, "OPTION_INVALID", "`id` must be text"],
    [{ id: 5 }, "OPTION_INVALID", "`id` must be text"],
    [{ at: "tomorrow" }, "BODY_INVALID", "`at` must be a point in time"],
    [{ at: "2126-01-01T00:00:00Z" }, "OPTION_INVALID", "at most a year ahead"],
    [{ deadline: "2001-01-01T00:00:00Z" }, "OPTION_INVALID", "has passed"],
    [{ deadline: "soon" }, "BODY_INVALID", "or a duration of up to a year"],
    [{ deadline: "-5s" }, "BODY_INVALID", "or a duration of up to a year"],
    [{ deadline: "0s" }, "OPTION_INVALID", "has passed"],
    [{ deadline: "2030-01-31T12:00:00" }, "BODY_INVALID", "with a zone"],
    [{ priority: 1.5 }, "OPTION_INVALID", "-600 to 600"],
    [{ prioritty: 1 }, "BODY_INVALID", "Did you mean `priority`?"],
    [[], "BODY_INVALID", "must be an object"],
  ];
  for (const [body, code, error] of refused) {
    expect(await invoke(gateway, "order", body)).toMatchObject({
      code,
      status: 400,
      error: expect.stringContaining(error),
    });
  }
  expect(await call(gateway, "/v1/runs")).toEqual({ runs: [], nextCursor: null });
});
