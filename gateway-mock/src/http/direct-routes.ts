/**
 * The table of routes that busy gateways answer most: `direct-listener.ts` answers them in front of the router, which
 * has them too, for the requests that the listener leaves to it (docs/decisions/0059).
 */
import type { Context, Hono } from "hono";
import { limitBody } from "./bodies.ts";
import { connectRoutes } from "./connect-api.ts";
import type { DirectRequest, DirectRoute } from "./direct-route.ts";
import { eventsRoute } from "./events-api.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

export function directRoutes(parts: HttpParts): DirectRoute[] {
  return [eventsRoute(parts), ...connectRoutes(parts)];
}

/** The same routes behind the router's guard. */
export function addDirectRoutes(app: Hono, routes: readonly DirectRoute[]): void {
  for (const route of routes) {
    app.post(route.path, describe(route.description), limitBody(route.maxBodyBytes), async (c) => {
      const { status, contentType, body } = await route.answer(requestOf(c));
      const headers = contentType === null ? {} : { "Content-Type": contentType };
      return body === null ? c.body(null, status, headers) : c.body(body, status, headers);
    });
  }
}

function requestOf(c: Context): DirectRequest {
  return {
    url: c.req.url,
    param: Object.values(c.req.param())[0] ?? "",
    bearer: c.get("bearer"),
    environment: c.get("environment"),
    header: (name) => c.req.header(name),
    body: async () => new Uint8Array(await c.req.arrayBuffer()),
  };
}
