/** Puts the HTTP API together: guard first, then the routes of the files beside it. */
import { Hono } from "hono";
import { endEndlessBodies } from "./bodies.ts";
import { bulkApi } from "./bulk-api.ts";
import type { DirectRoute } from "./direct-route.ts";
import { addDirectRoutes, directRoutes } from "./direct-routes.ts";
import { environmentsApi } from "./environments-api.ts";
import { errorBody, logFailure } from "./errors.ts";
import { eventSchemasApi } from "./event-schemas-api.ts";
import { faultsApi } from "./faults-api.ts";
import { framesApi } from "./frames-api.ts";
import { functionHistoryApi } from "./function-history-api.ts";
import { functionsApi } from "./functions-api.ts";
import { graphRunsApi } from "./graph-runs-api.ts";
import { graphStatusApi } from "./graph-status-api.ts";
import { graphsApi } from "./graphs-api.ts";
import { allowPages, checkCallers, failureBody, guard } from "./guard.ts";
import { invocationsApi } from "./invocations-api.ts";
import { limitsApi } from "./limits-api.ts";
import { methodsOf, noRoute, refuseNul } from "./no-route.ts";
import { openApiApi } from "./openapi-api.ts";
import { orphansApi } from "./orphans-api.ts";
import { serveErrorPages } from "./page/serve-error-pages.ts";
import { servePage } from "./page/serve-page.ts";
import { sessionApi } from "./page/session-api.ts";
import type { HttpParts } from "./parts.ts";
import { pausesApi } from "./pauses-api.ts";
import { prometheusApi } from "./prometheus-api.ts";
import { limitReads } from "./read-limit.ts";
import { RefusedWorkers } from "./refused-workers.ts";
import { repairApi } from "./repair-api.ts";
import { retentionApi } from "./retention-api.ts";
import { rolloutsApi } from "./rollouts-api.ts";
import { runStateApi } from "./run-state-api.ts";
import { runsApi } from "./runs-api.ts";
import { schedulesApi } from "./schedules-api.ts";
import { signalsApi } from "./signals-api.ts";
import { signedEventsApi } from "./signed-events-api.ts";
import { statusApi } from "./status-api.ts";
import { storedEventsApi } from "./stored-events-api.ts";
import { streamApi } from "./stream-api.ts";
import { testingApi } from "./testing-api.ts";
import { tortureApi } from "./torture-api.ts";
import { workersApi } from "./workers-api.ts";

/** The gateway's HTTP interface. No route checks keys and callers: that is done before all of them. */
export function httpApp(parts: HttpParts, routes: readonly DirectRoute[] = directRoutes(parts)): Hono {
  const app = new Hono();
  const { page } = parts;
  app.use(endEndlessBodies());
  if (page) {
    app.use(servePage(page.files, parts.callers));
    app.use(serveErrorPages(page.files, parts.callers));
  }
  app.use(checkCallers(parts.callers));
  app.use("/e/:key", allowPages(parts.callers));
  app.use(guard(parts.keys, page));
  app.use(async (c, next) => {
    refuseNul(c);
    await next();
  });
  app.use("/v1/*", limitReads(parts));
  addDirectRoutes(app, routes);
  // Before what would take "stream" for the id of a run.
  streamApi(app, parts);
  runsApi(app, parts);
  invocationsApi(app, parts);
  storedEventsApi(app, parts);
  signedEventsApi(app, parts);
  runStateApi(app, parts);
  repairApi(app, parts);
  retentionApi(app, parts);
  bulkApi(app, parts);
  graphsApi(app, parts);
  graphRunsApi(app, parts);
  graphStatusApi(app, parts);
  signalsApi(app, parts);
  workersApi(app, parts);
  framesApi(app, parts);
  faultsApi(app, parts);
  tortureApi(app, parts);
  functionsApi(app, parts);
  environmentsApi(app, parts);
  functionHistoryApi(app, parts);
  eventSchemasApi(app, parts);
  pausesApi(app, parts);
  rolloutsApi(app, parts);
  limitsApi(app, parts);
  schedulesApi(app, parts);
  orphansApi(app, parts);
  statusApi(app, parts);
  prometheusApi(app, parts);
  if (page) sessionApi(app, parts, page);
  if (parts.skipTime) testingApi(app, parts.skipTime);
  openApiApi(app, parts.version);
  const methodsAt = methodsOf(app);
  const refusedWorkers = new RefusedWorkers(parts);
  app.notFound((c) => {
    const methods = methodsAt(c.req.path);
    const body = errorBody(noRoute(c.req, methods), parts.errorDocs);
    if (methods.length > 0) c.header("Allow", methods.join(", "));
    return c.json(body, body.status);
  });
  app.onError((error, c) => {
    logFailure(parts.log, c.req, error);
    refusedWorkers.record(c.req.path, error);
    const body = failureBody(c.req.path, error, parts.errorDocs);
    return c.json(body, body.status);
  });
  return app;
}
