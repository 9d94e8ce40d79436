import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { send, useGateway } from "./harness.ts";
import type { WorkerFunction } from "./raw-worker.ts";

const bench = useGateway();

const OF_EACH = 12;
const LIMITED: readonly WorkerFunction[] = [
  { id: "keyed", event: "shop/keyed", config: { concurrency: [{ limit: 1, key: "event.data.key" }] } },
  { id: "limited", event: "shop/limited", config: { concurrency: [{ limit: 2 }] } },
  { id: "paced", event: "shop/paced", config: { throttle: { limit: 1000, period: "1s" } } },
];
const FREE: WorkerFunction = { id: "free", event: "shop/free" };
const done = { status: "DONE", value: null } as const;

test.each([
  ["with limits and without", [...LIMITED, FREE]],
  ["with limits", LIMITED],
])("functions %s take turns on a worker that has room for one run", async (_, functions) => {
  const gateway = await bench.gateway();
  const absent = await bench.worker(gateway, { functions });
  await absent.close();
  // The last ones wait the shortest.
  for (const { event } of functions)
    await Promise.all(Array.from({ length: OF_EACH }, (_, key) => send(gateway, event, { key: key % 3 })));
  const began: { readonly functionId: string; readonly requestId: string }[] = [];
  const worker = await bench.worker(gateway, { functions, maxWorkerConcurrency: 1 });
  worker.answer(({ functionSlug, requestId }) => {
    began.push({ functionId: functionSlug, requestId });
    return done;
  });
  await waitFor(() => began.length === OF_EACH * functions.length, { what: "all runs" });
  const turns = began.slice(0, 3 * functions.length).map(({ functionId }) => functionId);
  for (const { id } of functions) expect(turns, id).toContain(`shop-${id}`);
  // Each job was claimed once: none was claimed that there was no room for.
  expect(began.filter(({ requestId }) => !requestId.endsWith(".1"))).toEqual([]);
});
