/** Limits that mean "none": they hold back no other function. */
import { expect, test } from "vitest";
import { ended, send, start, triggered, useGateway } from "./harness.ts";

const bench = useGateway();
const MOST = Number.MAX_SAFE_INTEGER;

test.each<[string, object]>([
  ["concurrency", { concurrency: [{ limit: MOST }] }],
  ["throttle", { throttle: { limit: MOST, period: "1h", burst: MOST } }],
  ["a burst", { throttle: { limit: 1, period: "7d", burst: 3_000_000_000 } }],
  ["a burst that goes back further than calendars do", { throttle: { limit: 1, period: "7d", burst: 1_000_000 } }],
])(
  "a limit larger than the database counts (%s) is none, and functions with others start as well",
  async (_, config) => {
    const gateway = await bench.gateway();
    const functions = [
      { id: "order", event: "shop/order", config },
      { id: "other", event: "shop/other", config: { concurrency: [{ limit: 5 }] } },
    ];
    const worker = await bench.worker(gateway, { functions });
    const runs = [...(await start(gateway, 2)), await triggered(gateway, await send(gateway, "shop/other"))].flat();
    worker.answer(() => ({ status: "DONE", value: "over" }));
    for (const runId of runs) expect(await ended(gateway, runId)).toMatchObject({ status: "COMPLETED" });
  },
);
