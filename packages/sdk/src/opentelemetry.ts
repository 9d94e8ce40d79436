/** `holdfast/opentelemetry`: the one part of the package that imports OpenTelemetry, an optional peer. */
import { context, createTraceState, isSpanContextValid, ROOT_CONTEXT, TraceFlags, trace } from "@opentelemetry/api";
import { setTracing, type Tracing } from "./telemetry/tracing.ts";

const overOpenTelemetry: Tracing = {
  active: () => {
    const span = trace.getSpanContext(context.active());
    if (span === undefined || !isSpanContextValid(span)) return undefined;
    const flags = (span.traceFlags & TraceFlags.SAMPLED) === 0 ? "00" : "01";
    const tracestate = span.traceState?.serialize();
    const traceparent = `00-${span.traceId}-${span.spanId}-${flags}`;
    return tracestate === undefined || tracestate === "" ? { traceparent } : { traceparent, tracestate };
  },
  runUnder: ({ traceId, spanId, isSampled, state }, code) => {
    const span = {
      traceId,
      spanId,
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      isRemote: true,
      ...(state === "" ? {} : { traceState: createTraceState(state) }),
    };
    // What the connection was opened in has nothing to do with this request.
    return context.with(trace.setSpanContext(ROOT_CONTEXT, span), code);
  },
};

/**
 * Makes this thread trace with OpenTelemetry: events that it sends carry the span that is active then, and spans that
 * handlers and steps make become children of the run's. Call it where OpenTelemetry is set up, before or after that; in
 * a file that Node loads with `--import` it counts for the threads of `isolated()` code as well.
 */
export function registerOpenTelemetry(): void {
  setTracing(overOpenTelemetry);
}
