/** Routes that list the functions of the apps that have connected. */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

export function functionsApi(app: Hono, parts: HttpParts): void {
  const { dispatcher, version } = parts;
  const dev = describe({
    operationId: "getDev",
    summary: "The gateway and its functions, as tools for development look for it.",
    tag: "gateway",
    answers: {
      200: Type.Object({
        name: Type.String(),
        version: Type.String(),
        gatewayId: Type.String(),
        functions: Type.Array(
          Type.Object({
            id: Type.String(),
            appId: Type.String(),
            queue: Type.String(),
            triggers: Type.Array(Type.Object({}, { additionalProperties: true })),
          }),
        ),
      }),
    },
  });
  app.get("/dev", dev, (c) => {
    const here = [...dispatcher.functions.all()].filter(({ environment }) => environment === c.get("environment"));
    const functions = here.map(({ id, appId, settings: plan }) => ({
      id: plainName(id),
      appId: plainName(appId),
      queue: plan.queue ?? DEFAULT_QUEUE,
      triggers: plan.triggers,
    }));
    return c.json({ name: "holdfast-gateway", version, gatewayId: parts.gatewayId, functions });
  });
}
