import { waitFor } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { type Gateway, REAL_PORTS } from "../../src/server.ts";
import { call, metrics, start, useGateway } from "./harness.ts";

const bench = useGateway();

const poll = (
  gateway: Gateway,
  runId: string,
  wait = "60s",
): Promise<{ status: string; code?: string; output: unknown }> =>
  call(gateway, `/v1/runs/${runId}?wait=${wait}`) as Promise<{ status: string; output: unknown }>;

const waitingAt = (gateway: Gateway, count: number): Promise<unknown> =>
  waitFor(async () => (await metrics(gateway)).dispatcher.waiting === count || undefined, {
    what: `${count} waiting callers`,
  });

describe("A caller that waits for a run", () => {
  test("is answered when the run ends, at whichever gateway it waits and the run ends", async () => {
    const [one, two, three] = [await bench.gateway(), await bench.gateway(), await bench.gateway()];
    const worker = await bench.worker(one);
    const [runId = ""] = await start(one);
    const { request } = await worker.request();
    const polls = [one, two, three].map((gateway) => poll(gateway, runId));
    for (const gateway of [one, two, three]) await waitingAt(gateway, 1);
    await worker.replied(request, { status: "DONE", value: "done" });
    expect(await Promise.all(polls)).toMatchObject(Array(3).fill({ status: "COMPLETED", output: "done" }));
    for (const gateway of [one, two, three]) await waitingAt(gateway, 0);
    expect(await poll(two, runId)).toMatchObject({ status: "COMPLETED" });
  });

  test("hears of an end at another gateway from that gateway, not from looking at the store", async () => {
    // Of two looks at the store the second one never comes.
    let looks = 0;
    const heard: string[] = [];
    const [one, two] = [
      await bench.gateway(),
      await bench.gateway(
        {},
        {
          ...REAL_PORTS,
          storeFor: (store) => ({
            ...store,
            onWake: (listener) =>
              store.onWake((wake) => {
                if (wake.type === "RUNS_ENDED") heard.push(...wake.runIds);
                listener(wake);
              }),
            endsOf: (runIds) => {
              looks += 1;
              return looks > 2 ? new Promise(() => {}) : store.endsOf(runIds);
            },
          }),
        },
      ),
    ];
    const worker = await bench.worker(one);
    const [runId = ""] = await start(one);
    const { request } = await worker.request();
    const answer = poll(two, runId);
    await waitFor(async () => looks > 2 || undefined, { what: "the last look" });
    await worker.replied(request, { status: "DONE", value: 1 });
    expect(await answer).toMatchObject({ status: "COMPLETED" });
    expect(heard).toEqual([runId]);
  });

  test("is answered when notifications are lost, from looking at the store", async () => {
    const [one, two] = [
      await bench.gateway(),
      await bench.gateway(
        {},
        { ...REAL_PORTS, storeFor: (store) => ({ ...store, onWake: () => () => {}, notify: () => {} }) },
      ),
    ];
    const worker = await bench.worker(one);
    const [runId = ""] = await start(one);
    const { request } = await worker.request();
    const answer = poll(two, runId);
    await waitingAt(two, 1);
    await worker.replied(request, { status: "DONE", value: 1 });
    expect(await answer).toMatchObject({ status: "COMPLETED" });
  });

  test("is answered with the run as it is when the time is over", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway);
    const [runId = ""] = await start(gateway);
    await worker.request();
    expect(await poll(gateway, runId, "50ms")).toMatchObject({ status: "RUNNING" });
    expect(await poll(gateway, runId, "0")).toMatchObject({ status: "RUNNING" });
    for (const wrong of ["2m", "x", "-1s"])
      expect(await poll(gateway, runId, wrong)).toMatchObject({ code: "BODY_INVALID" });
    expect(await poll(gateway, "01JZ0000000000000000000000")).toMatchObject({ code: "NOT_FOUND" });
  });

  test("takes no place once it has gone away", async () => {
    const gateway = await bench.gateway();
    const [runId = ""] = await start(gateway, 0).then(async () => {
      await bench.worker(gateway);
      return start(gateway);
    });
    const end = new AbortController();
    const gone = fetch(`${gateway.url}/v1/runs/${runId}?wait=60s`, { signal: end.signal }).catch(() => "gone");
    await waitingAt(gateway, 1);
    end.abort();
    expect(await gone).toBe("gone");
    await waitingAt(gateway, 0);
  });

  test("is sent elsewhere when the gateway shuts down", async () => {
    const gateway = await bench.gateway();
    await bench.worker(gateway);
    const [runId = ""] = await start(gateway);
    const polls = Array.from({ length: 20 }, () => poll(gateway, runId));
    await waitingAt(gateway, 20);
    await gateway.close();
    expect(await Promise.all(polls)).toMatchObject(Array(20).fill({ code: "GATEWAY_CLOSING", status: 503 }));
  });
});
