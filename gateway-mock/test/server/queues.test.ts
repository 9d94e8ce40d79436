import type { Log } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { WorkerView } from "../../src/http/workers-api.ts";
import type { Gateway } from "../../src/server.ts";
import { call, did, ended, metrics, op, plan, runDetail, send, start, triggered, useGateway } from "./harness.ts";
import { helloFrame, RawWorker, type WorkerFunction } from "./raw-worker.ts";

const bench = useGateway();

const inQueue = (queue: string | null, more: object = {}): object => ({
  ...(queue === null ? {} : { holdfast: { queue } }),
  ...more,
});
/** One function in no queue that is named, one in the queue `gpu`. */
const functionsOf = (queue: string | null = "gpu", more: object = {}): WorkerFunction[] => [
  { id: "order", event: "shop/order" },
  { id: "train", event: "shop/train", config: inQueue(queue, more) },
];
const functions = functionsOf();
const done = { status: "DONE", value: "done" } as const;

/** Answers all that it is given, and says which functions that was. */
function answering(worker: RawWorker): string[] {
  const taken: string[] = [];
  worker.answer(({ functionSlug }) => {
    taken.push(functionSlug);
    return done;
  });
  return taken;
}

const workersOf = async (gateway: Gateway): Promise<readonly WorkerView[]> =>
  ((await call(gateway, "/v1/workers")) as { workers: WorkerView[] }).workers;

const reasonOf = async (gateway: Gateway, runId: string): Promise<string | undefined> =>
  (await runDetail(gateway, runId)).waiting?.reason;

