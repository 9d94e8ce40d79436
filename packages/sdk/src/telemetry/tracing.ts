/**
 * Where OpenTelemetry is, if the process has it: `holdfast/opentelemetry` puts it there, and everything else asks here.
 * One place in each thread, whatever copies of this package it has loaded. The package itself never looks for
 * OpenTelemetry.
 */

/** A trace context as text, ready to be sent. */
export interface TraceCarrier {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** A span of another process, under which code runs here. */
export interface ParentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly state: string;
}

export interface Tracing {
  /** That of the calling code; undefined outside of any span. */
  active(): TraceCarrier | undefined;
  /** Calls `code`; the spans that it makes are children of `parent`. */
  runUnder<T>(parent: ParentSpan, code: () => T): T;
}

const KEY = Symbol.for("holdfast.tracing");

/** Undefined where the app has not registered any. */
export const tracing = (): Tracing | undefined => (globalThis as { [KEY]?: Tracing })[KEY];

export function setTracing(made: Tracing): void {
  Object.defineProperty(globalThis, KEY, { value: made, configurable: true, enumerable: false });
}

const NOTHING: { readonly traceparent?: string; readonly tracestate?: string } = {};

/** The fields by which what is sent carries the sender's span along. */
export const traceFields = (): typeof NOTHING => tracing()?.active() ?? NOTHING;
