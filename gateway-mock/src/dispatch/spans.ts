/**
 * The spans of events, runs, passes and steps: facts without a library; `../telemetry` exports them. They are made of
 * what this gateway has stored, once each, so an attempt that was never stored has none, and one that was has one
 * (docs/decisions/0105).
 */
import { ulidTimeMs } from "@holdfast/core";
import {
  attemptSpanId,
  type JobState,
  newSpanId,
  newTraceId,
  passSpanId,
  type RunState,
  type RunTrace,
  runTrace,
  spanOfEvent,
} from "@holdfast/engine";
import { encodeRequestTrace, readSpanContext, type SpanContext } from "@holdfast/protocol";
import { environmentOf, type IntakeItem, plainName } from "@holdfast/store";
import { RunSpans } from "./run-spans.ts";
import type { SpanSink } from "./span-facts.ts";

const NO_TRACE = new TextEncoder().encode("{}");

/** What an event came with: the fields of its sender, which may be anything. */
export interface SenderTrace {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}

export class Spans {
  readonly #sink: SpanSink | undefined;
  readonly #traces = new WeakMap<RunState, { readonly revivals: number; readonly trace: RunTrace }>();

  /** Without a sink no span is made; what senders say of theirs is passed on. */
  constructor(sink?: SpanSink) {
    this.#sink = sink;
  }

  /** The span that an event is to carry: the gateway's own, else its sender's. */
  ofEvent(eventId: string, sender: SenderTrace): SpanContext | undefined {
    const parent = readSpanContext(sender.traceparent, sender.tracestate);
    if (!this.#sink) return parent;
    const traceId = parent?.traceId ?? newTraceId(`event ${eventId}`);
    const isSampled = parent?.isSampled ?? this.#mayRecord(traceId);
    return { traceId, spanId: newSpanId(`event ${eventId}`), isSampled, state: parent?.state ?? "" };
  }

  /** An event is stored with its runs. */
  eventStored(item: IntakeItem, parentSpanId: string | null, runs: number, atMs: number): void {
    const { event } = item;
    const span = this.#sink && spanOfEvent(event.payloadJson);
    if (!span?.isSampled) return;
    this.#sink?.record({
      kind: "event",
      name: `event ${plainName(event.name)}`,
      span,
      parentSpanId,
      links: [],
      startMs: Math.min(ulidTimeMs(event.id), atMs),
      endMs: atMs,
      attributes: {
        "holdfast.event.id": event.id,
        "holdfast.event.name": plainName(event.name),
        "holdfast.environment": environmentOf(event.name),
        "holdfast.event.runs": runs,
      },
      error: null,
    });
  }

  /** The span that events of a run, or of a step of it, carry. */
  readonly spanOf = (state: RunState, stepKey?: string): SpanContext | undefined => {
    if (!this.#sink) return spanOfEvent(state.eventText);
    const trace = this.#traceOf(state);
    return stepKey === undefined ? trace.span : { ...trace.span, spanId: attemptSpanId(trace, stepKey, 0) };
  };

  /** What a request for this job tells its worker. */
  requestTrace(state: RunState, job: Pick<JobState, "id" | "kind" | "key" | "attempt">): Uint8Array {
    if (!this.#sink) {
      const sender = spanOfEvent(state.eventText);
      return sender === undefined ? NO_TRACE : encodeRequestTrace({ handler: sender });
    }
    const trace = this.#traceOf(state);
    const spanId = job.kind === "pass" ? passSpanId(trace, job.id) : attemptSpanId(trace, job.key, job.attempt);
    return encodeRequestTrace({ handler: { ...trace.span, spanId }, runSpanId: trace.span.spanId });
  }

  /** For lines of the log; undefined when the run belongs to no trace that is known here. */
  traceIdOf(state: RunState): string | undefined {
    return this.#sink ? this.#traceOf(state).span.traceId : undefined;
  }

  /** Called with the rows of one commit before they are applied to `state`; undefined when none is recorded. */
  ofCommit(state: RunState): RunSpans | undefined {
    const sink = this.#sink;
    if (!sink) return undefined;
    const trace = this.#traceOf(state);
    return trace.span.isSampled ? new RunSpans(state, trace, sink.record) : undefined;
  }

  #traceOf(state: RunState): RunTrace {
    const known = this.#traces.get(state);
    if (known?.revivals === state.revivals) return known.trace;
    const trace = runTrace(state, (traceId) => this.#mayRecord(traceId));
    this.#traces.set(state, { revivals: state.revivals, trace });
    return trace;
  }

  /** The same at every gateway. */
  #mayRecord(traceId: string): boolean {
    const ratio = this.#sink?.ratio ?? 0;
    return Number.parseInt(traceId.slice(-8), 16) < ratio * 0x1_0000_0000;
  }
}

/** The sender's span, as the parent of the event's own. */
export function senderSpanId(sender: SenderTrace): string | null {
  return readSpanContext(sender.traceparent, sender.tracestate)?.spanId ?? null;
}
