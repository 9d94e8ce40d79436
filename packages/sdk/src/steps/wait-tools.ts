/** The calls of steps that end when something happens elsewhere: an event, a signal, the end of another run. */
import { describeValue, HoldfastError, unstorableIn } from "@holdfast/core";
import { isRecord, matchPathProblem, WIRE_LIMITS } from "@holdfast/protocol";
import { isStandardSchema, validateData } from "../events/event-types.ts";
import type { StandardSchema } from "../events/standard-schema.ts";
import { invokeErrorOf } from "./errors.ts";
import { timeoutText } from "./points-in-time.ts";
import { invalidStep, jsonCopy, named, nameOf, type StepCall, type StepId, whyNoCopy } from "./step-call.ts";
import { undoStepOf } from "./undo-step.ts";

export interface WaitToolsDeps {
  /** Milliseconds may be said; the base protocol knows whole seconds only. */
  readonly exact: boolean;
  /** The gateway ends waits by events that came before, where that is asked for. */
  readonly looksBack: boolean;
  /** The schema of an event's data, by the client's options; `isDeclared`: the event is one of `eventType()`. */
  schemaOf(eventName: string, isDeclared: boolean): StandardSchema | undefined;
  /** Data of `step.invoke` as the author gave it, of which JSON has made a copy. */
  onData(id: unknown, data: unknown): void;
  /** The app whose function runs. */
  readonly client: { readonly options: { readonly id: string } };
}

export function eventCall(deps: WaitToolsDeps, id: StepId, given: unknown): StepCall {
  const { exact, looksBack } = deps;
  const options = optionsOf(id, given, "waitForEvent", ["event", "timeout", "if", "match", "since", "schema"]);
  const { event, match } = options;
  const inner = isRecord(event) ? event : undefined;
  const name = textOf(id, inner === undefined ? event : inner.event, "event", WIRE_LIMITS.maxEventNameLength);
  if (match !== undefined && options.if !== undefined) throw invalidStep(id, "it has both `if` and `match`");
  const condition =
    match === undefined
      ? options.if === undefined
        ? undefined
        : textOf(id, options.if, "if")
      : sameIn(id, textOf(id, match, "match"));
  if (name.includes("*"))
    throw invalidStep(id, 'it waits for one event; a "*" in the name is only allowed in triggers');
  const schema = options.schema ?? inner?.schema ?? deps.schemaOf(name, inner !== undefined);
  if (schema !== undefined && !isStandardSchema(schema)) throw invalidStep(id, "its `schema` is not a Standard Schema");
  return {
    ...named(id),
    kind: "waitForEvent",
    opName: name,
    opts: {
      timeout: waitText(id, options.timeout, exact),
      ...(condition === undefined ? {} : { if: condition }),
      ...(isSinceRun(id, options.since, looksBack) ? { since: "run" } : {}),
    },
    show: (value) => (schema === undefined || !isRecord(value) ? value : checked(value, schema, name)),
  };
}

async function checked(event: Record<string, unknown>, schema: StandardSchema, name: string): Promise<unknown> {
  return { ...event, data: await validateData(schema, event.data, name) };
}

function isSinceRun(id: StepId, since: unknown, looksBack: boolean): boolean {
  if (since !== undefined && since !== "run" && since !== "wait") {
    throw invalidStep(id, `its \`since\` must be "run" or "wait", not ${describeValue(since)}`);
  }
  if (since !== "run" || looksBack) return since === "run";
  throw new HoldfastError(
    "GATEWAY_UNSUPPORTED",
    `Step ${nameOf(id)}: \`since: "run"\` is not available on this gateway, which gives a wait only what comes after it began. Begin to wait before the event can be sent, for example beside the step that asks for it, with Promise.all.`,
  );
}

/** `match` as the expression it is short for. */
function sameIn(id: StepId, path: string): string {
  const problem = matchPathProblem(path);
  if (problem !== null) throw invalidStep(id, `its \`match\` ${problem}`);
  return `event.${path} == async.${path}`;
}

export function signalCall({ exact }: WaitToolsDeps, id: StepId, given: unknown): StepCall {
  const options = optionsOf(id, given, "waitForSignal", ["signal", "timeout", "onConflict"]);
  const { onConflict = "fail" } = options;
  if (onConflict !== "fail" && onConflict !== "replace") {
    throw invalidStep(id, '`onConflict` must be "fail" or "replace"');
  }
  const signal = textOf(id, options.signal, "signal", WIRE_LIMITS.maxSignalLength);
  const timeout = waitText(id, options.timeout, exact);
  return { ...named(id), kind: "waitForSignal", opName: signal, opts: { signal, timeout, conflict: onConflict } };
}

export function invokeCall(deps: WaitToolsDeps, id: StepId, given: unknown): StepCall {
  const { exact, client } = deps;
  const options = optionsOf(id, given, "invoke", ["function", "data", "v", "meta", "timeout"]);
  const functionId = slugOf(id, options.function, client.options.id);
  const { data, v, meta, timeout } = options;
  if (data !== undefined && data !== null && !isRecord(data)) throw invalidStep(id, "its `data` must be an object");
  const payload = jsonCopy({
    ...(data === undefined || data === null ? {} : { data }),
    ...(v === undefined ? {} : { v: textOf(id, v, "v") }),
    ...(meta === undefined ? {} : { meta }),
  });
  if (payload === undefined)
    throw invalidStep(id, `its data cannot be serialised as JSON: ${whyNoCopy({ data, meta })}`);
  const name = named(id);
  deps.onData(name.id, data);
  return {
    ...name,
    kind: "invoke",
    opts: {
      function_id: functionId,
      payload,
      ...(timeout === undefined ? {} : { timeout: waitText(id, timeout, exact) }),
      ...undoStepOf(given),
    },
    ...undoStepOf(given),
    failure: (fullId, error) => invokeErrorOf(fullId, functionId, error),
  };
}

/** Functions have their slug; references an app and a function of it. */
function slugOf(id: StepId, target: unknown, appId: string): string {
  const { slug, functionId, appId: otherApp } = (target ?? {}) as Record<string, unknown>;
  if (typeof slug === "string" && slug !== "") return slug;
  if (typeof functionId === "string" && functionId !== "") {
    return `${typeof otherApp === "string" && otherApp !== "" ? otherApp : appId}-${functionId}`;
  }
  throw invalidStep(
    id,
    "step.invoke() needs a `function`: one created by createFunction(), or referenceFunction({ functionId })",
  );
}

function optionsOf(id: StepId, value: unknown, tool: string, known: readonly string[]): Record<string, unknown> {
  if (!isRecord(value)) throw invalidStep(id, `step.${tool}() needs an object of options as its second argument`);
  const extra = Object.keys(value).find((key) => !known.includes(key));
  if (extra !== undefined) {
    throw invalidStep(id, `step.${tool}() has no option \`${extra}\`; valid options: ${known.join(", ")}`);
  }
  return value;
}

function textOf(id: StepId, value: unknown, name: string, maxLength = 10_000): string {
  if (typeof value === "string" && value.trim() !== "" && value.length <= maxLength) {
    const problem = unstorableIn(value);
    if (problem === null) return value;
    throw invalidStep(id, `its \`${name}\` contains ${problem}`);
  }
  throw invalidStep(id, `its \`${name}\` must be a string of 1 to ${maxLength} characters`);
}

function waitText(id: StepId, value: unknown, exact: boolean): string {
  if (value === undefined) throw invalidStep(id, 'it needs a `timeout`, such as "1h"');
  return timeoutText(value, `The timeout of step ${nameOf(id)}`, exact);
}
