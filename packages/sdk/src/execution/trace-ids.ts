/** Which trace lines of the log belong to: fields that are there where the app has OpenTelemetry. */
import { parentSpan } from "../telemetry/parent-span.ts";
import { tracing } from "../telemetry/tracing.ts";
import type { CurrentStep, TracedExecution } from "./current.ts";

const NONE: { readonly traceId?: string; readonly spanId?: string } = {};

export function traceIds(execution: TracedExecution | undefined, step?: CurrentStep): typeof NONE {
  const trace = execution?.trace;
  if (trace === undefined || tracing() === undefined) return NONE;
  const { traceId, spanId } = parentSpan(trace, step);
  return { traceId, spanId };
}
