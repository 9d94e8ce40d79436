import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { call, did, ended, op, runDetail, start, triggered, useGateway } from "./harness.ts";
import type { Payload, WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();
const condition = "event.data._inngest.fn_slug == 'shop-later'";
const functions: WorkerOptions["functions"] = [
  { id: "order", event: "shop/order" },
  { id: "later", event: "", config: { triggers: [{ event: "inngest/deferred.schedule", expression: condition }] } },
];
const defer = (id: string, what: string): object =>
  op("DeferAdd", id, { opts: { fn_slug: "shop-later", input: { what } }, userland: { id } });

test("runs deferred in a checkpoint and in a reply start when the run ends, and the run's view lists them", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [did("one"), defer("a", "first")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  expect((await runDetail(gateway, runId)).defers).toEqual([
    { id: "a", name: "a", functionId: "shop-later", status: "scheduled", reason: null, eventId: null },
  ]);
  await worker.replied(request, { value: [did("two"), defer("b", "second"), op("DeferAdd", "c")] });
  const second = await worker.request();
  expect((second.payload as Payload & { readonly defers: unknown }).defers).toEqual({
    a: { abortable: true },
    b: { abortable: true },
    c: { abortable: false },
  });
  await worker.replied(second.request, { status: "DONE", value: 1 });
  const { defers } = await ended(gateway, runId);
  expect(defers.map(({ id, status, reason }) => [id, status, reason])).toEqual([
    ["a", "scheduled", null],
    ["b", "scheduled", null],
    ["c", "rejected", "It does not name a function."],
  ]);
  const seen = new Map<unknown, unknown>();
  for (const _ of [1, 2]) {
    const later = await worker.request();
    const { what, _inngest } = later.payload.event.data;
    seen.set(what, _inngest);
    await worker.replied(later.request, { status: "DONE", value: what });
  }
  const note = { parent_run_id: runId, parent_fn_slug: "shop-order" };
  expect(Object.fromEntries(seen)).toMatchObject({ first: note, second: note });
  const childId = await triggered(gateway, defers[0]?.eventId ?? "");
  expect(await ended(gateway, childId)).toMatchObject({ functionId: "shop-later", output: "first" });
});

test("a run deferred by a checkpoint over HTTP starts when the run ends at another gateway", async () => {
  const one = await bench.gateway();
  const two = await bench.gateway();
  const worker = await bench.worker(one, { functions, extensions: [] });
  const [runId = ""] = await start(one);
  const { payload } = await worker.request();
  const body = JSON.stringify({ run_id: runId, qi_id: payload.ctx.qi_id, steps: [defer("a", "first"), did("one")] });
  const answer = await fetch(new URL(`/v1/checkpoint/${runId}/async`, two.url), { method: "POST", body });
  expect(answer.status).toBe(200);
  await call(two, `/v1/runs/${runId}/cancel`, { method: "POST" });
  const later = await worker.request();
  expect(later.payload.event.data).toMatchObject({ what: "first", _inngest: { parent_run_id: runId } });
  await worker.replied(later.request, { status: "DONE", value: 1 });
  await waitFor(async () => (await ended(one, later.request.runId)).status === "COMPLETED", { what: "the run to end" });
});
