import { expect, test } from "vitest";
import { type Document, httpPage, type Schema, typeOf } from "../src/docs-http.ts";

const shop: Document = {
  tags: [
    { name: "testing", description: "Only in tests." },
    { name: "runs", description: "Runs of functions." },
  ],
  paths: {
    "/v1/runs/{id}": {
      get: {
        summary: "Shows a run.",
        description: "All of it.",
        tags: ["runs"],
        parameters: [
          { name: "id", in: "path", required: true, description: "The run's id.", schema: { type: "string" } },
          { name: "limit", in: "query", required: false, schema: { type: "integer", default: 50 } },
        ],
        responses: {
          200: { description: "As asked.", content: { "application/json": { schema: { $ref: "#/components/Run" } } } },
          404: { description: "There is | no such run.", content: {} },
          default: { description: "What was wrong." },
        },
        security: [{ signingKey: [] }],
      },
    },
    "/v1/time": { post: { summary: "Skips time.", tags: ["testing"], responses: {}, security: [] } },
  },
  components: {
    schemas: {
      Run: { type: "object", required: ["id"], properties: { id: { type: "string" }, tag: { type: "string" } } },
    },
  },
};

test("the page has each route under its subject, those of tests last, and each shape", () => {
  const page = httpPage(shop);
  expect(page.indexOf("## Runs")).toBeLessThan(page.indexOf("## Testing"));
  expect(page).toContain(`### \`GET /v1/runs/{id}\`

Shows a run.

All of it.

| parameter | in | | |
|---|---|---|---|
| \`id\` | path | string | The run's id. |
| \`limit\` | query | integer, default \`50\` |  |

| status | | |
|---|---|---|
| 200 | [Run](#run) |  |
| 404 |  | There is \\| no such run. |
`);
  expect(page).toContain("Skips time. Needs no signing key.");
  expect(page).toContain(
    "### Run\n\n| field | | |\n|---|---|---|\n| `id` | string |  |\n| `tag` | string, may be missing |",
  );
});

test.each<[Schema, string]>([
  [{ anyOf: [{ type: "string" }, { type: "null" }] }, "string or null"],
  [{ type: "array", items: { $ref: "#/components/schemas/Run" } }, "list of [Run](#run)"],
  [{ enum: ["A", "B"] }, '`"A"`, `"B"`'],
  [{ type: "string", format: "date-time" }, "time"],
  [{ type: "object", properties: { ids: { type: "array" } } }, "{ `ids`: list of any JSON }"],
  [{}, "any JSON"],
])("a schema %j is written as %s", (schema, text) => {
  expect(typeOf(schema)).toBe(text);
});
