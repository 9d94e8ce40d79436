import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, start, useGateway } from "./harness.ts";

const bench = useGateway();

interface History {
  readonly gatewayId: string;
  readonly slots: readonly { atMs: number; ended: number; failed: number; p99Ms: number | null }[];
}

const historyOf = async (gateway: Gateway, id = "shop-order"): Promise<History> =>
  (await call(gateway, `/v1/functions/${id}/history`)) as History;

const sumOf = ({ slots }: History, name: "ended" | "failed"): number =>
  slots.reduce((sum, slot) => sum + slot[name], 0);

test("the history of a function has its runs, those that failed among them, and how long they took", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  expect(sumOf(await historyOf(gateway), "ended")).toBe(0);
  let answers = 0;
  worker.answer(() => {
    answers += 1;
    return answers > 3
      ? { status: "ERROR", value: { name: "Error", message: "No." }, noRetry: true }
      : { status: "DONE", value: "done" };
  });
  for (const runId of await start(gateway, 3)) await ended(gateway, runId);
  for (const runId of await start(gateway, 1)) await ended(gateway, runId);
  const history = await historyOf(gateway);
  expect([sumOf(history, "ended"), sumOf(history, "failed"), history.slots.length]).toEqual([4, 1, 30]);
  expect(history.gatewayId).toBe(gateway.id);
  expect(history.slots.filter(({ p99Ms }) => p99Ms !== null).length).toBeGreaterThan(0);
  expect(await call(gateway, "/v1/functions/none/history")).toMatchObject({ code: "NOT_FOUND" });
});
