import type { Log } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import type { GatewayOptions } from "../../src/config/gateway-options.ts";
import { type Gateway, type GatewayPorts, REAL_PORTS } from "../../src/server.ts";
import { call, did, metrics, op, send, start, useGateway } from "./harness.ts";
import type { RawWorker, WorkerFunction } from "./raw-worker.ts";

const bench = useGateway();
const done = { status: "DONE", value: "done" } as const;

const EVERY_MS = 23;

interface Line {
  readonly level: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Watched {
  readonly gateway: Gateway;
  /** What the log says of runs that wait. */
  lines(): readonly Line[];
  /** Resolves after so many further looks. */
  looks(count: number): Promise<void>;
}

/** A gateway that looks all the time, and whose time is moved on by hand. */
async function watched(options: GatewayOptions = {}): Promise<Watched> {
  const all: Line[] = [];
  let looks = 0;
  const timers: GatewayPorts["timers"] = {
    set: (ms, fire, more) => {
      // No other timer is as long, by no whole number.
      if (ms >= EVERY_MS * 0.75 && ms <= EVERY_MS * 1.25 && !Number.isInteger(ms)) looks += 1;
      return REAL_PORTS.timers.set(ms, fire, more);
    },
  };
  const ports: GatewayPorts = { ...REAL_PORTS, timers, lookEveryMs: EVERY_MS };
  const log: Log = (level, message, data) => all.push({ level, message, data: (data ?? {}) as Line["data"] });
  const gateway = await bench.gateway({ log, virtualTime: true, ...options }, ports);
  return {
    gateway,
    lines: () => all.filter(({ data, message }) => "functionId" in data && /^(No|A|\d.*) runs? of /.test(message)),
    looks: async (count) => {
      const until = looks + count;
      await waitFor(() => looks >= until, { what: "looks at what waits" });
    },
  };
}

const lineOf = (one: Watched, count: number): Promise<readonly Line[]> =>
  waitFor(() => (one.lines().length >= count ? one.lines() : undefined), {
    what: `${count} line(s) about runs that wait`,
    context: async () => JSON.stringify(one.lines()),
  });

/** Nothing is given to it any more. */
async function gone(worker: RawWorker, gateway: Gateway): Promise<void> {
  await worker.close();
  await waitFor(async () => (await metrics(gateway)).dispatcher.workers === 0, { what: "the worker to be gone" });
}

const AGO = "\\d+ (ms|s|min)( \\d+ s)?";
const SPAN = "\\d+(\\.\\d)? (ms|s|min)";

describe("WAITLOG-1: the log says why runs wait, once for each function and reason, and once that they go on", () => {
  test("a thousand runs for want of a worker are one line with their number", async () => {
    const one = await watched();
    const { gateway } = one;
    const worker = await bench.worker(gateway);
    await gone(worker, gateway);
    const events = Array.from({ length: 1_001 }, (_, n) => ({ name: "shop/order", data: { n } }));
    await call(gateway, "/e/test", { method: "POST", body: JSON.stringify(events) });
    await gateway.skipTime(60_000);
    const [line] = await lineOf(one, 1);
    expect(line).toMatchObject({
      level: "warn",
      message: expect.stringMatching(
        `^1000 or more runs of shop-order wait, the oldest for ${SPAN}: No connected worker has the function "shop-order"; the last one was here ${AGO} ago\\.$`,
      ),
      data: { reason: "NO_WORKER", functionId: "shop-order", runs: 1_000, runId: expect.any(String) },
    });
    await start(gateway, 2);
    await gateway.skipTime(60_000);
    await one.looks(12);
    expect(one.lines()).toHaveLength(1);
    const back = await bench.worker(gateway);
    back.answer(() => done);
    expect((await lineOf(one, 2))[1]).toMatchObject({
      level: "info",
      message: "No run of shop-order waits for a worker any more",
    });
  });

  test("where people look on it is said after a few seconds, elsewhere after half a minute", async () => {
    const [soon, calm] = [await watched({ logRuns: "info" }), await watched()];
    const worker = await bench.worker(soon.gateway);
    await gone(worker, soon.gateway);
    await start(soon.gateway);
    await soon.gateway.skipTime(6_000);
    expect((await lineOf(soon, 1))[0]?.message).toMatch(
      /^A run of shop-order waits for \d+\.\d s: No connected worker/,
    );
    await soon.gateway.skipTime(30_000);
    await lineOf(calm, 1);
  });

  test("a pause with its note, a place that others have for long, a queue without a worker", async () => {
    const one = await watched();
    const { gateway } = one;
    const functions: WorkerFunction[] = [
      { id: "order", event: "shop/order" },
      { id: "train", event: "shop/train", config: { holdfast: { queue: "gpu" } } },
      { id: "mail", event: "shop/mail", config: { concurrency: 1 } },
    ];
    const worker = await bench.worker(gateway, { functions });
    const pause = { method: "POST", body: JSON.stringify({ note: "the bank is down" }) };
    await call(gateway, "/v1/functions/shop-order/pause", pause);
    await start(gateway, 2);
    await start(gateway, 1, "shop/train");
    await start(gateway, 1, "shop/mail");
    const { request } = await worker.request();
    await start(gateway, 3, "shop/mail");
    await gateway.skipTime(60_000);
    await lineOf(one, 2);
    await one.looks(12);
    const texts = one.lines().map(({ message }) => message);
    expect(texts.sort()).toEqual([
      expect.stringMatching(
        `^2 runs of shop-order wait, the oldest for ${SPAN}: Its function is paused since \\S+Z: the bank`,
      ),
      expect.stringMatching(
        `^A run of shop-train waits for ${SPAN}: No connected worker of the app "shop" serves the queue "gpu"`,
      ),
    ]);
    // A full lane is as it should be, unless it stays full.
    await gateway.skipTime(600_000);
    expect((await lineOf(one, 3))[2]).toMatchObject({
      level: "info",
      message: expect.stringMatching(
        `^3 runs of shop-mail wait, the oldest for ${SPAN}: It waits for a place: 1 of 1 run is at work`,
      ),
    });
    worker.answer(() => done);
    await worker.replied(request, done);
    await call(gateway, "/v1/functions/shop-order/resume", { method: "POST" });
    // On the way there the runs of the one may wait for those of the other.
    const last = (name: string) => one.lines().findLast(({ data }) => data.functionId === name);
    await waitFor(
      () => ["shop-mail", "shop-order"].every((name) => last(name)?.message.startsWith(`No run of ${name} waits `)),
      { what: "the lines that they go on", context: async () => JSON.stringify(one.lines()) },
    );
    expect(last("shop-train")?.data.reason).toBe("NO_WORKER_IN_QUEUE");
  });

  test("a version of which no worker is connected; runs that begin now do not wait", async () => {
    const one = await watched({ versionPolicy: "strict" });
    const { gateway } = one;
    const old = await bench.worker(gateway, { appVersion: "1" });
    await start(gateway);
    const first = await old.request();
    const fresh = await bench.worker(gateway, { appVersion: "2" });
    fresh.answer(() => done);
    await old.replied(first.request, {
      value: [did("a"), op("WaitForEvent", "w", { name: "shop/w", opts: { timeout: "30d" } })],
    });
    await old.close();
    await waitFor(async () => (await metrics(gateway)).dispatcher.workers === 1, { what: "the old worker to be gone" });
    await send(gateway, "shop/w");
    await gateway.skipTime(60_000);
    expect((await lineOf(one, 1))[0]).toMatchObject({
      level: "warn",
      message: expect.stringMatching(
        `^A run of shop-order waits for ${SPAN}: It began with version "1" of the app "shop", of which no worker is connected\\.$`,
      ),
    });
  });
});

test("WAITLOG-2: sleeps, waits and the next attempt are not logged, however long they are", async () => {
  const one = await watched({ retryBaseMs: 3_600_000 });
  const { gateway } = one;
  const worker = await bench.worker(gateway);
  const ops = [
    op("Sleep", "nap", { name: "30d" }),
    op("WaitForEvent", "w", { name: "shop/w", opts: { timeout: "30d" } }),
  ];
  for (const value of [[ops[0]], [ops[1]]]) {
    await start(gateway);
    await worker.replied((await worker.request()).request, { value });
  }
  await start(gateway);
  await worker.replied((await worker.request()).request, {
    status: "ERROR",
    value: { name: "Error", message: "boom" },
  });
  await gateway.skipTime(900_000);
  await one.looks(12);
  expect(one.lines()).toEqual([]);
});
