import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType, type SchemaMap, staticSchema } from "../../src/events/event-types.ts";
import type { TriggerInput } from "../../src/events/triggers.ts";
import { EVENT_SCHEMA_LIMITS, EventSchemas } from "../../src/functions/event-schemas.ts";
import { appManifest } from "../../src/functions/registry.ts";

interface Sent {
  readonly id: string;
  readonly holdfast?: { readonly queue?: string; readonly eventSchemas?: Readonly<Record<string, unknown>> };
}

function sent(triggers: readonly TriggerInput[], schemas?: SchemaMap, said?: EventSchemas): Sent {
  const client = new Holdfast({ id: "shop", isDev: true, ...(schemas && { schemas }) }, {});
  const fn = client.createFunction({ id: "order", triggers: triggers as never }, () => 1);
  return JSON.parse(new TextDecoder().decode(appManifest(client, [fn], said).functions))[0];
}

const NOTE = { type: "object", properties: { note: { type: "string" } }, required: ["note"] };

test.each([
  ["zod", z.object({ note: z.string() })],
  ["arktype", type({ note: "string" })],
  ["valibot, wrapped", toStandardJsonSchema(v.object({ note: v.string() }))],
])("what %s says of an event's data is sent with the function", (_, schema) => {
  const { holdfast } = sent([eventType("shop/paid", { schema })]);
  expect(holdfast).toEqual({ eventSchemas: { "shop/paid": NOTE } });
});

test("what is sent is what the data has to be like before it is converted", () => {
  const schema = z.object({ count: z.string().transform(Number), size: z.enum(["S", "L"]).default("S") });
  expect(sent([{ event: "shop/paid", schema }]).holdfast?.eventSchemas?.["shop/paid"]).toMatchObject({
    properties: { count: { type: "string" }, size: { enum: ["S", "L"], default: "S" } },
    required: ["count"],
  });
});

test("of a field that JSON does not have zod says nothing, and the others are there", () => {
  const schema = z.object({ at: z.date(), note: z.string() });
  const said = sent([{ event: "shop/paid", schema }]).holdfast?.eventSchemas?.["shop/paid"];
  expect(said).toMatchObject({ properties: { at: {}, note: { type: "string" } } });
});

test("the client's schemas are sent with the functions that their events start, an own one before them", () => {
  const note = z.object({ note: z.string() });
  const schemas = { "shop/a": note, "shop/b": note, "other/c": note };
  const own = z.object({ own: z.boolean() });
  const names = (...triggers: TriggerInput[]): string[] =>
    Object.keys(sent(triggers, schemas).holdfast?.eventSchemas ?? {});
  expect(names({ event: "shop/a" })).toEqual(["shop/a"]);
  expect(names({ event: "shop/*" }, { cron: "0 9 * * *" })).toEqual(["shop/a", "shop/b"]);
  expect(names({ event: "none" })).toEqual([]);
  expect(sent([{ event: "shop/a", schema: own }], schemas).holdfast?.eventSchemas?.["shop/a"]).toMatchObject({
    properties: { own: { type: "boolean" } },
  });
});

test("an app whose schemas say nothing in JSON sends what it sent before", () => {
  const before = sent([{ event: "shop/paid" }]);
  const throwing = { "~standard": { version: 1, vendor: "odd", validate: (value: unknown) => ({ value }) } } as const;
  const odd = {
    "~standard": {
      ...throwing["~standard"],
      jsonSchema: {
        input() {
          throw new Error("no");
        },
      },
    },
  };
  for (const schema of [v.object({ note: v.string() }), staticSchema<{ note: string }>(), throwing, odd, z.any()]) {
    expect(sent([{ event: "shop/paid", schema: schema as never }])).toEqual(before);
  }
});

test("schemas that are too long or too deep are left out, and so is what would make a connection's too many", () => {
  const long = z.object({ note: z.string().describe("x".repeat(EVENT_SCHEMA_LIMITS.schema)) });
  let deep: z.ZodType = z.object({ note: z.string() });
  for (let level = 0; level < 14; level += 1) deep = z.object({ deep });
  const small = z.object({ note: z.string() });
  const triggers = [
    { event: "long", schema: long },
    { event: "deep", schema: deep },
    { event: "small", schema: small },
  ];
  expect(Object.keys(sent(triggers).holdfast?.eventSchemas ?? {})).toEqual(["small"]);
  const big = z.object({ note: z.string().describe("x".repeat(EVENT_SCHEMA_LIMITS.schema - 200)) });
  const all = new EventSchemas();
  const five = [0, 1, 2, 3, 4].map((n) => ({ event: `big-${n}`, schema: big }));
  const counts = Array.from(
    { length: 14 },
    () => Object.keys(sent(five, undefined, all).holdfast?.eventSchemas ?? {}).length,
  );
  const lengths = counts.reduce((sum, count) => sum + count, 0) * EVENT_SCHEMA_LIMITS.schema;
  expect(counts[0]).toBe(3);
  expect(counts.at(-1)).toBe(0);
  expect(lengths).toBeLessThanOrEqual(EVENT_SCHEMA_LIMITS.connection * 1.1);
});
