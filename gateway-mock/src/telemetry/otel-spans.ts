/** Makes spans of OpenTelemetry of what the dispatcher says, with its ids, and hands them to the exporter in batches. */
import { type Log, messageOf } from "@holdfast/core";
import type { Context, Link, SpanContext as OtelContext, Tracer } from "@opentelemetry/api";
import type { TracerProvider } from "@opentelemetry/sdk-trace";
import type { SpanFacts } from "../dispatch/index.ts";
import type { SpanCounts, SpanExportOptions } from "./span-options.ts";

export interface SpanPackages {
  readonly api: typeof import("@opentelemetry/api");
  readonly sdk: typeof import("@opentelemetry/sdk-trace");
  readonly resources: typeof import("@opentelemetry/resources");
  readonly exporter: typeof import("@opentelemetry/exporter-trace-otlp-http");
}

type Exporter = InstanceType<SpanPackages["exporter"]["OTLPTraceExporter"]>;

/** A gateway that is killed loses what it has not sent: little. */
const DELAY_MS = 500;
const MAX_QUEUED = 65_536;
const BATCH = 1_024;
/** Of a receiver that does not answer so much is said. */
const WARN_EVERY_MS = 60_000;
const EXPORT_OK = 0;

export class OtelSpans {
  readonly #api: SpanPackages["api"];
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #log: Log;
  readonly #endpoint: string;
  /** The ids of the span that is made now. */
  #ids = { traceId: "", spanId: "" };
  #counts = { recorded: 0, exported: 0, lost: 0 };
  #warnedMs = Number.NEGATIVE_INFINITY;

  constructor({ api, sdk, resources, exporter }: SpanPackages, options: SpanExportOptions) {
    const { version, log, endpoint } = options;
    this.#api = api;
    this.#log = log;
    this.#endpoint = endpoint;
    const counted = this.#counted(new exporter.OTLPTraceExporter({ url: tracesUrl(endpoint) }));
    this.#provider = new sdk.TracerProvider({
      resource: resources.resourceFromAttributes({
        "service.name": "holdfast-gateway",
        "service.version": version,
      }),
      // The trace was decided on where it began.
      sampler: new sdk.AlwaysOnSampler(),
      idGenerator: { generateTraceId: () => this.#ids.traceId, generateSpanId: () => this.#ids.spanId },
      spanProcessors: [
        new sdk.BatchSpanProcessor({
          exporter: counted,
          scheduledDelayMillis: DELAY_MS,
          maxQueueSize: MAX_QUEUED,
          maxExportBatchSize: BATCH,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer("holdfast", version);
  }

  record(facts: SpanFacts): void {
    const { span, name, startMs: startTime, endMs, attributes, error, links } = facts;
    this.#ids = span;
    const made = this.#tracer.startSpan(
      name,
      { kind: this.#kindOf(facts), startTime, attributes, links: links.map((link) => this.#linkTo(link)) },
      this.#parentOf(facts),
    );
    if (error) {
      made.recordException(error, endMs);
      made.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error.message });
    }
    made.end(Math.max(startTime, endMs));
    this.#counts.recorded += 1;
  }

  counts(): SpanCounts {
    return { ...this.#counts };
  }

  /** The library's own waiting has no end when the receiver has none; the gateway's clean-ups have. */
  close(): Promise<void> {
    return this.#provider.shutdown();
  }

  #parentOf({ span, parentSpanId }: SpanFacts): Context {
    const { ROOT_CONTEXT, trace } = this.#api;
    if (parentSpanId === null) return ROOT_CONTEXT;
    return trace.setSpanContext(ROOT_CONTEXT, this.#contextOf({ ...span, spanId: parentSpanId }));
  }

  #linkTo(link: SpanFacts["span"]): Link {
    return { context: this.#contextOf(link) };
  }

  #contextOf({ traceId, spanId, isSampled, state }: SpanFacts["span"]): OtelContext {
    const { TraceFlags, createTraceState } = this.#api;
    return {
      traceId,
      spanId,
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      isRemote: true,
      ...(state === "" ? {} : { traceState: createTraceState(state) }),
    };
  }

  #kindOf({ kind }: SpanFacts): number {
    const { SpanKind } = this.#api;
    switch (kind) {
      case "event":
        return SpanKind.PRODUCER;
      case "run":
        return SpanKind.CONSUMER;
      case "pass":
      case "step":
      case "wait":
        return SpanKind.INTERNAL;
    }
  }

  #counted(exporter: Exporter): Exporter {
    const send = exporter.export.bind(exporter);
    exporter.export = (spans, done) =>
      send(spans, (result) => {
        if (result.code === EXPORT_OK) this.#counts.exported += spans.length;
        else {
          this.#counts.lost += spans.length;
          this.#warn(spans.length, result.error);
        }
        done(result);
      });
    return exporter;
  }

  #warn(spans: number, error: unknown): void {
    const nowMs = performance.now();
    if (nowMs - this.#warnedMs < WARN_EVERY_MS) return;
    this.#warnedMs = nowMs;
    this.#log("warn", `${this.#endpoint} has not taken ${spans} spans: ${messageOf(error)}`);
  }
}

function tracesUrl(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, "");
  return base.endsWith("/v1/traces") ? base : `${base}/v1/traces`;
}