describe("Queues", () => {
  test.each([
    ["at one gateway", 1],
    ["at two gateways, which have one queue each", 2],
  ])("START-7: runs go only to workers that serve the queue of their function, %s", async (_what, count) => {
    const gateways = [await bench.gateway(), ...(count === 2 ? [await bench.gateway()] : [])];
    const [first, last] = [gateways[0] as Gateway, gateways.at(-1) as Gateway];
    const plain = answering(await bench.worker(first, { functions, maxWorkerConcurrency: 2 }));
    const gpu = answering(await bench.worker(last, { functions, queues: ["gpu"] }));
    const runIds: string[] = [];
    for (const gateway of gateways) {
      runIds.push(...(await start(gateway, 10)), ...(await start(gateway, 10, "shop/train")));
    }
    for (const runId of runIds) await ended(first, runId);
    expect(new Set(plain)).toEqual(new Set(["shop-order"]));
    expect(new Set(gpu)).toEqual(new Set(["shop-train"]));
    expect([...plain, ...gpu]).toHaveLength(runIds.length);
  });

  test("a worker may serve several queues, or every one; a plain worker takes what it registers", async () => {
    const gateway = await bench.gateway();
    for (const options of [{ queues: ["default", "gpu"] }, { queues: ["*"] }, { extensions: [] }]) {
      const worker = await bench.worker(gateway, { functions, ...options });
      const taken = answering(worker);
      const runIds = [...(await start(gateway)), ...(await start(gateway, 1, "shop/train"))];
      for (const runId of runIds) await ended(gateway, runId);
      expect(taken.sort()).toEqual(["shop-order", "shop-train"]);
      await worker.close();
    }
  });

  test("steps of the plain protocol, retries, throttled runs and schedules stay in the queue of their function", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const limits = { throttle: { limit: 1, period: "1s" }, concurrency: 2 };
    const given: WorkerFunction[] = [
      ...functionsOf("gpu", limits),
      { id: "nightly", event: "", config: inQueue("gpu", { triggers: [{ cron: "0 0 * * *" }] }) },
    ];
    const plain = answering(await bench.worker(gateway, { functions: given, extensions: ["queues"] }));
    const gpu = await bench.worker(gateway, { functions: given, extensions: ["queues"], queues: ["gpu"] });
    let passes = 0;
    gpu.answer(({ stepId, functionSlug }) => {
      if (functionSlug === "shop-nightly") return done;
      if (stepId === "a") return { value: [did("a")] };
      passes += 1;
      if (passes === 1) return { status: "ERROR", value: { name: "Error", message: "once" } };
      return passes === 2 ? { value: [plan("a"), plan("b")] } : stepId === "b" ? { value: [did("b")] } : done;
    });
    const [runId = ""] = await start(gateway, 1, "shop/train");
    await ended(gateway, runId);
    const tick = { method: "POST", body: JSON.stringify({ ms: 86_400_000 }) };
    await call(gateway, "/v1/testing/skip-time", tick);
    await waitFor(
      async () => {
        const { runs } = (await call(gateway, "/v1/runs?functionId=shop-nightly&status=completed")) as {
          runs: object[];
        };
        return runs.length > 0;
      },
      { what: "the scheduled run to end" },
    );
    expect(plain).toEqual([]);
  });

  test("when the last worker of a queue has gone its runs wait and say why, others go on; they go on when one comes", async () => {
    const [gateway, other] = [await bench.gateway({ reconnectGraceMs: 200 }), await bench.gateway()];
    const plain = answering(await bench.worker(gateway, { functions }));
    const gpu = await bench.worker(gateway, { functions, queues: ["gpu"] });
    const [begun = ""] = await start(gateway, 1, "shop/train");
    await gpu.request();
    gpu.cut();
    await waitFor(async () => (await reasonOf(gateway, begun)) === "NO_WORKER_IN_QUEUE", {
      what: "the begun run to wait",
    });
    const [waiting = ""] = await start(gateway, 1, "shop/train");
    for (const one of [gateway, other]) {
      expect((await runDetail(one, waiting)).waiting).toMatchObject({
        reason: "NO_WORKER_IN_QUEUE",
        message: expect.stringMatching(/^No connected worker of the app "shop" serves the queue "gpu"\.$/),
      });
    }
    for (const runId of await start(gateway, 3)) await ended(gateway, runId);
    expect(new Set(plain)).toEqual(new Set(["shop-order"]));
    const back = answering(await bench.worker(other, { functions, queues: ["gpu"] }));
    for (const runId of [begun, waiting])
      expect(await ended(gateway, runId)).toMatchObject({ output: "done", waiting: null });
    expect(back).toHaveLength(2);
  });

  test("a run says why it waits: for its time, a limit, its version, room, or a gateway that shuts down", async () => {
    const gateway = await bench.gateway({ versionPolicy: "strict", reconnectGraceMs: 200 });
    const limited: WorkerFunction[] = [
      { id: "order", event: "shop/order" },
      { id: "train", event: "shop/train", config: { concurrency: 1 } },
    ];
    const worker = await bench.worker(gateway, { functions: limited, appVersion: "1", maxWorkerConcurrency: 3 });
    const [busy = "", next = ""] = await start(gateway, 2, "shop/train");
    const first = await worker.request();
    expect(await reasonOf(gateway, first.request.runId)).toBe("AT_WORK");
    const last = first.request.runId === busy ? next : busy;
    expect(await reasonOf(gateway, last)).toBe("LIMITS");
    const body = JSON.stringify({ name: "shop/order", data: {}, ts: Date.now() + 3_600_000 });
    const { ids } = (await call(gateway, "/e/test", { method: "POST", body })) as { ids: string[] };
    expect(await reasonOf(gateway, await triggered(gateway, ids[0] ?? ""))).toBe("NOT_DUE");
    const orders = await start(gateway, 3);
    const held = [await worker.request(), await worker.request()].map(({ request }) => request.runId);
    expect(await reasonOf(gateway, orders.find((runId) => !held.includes(runId)) ?? "")).toBe("NO_ROOM");
    worker.cut();
    const begun = first.request.runId;
    await waitFor(async () => (await reasonOf(gateway, begun)) === "NO_WORKER", { what: "no worker" });
    await bench.worker(gateway, { functions: limited, appVersion: "2" });
    await waitFor(async () => (await reasonOf(gateway, begun)) === "VERSION", { what: "its version to be missed" });
  });

  test("the workers of another environment are not listed, and what they serve counts for none of this one", async () => {
    const gateway = await bench.gateway();
    const headers = { "x-inngest-env": "preview" };
    const ours = await bench.worker(gateway, { functions });
    const theirs = await bench.worker(gateway, { functions, queues: ["gpu"], environment: "preview" });
    const listed = async (init?: RequestInit): Promise<string[]> => {
      const { workers } = (await call(gateway, "/v1/workers", init)) as { workers: WorkerView[] };
      return workers.map(({ instanceId }) => instanceId);
    };
    expect([await listed(), await listed({ headers })]).toEqual([[ours.instanceId], [theirs.instanceId]]);
    const [runId = ""] = await start(gateway, 1, "shop/train");
    expect(await reasonOf(gateway, runId)).toBe("NO_WORKER_IN_QUEUE");
  });

  test("a queue that another gateway serves is not reported", async () => {
    const lines: string[] = [];
    const log: Log = (_level, message) => lines.push(message);
    const [gateway, other] = [await bench.gateway({ log }), await bench.gateway()];
    await bench.worker(gateway, { functions });
    answering(await bench.worker(other, { functions, queues: ["gpu"] }));
    for (const runId of await start(gateway, 5, "shop/train")) await ended(gateway, runId);
    expect(lines.filter((line) => line.includes('"gpu"'))).toEqual([]);
  });
});

