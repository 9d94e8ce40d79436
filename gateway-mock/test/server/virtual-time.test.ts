import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { call, did, ended, failed, metrics, op, runDetail, SIGNING_KEY, start, useGateway } from "./harness.ts";

const bench = useGateway();
const HOUR_MS = 3_600_000;

test("with virtual time a sleep of hours ends when time is advanced to its end, and not before", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  await worker.replied(first.request, { value: [op("Sleep", "s", { name: "2h" })] });
  await gateway.skipTime(HOUR_MS);
  expect(await bench.store.nextDueInMs([""])).toBeGreaterThan(0);
  expect((await runDetail(gateway, runId)).status).toBe("WAITING");
  await gateway.skipTime(HOUR_MS);
  const second = await worker.request();
  expect(second.payload.steps.s).toEqual({ type: "data", data: null });
  await worker.replied(second.request, { status: "DONE", value: null });
  const run = await ended(gateway, runId);
  expect(run.status).toBe("COMPLETED");
  expect((run.endedMs ?? 0) - run.createdMs).toBeGreaterThanOrEqual(2 * HOUR_MS);
});

test("work that runs while time is advanced keeps its lease, and the app is told the new time", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  await gateway.skipTime(24 * HOUR_MS);
  worker.checkpoint(first.request, 1, [did("a")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await worker.replied(first.request, { value: [failed("b", { attempt: 0, retryAfter: "3h" })] });
  await gateway.skipTime(3 * HOUR_MS);
  const second = await worker.request();
  const nowMs = (second.payload.ctx.holdfast as unknown as { nowMs: number }).nowMs;
  expect(nowMs).toBeGreaterThanOrEqual(Date.now() + 26.9 * HOUR_MS);
  expect(second.payload.ctx.holdfast?.retries.b?.notBeforeMs).toBeLessThanOrEqual(nowMs);
  await worker.replied(second.request, { status: "DONE", value: null });
  expect((await ended(gateway, runId)).leasesLost).toBe(0);
});

test("many sleeping runs wake while time is advanced repeatedly, also over HTTP", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const worker = await bench.worker(gateway);
  worker.answer((_, payload) =>
    payload.steps.s ? { status: "DONE", value: 1 } : { value: [op("Sleep", "s", { name: "1d" })] },
  );
  const runIds = await start(gateway, 20);
  for (let n = 0; n < 6; n++) {
    const init = { method: "POST", body: JSON.stringify({ ms: 6 * HOUR_MS }) };
    expect(await call(gateway, "/v1/testing/skip-time", init)).toEqual({ skippedMs: 6 * HOUR_MS });
  }
  await waitFor(
    async () => {
      const runs = await Promise.all(runIds.map((id) => runDetail(gateway, id)));
      if (runs.every((run) => run.status === "WAITING" || run.endedMs !== null)) await gateway.skipTime(24 * HOUR_MS);
      return runs.every((run) => run.status === "COMPLETED" && run.leasesLost === 0);
    },
    { what: "all runs to end" },
  );
  expect((await metrics(gateway)).queue).toMatchObject({ due: 0, leased: 0, later: 0 });
});

test("time can be advanced only with the option, and only by valid durations", async () => {
  const gateway = await bench.gateway();
  await expect(gateway.skipTime(1000)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  expect(await call(gateway, "/v1/testing/skip-time", { method: "POST", body: '{"ms":1}' })).toMatchObject({
    status: 404,
  });
  const virtual = await bench.gateway({ virtualTime: true });
  for (const ms of [-1, Number.NaN, 1e15])
    await expect(virtual.skipTime(ms)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  expect(await call(virtual, "/v1/testing/skip-time", { method: "POST", body: '{"ms":"1"}' })).toMatchObject({
    code: "BODY_INVALID",
  });
  await expect(
    bench.gateway({ virtualTime: true, host: "0.0.0.0", signingKey: SIGNING_KEY, eventKey: "key" }),
  ).rejects.toMatchObject({ code: "OPTION_INVALID" });
});
