import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { gatewayOptions } from "../../src/config/modes.ts";
import { call, did, ended, runDetail, SIGNING_KEY, start, useGateway } from "./harness.ts";

const bench = useGateway();
const post = (body: object) => ({ method: "POST", body: JSON.stringify(body) });

test("faults are refused without the option, by start, and on an address that others reach", async () => {
  const plain = await bench.gateway();
  const refused = { code: "FAULTS_REFUSED", status: 403 };
  expect(await call(plain, "/v1/faults", post({ what: "drop" }))).toMatchObject(refused);
  for (const path of ["/v1/faults", "/v1/faults/history"]) expect(await call(plain, path)).toMatchObject(refused);
  expect(gatewayOptions("start", productionSettings())).not.toHaveProperty("faults");
  const open = await bench.gateway({ faults: true, host: "0.0.0.0", signingKey: SIGNING_KEY, eventKey: "key" });
  const headers = { Authorization: `Bearer ${SIGNING_KEY}` };
  const url = `http://127.0.0.1:${open.port}/v1/faults`;
  const answer = await fetch(url, { ...post({ what: "drop" }), headers });
  expect(answer.status).toBe(403);
  expect(await answer.json()).toMatchObject({ ...refused, error: expect.stringContaining("0.0.0.0") });
});

/** As `start` reads them. */
function productionSettings(): Parameters<typeof gatewayOptions>[1] {
  const texts = { databaseUrl: "postgres://h/d", signingKey: SIGNING_KEY, eventKey: "key", faults: false };
  return Object.entries(texts).map(([name, value]) => ({
    name,
    row: {} as never,
    value,
    source: { type: "flag", name } as const,
  }));
}

test("a gateway without faults passes them by, and the engine's store is the real one again once they are cleared", async () => {
  const gateway = await bench.gateway({ faults: true });
  const worker = await bench.worker(gateway);
  worker.answer(() => ({ status: "DONE", value: 1 }));
  await call(gateway, "/v1/faults", post({ what: "refuse-database", where: { operation: "intake" } }));
  expect(await call(gateway, "/e/key", post({ name: "test/event", data: {} }))).toMatchObject({ code: "STORE_FAILED" });
  // What people read still answers.
  expect(await call(gateway, "/v1/runs")).toMatchObject({ runs: [] });
  expect(await call(gateway, "/v1/faults", { method: "DELETE" })).toEqual({ cleared: 1 });
  const [runId = ""] = await start(gateway);
  expect((await ended(gateway, runId)).status).toBe("COMPLETED");
});

test("frames are followed as they come by, decoded and filtered, with what a fault changed", async () => {
  const gateway = await bench.gateway({ faults: true });
  const worker = await bench.worker(gateway, { instanceId: "web-1" });
  const all = await follow(`${gateway.url}/v1/workers/web-1/frames`);
  const some = await follow(`${gateway.url}/v1/workers/web-1/frames?changed=true&direction=to-worker`);
  await call(gateway, "/v1/faults", post({ what: "delay", delayMs: 5, where: { kind: "GATEWAY_CHECKPOINT_ACK" } }));
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  worker.checkpoint(request, 1, [did("charge")]);
  expect(await worker.frame("GATEWAY_CHECKPOINT_ACK")).toMatchObject({ outcome: "stored" });
  await worker.replied(request, { status: "DONE", value: 1 });
  await waitFor(() => all.frames().some(({ kind }) => kind === "WORKER_REPLY_ACK"), { what: "the last frame" });
  const kinds = all.frames().map(({ kind, direction }) => `${kind} ${direction}`);
  for (const kind of [
    "GATEWAY_EXECUTOR_REQUEST to-worker",
    "WORKER_REQUEST_ACK to-gateway",
    "WORKER_CHECKPOINT to-gateway",
    "GATEWAY_CHECKPOINT_ACK to-worker",
    "WORKER_REPLY to-gateway",
  ]) {
    expect(kinds).toContain(kind);
  }
  const checkpoint = all.frames().find(({ kind }) => kind === "WORKER_CHECKPOINT");
  expect(checkpoint).toMatchObject({ runId, steps: ["charge"], fault: null });
  expect(some.frames()).toHaveLength(1);
  expect(some.frames()[0]).toMatchObject({
    kind: "GATEWAY_CHECKPOINT_ACK",
    steps: ["charge"],
    fault: { what: "delay" },
  });
  expect((await runDetail(gateway, runId)).status).toBe("COMPLETED");
  worker.cut();
  await waitFor(() => all.text().includes("event: end"), { what: "the end of the stream" });
  expect(await call(gateway, "/v1/workers/web-9/frames")).toMatchObject({ code: "NOT_FOUND" });
});

interface Followed {
  frames(): { kind: string; direction: string; steps: string[]; fault: unknown; runId: string | null }[];
  text(): string;
}

async function follow(url: string): Promise<Followed> {
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  let text = "";
  const decoder = new TextDecoder();
  void (async () => {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
  })();
  await waitFor(() => text.includes("event: frames"), { what: "the stream to begin" });
  const frames = (): ReturnType<Followed["frames"]> =>
    text
      .split("\n\n")
      .filter((message) => message.startsWith("event: frames"))
      .flatMap((message) => JSON.parse(message.slice(message.indexOf("data: ") + 6)).frames);
  return { frames, text: () => text };
}
