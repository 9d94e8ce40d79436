/** Which trace a run belongs to, by what its event came with, as its worker and a receiver of spans see it. */
import { readRequestTrace } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { useGateway } from "./harness.ts";
import { startReceiver } from "./span-receiver.ts";

const bench = useGateway();
const traceId = "0af7651916cd43dd8448eb211c80319c";
const sender = `00-${traceId}-b7ad6b7169203331-01`;

async function send(url: string, event: object, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const answer = await fetch(`${url}/e/key`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ name: "shop/order", data: {}, ...event }),
  });
  expect(answer.status).toBe(200);
}

test("a run is in its sender's trace, said in the event or in a header; what is no trace context is ignored", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const traceOf = async (event: object, headers?: Readonly<Record<string, string>>) => {
    await send(gateway.url, event, headers);
    const { request } = await worker.request();
    return [readRequestTrace(request.userTraceCtx)?.handler, new TextDecoder().decode(request.userTraceCtx)];
  };
  const handler = { traceId, spanId: "b7ad6b7169203331", isSampled: true, state: "rojo=1" };
  const field = { traceparent: sender, tracestate: "rojo=1" };
  expect((await traceOf(field))[0]).toEqual(handler);
  expect((await traceOf({}, field))[0]).toEqual(handler);
  expect((await traceOf(field, { traceparent: sender.replace("b7", "c8") }))[0]).toEqual(handler);
  expect((await traceOf({ ...field, tracestate: "x".repeat(600) }))[0]).toEqual({ ...handler, state: "" });
  for (const traceparent of [7, {}, `${sender}"`, "00-0-0-00", sender.repeat(9_000), `${sender}\u0000`]) {
    expect((await traceOf({ traceparent }))[1]).toBe("{}");
  }
  expect((await traceOf({ data: { traceparent: sender }, meta: { a: 1, traceparent: sender } }))[1]).toBe("{}");
});

test("spans that a receiver does not take are counted and said; runs go on", async () => {
  const gateway = await bench.gateway({ otlpEndpoint: "http://127.0.0.1:9" });
  const worker = await bench.worker(gateway);
  await send(gateway.url, {});
  const { request } = await worker.request();
  await worker.replied(request, { status: "DONE", value: 1 });
  await waitFor(
    async () => /spans_total\{outcome="lost"\} [1-9]/.test(await (await fetch(`${gateway.url}/metrics`)).text()),
    {
      what: "spans to be counted as lost",
      timeoutMs: 100_000,
    },
  );
});

test("a gateway that records no traces of its own records those that senders record", async () => {
  const receiver = await startReceiver();
  try {
    const gateway = await bench.gateway({ otlpEndpoint: receiver.url, traceRatio: 0 });
    const worker = await bench.worker(gateway);
    for (const event of [{}, { traceparent: sender.replace(/1$/, "0") }, { traceparent: sender }]) {
      await send(gateway.url, event);
      const { request } = await worker.request();
      await worker.replied(request, { status: "DONE", value: 1 });
    }
    await waitFor(() => receiver.traceIds().length >= 3, { what: "event, run and pass" });
    expect(new Set(receiver.traceIds())).toEqual(new Set([traceId]));
  } finally {
    await receiver.stop();
  }
});
