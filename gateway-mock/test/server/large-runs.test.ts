import { expect, test } from "vitest";
import { hashSigningKey } from "../../src/http/keys.ts";
import { call, did, ended, SIGNING_KEY, start, useGateway } from "./harness.ts";
import type { WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const MiB = 1024 * 1024;
const many = (id: string, size = 1.5 * MiB): object => did(id, id.repeat(size));
/** Its UTF-8 is three times as long as its text. */
const wide = (id: string): object => did(id, "\u20ac".repeat(0.8 * MiB));

test.each([
  { name: "in place", options: {} },
  { name: "plain", options: { extensions: [] } },
])("$name: for a run over 4 MiB the worker is told to fetch events and steps", async ({ options }) => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, options satisfies Partial<WorkerOptions>);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  expect(first.payload).toMatchObject({ use_api: false, ctx: { use_api: false } });
  await worker.replied(first.request, { value: [many("a"), many("b")] });
  const second = await worker.request();
  expect(second.payload).toMatchObject({ use_api: false, ctx: { use_api: false } });
  expect(Object.keys(second.payload.steps)).toEqual(["a", "b"]);
  await worker.replied(second.request, { value: [many("c")] });
  const third = await worker.request();
  expect(third.payload).toMatchObject({
    version: 2,
    event: first.payload.event,
    events: [],
    steps: {},
    use_api: true,
    ctx: { use_api: true, stack: { stack: ["a", "b", "c"], current: 3 } },
  });
  expect(third.request.requestPayload.byteLength).toBeLessThan(10_000);
  expect(await call(gateway, `/v0/runs/${runId}/batch`)).toEqual(first.payload.events);
  const actions = (await call(gateway, `/v0/runs/${runId}/actions`)) as Record<string, unknown>;
  expect(Object.keys(actions)).toEqual(["a", "b", "c"]);
  expect(actions).toMatchObject({ ...second.payload.steps, c: { type: "data", data: "c".repeat(1.5 * MiB) } });
  await worker.replied(third.request, { status: "DONE", value: 1 });
  expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED", output: 1 });
});

test("the size of a request is measured in bytes, not characters", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  await worker.replied(first.request, { value: [wide("a"), wide("b")] });
  const second = await worker.request();
  expect(second.payload).toMatchObject({ steps: {}, ctx: { use_api: true } });
  await worker.replied(second.request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("fetching a run's state requires the signing key and an existing run", async () => {
  const gateway = await bench.gateway({ signingKey: SIGNING_KEY });
  const get = async (path: string, key?: string): Promise<unknown> => {
    const headers = key === undefined ? {} : { Authorization: `Bearer ${hashSigningKey(key)}` };
    return call(gateway, path, { headers });
  };
  for (const part of ["actions", "batch"]) {
    const path = `/v0/runs/01JZ0000000000000000000000/${part}`;
    expect(await get(path)).toMatchObject({ code: "UNAUTHORIZED", status: 401 });
    expect(await get(path, "ff".repeat(16))).toMatchObject({ code: "UNAUTHORIZED", status: 401 });
    expect(await get(path, SIGNING_KEY)).toEqual({
      error: expect.stringContaining("There is no run"),
      code: "NOT_FOUND",
      status: 404,
    });
  }
});

test("a run over 32 MiB fails with a code, after a rejected checkpoint", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  for (let n = 1; n <= 8; n += 1) {
    worker.checkpoint(request, n, [many(`${n}`, 4 * MiB - 100)]);
    expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ sequence: n, outcome: "stored" });
  }
  worker.checkpoint(request, 9, [many("9")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({
    outcome: "invalid",
    message: expect.stringMatching(/characters; the limit is 33554432/),
  });
  await worker.replied(request, { value: [many("9")] });
  expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { code: "RUN_TOO_LARGE" } });
});
