/** The route that says how a function's runs have ended in the last hour, for charts. */
import type { Hono } from "hono";
import Type from "typebox";
import { findFunction } from "../dispatch/index.ts";
import { describe } from "./openapi/describe-route.ts";
import { Ms, orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

const SlotSchema = Type.Object(
  {
    atMs: Ms,
    ended: Type.Integer({ description: "Runs that ended, including those that failed." }),
    failed: Type.Integer(),
    p99Ms: orNull(
      Type.Number({
        description:
          "How long all but the longest hundredth took, from creation to end: of a hundred and more give or take a quarter.",
      }),
    ),
  },
  { title: "FunctionHistorySlot" },
);

const GET = describe({
  operationId: "getFunctionHistory",
  summary: "How the runs of a function ended in the last hour, in slots of two minutes.",
  description:
    "Counted in memory, from what this gateway has decided since its start; each run is counted at one gateway only. Use `/metrics` for longer periods.",
  tag: "functions",
  params: { id: "The function, as in `GET /v1/functions/{id}`." },
  answers: {
    200: Type.Object({
      gatewayId: Type.String(),
      slots: orNull(
        Type.Array(SlotSchema, { description: "The oldest first; null: of more than 1,000 functions it is not kept." }),
      ),
    }),
  },
  failures: { 404: "There is no such function." },
});

export function functionHistoryApi(app: Hono, { dispatcher, gatewayId }: HttpParts): void {
  app.get("/v1/functions/:id/history", GET, async (c) => {
    const { id } = await findFunction(dispatcher.functions, c.get("environment"), c.req.param("id"));
    return c.json({ gatewayId, slots: dispatcher.recentRuns(id) });
  });
}
