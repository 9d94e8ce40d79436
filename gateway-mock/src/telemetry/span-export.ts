/**
 * Exports spans over OTLP, through the packages of OpenTelemetry: optional peers that are loaded when an endpoint is
 * given, and not before (docs/decisions/0105).
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import type { SpanFacts } from "../dispatch/index.ts";
import { OtelSpans, type SpanPackages } from "./otel-spans.ts";
import type { SpanCounts, SpanExportOptions } from "./span-options.ts";

export interface SpanExport {
  readonly ratio: number;
  readonly record: (facts: SpanFacts) => void;
  counts(): SpanCounts;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** @throws HoldfastError `TRACING_UNAVAILABLE` when the packages are not installed */
export async function openSpanExport(options: SpanExportOptions): Promise<SpanExport> {
  const spans = new OtelSpans(await loadPackages(), options);
  return {
    ratio: options.ratio,
    record: (facts) => spans.record(facts),
    counts: () => spans.counts(),
    close: () => spans.close(),
  };
}

async function loadPackages(): Promise<SpanPackages> {
  try {
    const [api, sdk, resources, exporter] = await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/sdk-trace"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/exporter-trace-otlp-http"),
    ]);
    return { api, sdk, resources, exporter };
  } catch (cause) {
    throw new HoldfastError(
      "TRACING_UNAVAILABLE",
      `\`otlpEndpoint\` needs the packages of OpenTelemetry, which could not be loaded: ${messageOf(cause)}`,
      { cause },
    );
  }
}
