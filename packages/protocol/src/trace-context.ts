/**
 * Trace context of W3C (`traceparent`, `tracestate`): how it is read, and how a request carries it. Which span has which
 * id follows from run and step alone, so that the gateway and every worker name the same span without asking.
 */
import { isRecord } from "./json-text.ts";

/** A span, as another process names it. */
export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether spans of this trace are to be recorded. */
  readonly isSampled: boolean;
  /** `tracestate` of the trace's vendors; "" = none. */
  readonly state: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const NO_TRACE_ID = "0".repeat(32);
const NO_SPAN_ID = "0".repeat(16);
/** What peers must be able to pass on, and all that is passed on here. */
const MAX_STATE_LENGTH = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Undefined when it is no trace context of version 00: what a stranger sends instead is ignored. */
export function readSpanContext(traceparent: unknown, tracestate?: unknown): SpanContext | undefined {
  if (typeof traceparent !== "string" || traceparent.length !== 55) return undefined;
  const [, version, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(traceparent) ?? [];
  if (version !== "00" || traceId === NO_TRACE_ID || spanId === NO_SPAN_ID) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, isSampled, state: readTraceState(tracestate) };
}

/** As it may be passed on; "" when there is none, or when it is not right. */
export function readTraceState(tracestate: unknown): string {
  if (typeof tracestate !== "string" || tracestate.length > MAX_STATE_LENGTH) return "";
  const members = tracestate.split(",").map((member) => member.trim());
  const kept = members.filter((member) => member !== "");
  if (kept.length > MAX_STATE_MEMBERS || !kept.every((member) => STATE_MEMBER.test(member))) return "";
  return kept.join(",");
}

export function traceparentOf({ traceId, spanId, isSampled }: Omit<SpanContext, "state">): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The span of a run, and that in which its handler runs. */
export interface RequestTrace {
  /** Spans that the handler makes are children of this one. */
  readonly handler: SpanContext;
  /** The run's span id, from which those of its steps follow; undefined: the gateway makes no spans, `handler` is the sender's. */
  readonly runSpanId?: string;
}

/** JSON, as `user_trace_ctx` has it: both texts are there, or peers of the base protocol read neither. */
export function encodeRequestTrace({ handler, runSpanId }: RequestTrace): Uint8Array {
  const fields = {
    traceparent: traceparentOf(handler),
    tracestate: handler.state,
    ...(runSpanId === undefined ? {} : { holdfastRun: runSpanId }),
  };
  return new TextEncoder().encode(JSON.stringify(fields));
}

/** Undefined when there is none. Never throws: a trace is no reason to refuse work. */
export function readRequestTrace(userTraceCtx: Uint8Array): RequestTrace | undefined {
  if (userTraceCtx.byteLength < 55) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(userTraceCtx));
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const handler = readSpanContext(value.traceparent, value.tracestate);
  if (handler === undefined) return undefined;
  const { holdfastRun: runSpanId } = value;
  const hasRun = typeof runSpanId === "string" && /^[0-9a-f]{16}$/.test(runSpanId);
  return hasRun ? { handler, runSpanId } : { handler };
}

/** What the id of an attempt's span is the digest of. */
export const attemptSpanName = (runSpanId: string, hashedStepId: string, attempt: number): string =>
  `${runSpanId} attempt ${attempt} ${hashedStepId}`;

/** The first bytes of a digest, in hex digits, as an id; an id of zeros is none. */
export function idOfDigest(hex: string, digits: 16 | 32): string {
  const id = hex.slice(0, digits);
  return /^0+$/.test(id) ? id.replace(/0$/, "1") : id;
}
