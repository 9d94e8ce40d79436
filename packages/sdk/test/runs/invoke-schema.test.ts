import { expect, test } from "vitest";
import * as z from "zod";
import { Holdfast } from "../../src/app/holdfast.ts";
import type { SchemaMap } from "../../src/events/event-types.ts";
import { eventType } from "../../src/events/event-types.ts";
import { referenceFunction } from "../../src/steps/references.ts";

const schema = z.object({ item: z.number() });
const placed = eventType("shop/placed", { schema });
const wrong = { data: { item: "7" } as never, id: "order-7" };

/** An app, and the bodies of the requests that it made. */
function shop<const Schemas extends SchemaMap>(schemas: Schemas) {
  const sent: unknown[] = [];
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    sent.push(JSON.parse(String(init.body)));
    return Response.json({ outcome: "started", functionId: "shop-order", runId: "A", eventId: "B", isNew: true });
  };
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: "http://gateway.test", fetch, schemas }, {});
  return { app, sent };
}

const refusal = {
  code: "EVENT_INVALID",
  message: expect.stringContaining('The data of event "shop/placed" does not match its schema: data.item: '),
};

test("data that the schema of a function's event refuses starts no run, so its id stays free", async () => {
  const { app, sent } = shop({});
  const order = app.createFunction({ id: "order", triggers: placed }, () => 1);
  await expect(app.invoke(order, wrong)).rejects.toMatchObject(refusal);
  await expect(app.invoke(order, { id: "order-7" } as never)).rejects.toMatchObject(refusal);
  expect(sent).toEqual([]);
  await app.invoke(order, { data: { item: 7 }, id: "order-7" });
  expect(sent).toMatchObject([{ data: { item: 7 }, id: "order-7" }]);
});

test("so does data that the schema of the client refuses", async () => {
  const { app, sent } = shop({ "shop/placed": schema });
  const order = app.createFunction({ id: "order", triggers: { event: "shop/placed" } }, () => 1);
  await expect(app.invoke(order, wrong)).rejects.toMatchObject(refusal);
  expect(sent).toEqual([]);
});

test("what the run itself would not check is not checked: several events, references, names", async () => {
  const { app, sent } = shop({});
  const several = app.createFunction({ id: "several", triggers: [placed, { event: "shop/other" }] }, () => 1);
  await app.invoke(several, wrong);
  await app.invoke(referenceFunction({ functionId: "order" }), wrong);
  await app.invoke("shop-order", wrong);
  expect(sent).toHaveLength(3);
});

test("data that is no object is refused as before", async () => {
  const { app } = shop({});
  const order = app.createFunction({ id: "order", triggers: placed }, () => 1);
  await expect(app.invoke(order, { data: [7] as never })).rejects.toMatchObject({
    code: "EVENT_INVALID",
    message: "The `data` of invoke() must be an object.",
  });
});