describe("Queues of versions", () => {
  test.each([
    ["of another version", "1", "2"],
    ["without versions", undefined, undefined],
  ])("a deployment %s that moves a function to another queue moves its waiting runs", async (_what, before, after) => {
    const gateway = await bench.gateway();
    const version = (appVersion: string | undefined): object => (appVersion === undefined ? {} : { appVersion });
    const old = await bench.worker(gateway, {
      functions: functionsOf(null),
      maxWorkerConcurrency: 1,
      ...version(before),
    });
    const [busy = "", ...waiting] = await start(gateway, 4, "shop/train");
    const { request } = await old.request();
    expect(request.runId).toBe(busy);
    const taken = answering(await bench.worker(gateway, { functions, queues: ["gpu"], ...version(after) }));
    for (const runId of waiting) await ended(gateway, runId);
    expect(taken).toEqual(waiting.map(() => "shop-train"));
    await old.replied(request, done);
    await ended(gateway, busy);
    const [more = ""] = await start(gateway, 1, "shop/train");
    await ended(gateway, more);
    expect(taken).toHaveLength(waiting.length + 1);
  });

  test("strict: a run that has begun stays with its version, in the queue that this version has", async () => {
    const gateway = await bench.gateway({ versionPolicy: "strict" });
    const old = await bench.worker(gateway, { functions: functionsOf(null), appVersion: "1" });
    const [runId = ""] = await start(gateway, 1, "shop/train");
    const first = await old.request();
    const fresh = answering(await bench.worker(gateway, { functions, queues: ["gpu"], appVersion: "2" }));
    await old.replied(first.request, { value: [op("WaitForEvent", "w", { name: "shop/w", opts: { timeout: "1h" } })] });
    await send(gateway, "shop/w");
    const second = await old.request();
    expect(second.request.runId).toBe(runId);
    await old.replied(second.request, done);
    expect(await ended(gateway, runId)).toMatchObject({ appVersion: "1" });
    for (const next of await start(gateway, 2, "shop/train")) await ended(gateway, next);
    expect(fresh).toHaveLength(2);
  });

  test("a run begins with the newest version that serves its queue, not with the newest that is connected", async () => {
    const [gateway, other] = [
      await bench.gateway({ versionPolicy: "strict" }),
      await bench.gateway({ versionPolicy: "strict" }),
    ];
    const old = answering(await bench.worker(other, { functions, queues: ["gpu"], appVersion: "1" }));
    await bench.worker(gateway, { functions, appVersion: "2" });
    for (const at of [gateway, other]) {
      const [runId = ""] = await start(at, 1, "shop/train");
      expect(await ended(at, runId)).toMatchObject({ appVersion: "1" });
    }
    expect(old).toHaveLength(2);
  });
});

