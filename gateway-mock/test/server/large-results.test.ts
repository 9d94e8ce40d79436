import { encodeSdkResponse, FLUSH_PATH, PROTOBUF_CONTENT_TYPE } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { did, ended, start, useGateway } from "./harness.ts";
import { replyOf } from "./raw-worker.ts";

const bench = useGateway();
const MiB = 1024 * 1024;
const large = (id: string, bytes: number): object => did(id, "x".repeat(bytes));
const plain = { extensions: [] };

test("a plain worker's step with a result over the limit has failed, and nothing else on its connection", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [first = ""] = await start(gateway);
  const one = await worker.request();
  const [second = ""] = await start(gateway);
  const other = await worker.request();
  // More than a message of the base protocol may have.
  await worker.replied(one.request, { value: [large("a", 9 * MiB)] });
  await worker.replied(other.request, { status: "DONE", value: 1 });
  expect(await ended(gateway, second)).toMatchObject({ status: "COMPLETED", leasesLost: 0 });
  const next = await worker.request();
  expect(next.payload.steps).toMatchObject({
    a: { type: "error", error: { name: expect.any(String), message: expect.stringContaining("the limit is 4194304") } },
  });
  await worker.replied(next.request, { status: "ERROR", noRetry: true, value: { name: "Error", message: "a failed" } });
  expect(await ended(gateway, first)).toMatchObject({ status: "FAILED", leasesLost: 0 });
});

test("a checkpoint by HTTP with a result over the limit is refused", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request, payload: asked } = await worker.request();
  const steps = [large("a", 5 * MiB)];
  const body = JSON.stringify({ request_id: request.requestId, qi_id: asked.ctx.qi_id, steps });
  const answer = await fetch(new URL(`/v1/checkpoint/${runId}/async`, gateway.url), { method: "POST", body });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: expect.stringContaining("the limit is 4194304") });
  await worker.replied(request, { value: steps });
  const { payload } = await worker.request();
  expect(payload.steps).toMatchObject({ a: { type: "error" } });
});

test("a flushed reply over the limit fails its step as well", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, plain);
  await start(gateway);
  const { request } = await worker.request();
  const answer = await fetch(new URL(FLUSH_PATH, gateway.url), {
    method: "POST",
    headers: { "Content-Type": PROTOBUF_CONTENT_TYPE },
    body: encodeSdkResponse(replyOf(request, { value: [large("a", 9 * MiB)] })) as Uint8Array<ArrayBuffer>,
  });
  expect(answer.status).toBe(200);
  const { payload } = await worker.request();
  expect(payload.steps).toMatchObject({ a: { type: "error" } });
});

test("a message that cannot be read ends its connection, and fails the only run that it can be about", async () => {
  const lines: string[] = [];
  const gateway = await bench.gateway({ log: (level, message) => lines.push(`${level}: ${message}`) });
  const worker = await bench.worker(gateway, plain);
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.reply(request, { value: [large("a", 33 * MiB)] });
  expect(await worker.gone()).toMatchObject({ code: 1009 });
  expect(await ended(gateway, runId)).toMatchObject({
    status: "FAILED",
    error: { code: "STEP_RESULT_TOO_LARGE", message: expect.stringContaining("4194304") },
    leasesLost: 0,
  });
  expect(lines).toContainEqual(expect.stringMatching(/^warn: .*sent a message that is too large to be read\./));
});

test("where it can be about several runs, all of them are handed out again", async () => {
  const gateway = await bench.gateway({ reconnectGraceMs: 50 });
  const worker = await bench.worker(gateway, plain);
  const [first = "", second = ""] = await start(gateway, 2);
  const one = await worker.request();
  await worker.request();
  worker.reply(one.request, { value: [large("a", 33 * MiB)] });
  expect(await worker.gone()).toMatchObject({ code: 1009 });
  const next = await bench.worker(gateway, plain);
  for (const _ of [first, second]) await next.replied((await next.request()).request, { status: "DONE", value: 1 });
  for (const runId of [first, second]) expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED" });
});
