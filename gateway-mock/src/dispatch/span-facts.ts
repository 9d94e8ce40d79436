/** What a span says: made by `spans.ts` and `run-spans.ts`, exported by `../telemetry`. */
import type { PlainError } from "@holdfast/core";
import type { SpanContext } from "@holdfast/protocol";

/** A span that is over. */
export interface SpanFacts {
  readonly kind: "event" | "run" | "pass" | "step" | "wait";
  readonly name: string;
  readonly span: SpanContext;
  /** Null: a root. */
  readonly parentSpanId: string | null;
  readonly links: readonly SpanContext[];
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly error: PlainError | null;
}

export interface SpanSink {
  readonly record: (facts: SpanFacts) => void;
  /** How many traces in a hundred that begin here are recorded, 0 to 1. Others were decided on by who began them. */
  readonly ratio: number;
}
