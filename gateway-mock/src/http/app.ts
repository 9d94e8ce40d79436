/**
 * Puts the HTTP API together: guard first, then the routes of the files beside it, then health, metrics and the list of
 * functions.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import { DEFAULT_QUEUE, isRecord } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import { Hono } from "hono";
import { endEndlessBodies, limitBody } from "./bodies.ts";
import type { DirectRoute } from "./direct-route.ts";
import { addDirectRoutes, directRoutes } from "./direct-routes.ts";
import { errorResponse, logFailure, notFound } from "./errors.ts";
import { allowPages, checkCallers, failureBody, guard } from "./guard.ts";
import type { HttpParts } from "./parts.ts";
import { runStateApi } from "./run-state-api.ts";
import { runsApi } from "./runs-api.ts";
import { signalsApi } from "./signals-api.ts";
import { workersApi } from "./workers-api.ts";

/** The gateway's HTTP interface. No route checks keys and callers: that is done before all of them. */
export function httpApp(parts: HttpParts, routes: readonly DirectRoute[] = directRoutes(parts)): Hono {
  const app = new Hono();
  app.use(endEndlessBodies());
  app.use(checkCallers(parts.callers));
  app.use("/e/:key", allowPages(parts.callers));
  app.use(guard(parts.keys));
  // Nothing is called so, and the database could not even be asked for it.
  app.use(async (c, next) => {
    if (/%00/.test(c.req.url)) throw notFound(`No route for ${c.req.method} ${c.req.path}.`);
    await next();
  });
  addDirectRoutes(app, routes);
  runsApi(app, parts);
  runStateApi(app, parts);
  signalsApi(app, parts);
  workersApi(app, parts);
  statusApi(app, parts);
  if (parts.skipTime) testingApi(app, parts.skipTime);
  app.notFound((c) => errorResponse(c, notFound(`No route for ${c.req.method} ${c.req.path}.`)));
  app.onError((error, c) => {
    logFailure(parts.log, c.req, error);
    const body = failureBody(c.req.path, error);
    return c.json(body, body.status);
  });
  return app;
}

function testingApi(app: Hono, skipTime: (ms: number) => Promise<void>): void {
  app.post("/v1/testing/skip-time", limitBody(1024), async (c) => {
    const body: unknown = await c.req.json().catch(() => null);
    const ms = isRecord(body) ? body.ms : undefined;
    if (typeof ms !== "number") throw new HoldfastError("BODY_INVALID", 'The body must be { "ms": <number> }.');
    await skipTime(ms);
    return c.json({ skippedMs: ms });
  });
}

function statusApi(app: Hono, parts: HttpParts): void {
  const { dispatcher, store, version } = parts;
  // Restarting the gateway does not bring a database back: without one it is alive, and says what it waits for.
  app.get("/health", (c) => c.json({ ok: true, version, database: store.health() }));

  app.get("/ready", async (c) => {
    if (parts.isDraining()) return c.json({ ready: false, reason: "draining" }, 503);
    try {
      await store.ping();
      const { ok, error } = store.health();
      return ok ? c.json({ ready: true }) : c.json({ ready: false, reason: error }, 503);
    } catch (error) {
      return c.json({ ready: false, reason: messageOf(error) }, 503);
    }
  });

  app.get("/v1/metrics", async (c) => {
    const database = store.health();
    const queue = database.ok ? await store.queueDepth() : null;
    return c.json({ dispatcher: dispatcher.status(), store: store.stats(), database, queue, process: parts.process() });
  });

  app.get("/dev", (c) => {
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
