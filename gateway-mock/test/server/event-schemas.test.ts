import { expect, test } from "vitest";
import { call, useGateway } from "./harness.ts";

const bench = useGateway();
const NOTE = { type: "object", properties: { note: { type: "string" } } };
const COUNT = { type: "object", properties: { count: { type: "integer" } } };

interface Said {
  readonly name: string;
  readonly functionIds: readonly string[];
  readonly schema: object;
}

test("schemas of events come with functions, and are found by event and by function", async () => {
  const gateway = await bench.gateway();
  const having = (eventSchemas: object) => ({ holdfast: { eventSchemas } });
  await bench.worker(gateway, {
    functions: [
      { id: "order", event: "shop/paid", config: having({ "shop/paid": NOTE }) },
      { id: "mail", event: "shop/paid", config: having({ "shop/paid": NOTE, "shop/sent": COUNT }) },
      { id: "count", event: "shop/paid", config: having({ "shop/paid": COUNT }) },
      { id: "plain", event: "shop/paid" },
    ],
  });
  const read = async (query = ""): Promise<readonly Said[]> =>
    ((await call(gateway, `/v1/event-schemas${query}`)) as { schemas: Said[] }).schemas;
  const byCount = { name: "shop/paid", functionIds: ["shop-count"], schema: COUNT };
  const byNote = { name: "shop/paid", functionIds: ["shop-mail", "shop-order"], schema: NOTE };
  const sent = { name: "shop/sent", functionIds: ["shop-mail"], schema: COUNT };
  expect(await read()).toEqual([byCount, byNote, sent]);
  expect(await read("?name=shop%2Fsent")).toEqual([sent]);
  expect(await read("?function=shop-count&name=shop%2Fpaid")).toEqual([byCount]);
  expect(await read("?function=count")).toEqual([byCount]);
  expect(await read("?name=none")).toEqual([]);
  expect(await call(gateway, "/v1/event-schemas?function=shop-cuont")).toMatchObject({
    code: "NOT_FOUND",
    error: expect.stringContaining('Did you mean "shop-count"?'),
  });
});
