/** The route that lists the environments in which an app has connected, as far as the caller's key opens them. */
import type { Hono } from "hono";
import Type from "typebox";
import { isProbe } from "../probe.ts";
import { shownEnvironment } from "./keys.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

const LIST = describe({
  operationId: "listEnvironments",
  summary: "Lists the environments in which an app has connected.",
  description:
    "Any other name is an environment too, but an empty one. If the key belongs to one environment, only that one is listed.",
  tag: "functions",
  query: Type.Object({}),
  answers: {
    200: Type.Object({
      environments: Type.Array(
        Type.Object({ name: Type.String(), functions: Type.Integer() }, { title: "Environment" }),
      ),
    }),
  },
});

export function environmentsApi(app: Hono, { dispatcher }: Pick<HttpParts, "dispatcher">): void {
  app.get("/v1/environments", LIST, async (c) => {
    await dispatcher.functions.renewIfChanged();
    const own = c.get("bearer").environment;
    const counts = new Map<string, number>();
    for (const fn of dispatcher.functions.all()) {
      if (isProbe(fn) || (own !== null && fn.environment !== own)) continue;
      counts.set(fn.environment, (counts.get(fn.environment) ?? 0) + 1);
    }
    const environments = [...counts].map(([name, functions]) => ({ name: shownEnvironment(name), functions }));
    return c.json({ environments: environments.sort((a, b) => (a.name < b.name ? -1 : 1)) });
  });
}
