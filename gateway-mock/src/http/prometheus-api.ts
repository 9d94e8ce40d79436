/** `GET /metrics`, for Prometheus and what reads its format. */
import type { Hono } from "hono";
import Type from "typebox";
import type { MetricSources } from "../metrics/metric-sources.ts";
import { METRICS_CONTENT_TYPE, renderMetrics } from "../metrics/render-metrics.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

export function prometheusApi(app: Hono, parts: HttpParts): void {
  app.get(
    "/metrics",
    describe({
      operationId: "getPrometheusMetrics",
      summary: "Metrics of this gateway and of its queue, in the text format of Prometheus.",
      tag: "gateway",
      answers: { 200: { contentType: METRICS_CONTENT_TYPE, schema: Type.String() } },
    }),
    async (c) => c.body(await renderMetrics(await readSources(parts)), 200, { "content-type": METRICS_CONTENT_TYPE }),
  );
}

/** What the database alone knows is left out while it is away: a scrape never waits for it. */
async function readSources({ dispatcher, store, version, isDraining, ...parts }: HttpParts): Promise<MetricSources> {
  const database = store.health();
  return {
    version,
    isDraining: isDraining(),
    dispatcher: dispatcher.status(),
    functions: dispatcher.functionCounts(),
    store: store.stats(),
    database,
    queue: database.ok ? await store.queueDepth().catch(() => null) : null,
    tables: database.ok ? await store.tableSizes().catch(() => null) : null,
    spans: parts.spans(),
    watchers: parts.live.watchers,
    nowMs: parts.clock.nowMs(),
    process: parts.process(),
    workers: dispatcher.conditions.byApp(),
    framesReceived: parts.framesReceived(),
  };
}
