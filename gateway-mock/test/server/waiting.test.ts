import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { RunWaiting } from "../../src/dispatch/admission/waiting-facts.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, failed, op, runDetail, send, start, triggered, useGateway } from "./harness.ts";
import type { WorkerFunction } from "./raw-worker.ts";

const bench = useGateway();
const done = { status: "DONE", value: "done" } as const;

const waitingOf = async (gateway: Gateway, runId: string): Promise<RunWaiting | null> =>
  (await runDetail(gateway, runId)).waiting;

/** The reason once it is this one; a run passes through others. */
const waitingFor = (gateway: Gateway, runId: string, reason: RunWaiting["reason"]): Promise<RunWaiting> =>
  waitFor(
    async () => {
      const waiting = await waitingOf(gateway, runId);
      return waiting?.reason === reason ? waiting : undefined;
    },
    { what: `run ${runId} to wait: ${reason}`, context: async () => JSON.stringify(await waitingOf(gateway, runId)) },
  );

const SPAN = "\\d+ (ms|s)";
const TIME = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z";

describe("A run that has not ended says why, at its gateway and at another one", () => {
  test("a place: whose runs have it, since when, and for which value of the key", async () => {
    const [gateway, other] = [await bench.gateway(), await bench.gateway()];
    const functions: WorkerFunction[] = [
      { id: "order", event: "shop/order", config: { concurrency: [{ limit: 1, key: "event.data.customer" }] } },
    ];
    const worker = await bench.worker(gateway, { functions });
    const busy = await triggered(gateway, await send(gateway, "shop/order", { customer: 7 }));
    const { request } = await worker.request();
    const second = await triggered(gateway, await send(gateway, "shop/order", { customer: 7 }));
    for (const one of [gateway, other]) {
      expect(await waitingOf(one, second)).toMatchObject({
        reason: "LIMITS",
        message: expect.stringMatching(
          `^It waits for a place: 1 of 1 run of \`event.data.customer = 7\` is at work, for ${SPAN}: ${busy}\\.$`,
        ),
        runId: busy,
      });
    }
    expect(await waitingOf(gateway, busy)).toMatchObject({
      reason: "AT_WORK",
      message: expect.stringMatching(`^It is at work on worker "${worker.instanceId}" for ${SPAN}\\.$`),
      instanceId: worker.instanceId,
    });
    expect(await waitingOf(other, busy)).toMatchObject({
      reason: "AT_WORK",
      message: expect.stringMatching(
        `^It is at work on worker "${worker.instanceId}" of another gateway for ${SPAN}\\.$`,
      ),
    });
    worker.answer(() => done);
    await worker.replied(request, done);
    expect(await ended(gateway, second)).toMatchObject({ waiting: null });
  });

  test("the next attempt of a step: which one it is, when, and after which error", async () => {
    const gateway = await bench.gateway({ retryBaseMs: 600_000 });
    const functions = [{ id: "order", event: "shop/order", retries: 3 }];
    const worker = await bench.worker(gateway, { functions });
    const [runId = ""] = await start(gateway);
    await worker.replied((await worker.request()).request, { value: [failed("charge")] });
    expect(await waitingFor(gateway, runId, "RETRY")).toMatchObject({
      message: expect.stringMatching(/^Attempt 2 of 4 of `charge` in \d+ (s|min)( \d+ s)?, after charge failed\.$/),
      step: "charge",
      untilMs: expect.any(Number),
    });
  });

  test("the next attempt of its handler, on the plain protocol a step's too", async () => {
    const gateway = await bench.gateway({ retryBaseMs: 600_000 });
    const worker = await bench.worker(gateway, { extensions: [] });
    const [first = "", second = ""] = await start(gateway, 2);
    const requests = [(await worker.request()).request, (await worker.request()).request];
    const of = (runId: string) => requests.find((one) => one.runId === runId)!;
    await worker.replied(of(first), { status: "ERROR", value: { name: "Error", message: "boom" } });
    await worker.replied(of(second), { value: [failed("charge"), op("StepPlanned", "b")] });
    expect((await waitingFor(gateway, first, "RETRY")).message).toMatch(
      /^Attempt 2 of 5 of its handler in .*, after boom\.$/,
    );
    const { request } = await worker.request("b");
    expect(await waitingFor(gateway, second, "AT_WORK")).toMatchObject({ step: "b" });
    await worker.replied(request, { value: [op("StepRun", "b", { data: 1 })] });
    expect((await waitingFor(gateway, second, "RETRY")).message).toContain("after charge failed");
  });

  test("sleeps, events, signals, runs that it invoked, each with its end", async () => {
    const gateway = await bench.gateway();
    const functions = [
      { id: "order", event: "shop/order" },
      { id: "pack", event: "shop/pack" },
    ];
    const worker = await bench.worker(gateway, { functions });
    const cases: [object, RunWaiting["reason"], string][] = [
      [op("Sleep", "nap", { name: "1h" }), "SLEEPING", `^It sleeps in the step \`nap\` until ${TIME}, in 1 h\\.$`],
      [
        op("WaitForEvent", "paid", { name: "shop/paid", opts: { timeout: "1h", if: "async.data.id == 7" } }),
        "EVENT",
        `^It waits in the step \`paid\` for the event "shop/paid" with \`async.data.id == 7\` until ${TIME}\\.$`,
      ],
      [
        op("WaitForSignal", "sig", { opts: { signal: "go", timeout: "1h" } }),
        "SIGNAL",
        `^It waits in the step \`sig\` for the signal "go" until ${TIME}\\.$`,
      ],
      [
        op("InvokeFunction", "child", { opts: { function_id: "shop-pack", payload: { data: {} } } }),
        "CHILD_RUN",
        `^It waits in the step \`child\` for the run [0-9A-Z]{26} that it invoked until ${TIME}\\.$`,
      ],
    ];
    for (const [ops, reason, message] of cases) {
      const [runId = ""] = await start(gateway);
      const { request } = await worker.request();
      await worker.replied(request, { value: [ops] });
      const waiting = await waitingFor(gateway, runId, reason);
      expect(waiting.message).toMatch(new RegExp(message));
      expect(waiting.untilMs).toBeGreaterThan(Date.now());
    }
  });

  test("a throttle: until when; other runs before it", async () => {
    const gateway = await bench.gateway();
    const functions = [{ id: "order", event: "shop/order", config: { throttle: { limit: 1, period: "1h" } } }];
    const worker = await bench.worker(gateway, { functions });
    worker.answer(() => done);
    const [first = "", second = ""] = [...(await start(gateway)), ...(await start(gateway))];
    await ended(gateway, first);
    expect((await waitingFor(gateway, second, "THROTTLED")).message).toMatch(
      /^Its function is throttled: it may start in (\d+ min|1 h)\.$/,
    );
  });

  test("a throttle: runs that one request started are in line one after the other, each with its own time", async () => {
    const gateway = await bench.gateway();
    const functions = [{ id: "order", event: "shop/order", config: { throttle: { limit: 2, period: "16m" } } }];
    const worker = await bench.worker(gateway, { functions });
    worker.answer(() => done);
    const runIds = await start(gateway, 7);
    const waiting = await waitFor(
      async () => {
        const all = await Promise.all(runIds.map((runId) => waitingOf(gateway, runId)));
        const throttled = all.filter((one) => one?.reason === "THROTTLED");
        return throttled.length === 5 ? throttled.map((one) => one as RunWaiting) : undefined;
      },
      { what: "two runs to start" },
    );
    const ahead = waiting.map(({ message }) => Number(/(\d) runs? comes? before it/.exec(message)?.[1] ?? 0));
    expect(ahead.sort()).toEqual([0, 1, 2, 3, 4]);
    const ends = waiting.map(({ untilMs }) => untilMs ?? 0).sort((a, b) => a - b);
    const steps = ends.slice(1).map((ms, index) => Math.round((ms - (ends[index] ?? 0)) / 60_000));
    expect(steps).toEqual([8, 8, 8, 8]);
  });

  test("a worker that is gone, and none that has the function", async () => {
    const gateway = await bench.gateway({ reconnectGraceMs: 60_000 });
    const worker = await bench.worker(gateway);
    const [runId = ""] = await start(gateway);
    await worker.request();
    await waitingFor(gateway, runId, "AT_WORK");
    worker.cut();
    expect((await waitingFor(gateway, runId, "WORKER_DISCONNECTED")).message).toMatch(
      new RegExp(`^Its worker "${worker.instanceId}" lost its connection ${SPAN} ago; if it does not come back`),
    );
    const [next = ""] = await start(gateway);
    expect((await waitingFor(gateway, next, "NO_WORKER")).message).toMatch(
      new RegExp(`^No connected worker has the function "shop-order"; the last one was here ${SPAN} ago\\.$`),
    );
  });

  test("a list says it of each run that has not ended, where that is asked for", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { maxWorkerConcurrency: 1 });
    const [over = ""] = await start(gateway);
    await worker.replied((await worker.request()).request, done);
    await ended(gateway, over);
    const [busy = "", next = ""] = await start(gateway, 2);
    await worker.request();
    const listed = async (query: string) =>
      (await call(gateway, `/v1/runs${query}`)) as { runs: { id: string; waiting?: RunWaiting | null }[] };
    const { runs } = await listed("?waiting=1");
    const reasons = new Map(runs.map(({ id, waiting }) => [id, waiting?.reason ?? null]));
    expect([over, busy, next].map((id) => reasons.get(id)).sort()).toEqual(["AT_WORK", "NO_ROOM", null].sort());
    expect((await listed("")).runs.every((run) => !("waiting" in run))).toBe(true);
  });
});

