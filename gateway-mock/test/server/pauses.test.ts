import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, op, plan, runDetail, send, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const done = { status: "DONE", value: "done" } as const;

const post = (gateway: Gateway, path: string, body?: object): Promise<unknown> =>
  call(gateway, path, { method: "POST", ...(body ? { body: JSON.stringify(body) } : {}) });
const pause = (gateway: Gateway, note?: string, id = "shop-order") =>
  post(gateway, `/v1/functions/${id}/pause`, note === undefined ? undefined : { note });
const resume = (gateway: Gateway, id = "shop-order") => post(gateway, `/v1/functions/${id}/resume`);

/** Answers all that it is given; the ids of their runs. */
function answering(worker: RawWorker): string[] {
  const taken: string[] = [];
  worker.answer(({ runId }) => {
    taken.push(runId);
    return done;
  });
  return taken;
}

/** What is done at a gateway after a look into its queue that began later. */
async function looked(gateway: Gateway, look: number): Promise<number> {
  const claims = async (): Promise<number> =>
    ((await call(gateway, "/v1/metrics")) as { dispatcher: { claims: number } }).dispatcher.claims;
  const before = look < 0 ? await claims() : look;
  await waitFor(async () => (await claims()) >= before + 2, { what: "a look into the queue" });
  return claims();
}

describe("A paused function", () => {
  test("gets no new work at any gateway once the pause is answered; its runs say so, and end after it is resumed", async () => {
    const gateways = [await bench.gateway(), await bench.gateway()] as const;
    const taken = [answering(await bench.worker(gateways[0])), answering(await bench.worker(gateways[1]))];
    const before = [...(await start(gateways[0], 3)), ...(await start(gateways[1], 3))];
    for (const runId of before) await ended(gateways[0], runId);
    expect(await pause(gateways[0], " the bank is down ")).toMatchObject({
      functionId: "shop-order",
      changed: true,
      pause: { note: " the bank is down ", sinceMs: expect.any(Number) },
    });
    const waiting = [...(await start(gateways[0], 3)), ...(await start(gateways[1], 3))];
    for (const gateway of gateways) await looked(gateway, -1);
    expect(taken.flat().sort()).toEqual(before.sort());
    for (const gateway of gateways) {
      expect((await runDetail(gateway, waiting[0] ?? "")).waiting).toMatchObject({
        reason: "FUNCTION_PAUSED",
        message: expect.stringMatching(/^Its function is paused since \S+Z: the bank is down\.$/),
      });
    }
    expect(await resume(gateways[1])).toMatchObject({ changed: true, pause: null });
    for (const runId of waiting) await ended(gateways[0], runId);
    expect(await resume(gateways[1])).toMatchObject({ changed: false });
  });

  test("the pass that a worker has goes on to its end; what follows from it waits, also steps of the plain protocol", async () => {
    const gateway = await bench.gateway();
    const plain = await bench.worker(gateway, { extensions: [] });
    const [runId = ""] = await start(gateway);
    const { request } = await plain.request();
    await pause(gateway);
    await plain.replied(request, { value: [plan("a"), plan("b")] });
    await looked(gateway, -1);
    expect(plain.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
    expect((await runDetail(gateway, runId)).waiting?.reason).toBe("FUNCTION_PAUSED");
    await resume(gateway);
    await plain.request("a");
    await plain.request("b");
  });

  test("a checkpoint of its pass is stored while it is paused, and its pass may complete the run", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway);
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    await pause(gateway);
    worker.checkpoint(request, 1, [op("StepRun", "a", { data: 1 })]);
    await worker.frame("GATEWAY_CHECKPOINT_ACK");
    await worker.replied(request, done);
    expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED" });
  });

  test("waits end and sleeps are over while it is paused, and the run goes on when it is resumed", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway);
    const [runId = ""] = await start(gateway);
    const wait = op("WaitForEvent", "w", { name: "shop/paid", opts: { timeout: "1h" } });
    await worker.replied((await worker.request()).request, { value: [wait] });
    await pause(gateway);
    await send(gateway, "shop/paid");
    await waitFor(async () => (await runDetail(gateway, runId)).waiting?.reason === "FUNCTION_PAUSED", {
      what: "the event to have arrived",
    });
    answering(worker);
    await resume(gateway);
    await ended(gateway, runId);
  });

  test("of the ticks of its schedule that it misses the last one comes when it is resumed", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const functions = [{ id: "nightly", event: "", config: { triggers: [{ cron: "0 0 * * *" }] } }];
    const worker = await bench.worker(gateway, { functions });
    const ticks: unknown[] = [];
    worker.answer((_request, { event }) => {
      ticks.push(event.data.scheduledAt);
      return done;
    });
    await pause(gateway, undefined, "shop-nightly");
    for (let day = 0; day < 3; day += 1) await post(gateway, "/v1/testing/skip-time", { ms: 86_400_000 });
    await looked(gateway, -1);
    const { runs } = (await call(gateway, "/v1/runs?functionId=shop-nightly")) as { runs: unknown[] };
    expect(runs).toEqual([]);
    await resume(gateway, "shop-nightly");
    await post(gateway, "/v1/testing/skip-time", { ms: 10_000 });
    await waitFor(() => ticks.length > 0, { what: "the tick" });
    expect(ticks).toHaveLength(1);
  });

  test("a request that was not acknowledged goes to no other worker while it is paused", async () => {
    const gateway = await bench.gateway({ requestAckMs: 100, leaseMs: 60_000 });
    const first = await bench.worker(gateway, { extensions: [], acks: false });
    const [runId = ""] = await start(gateway);
    await first.request();
    await pause(gateway);
    const second = await bench.worker(gateway, { extensions: [] });
    const missed = async (): Promise<number> =>
      ((await call(gateway, "/v1/metrics")) as { dispatcher: { acksMissed: number } }).dispatcher.acksMissed;
    await waitFor(async () => (await missed()) > 0, { what: "a missed acknowledgement" });
    await looked(gateway, -1);
    await looked(gateway, -1);
    expect(second.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
    await resume(gateway);
    expect((await second.request()).request.runId).toBe(runId);
  });

  test("it stays paused over the end of its gateway and over deployments", async () => {
    const first = await bench.gateway();
    await bench.worker(first, { appVersion: "1" });
    await pause(first, "until Monday");
    await first.close();
    const gateway = await bench.gateway();
    const taken = answering(await bench.worker(gateway, { appVersion: "2" }));
    const [runId = ""] = await start(gateway);
    await looked(gateway, -1);
    expect(taken).toEqual([]);
    expect((await runDetail(gateway, runId)).waiting?.message).toContain("until Monday");
    expect(await pause(gateway, "until Tuesday")).toMatchObject({ changed: true, pause: { note: "until Tuesday" } });
    expect(await pause(gateway, "until Tuesday")).toMatchObject({ changed: false });
    await resume(gateway);
    await ended(gateway, runId);
  });

  test("what is wrong with a call is said", async () => {
    const gateway = await bench.gateway();
    await bench.worker(gateway);
    expect(await pause(gateway, undefined, "shop-ordre")).toMatchObject({
      code: "NOT_FOUND",
      error: expect.stringContaining('Did you mean "shop-order"?'),
    });
    expect(await post(gateway, "/v1/functions/order/pause", { why: "x" })).toMatchObject({ code: "BODY_INVALID" });
    expect(await pause(gateway, "x".repeat(501))).toMatchObject({ code: "BODY_INVALID" });
    expect(await resume(gateway, "order")).toMatchObject({ functionId: "shop-order", changed: false });
  });
});
