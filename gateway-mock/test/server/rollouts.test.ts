import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { isRolledOut } from "../../src/dispatch/admission/rollout.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, runDetail, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const done = { status: "DONE", value: "done" } as const;

const put = (gateway: Gateway, version: string, percent: number, app = "shop"): Promise<unknown> =>
  call(gateway, `/v1/apps/${app}/rollout`, { method: "PUT", body: JSON.stringify({ version, percent }) });
const remove = (gateway: Gateway): Promise<unknown> => call(gateway, "/v1/apps/shop/rollout", { method: "DELETE" });

function answering(worker: RawWorker): Set<string> {
  const taken = new Set<string>();
  worker.answer(({ runId }) => {
    taken.add(runId);
    return done;
  });
  return taken;
}

const versionOf = async (gateway: Gateway, runId: string): Promise<string> => (await ended(gateway, runId)).appVersion;

test("runs begin with the version that their ids are given, at two gateways, until the rollout is removed", async () => {
  const [gateway, other] = [await bench.gateway(), await bench.gateway()];
  const old = answering(await bench.worker(gateway, { appVersion: "1" }));
  const fresh = answering(await bench.worker(other, { appVersion: "2" }));
  expect(await put(other, "2", 30)).toMatchObject({
    appId: "shop",
    changed: true,
    rollout: { version: "2", percent: 30 },
    versions: ["2", "1"],
  });
  expect(await call(gateway, "/v1/apps/shop/rollout")).toMatchObject({ rollout: { version: "2", percent: 30 } });
  expect(await call(gateway, "/v1/apps/other/rollout")).toEqual({ appId: "other", rollout: null });
  const runIds = [...(await start(gateway, 20)), ...(await start(other, 20))];
  const isNew = (runId: string): boolean => isRolledOut({ appId: "shop", percent: 30 }, runId);
  for (const runId of runIds) expect(await versionOf(gateway, runId), runId).toBe(isNew(runId) ? "2" : "1");
  expect([...old].sort()).toEqual(runIds.filter((runId) => !isNew(runId)).sort());
  expect([...fresh].sort()).toEqual(runIds.filter(isNew).sort());
  // Back to the version before, while the newer one stays connected.
  await put(gateway, "1", 100);
  for (const runId of [...(await start(gateway, 5)), ...(await start(other, 5))])
    expect(await versionOf(gateway, runId)).toBe("1");
  expect(await remove(other)).toMatchObject({ changed: true, rollout: null });
  for (const runId of [...(await start(gateway, 5)), ...(await start(other, 5))])
    expect(await versionOf(gateway, runId)).toBe("2");
});

test("a run that has begun stays with its version; without a worker of the version of a rollout another one begins it", async () => {
  const gateway = await bench.gateway();
  const old = await bench.worker(gateway, { appVersion: "1" });
  const [begun = ""] = await start(gateway);
  const { request } = await old.request();
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  await put(gateway, "2", 100);
  await old.replied(request, done);
  expect(await versionOf(gateway, begun)).toBe("1");
  await fresh.close();
  const taken = answering(old);
  const [runId = ""] = await start(gateway);
  expect(await versionOf(gateway, runId)).toBe("1");
  expect([...taken]).toEqual([runId]);
});

test("strict: a run waits for the version that a rollout gives it, and says so", async () => {
  const gateway = await bench.gateway({ versionPolicy: "strict" });
  const old = await bench.worker(gateway, { appVersion: "1" });
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  const taken = answering(old);
  await put(gateway, "2", 100);
  await fresh.close();
  const [runId = ""] = await start(gateway);
  const waiting = await waitFor(
    async () => {
      const { waiting: why } = await runDetail(gateway, runId);
      return why?.reason === "VERSION" && why.message.includes("rollout") ? why : undefined;
    },
    { what: "the reason", context: async () => JSON.stringify(await runDetail(gateway, runId)) },
  );
  expect(waiting.message).toBe(
    'Its app\'s rollout begins it with version "2" of the app "shop", of which no worker is connected.',
  );
  expect([...taken]).toEqual([]);
  await remove(gateway);
  expect(await versionOf(gateway, runId)).toBe("1");
});

test("what is wrong with a rollout is said", async () => {
  const gateway = await bench.gateway();
  await bench.worker(gateway, { appVersion: "1" });
  expect(await put(gateway, "3", 10)).toMatchObject({
    code: "OPTION_INVALID",
    error: 'The app shop has no version "3": it has 1.',
  });
  expect(await put(gateway, "1", 101)).toMatchObject({ code: "BODY_INVALID" });
  await bench.worker(gateway, { app: "nameless" });
  expect(await put(gateway, "3", 10, "nameless")).toMatchObject({
    code: "OPTION_INVALID",
    error: expect.stringContaining("its workers name none"),
  });
  const path = "/v1/apps/shoe/rollout";
  expect(await call(gateway, path, { method: "DELETE" })).toMatchObject({ code: "NOT_FOUND" });
});
