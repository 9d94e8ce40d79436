/**
 * Events that runs cause: invocations, ends, deferred runs. They are committed with the decision and start runs like
 * any other.
 */
import type { PlainError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { environmentOf, plainName } from "@holdfast/store";
import type { RunFlow } from "../flow/triggers.ts";
import { JsonText, jsonText } from "../json/json-text.ts";
import type { ChainLink, Parent, RunState } from "../run/run-state.ts";
import { withSpan } from "../run/run-trace.ts";
import type { DecideContext } from "./input.ts";

/** Events that the engine itself makes; names and shapes are those of the base protocol. */
export const INVOKED = "inngest/function.invoked";
export const FINISHED = "inngest/function.finished";
export const FAILED = "inngest/function.failed";
export const CANCELLED = "inngest/function.cancelled";
export const DEFERRED_SCHEDULE = "inngest/deferred.schedule";

const ENDS: ReadonlySet<string> = new Set([FINISHED, FAILED, CANCELLED]);

/** The end of a run that such an event triggered makes no event: it could go on for ever. */
export const announcesEnd = (eventName: string): boolean => ENDS.has(eventName);

/** An event that happens with a decision. */
export interface InternalEvent {
  readonly id: string;
  readonly name: string;
  /** Of the run that it comes from. */
  readonly environment: string;
  readonly tsMs: number;
  /** Its JSON text; made only when it is stored. */
  readonly payload: () => string;
  /** Stored only where it triggers a function or something waits for it. */
  readonly ifWanted: boolean;
  /** It starts this run and nothing else. */
  readonly invokes: InvokedRun | null;
}

export interface InvokedRun {
  readonly functionId: string;
  readonly runId: string;
  readonly parent: Parent | null;
  /** It goes on for the run that the event comes from. */
  readonly continues?: ContinuedRun;
}

/** What a run hands over to the one that goes on for it. */
export interface ContinuedRun {
  readonly chain: ChainLink;
  /** What the first run was held back by. */
  readonly flow: RunFlow | null;
  /** The event of the run that ends, JSON text. */
  readonly eventText: string;
  readonly quiet: boolean;
}

export interface Invocation {
  readonly state: RunState;
  readonly stepId: string;
  readonly functionId: string;
  readonly runId: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly expiresMs: number;
}

export function invokedEvent(ctx: DecideContext, invocation: Invocation): InternalEvent {
  const { state, stepId, functionId, runId, payload, expiresMs } = invocation;
  const id = ctx.newId();
  const meta = {
    fn_id: plainName(functionId),
    correlation_id: `${state.runId}.${stepId}`,
    source_app_id: plainName(state.appId),
    source_fn_id: plainName(state.functionId),
    source_fn_v: 0,
    expire: expiresMs,
    gid: "",
    name: "",
  };
  const tsMs = Math.round(ctx.nowMs);
  const v = typeof payload.v === "string" ? `,"v":${JSON.stringify(payload.v)}` : "";
  const more = payload.meta === undefined ? v : `${v},"meta":${jsonText(payload.meta)}`;
  const text = (): string =>
    withSpan(
      `{"id":"${id}","name":"${INVOKED}","data":${invokedData(payload.data, meta)},"ts":${tsMs},"user":{}${more}}`,
      ctx.spanOf?.(state, stepId),
    );
  const invokes = { functionId, runId, parent: { runId: state.runId, key: stepId } };
  const environment = environmentOf(state.functionId);
  return { id, name: INVOKED, environment, tsMs, payload: text, ifWanted: false, invokes };
}

/** What the event of a run that was asked for from outside holds. */
export interface OutsideInvocation {
  readonly id: string;
  /** As people call it. */
  readonly functionId: string;
  readonly tsMs: number;
  readonly data: unknown;
  readonly user: unknown;
  readonly v: unknown;
  readonly meta: unknown;
}

/** Its JSON text. */
export function invocationText({ id, functionId, tsMs, data, user, v, meta }: OutsideInvocation): string {
  const fields = [
    `"id":"${id}"`,
    `"name":"${INVOKED}"`,
    `"data":${invokedData(data, { fn_id: functionId })}`,
    `"ts":${tsMs}`,
    `"user":${jsonText(user ?? {})}`,
    ...(v === undefined ? [] : [`"v":${jsonText(v)}`]),
    ...(meta === undefined ? [] : [`"meta":${jsonText(meta)}`]),
  ];
  return `{${fields.join(",")}}`;
}

/** The event with which a run goes on as another one of its function. */
export const CONTINUED = "holdfast/function.continued";

/** Functions see it as an invocation, which it is. */
export function continuedEvent(ctx: DecideContext, state: RunState, runId: string, data: unknown): InternalEvent {
  const { functionId, parent, chain, flow, eventText, quiet } = state;
  const id = ctx.newId();
  const tsMs = Math.round(ctx.nowMs);
  const text = (): string =>
    withSpan(
      `{"id":"${id}","name":"${INVOKED}","data":${jsonText(data ?? {})},"ts":${tsMs},"user":{}}`,
      ctx.spanOf?.(state),
    );
  const link: ChainLink = { ...chain, root: chain?.root ?? state.runId, from: state.runId };
  const continues = { chain: link, flow, eventText, quiet };
  const environment = environmentOf(functionId);
  const invokes = { functionId, runId, parent, continues };
  return { id, name: CONTINUED, environment, tsMs, payload: text, ifWanted: false, invokes };
}

/** Of fields with one name the last one counts. */
function invokedData(data: unknown, meta: object): string {
  const isEmpty = !(data instanceof JsonText) || !data.isObject || data.values === 1;
  if (!isEmpty) return `${data.text.slice(0, -1)},"_inngest":${JSON.stringify(meta)}}`;
  return JSON.stringify({ ...(isRecord(data) && !(data instanceof JsonText) ? data : {}), _inngest: meta });
}

export type RunEnd =
  | { readonly status: "COMPLETED"; readonly outputText: string }
  | { readonly status: "FAILED" | "CANCELLED"; readonly error: PlainError };

/** The events that the end of a run makes. */
export function endEvents(state: RunState, ctx: DecideContext, end: RunEnd): readonly InternalEvent[] {
  if (state.quiet) return NO_EVENTS;
  const finished = endEvent(state, ctx, end, { id: ctx.newId(), name: FINISHED, ifWanted: true });
  if (end.status === "COMPLETED") return [finished];
  // Named after the run, so that there is one of it; a run that was taken up again ends once more.
  const id = state.revivals === 0 ? state.runId : ctx.newId();
  const name = end.status === "FAILED" ? FAILED : CANCELLED;
  return [finished, endEvent(state, ctx, end, { id, name, ifWanted: false })];
}

const NO_EVENTS: readonly never[] = [];

/** The state keeps changing, but not in what the event contains. */
function endEvent(
  state: RunState,
  ctx: DecideContext,
  end: RunEnd,
  { id, name, ifWanted }: Pick<InternalEvent, "id" | "name" | "ifWanted">,
): InternalEvent {
  const tsMs = Math.round(ctx.nowMs);
  const payload = (): string =>
    withSpan(
      `{"id":"${id}","name":"${name}","data":${endData(state, end)},"ts":${tsMs},"user":{}}`,
      ctx.spanOf?.(state),
    );
  return { id, name, environment: environmentOf(state.functionId), tsMs, payload, ifWanted, invokes: null };
}

/** Put together from text as it is stored. */
function endData(state: RunState, end: RunEnd): string {
  const { functionId, runId, eventText, moreText, parent } = state;
  const ids = JSON.stringify({ function_id: plainName(functionId), run_id: runId }).slice(0, -1);
  const correlation = parent ? `,"correlation_id":${JSON.stringify(`${parent.runId}.${parent.key}`)}` : "";
  const result =
    end.status === "COMPLETED" ? `"result":${end.outputText}` : `"error":${JSON.stringify(eventError(end.error))}`;
  const status = `${end.status.charAt(0)}${end.status.slice(1).toLowerCase()}`;
  return `${ids},"event":${eventText},"events":[${eventText}${moreText === "" ? "" : `,${moreText}`}]${correlation},${result},"_inngest":{"status":"${status}"}}`;
}

function eventError(error: PlainError): object {
  return { error: error.message, ...error };
}
