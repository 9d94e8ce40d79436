/** The route that says what the data of events is like: the schemas that apps have sent with their functions. */
import { plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { findFunction } from "../dispatch/index.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

const EventSchema = Type.Object(
  {
    name: Type.String({ description: "The name of the event." }),
    functionIds: Type.Array(Type.String(), {
      description: "The functions that it starts and that have this schema for it.",
    }),
    schema: Type.Object({}, { additionalProperties: true, description: "JSON Schema (2020-12) of its `data`." }),
  },
  { title: "EventSchema" },
);

const LIST = describe({
  operationId: "listEventSchemas",
  summary: "Lists the schemas that apps have for the data of the events that start their functions.",
  description:
    "From the schemas in their code, as far as these can be said as JSON Schema. Two functions that say different " +
    "things of an event are two entries. The gateway does not check data: the apps do.",
  tag: "functions",
  query: Type.Object({
    name: Type.Optional(Type.String({ description: "Only schemas of this event." })),
    function: Type.Optional(
      Type.String({
        description:
          "Only schemas of events that start this function: `<app>-<function>`, its uuid, or its own id where only one app has it.",
      }),
    ),
  }),
  answers: { 200: Type.Object({ schemas: Type.Array(EventSchema) }) },
  failures: { 404: "There is no such function; the message names similar ones." },
});

export function eventSchemasApi(app: Hono, { dispatcher }: Pick<HttpParts, "dispatcher">): void {
  app.get("/v1/event-schemas", LIST, async (c) => {
    await dispatcher.functions.renewIfChanged();
    const { name: wantedName, function: wanted } = c.req.query();
    const environmentHere: string = c.get("environment");
    const wantedFn = wanted === undefined ? null : await findFunction(dispatcher.functions, environmentHere, wanted);
    const found = new Map<string, { name: string; functionIds: string[]; schema: object }>();
    for (const { id, environment, active, settings } of dispatcher.functions.all()) {
      const functionId = plainName(id);
      if (environment !== environmentHere || !active) continue;
      if (wantedFn !== null && wantedFn.id !== id) continue;
      for (const [name, schema] of Object.entries(settings.eventSchemas)) {
        if (wantedName !== undefined && wantedName !== name) continue;
        const key = JSON.stringify([name, schema]);
        const same = found.get(key);
        if (same) same.functionIds.push(functionId);
        else found.set(key, { name, functionIds: [functionId], schema });
      }
    }
    for (const { functionIds } of found.values()) functionIds.sort();
    const orderOf = ({ name, functionIds }: { name: string; functionIds: string[] }): string =>
      `${name}\n${functionIds[0]}`;
    return c.json({ schemas: [...found.values()].sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)) });
  });
}
