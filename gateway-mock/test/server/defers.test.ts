import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { AgentOptions, Payload } from "./agent.ts";
import { call, did, ended, op, runDetail, start, triggered, useGateway } from "./harness.ts";

const bench = useGateway();
const condition = "event.data._inngest.fn_slug == 'shop-later'";
const functions: AgentOptions["functions"] = [
  { id: "order", event: "shop/order" },
  { id: "later", event: "", config: { triggers: [{ event: "inngest/deferred.schedule", expression: condition }] } },
];
const defer = (id: string, what: string): object =>
  op("DeferAdd", id, { opts: { fn_slug: "shop-later", input: { what } }, userland: { id } });

test("deferred in a checkpoint and in a reply: each begins a run when the run ends; the run's view shows them", async () => {
  const gateway = await bench.gateway();
  const agent = await bench.agent(gateway, { functions });
  const [runId = ""] = await start(gateway);
  const { request } = await agent.request();
  agent.checkpoint(request, 1, [did("one"), defer("a", "first")]);
  expect(await agent.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  expect((await runDetail(gateway, runId)).defers).toEqual([
    { id: "a", name: "a", functionId: "shop-later", status: "scheduled", reason: null, eventId: null },
  ]);
  await agent.replied(request, { value: [did("two"), defer("b", "second"), op("DeferAdd", "c")] });
  const second = await agent.request();
  expect((second.payload as Payload & { readonly defers: unknown }).defers).toEqual({
    a: { abortable: true },
    b: { abortable: true },
    c: { abortable: false },
  });
  await agent.replied(second.request, { status: "DONE", value: 1 });
  const { defers } = await ended(gateway, runId);
  expect(defers.map(({ id, status, reason }) => [id, status, reason])).toEqual([
    ["a", "scheduled", null],
    ["b", "scheduled", null],
    ["c", "rejected", "It names no function."],
  ]);
  const seen = new Map<unknown, unknown>();
  for (const _ of [1, 2]) {
    const later = await agent.request();
    const { what, _inngest } = later.payload.event.data;
    seen.set(what, _inngest);
    await agent.replied(later.request, { status: "DONE", value: what });
  }
  const note = { parent_run_id: runId, parent_fn_slug: "shop-order" };
  expect(Object.fromEntries(seen)).toMatchObject({ first: note, second: note });
  const childId = await triggered(gateway, defers[0]?.eventId ?? "");
  expect(await ended(gateway, childId)).toMatchObject({ functionId: "shop-later", output: "first" });
});

test("a checkpoint over HTTP may defer; the end at another gateway begins it", async () => {
  const one = await bench.gateway();
  const two = await bench.gateway();
  const agent = await bench.agent(one, { functions, extensions: [] });
  const [runId = ""] = await start(one);
  const { payload } = await agent.request();
  const body = JSON.stringify({ run_id: runId, qi_id: payload.ctx.qi_id, steps: [defer("a", "first"), did("one")] });
  const answer = await fetch(new URL(`/v1/checkpoint/${runId}/async`, two.url), { method: "POST", body });
  expect(answer.status).toBe(200);
  await call(two, `/v1/runs/${runId}/cancel`, { method: "POST" });
  const later = await agent.request();
  expect(later.payload.event.data).toMatchObject({ what: "first", _inngest: { parent_run_id: runId } });
  await agent.replied(later.request, { status: "DONE", value: 1 });
  await waitFor(async () => (await ended(one, later.request.runId)).status === "COMPLETED", { what: "the run to end" });
});