describe("Partitions", () => {
  const partitions = [{ functions: ["shop-train"], capacity: 1 }];
  const options = { functions, queues: ["*"], partitions, maxWorkerConcurrency: 2 };

  test("functions of a partition have a capacity of their own: neither they nor the others take the other's", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    const trains = await start(gateway, 3, "shop/train");
    const orders = await start(gateway, 4);
    const taken = [await worker.request(), await worker.request(), await worker.request()];
    const slugs = taken.map(({ request }) => request.functionSlug).sort();
    expect(slugs).toEqual(["shop-order", "shop-order", "shop-train"]);
    expect(await workersOf(gateway)).toMatchObject([
      {
        queues: ["*"],
        capacity: 2,
        inFlight: 2,
        partitions: [{ functions: ["shop-train"], capacity: 1, inFlight: 1 }],
      },
    ]);
    expect((await metrics(gateway)).dispatcher.inFlight).toBe(3);
    expect(await reasonOf(gateway, trains[2] ?? "")).toBe("NO_ROOM");
    // The partition goes on while all other capacity is taken.
    const train = taken.find(({ request }) => request.functionSlug === "shop-train");
    const held = taken.filter((one) => one !== train);
    for (let next = train; next; ) {
      await worker.replied(next.request, done);
      const left = await Promise.all(trains.map((runId) => runDetail(gateway, runId)));
      next = left.every(({ endedMs }) => endedMs !== null) ? undefined : await worker.request();
      if (next) expect(next.request.functionSlug).toBe("shop-train");
    }
    answering(worker);
    for (const { request } of held) await worker.replied(request, done);
    for (const runId of orders) await ended(gateway, runId);
  });

  test("while a worker's main thread is paused, the functions of its partitions get work and no others", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    worker.send({ kind: "WORKER_MAIN_PAUSE" });
    worker.send({ kind: "WORKER_HEARTBEAT" });
    await worker.frame("GATEWAY_HEARTBEAT");
    const taken = answering(worker);
    const orders = await start(gateway, 2);
    for (const runId of await start(gateway, 3, "shop/train")) await ended(gateway, runId);
    expect(taken).toEqual(["shop-train", "shop-train", "shop-train"]);
    expect((await runDetail(gateway, orders[0] ?? "")).waiting).toMatchObject({
      reason: "NO_ROOM",
      message:
        'The main threads of all workers of the app "shop" that may run it are blocked: they take no new work until these respond again.',
    });
    worker.send({ kind: "WORKER_MAIN_READY" });
    for (const runId of orders) await ended(gateway, runId);
  });

  test("a worker that did not agree on partitions has one capacity for all of its functions", async () => {
    const gateway = await bench.gateway({ extensions: ["checkpoint", "nack"] });
    const worker = await bench.worker(gateway, { ...options, maxWorkerConcurrency: 1 });
    const runIds = [...(await start(gateway, 2, "shop/train")), ...(await start(gateway, 2))];
    const { request } = await worker.request();
    expect(await workersOf(gateway)).toMatchObject([{ capacity: 1, inFlight: 1, queues: ["*"], partitions: [] }]);
    answering(worker);
    await worker.replied(request, done);
    for (const runId of runIds) await ended(gateway, runId);
  });

  test.each<[object, RegExp]>([
    [{ queues: [] }, /`queues` must be an array with at least one/],
    [{ queues: ["a b"] }, /`queues` has an invalid entry at index 0/],
    [{ queues: ["*", "gpu"] }, /must be alone/],
    [{ queues: Array.from({ length: 101 }, (_, n) => `q${n}`) }, /has 101 entries; the limit is 100/],
    [{ partitions: [{ functions: [], capacity: 1 }] }, /names no functions/],
    [{ partitions: [{ functions: ["shop-train"], capacity: 0 }] }, /must be an integer from 1 to 100000, not 0/],
    [{ partitions: [{ functions: ["shop-other"], capacity: 1 }] }, /"shop-other", a function that it did not register/],
    [{ partitions: [...partitions, ...partitions] }, /"shop-train", which is named twice/],
    [{ partitions: Array.from({ length: 17 }, () => partitions[0]) }, /at most 16/],
    [{ functions: functionsOf("a b") }, /`queue` must be a name of 1 to 64/],
  ])("what a worker offers is checked: %j", async (wrong, message) => {
    const gateway = await bench.gateway();
    const { worker, connectionId, token } = await RawWorker.open({ url: gateway.url });
    await worker.frame("GATEWAY_HELLO");
    worker.send(helloFrame({ url: gateway.url, functions, ...wrong }, connectionId, worker.instanceId, token));
    expect((await worker.frame("SYNC_FAILED")).message).toMatch(message);
    expect(await worker.gone()).toMatchObject({ code: 1008 });
  });
});
