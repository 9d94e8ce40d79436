import { encodeSdkResponse, FLUSH_PATH } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { resolveConfig } from "../../src/config/config.ts";
import { did, ended, metrics, runDetail, start, useGateway } from "./harness.ts";
import { helloFrame, RawWorker, replyOf } from "./raw-worker.ts";

const bench = useGateway();
const once = { functions: [{ id: "order", event: "shop/order", retries: 0 }] };

test("a plain gateway has the reference's deadlines and grants no protocol extensions", async () => {
  expect(resolveConfig({ plain: true })).toMatchObject({ plain: true, extensions: [], requestAckMs: 125_000 });
  expect(resolveConfig({ plain: true, leaseMs: 1000 }).requestAckMs).toBe(6000);
  expect(() => resolveConfig({ plain: true, extensions: ["nack"] })).toThrow(/grants no extensions/);
  const gateway = await bench.gateway({ plain: true });
  const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
  await worker.frame("GATEWAY_HELLO");
  worker.send(helloFrame({ url: gateway.url }, connectionId, "i"));
  expect(await worker.frame("GATEWAY_CONNECTION_READY")).toMatchObject({
    heartbeatInterval: "10s",
    extendLeaseInterval: "30s",
    statusInterval: "0s",
    extensions: [],
  });
  await worker.close();
});

