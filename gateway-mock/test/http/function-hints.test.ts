import { expect, test } from "vitest";
import { call, useGateway } from "../server/harness.ts";

const bench = useGateway();

test("what an app says may be wrong with a function is shown with it; what is no sentence is left out", async () => {
  const gateway = await bench.gateway();
  const hint = '`triggers[0]` names the event "shop/ordr", which the app\'s `schemas` do not have.';
  const config = (hints: unknown) => ({ holdfast: { hints } });
  const worker = await bench.worker(gateway, {
    functions: [
      { id: "order", event: "shop/ordr", config: config([hint, 7, null]) },
      { id: "mail", event: "shop/mail", config: config("none") },
      { id: "pack", event: "shop/pack" },
    ],
  });
  const { functions } = (await call(gateway, "/v1/functions")) as { functions: { id: string; hints: string[] }[] };
  expect(functions.map(({ id, hints }) => [id, hints])).toEqual([
    ["shop-mail", []],
    ["shop-order", [hint]],
    ["shop-pack", []],
  ]);
  await worker.close();
});
