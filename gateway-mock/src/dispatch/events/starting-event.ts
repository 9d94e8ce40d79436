/** An event from outside on its way in: checked and named, then with the text with which runs begin. */
import { jsonText, type TriggerEvent, withSpan } from "@holdfast/engine";
import type { SpanContext } from "@holdfast/protocol";
import type { SenderTrace } from "../spans.ts";
import type { CheckedEvent } from "./event-checks.ts";

/** An event with a time so far ahead starts its runs then. */
const FUTURE_MS = 500;

export interface NamedEvent {
  readonly event: CheckedEvent;
  /** The span that it was sent in. */
  readonly trace: SenderTrace;
  readonly environment: string;
  readonly id: string;
  /** The request is named: the id follows from that. */
  readonly mayRepeat: boolean;
  readonly onAwaited?: ((eventId: string) => void) | undefined;
}

/** It is about to start what it starts. */
export interface StartingEvent extends TriggerEvent {
  readonly tsMs: number;
  /** Its runs start then; null = at once. */
  readonly startMs: number | null;
  /** Of the registry that says what it starts. */
  readonly registryVersion: number;
}

export interface StartingFacts {
  readonly nowMs: number;
  readonly registryVersion: number;
  /** That the event is to carry. */
  readonly span: SpanContext | undefined;
}

export function startingEvent(named: NamedEvent, { nowMs, registryVersion, span }: StartingFacts): StartingEvent {
  const { event, id } = named;
  const tsMs = event.ts ?? Math.round(nowMs);
  const startMs = tsMs > nowMs + FUTURE_MS ? tsMs : null;
  return { id, name: event.name, payloadJson: withSpan(textOf(named, tsMs), span), tsMs, startMs, registryVersion };
}

/** Field by field: some of them may be text already. */
function textOf({ event, id }: NamedEvent, tsMs: number): string {
  const { name, data, user, v, meta } = event;
  let more = "";
  if (v !== undefined) more += `,"v":${JSON.stringify(v)}`;
  if (meta !== undefined) more += `,"meta":${jsonText(meta)}`;
  const head = `"id":${JSON.stringify(event.id ?? id)},"name":${JSON.stringify(name)},"data":${jsonText(data)}`;
  return `{${head},"ts":${tsMs},"user":${jsonText(user)}${more}}`;
}

/** What that is the text of. */
export function payloadOf({ event, id }: NamedEvent, { tsMs }: StartingEvent): object {
  const { name, data, user, v, meta } = event;
  const more = { ...(v === undefined ? {} : { v }), ...(meta === undefined ? {} : { meta }) };
  return { id: event.id ?? id, name, data, ts: tsMs, user, ...more };
}
