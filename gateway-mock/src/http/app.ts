/**
 * Puts the HTTP API together: guard first, then the routes of the files beside it, then health, metrics and the list of
 * functions.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { levelFor, plainName } from "@holdfast/store";
import { Hono } from "hono";
import { endEndlessBodies, limitBody } from "./bodies.ts";
import { connectApi } from "./connect-api.ts";
import { errorResponse, notFound, statusOf } from "./errors.ts";
import { eventsApi, refusedEvents } from "./events-api.ts";
import { accessOf, allowPages, checkCallers, guard } from "./guard.ts";
import type { HttpParts } from "./parts.ts";
import { runStateApi } from "./run-state-api.ts";
import { runsApi } from "./runs-api.ts";
import { signalsApi } from "./signals-api.ts";

/** The gateway's HTTP interface. No route checks keys and callers: that is done before all of them. */
export function httpApp(parts: HttpParts): Hono {
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
  connectApi(app, parts);
  eventsApi(app, parts);
  runsApi(app, parts);
  runStateApi(app, parts);
  signalsApi(app, parts);
  statusApi(app, parts);
  if (parts.skipTime) testingApi(app, parts.skipTime);
  app.notFound((c) => errorResponse(c, notFound(`No route for ${c.req.method} ${c.req.path}.`)));
  app.onError((error, c) => {
    if (statusOf(error) >= 500) {
      parts.log(levelFor(error, "error"), `${c.req.method} ${c.req.path} failed: ${messageOf(error)}`);
    }
    return accessOf(c.req.path) === "event-key" ? refusedEvents(c, error) : errorResponse(c, error);
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
      triggers: plan.triggers,
    }));
    return c.json({ name: "holdfast-gateway", version, gatewayId: parts.gatewayId, functions });
  });
}