test("on a plain gateway a pause is final, and requests that need that connection fail", async () => {
  const gateway = await bench.gateway({ plain: true });
  const worker = await bench.worker(gateway, once);
  const [first = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.send({ kind: "WORKER_PAUSE" });
  worker.send({ kind: "WORKER_READY" });
  // Also what has a finished step: its next pass finds no waiter.
  await worker.replied(request, { value: [did("a")] });
  const [second = ""] = await start(gateway);
  for (const runId of [first, second]) {
    const run = await ended(gateway, runId);
    expect(run).toMatchObject({ status: "FAILED", error: { code: "connect_no_healthy_connection" } });
  }
  expect(worker.taken).toBe(1);
});

test("work for an app without a connected worker waits", async () => {
  const gateway = await bench.gateway({ plain: true });
  const worker = await bench.worker(gateway, once);
  await worker.close();
  const [runId = ""] = await start(gateway);
  const { claims = 0 } = (await metrics(gateway)).dispatcher;
  await waitFor(async () => ((await metrics(gateway)).dispatcher.claims ?? 0) >= claims + 15, { what: "15 claims" });
  const later = await bench.worker(gateway, once);
  const { request } = await later.request();
  await later.replied(request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("the end of a plain connection ends no lease, and an expired lease fails the attempt", async () => {
  const gateway = await bench.gateway({ plain: true, leaseMs: 5_000, heartbeatMs: 60_000 });
  const first = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", retries: 1 }] });
  const [runId = ""] = await start(gateway);
  const { request } = await first.request();
  await first.close();
  const second = await bench.worker(gateway);
  // Any connection may extend it, and so it goes on.
  expect(await second.extend(request)).toBeDefined();
  expect((await runDetail(gateway, runId)).leasesLost).toBe(0);
  const again = await second.request();
  expect(again.payload.ctx.attempt).toBe(1);
  await second.replied(request, { status: "DONE", value: "late" });
  await second.replied(again.request, { status: "DONE", value: "again" });
  const run = await ended(gateway, runId);
  expect(run.output).toBe("again");
  expect(run.log.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["LEASE_LOST", "PASS_FAILED"]));
});

test("a plain gateway that stops ends no lease of acknowledged work: its worker reports elsewhere", async () => {
  const leaving = await bench.gateway({ plain: true });
  const staying = await bench.gateway({ plain: true });
  const first = await bench.worker(leaving, once);
  const [runId = ""] = await start(leaving);
  const { request } = await first.request();
  const second = await bench.worker(staying, once);
  await first.close();
  await leaving.close();
  const { claims = 0 } = (await metrics(staying)).dispatcher;
  await waitFor(async () => ((await metrics(staying)).dispatcher.claims ?? 0) >= claims + 5, { what: "5 claims" });
  expect(second.taken).toBe(0);
  await second.replied(request, { status: "DONE", value: "once" });
  expect(await ended(staying, runId)).toMatchObject({ status: "COMPLETED", output: "once" });
});

test("the attempt after an expired lease goes to another connection, if there is one", async () => {
  const gateway = await bench.gateway({ plain: true, leaseMs: 5_000, heartbeatMs: 60_000 });
  const functions = [{ id: "order", event: "shop/order", retries: 1 }];
  const first = await bench.worker(gateway, { functions });
  const second = await bench.worker(gateway, { functions });
  const [runId = ""] = await start(gateway);
  await first.request();
  const again = await second.request();
  expect(again.payload.ctx.attempt).toBe(1);
  await second.replied(again.request, { status: "DONE", value: "elsewhere" });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", output: "elsewhere" });
});

test("unacknowledged work is dispatched again when its connection ends, and fails the attempt the third time", async () => {
  const gateway = await bench.gateway({ plain: true });
  await (await bench.worker(gateway, once)).close();
  const [runId = ""] = await start(gateway);
  const asked = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    const worker = await bench.worker(gateway, { ...once, acks: false });
    asked.add((await worker.request()).request.requestId);
    worker.cut();
  }
  expect(asked.size).toBe(3);
  expect(await ended(gateway, runId)).toMatchObject({
    status: "FAILED",
    error: { code: "connect_worker_stopped_responding" },
  });
});

test("the current lease id is extended, the previous one gets the current one, and others are rejected", async () => {
  const gateway = await bench.gateway({ plain: true });
  const worker = await bench.worker(gateway, { instanceId: "one" });
  await start(gateway);
  const { request } = await worker.request();
  const second = await worker.extend(request);
  expect(second).toBeDefined();
  expect(await worker.extend(request), "its acknowledgement was lost").toBe(second);
  const other = await bench.worker(gateway, { instanceId: "two" });
  expect(await other.extend(request), "it was not given to this one").toBeUndefined();
  const third = await worker.extend({ ...request, leaseId: second ?? "" });
  expect(third).toBeDefined();
  expect(await worker.extend(request)).toBeUndefined();
  expect(await worker.extend({ ...request, leaseId: third ?? "" })).toBeDefined();
  await worker.replied(request, { status: "DONE", value: 1 });
  expect(await worker.extend({ ...request, leaseId: third ?? "" }), "it is over").toBeUndefined();
});

test("a plain gateway rejects malformed greetings and flushes", async () => {
  const gateway = await bench.gateway({ plain: true });
  const refused = async (change: (hello: ReturnType<typeof helloFrame>) => ReturnType<typeof helloFrame>) => {
    const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
    await worker.frame("GATEWAY_HELLO");
    worker.send(change(helloFrame({ url: gateway.url }, connectionId, "i")));
    const closed = await worker.gone();
    expect(worker.frames).toEqual([]);
    return closed;
  };
  const json = (text: string): Uint8Array => new TextEncoder().encode(text);
  const apps = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ appName: `a${n}`, functions: json("[]") }));
  const limit = { code: 1008, reason: "connect_too_many_apps_per_connection" };
  expect(await refused((hello) => ({ ...hello, apps: apps(11) }) as never)).toEqual(limit);
  const broken = { code: 1011, reason: "connect_internal_error" };
  expect(await refused((hello) => ({ ...hello, apps: [{ appName: "a", functions: json("[") }] }) as never)).toEqual(
    broken,
  );
  expect(await refused((hello) => ({ ...hello, capabilities: json("{") }) as never)).toEqual(broken);

  const worker = await bench.worker(gateway, once);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  const flush = async (systemTraceCtx: Uint8Array): Promise<number> => {
    const body = encodeSdkResponse({ ...replyOf(request, { status: "DONE", value: "flushed" }), systemTraceCtx });
    return (await fetch(new URL(FLUSH_PATH, gateway.url), { method: "POST", body: body as Uint8Array<ArrayBuffer> }))
      .status;
  };
  expect(await flush(new Uint8Array())).toBe(400);
  expect((await runDetail(gateway, runId)).status).toBe("RUNNING");
  expect(await flush(request.systemTraceCtx)).toBe(200);
  expect((await ended(gateway, runId)).output).toBe("flushed");
});
