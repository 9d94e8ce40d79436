import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { WorkerView } from "../../src/http/workers-api.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, runDetail, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const done = { status: "DONE", value: "done" } as const;

const post = (gateway: Gateway, path: string): Promise<unknown> => call(gateway, path, { method: "POST" });

function answering(worker: RawWorker): string[] {
  const taken: string[] = [];
  worker.answer(({ runId }) => {
    taken.push(runId);
    return done;
  });
  return taken;
}

const workersOf = async (gateway: Gateway): Promise<readonly WorkerView[]> =>
  ((await call(gateway, "/v1/workers")) as { workers: WorkerView[] }).workers;

test("a worker of another gateway that is drained finishes what it has and gets no more, until it is resumed", async () => {
  const [gateway, other] = [await bench.gateway(), await bench.gateway()];
  const drained = await bench.worker(other, { instanceId: "web-1" });
  const [runId = ""] = await start(other);
  const { request } = await drained.request();
  expect(await post(gateway, "/v1/workers/web-1/drain")).toMatchObject({
    instanceId: "web-1",
    drained: true,
    changed: true,
    workers: [{ instanceId: "web-1", status: "DRAINING", drained: true }],
  });
  const [waiting = ""] = await start(other);
  expect((await runDetail(gateway, waiting)).waiting?.reason).toBe("NO_ROOM");
  const taken = answering(await bench.worker(gateway, { instanceId: "web-2" }));
  const more = [waiting, ...(await start(other, 5)), ...(await start(gateway, 5))];
  for (const one of more) await ended(gateway, one);
  expect(taken.sort()).toEqual(more.sort());
  await drained.replied(request, done);
  await ended(gateway, runId);
  expect((await workersOf(gateway)).map(({ instanceId, drained: is }) => [instanceId, is])).toEqual(
    expect.arrayContaining([
      ["web-1", true],
      ["web-2", false],
    ]),
  );
  const [first] = await workersOf(other);
  const back = answering(drained);
  expect(await post(gateway, `/v1/workers/${first?.connectionId}/resume`)).toMatchObject({ changed: first?.drained });
  await post(gateway, "/v1/workers/web-1/resume");
  await waitFor(
    async () => {
      for (const one of await start(other, 3)) await ended(other, one);
      return back.length > 0;
    },
    { what: "the worker to get work again" },
  );
});

test("a drain outlives the worker's connection, and gateways", async () => {
  const first = await bench.gateway();
  const before = await bench.worker(first, { instanceId: "web-1" });
  await post(first, "/v1/workers/web-1/drain");
  before.cut();
  await first.close();
  const gateway = await bench.gateway();
  const taken = answering(await bench.worker(gateway, { instanceId: "web-1" }));
  const [runId = ""] = await start(gateway);
  await waitFor(async () => (await workersOf(gateway)).some(({ status }) => status === "DRAINING"), {
    what: "the worker to be listed",
  });
  expect((await runDetail(gateway, runId)).waiting).toMatchObject({
    reason: "NO_ROOM",
    message: 'All workers of the app "shop" that may run it are drained.',
  });
  expect(taken).toEqual([]);
  await post(gateway, "/v1/workers/web-1/resume");
  await ended(gateway, runId);
});

test("a worker that is not connected cannot be drained", async () => {
  const gateway = await bench.gateway();
  expect(await post(gateway, "/v1/workers/web-1/drain")).toMatchObject({
    code: "NOT_FOUND",
    error: 'No worker with the id "web-1" is connected.',
  });
});

test("the log does not say of a worker that was killed that it was draining before", async () => {
  const lines: string[] = [];
  const gateway = await bench.gateway({ log: (_, message) => void lines.push(message) });
  const worker = await bench.worker(gateway, { instanceId: "web-1" });
  worker.cut();
  await waitFor(async () => lines.find((line) => line.endsWith("(web-1): disconnected")), { what: "the line" });
  expect(lines.filter((line) => line.includes("(web-1)"))).toEqual([
    "shop (web-1): connecting",
    "shop (web-1): ready",
    "shop (web-1): disconnected",
  ]);
});
