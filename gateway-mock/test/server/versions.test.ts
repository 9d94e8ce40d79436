import { expect, test } from "vitest";
import type { Payload } from "./agent.ts";
import { did, ended, op, runDetail, send, start, useGateway } from "./harness.ts";

const bench = useGateway();
const toldVersion = (payload: Payload): unknown => (payload.ctx.holdfast as { appVersion?: string }).appVersion;
const wait = (id: string): object => op("WaitForEvent", id, { name: `shop/${id}`, opts: { timeout: "1h" } });

test("prefer: a run stays with the version that started it while that is connected, here or elsewhere", async () => {
  const [one, two] = [await bench.gateway(), await bench.gateway()];
  const old = await bench.agent(one, { appVersion: "1" });
  const [runId = ""] = await start(one);
  const first = await old.request();
  expect(toldVersion(first.payload)).toBe("1");
  const here = await bench.agent(one, { appVersion: "2" });
  const there = await bench.agent(two, { appVersion: "2" });
  await old.replied(first.request, { value: [wait("a")] });
  // At the gateway that has only the new version, which would take it at once if it might.
  await send(two, "shop/a");
  const second = await old.request();
  expect(second.request.runId).toBe(runId);
  await old.replied(second.request, { value: [wait("b")] });
  await old.close();
  await send(two, "shop/b");
  const [agent, third] = await Promise.any([here, there].map(async (each) => [each, await each.request()] as const));
  expect(toldVersion(third.payload)).toBe("1");
  await agent.replied(third.request, { status: "DONE", value: "moved" });
  expect(await ended(one, runId)).toMatchObject({ output: "moved", appVersion: "1" });
});

test("strict: it waits for a worker of its version", async () => {
  const gateway = await bench.gateway({ versionPolicy: "strict" });
  const old = await bench.agent(gateway, { appVersion: "1" });
  const [runId = ""] = await start(gateway);
  const first = await old.request();
  const fresh = await bench.agent(gateway, { appVersion: "2" });
  await old.replied(first.request, { value: [did("a"), wait("w")] });
  await old.close();
  await send(gateway, "shop/w");
  // What begins now is for the new version; the old run is not.
  const [other = ""] = await start(gateway);
  const next = await fresh.request();
  expect(next.request.runId).toBe(other);
  await fresh.replied(next.request, { status: "DONE", value: 2 });
  expect((await ended(gateway, other)).appVersion).toBe("2");
  expect((await runDetail(gateway, runId)).endedMs).toBeNull();
  const again = await bench.agent(gateway, { appVersion: "1" });
  const last = await again.request();
  expect(last.request.runId).toBe(runId);
  await again.replied(last.request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
});

test("any: whoever has room", async () => {
  const gateway = await bench.gateway({ versionPolicy: "any" });
  const old = await bench.agent(gateway, { appVersion: "1", maxWorkerConcurrency: 1 });
  const [runId = ""] = await start(gateway);
  const first = await old.request();
  await old.replied(first.request, { value: [wait("w")] });
  const [busy = ""] = await start(gateway);
  const blocking = await old.request();
  expect(blocking.request.runId).toBe(busy);
  const fresh = await bench.agent(gateway, { appVersion: "2" });
  await send(gateway, "shop/w");
  const second = await fresh.request();
  expect(second.request.runId).toBe(runId);
  await fresh.replied(second.request, { status: "DONE", value: 2 });
  await old.replied(blocking.request, { status: "DONE", value: 1 });
  await Promise.all([ended(gateway, runId), ended(gateway, busy)]);
});

test("the version that starts a run is recorded before it does, also when it is not the newest", async () => {
  const gateway = await bench.gateway();
  const old = await bench.agent(gateway, { appVersion: "1" });
  await old.close();
  const fresh = await bench.agent(gateway, { appVersion: "2" });
  await fresh.close();
  const [runId = ""] = await start(gateway);
  const again = await bench.agent(gateway, { appVersion: "1" });
  const { request, payload } = await again.request();
  expect(toldVersion(payload)).toBe("1");
  expect((await runDetail(gateway, runId)).appVersion).toBe("1");
  await again.replied(request, { status: "DONE", value: 1 });
  const run = await ended(gateway, runId);
  expect(run.log.filter(({ kind }) => kind === "PINNED")).toHaveLength(1);
});
