import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, useGateway } from "./harness.ts";

/** Keys of flow control that events lack: a field that was misspelt, most likely. */

const bench = useGateway();
const TYPO = "event.data.oderId";

interface Line {
  readonly level: string;
  readonly message: string;
}

async function two(config: object): Promise<{ readonly gateways: readonly Gateway[]; readonly lines: Line[] }> {
  const lines: Line[] = [];
  const log = (level: string, message: string): void => void lines.push({ level, message });
  const gateways = [await bench.gateway({ log, logRuns: "info" }), await bench.gateway({ log, logRuns: "info" })];
  const [first, second] = gateways as [Gateway, Gateway];
  const worker = await bench.worker(first, { functions: [{ id: "order", event: "shop/order", config }] });
  worker.answer(() => ({ status: "DONE", value: "ok" }));
  await waitFor(async () => JSON.stringify(await call(second, "/dev")).includes("shop-order"), {
    what: "the other gateway",
  });
  return { gateways, lines };
}

const send = (gateway: Gateway, data: object): Promise<unknown> =>
  call(gateway, "/e/test", { method: "POST", body: JSON.stringify({ name: "shop/order", data }) });

/** Three events, each to another gateway than the one before. Returns how many runs there are of them. */
async function runsOf(gateways: readonly Gateway[], datas: readonly object[]): Promise<number> {
  for (const [index, data] of datas.entries()) await send(gateways[index % 2] as Gateway, data);
  const { runs } = await bench.store.listRuns({ limit: 100 });
  for (const { id } of runs) await ended(gateways[0] as Gateway, id);
  return runs.length;
}

const DATAS = [{ orderId: 1 }, { orderId: 2 }, { orderId: 3 }];

test.each([
  [{ idempotency: TYPO }, "idempotency", 3],
  [{ singleton: { mode: "skip", key: TYPO } }, "singleton.key", 3],
  [{ rateLimit: { limit: 1, period: "1h", key: TYPO } }, "rateLimit.key", 1],
])("of %j, whose key no event has, two gateways say so", async (config, option, runs) => {
  const { gateways, lines } = await two(config);
  expect(await runsOf(gateways, DATAS)).toBe(runs);
  const warnings = lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  const said = `Function "shop-order": \`${option}\` (\`${TYPO}\`) has no value in an event "shop/order"`;
  // Each gateway says it once.
  expect(warnings).toEqual([expect.stringContaining(said), expect.stringContaining(said)]);
});

test("the line about an event that was skipped names the function, the option and the key", async () => {
  const { gateways, lines } = await two({ idempotency: "event.data.orderId" });
  expect(await runsOf(gateways, [{ orderId: 7 }, { orderId: 7 }])).toBe(1);
  const said = "Event shop/order starts nothing: `idempotency` of shop-order forbids it (event.data.orderId = 7)";
  await waitFor(() => lines.some(({ message }) => message === said), { what: "the line" });
});
