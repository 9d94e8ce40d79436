/**
 * The trace of a run: which trace it belongs to, and the ids of its spans. All of it follows from the run's event and
 * from names that every process has, so any gateway makes its part of the trace, and no id is stored (decision 105).
 */
import { attemptSpanName, idOfDigest, readSpanContext, type SpanContext, traceparentOf } from "@holdfast/protocol";
import { sha1Hex } from "../digest.ts";
import type { RunState } from "./run-state.ts";

export interface RunTrace {
  /** The run's own span. */
  readonly span: SpanContext;
  /** Null: the run is the root of its trace. */
  readonly parentSpanId: string | null;
  /** Spans of other traces that the run comes from. */
  readonly links: readonly SpanContext[];
}

type Traced = Pick<RunState, "runId" | "revivals" | "eventText" | "moreText" | "chain">;

const FIELD = ',"traceparent":"';

/**
 * The span that an event came from. The gateway writes it behind all other fields, where neither what these hold nor text
 * within text can look like it.
 */
export function spanOfEvent(eventText: string): SpanContext | undefined {
  if (!eventText.endsWith('"}')) return undefined;
  const at = eventText.lastIndexOf(FIELD);
  if (at === -1) return undefined;
  const start = at + FIELD.length;
  const rest = eventText.slice(start + 55);
  if (rest !== '"}' && !rest.startsWith('","tracestate":"')) return undefined;
  const state = rest === '"}' ? "" : rest.slice('","tracestate":"'.length, -2);
  return readSpanContext(eventText.slice(start, start + 55), state);
}

/** The event's text with its span in it. */
export function withSpan(eventText: string, span: SpanContext | undefined): string {
  if (span === undefined) return eventText;
  const state = span.state === "" ? "" : `,"tracestate":${JSON.stringify(span.state)}`;
  return `${eventText.slice(0, -1)}${FIELD}${traceparentOf(span)}"${state}}`;
}

/** `mayRecord`: whether a trace that begins here is to be recorded, by its id. */
export function runTrace(state: Traced, mayRecord: (traceId: string) => boolean): RunTrace {
  const { runId, revivals, eventText, moreText, chain } = state;
  const event = spanOfEvent(eventText);
  // A chain may go on for ever, and a batch comes from several traces: theirs are linked.
  const isOwn = event === undefined || chain !== null || moreText !== "";
  const traceId = isOwn ? newTraceId(`run ${runId}`) : event.traceId;
  const isSampled = event?.isSampled ?? mayRecord(traceId);
  const ofRevival = (number: number): SpanContext => ({
    traceId,
    spanId: idOfDigest(sha1Hex(`run ${runId} ${number}`), 16),
    isSampled,
    state: isOwn ? "" : event.state,
  });
  return {
    span: ofRevival(revivals),
    parentSpanId: isOwn ? null : event.spanId,
    links: [
      ...(isOwn && event ? [event] : []),
      ...spansOfMore(moreText),
      ...(revivals > 0 ? [ofRevival(revivals - 1)] : []),
    ],
  };
}

export const newTraceId = (name: string): string => idOfDigest(sha1Hex(`trace ${name}`), 32);

/** Of a span that begins with something of this name. */
export const newSpanId = (name: string): string => idOfDigest(sha1Hex(`span ${name}`), 16);

/** Of an attempt of a step, or of what it waits for. */
export const attemptSpanId = ({ span }: RunTrace, key: string, attempt: number): string =>
  idOfDigest(sha1Hex(attemptSpanName(span.spanId, key, attempt)), 16);

/** Of a pass: that of its job, however often that is given out. */
export const passSpanId = ({ span }: RunTrace, jobId: string): string =>
  idOfDigest(sha1Hex(`${span.spanId} pass ${jobId}`), 16);

/** The spans of the other events of a batch. */
function spansOfMore(moreText: string): SpanContext[] {
  if (!moreText.includes(FIELD)) return [];
  const events = JSON.parse(`[${moreText}]`) as { readonly traceparent?: unknown; readonly tracestate?: unknown }[];
  return events.flatMap(({ traceparent, tracestate }) => readSpanContext(traceparent, tracestate) ?? []);
}
