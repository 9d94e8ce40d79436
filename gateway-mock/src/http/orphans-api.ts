/** The route that looks for runs which nothing moves on. */
import type { Hono } from "hono";
import Type from "typebox";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

const LIST = describe({
  operationId: "listOrphans",
  summary:
    "Searches all runs for orphans: runs that have not ended, and that no job or wait moves on. There should be none.",
  description:
    "Of all environments. Reads every run's head once, so it takes a while with millions of runs; `orphans` of `/v1/metrics` counts what gateways find by themselves.",
  tag: "runs",
  answers: {
    200: Type.Object({
      orphans: Type.Array(Type.String({ description: "Ids of runs." })),
      looked: Type.Integer({ description: "How many runs there are." }),
    }),
  },
});

export function orphansApi(app: Hono, { dispatcher }: HttpParts): void {
  app.get("/v1/orphans", LIST, async (c) => {
    const { runIds, looked } = await dispatcher.orphans.lookAtAll();
    return c.json({ orphans: [...runIds], looked });
  });
}