describe("An event that a function collects with others", () => {
  const functions: WorkerFunction[] = [
    { id: "sync", event: "shop/changed", config: { debounce: { period: "1m", timeout: "1h" } } },
    { id: "ingest", event: "shop/changed", config: { batchEvents: { maxSize: 3, timeout: "1m" } } },
    { id: "other", event: "shop/other", config: { debounce: { period: "1m" } } },
  ];
  const collectedOf = async (gateway: Gateway, eventId: string): Promise<readonly object[]> =>
    ((await call(gateway, `/v1/events/${eventId}`)) as { collected: object[] }).collected;

  test("says which run it will start, when, and what else may happen first, at each gateway", async () => {
    const [gateway, other] = [await bench.gateway(), await bench.gateway()];
    await bench.worker(gateway, { functions });
    const first = await send(gateway, "shop/changed", {});
    const second = await send(gateway, "shop/changed", {});
    const soon = "in (5\\d s|1 min)";
    for (const one of [gateway, other]) {
      expect(await collectedOf(one, second)).toEqual([
        {
          functionId: "shop-ingest",
          reason: "BATCHED",
          message: expect.stringMatching(
            `^It is collected with 1 other event of at most 3: a run of "shop-ingest" starts ${soon}, or when they are as many \\(\`batchEvents\`\\)\\.$`,
          ),
          untilMs: expect.any(Number),
          untilAt: expect.stringMatching(`^${TIME}$`),
        },
        {
          functionId: "shop-sync",
          reason: "DEBOUNCED",
          message: expect.stringMatching(
            `^It starts a run of "shop-sync" ${soon}, in place of 1 event before it, unless another event comes first \\(\`debounce\`\\)\\.$`,
          ),
          untilMs: expect.any(Number),
          untilAt: expect.any(String),
        },
      ]);
    }
    // What a later one has taken the place of waits for nothing but the batch.
    expect(await collectedOf(gateway, first)).toMatchObject([{ reason: "BATCHED" }]);
    // With the third one the batch is full, and is a run.
    const third = await send(gateway, "shop/changed", {});
    await waitFor(async () => (await triggered(gateway, third)) || undefined, { what: "the batch to be a run" });
    expect(await collectedOf(gateway, third)).toMatchObject([{ reason: "DEBOUNCED" }]);
    expect(await collectedOf(gateway, second)).toEqual([]);
  });
});
