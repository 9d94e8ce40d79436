import { expect, test } from "vitest";
import { call, ended, send, start, triggered, useGateway } from "./harness.ts";

const bench = useGateway();

test("a function missing from a newer deployment is no longer triggered, and its existing run continues", async () => {
  const gateway = await bench.gateway();
  const old = await bench.worker(gateway, {
    appVersion: "1",
    functions: [
      { id: "order", event: "shop/order" },
      { id: "gone", event: "shop/gone" },
    ],
  });
  const running = await triggered(gateway, await send(gateway, "shop/gone"));
  const { request } = await old.request();
  const fresh = await bench.worker(gateway, { appVersion: "2", functions: [{ id: "order", event: "shop/order" }] });
  expect(await triggered(gateway, await send(gateway, "shop/gone"))).toBe("");
  // The old deployment connects again while the roll-out goes on.
  const again = await bench.worker(gateway, {
    appVersion: "1",
    functions: [
      { id: "order", event: "shop/order" },
      { id: "gone", event: "shop/gone" },
    ],
  });
  const other = await bench.gateway();
  expect(await triggered(other, await send(other, "shop/gone"))).toBe("");
  await old.replied(request, { status: "DONE", value: "kept" });
  expect((await ended(gateway, running)).output).toBe("kept");
  await Promise.all([old.close(), again.close()]);
  const [runId = ""] = await start(gateway);
  const next = await fresh.request();
  await fresh.replied(next.request, { status: "DONE", value: 2 });
  expect((await ended(gateway, runId)).output).toBe(2);
  expect(((await call(gateway, "/v1/runs")) as { runs: unknown[] }).runs).toHaveLength(2);
});
