/**
 * What a node's step is called with: its config with templates filled in, each field of the kind that the step takes. Pure,
 * so that what is invalid there fails the node in the same way when its state is worked out.
 */
import { HoldfastError, messageOf, parseDurationMs, unreachable } from "@holdfast/core";
import { type BuiltInName, builtIn, type ConfigField, isBuiltIn } from "../definition/node-types.ts";
import type { NodeCall } from "../interpret/run-types.ts";
import { fillTemplates } from "../templates/fill-template.ts";
import { checkCtxSize } from "./code-job.ts";
import { eventExpression } from "./event-expression.ts";
import { type HttpRequest, httpRequest } from "./http.ts";

export type StepNode = Exclude<BuiltInName, "start" | "end" | "loop" | "subgraph">;

export type FilledStep =
  | { readonly type: "condition" }
  | { readonly type: "delay"; readonly durationMs: number }
  | { readonly type: "until"; readonly date: Date }
  | {
      readonly type: "waitForEvent";
      readonly options: { readonly event: string; readonly timeout: number; readonly if?: string };
    }
  | { readonly type: "approval"; readonly options: { readonly signal: string; readonly timeout: number } }
  | {
      readonly type: "function";
      readonly slug: string;
      readonly data: Record<string, unknown>;
      readonly timeoutMs: number | undefined;
    }
  | { readonly type: "http"; readonly request: HttpRequest }
  | { readonly type: "javascript"; readonly timeoutMs: number }
  /** A type of the app. */
  | { readonly type: "custom"; readonly config: unknown };

/** Name of the signal that an approval waits for. */
const approvalSignal = (runId: string, key: string): string => `graph:${runId}:${key}`;

/** @throws HoldfastError `GRAPH_CONFIG_INVALID`, and what templates are refused with */
export function filledStep(call: NodeCall, runId: string): FilledStep {
  const { config = {}, type: name, id } = call.node;
  const fill = (value: unknown): unknown => fillTemplates(value, call.lookup);
  if (!isBuiltIn(name)) return { type: "custom", config: fill(config) };
  const type = name as StepNode;
  switch (type) {
    case "condition":
      return { type };
    case "delay":
      return { type, durationMs: durationOf(call, type, "duration", fill(config.duration)) };
    case "until":
      return { type, date: instantOf(call, fill(config.time)) };
    case "waitForEvent": {
      const condition = eventExpression(id, config.if, fill(config.match ?? {}));
      const event = eventOf(call, fill(config.event));
      const timeout = durationOf(call, type, "timeout", fill(config.timeout));
      return { type, options: { event, timeout, ...(condition === undefined ? {} : { if: condition }) } };
    }
    case "approval": {
      const signal = config.signal === undefined ? approvalSignal(runId, call.key) : fill(config.signal);
      const timeout = durationOf(call, type, "timeout", fill(config.timeout));
      return { type, options: { signal: textOf(call, "signal", signal), timeout } };
    }
    case "function": {
      const slug = textOf(call, "function", fill(config.function));
      const data = dataOf(call, fill(config.input ?? {}));
      const { timeout } = config;
      const timeoutMs = timeout === undefined ? undefined : durationOf(call, type, "timeout", fill(timeout));
      return { type, slug, data, timeoutMs };
    }
    case "http":
      return { type, request: httpRequest(id, fill(config)) };
    case "javascript":
      checkCtxSize(id, call.ctx());
      return { type, timeoutMs: durationOf(call, type, "timeout", fill(config.timeout ?? "30s")) };
    default:
      return unreachable(type);
  }
}

export function textOf({ node }: NodeCall, field: string, value: unknown): string {
  const kind = kindOf(node.type, field);
  const max = kind?.kind === "text" ? kind.maxChars : Number.POSITIVE_INFINITY;
  if (typeof value === "string" && value !== "" && value.length <= max && !value.includes("\0")) return value;
  const limit = Number.isFinite(max) ? ` of 1 to ${max} characters` : "";
  throw new HoldfastError("GRAPH_CONFIG_INVALID", `\`${field}\` of node "${node.id}" did not come to a text${limit}.`);
}

/** What the table of node types says of a field: what comes from a template has the same limits. */
const kindOf = (type: string, field: string): ConfigField["type"] | undefined => builtIn(type)?.config[field]?.type;

export function durationOf({ node }: NodeCall, type: string, field: string, value: unknown): number {
  const kind = kindOf(type, field);
  const range = kind?.kind === "duration" && kind.maxMs !== undefined ? { minMs: 1, maxMs: kind.maxMs } : {};
  try {
    return parseDurationMs(value as string | number, `\`${field}\` of node "${node.id}"`, range);
  } catch (cause) {
    const message = `\`${field}\` of node "${node.id}" did not come to a duration that it may have: ${messageOf(cause)}`;
    throw new HoldfastError("GRAPH_CONFIG_INVALID", message, { cause });
  }
}

export function instantOf({ node }: NodeCall, value: unknown): Date {
  const date = new Date(typeof value === "number" || typeof value === "string" ? value : Number.NaN);
  if (!Number.isNaN(date.getTime())) return date;
  const message = `\`time\` of node "${node.id}" did not come to a time: ISO 8601 text, or milliseconds since 1970.`;
  throw new HoldfastError("GRAPH_CONFIG_INVALID", message);
}

export function dataOf({ node }: NodeCall, value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const message = `\`input\` of node "${node.id}" did not come to an object, which the data of an event is.`;
  throw new HoldfastError("GRAPH_CONFIG_INVALID", message);
}

/** A wait is for one event. */
export function eventOf(call: NodeCall, value: unknown): string {
  const name = textOf(call, "event", value);
  if (!name.includes("*")) return name;
  const message = `\`event\` of node "${call.node.id}" came to a name with "*"; a wait is for one event.`;
  throw new HoldfastError("GRAPH_CONFIG_INVALID", message);
}
