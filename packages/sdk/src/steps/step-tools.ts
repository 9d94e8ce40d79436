/**
 * The `step` object that a handler is given: turns each call into a `StepCall`. The tools that wait are in
 * `wait-tools.ts`, `step.fetch` in `fetch-tool.ts`.
 */
import { messageOf } from "@holdfast/core";
import type { OutgoingEvent, SchemaMap } from "../events/event-types.ts";
import { eventList } from "../events/send-events.ts";
import { fetchCall } from "./fetch-tool.ts";
import { isolationMarkOf } from "./isolated.ts";
import { durationMsOf, instantOf } from "./points-in-time.ts";
import { readRetries, readRetryIf } from "./retry-policy.ts";
import { guarded, invalidStep, jsonCopy, named, type StepCall, type StepId } from "./step-call.ts";
import type { StepTools } from "./step-types.ts";
import { eventCall, invokeCall, signalCall, type WaitToolsDeps } from "./wait-tools.ts";
import { wireDuration } from "./wire-duration.ts";

export interface StepToolsDeps extends WaitToolsDeps {
  readonly find: (call: StepCall) => Promise<unknown>;
  readonly runId: string;
  readonly client: WaitToolsDeps["client"] & {
    sendEvents(events: readonly OutgoingEvent[]): Promise<{ ids: string[] }>;
    sendSignal(signal: { readonly signal: string; readonly data?: unknown }): Promise<{ readonly runId?: string }>;
  };
}

/** What each tool does, whatever it is given; `StepTools` says what may be given and what comes of it. */
type UntypedTools = { readonly [Tool in keyof StepTools]: (...args: never[]) => Promise<unknown> };

/**
 * The tools of one pass. Functions of their own, so that `const { run } = step` works; and one literal, since an object
 * that is spread into another costs each pass some microseconds.
 */
export function createStepTools(deps: StepToolsDeps): StepTools<SchemaMap> {
  const { find } = deps;
  const tools: UntypedTools = {
    waitForEvent: (id: StepId, options: unknown) => guarded(id, () => eventCall(deps, id, options), find),
    waitForSignal: (id: StepId, options: unknown) => guarded(id, () => signalCall(deps, id, options), find),
    invoke: (id: StepId, options: unknown) => guarded(id, () => invokeCall(deps, id, options), find),
    run: (id: StepId, body: unknown, ...rest: unknown[]) => guarded(id, () => runCall(id, body, rest), find),
    sleep: (id: StepId, duration: unknown) =>
      guarded(
        id,
        (): StepCall => {
          const durationMs = durationMsOf(duration, "The duration of step.sleep()");
          return { ...named(id), kind: "sleep", opName: wireDuration(durationMs, deps.exact), show: nothing };
        },
        find,
      ),
    sleepUntil: (id: StepId, at: unknown) =>
      guarded(
        id,
        (): StepCall => {
          const instant = instantOf(typeof at === "number" ? new Date(at) : at, at);
          if (instant === undefined) {
            throw invalidStep(
              id,
              "step.sleepUntil() needs a Date, an ISO 8601 string, milliseconds or a Temporal instant",
            );
          }
          return { ...named(id), kind: "sleep", opName: instant, show: nothing };
        },
        find,
      ),
    sendEvent: (id: StepId, events: unknown) => guarded(id, () => sendEventCall(deps, id, events), find),
    sendSignal: (id: StepId, options: unknown) => guarded(id, () => sendSignalCall(deps, id, options), find),
    fetch: (...args: readonly unknown[]) =>
      guarded(
        "step.fetch",
        () => fetchCall(args),
        // The text of a Request's body may have to be read first.
        (call) => (call instanceof Promise ? quietened(call.then(find)) : find(call)),
      ),
  };
  return tools as StepTools<SchemaMap>;
}

/** An error that is never awaited must not end the process. */
function quietened<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

const nothing = (): undefined => undefined;

function sendEventCall(deps: StepToolsDeps, id: StepId, events: unknown): StepCall {
  const list = eventList(events);
  return {
    ...named(id),
    kind: "sendEvent",
    opName: "sendEvent",
    opts: { type: "step.sendEvent" },
    body: (hash) => deps.client.sendEvents(list.map((event, index) => withId(event, `${deps.runId}-${hash}-${index}`))),
  };
}

function sendSignalCall(deps: StepToolsDeps, id: StepId, options: unknown): StepCall {
  const { signal, data } = (options ?? {}) as { readonly signal: string; readonly data?: unknown };
  return {
    ...named(id),
    kind: "sendSignal",
    opName: "sendSignal",
    opts: { type: "step.sendSignal", ...(typeof signal === "string" ? { signal } : {}) },
    body: () => deps.client.sendSignal(data === undefined ? { signal } : { signal, data }),
  };
}

const RUN_OPTIONS: ReadonlySet<string> = new Set(["compensate", "retries", "retryIf", "timeout"]);

/**
 * Whether the third argument is options: a function is no JSON, so an object that has one is never meant for the body;
 * one without is, where the body names a parameter for it.
 */
function isRunOptions(id: StepId, body: { readonly length: number }, rest: readonly unknown[]): boolean {
  const value = rest[0];
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  const keys = Object.keys(value);
  const hasFunction = Object.values(value).some((each) => typeof each === "function");
  const unknown = keys.find((key) => !RUN_OPTIONS.has(key));
  if (unknown === undefined) return keys.length > 0 && (hasFunction || body.length < rest.length);
  if (!hasFunction) return false;
  throw invalidStep(
    id,
    `step.run() has no option \`${unknown}\`; valid options: ${[...RUN_OPTIONS].join(", ")}. Step arguments are serialised as JSON and cannot include functions`,
  );
}

function runCall(id: StepId, body: unknown, rest: readonly unknown[]): StepCall {
  if (typeof body !== "function") throw invalidStep(id, "step.run() needs a function as its second argument");
  const options = isRunOptions(id, body as { readonly length: number }, rest)
    ? (rest[0] as RunOptionsInput)
    : undefined;
  const args = options === undefined ? rest : rest.slice(1);
  const kept = args.length === 0 ? args : jsonCopy(args);
  if (kept === undefined) throw invalidStep(id, "its arguments cannot be serialised as JSON");
  const mark = isolationMarkOf(body);
  return {
    ...named(id),
    kind: "run",
    // The first time the body gets what the author gave.
    body: (_hash, given, running) => {
      const actual = given === kept ? args : given;
      return mark && running.isolate ? running.isolate(mark, actual) : body(...actual);
    },
    ...(kept.length > 0 ? { args: kept } : {}),
    ...(options === undefined ? {} : runOptions(id, options)),
  };
}

interface RunOptionsInput {
  readonly compensate?: unknown;
  readonly retries?: unknown;
  readonly retryIf?: unknown;
  readonly timeout?: unknown;
}

function runOptions(id: StepId, { compensate, retries, retryIf, timeout }: RunOptionsInput): Partial<StepCall> {
  const fail = (problem: string): never => {
    throw invalidStep(id, problem);
  };
  if (compensate !== undefined && typeof compensate !== "function") {
    throw invalidStep(id, "`compensate` must be a function");
  }
  return {
    ...(retries === undefined ? {} : { retries: readRetries(retries, fail) }),
    ...(retryIf === undefined ? {} : { retryIf: readRetryIf(retryIf, fail) }),
    ...(timeout === undefined ? {} : { timeoutMs: timeoutMsOf(id, timeout) }),
    ...(compensate === undefined
      ? {}
      : { compensate: compensate as NonNullable<StepCall["compensate"]>, opts: { compensate: true } }),
  };
}

/** At least a millisecond: 0 would fail each attempt. */
function timeoutMsOf(id: StepId, timeout: unknown): number {
  let timeoutMs = 0;
  try {
    timeoutMs = durationMsOf(timeout, "`timeout`");
  } catch (cause) {
    throw invalidStep(id, messageOf(cause).replace(/\.$/, ""), cause);
  }
  if (timeoutMs > 0) return timeoutMs;
  throw invalidStep(id, '`timeout` must be at least 1 ms, such as "30s"; leave it out for no limit');
}

/** The author's own id stays. What `EventType.create` attached stays, too. */
function withId(event: OutgoingEvent, id: string): OutgoingEvent {
  try {
    if (typeof event !== "object" || event === null || event.id !== undefined) return event;
    return Object.defineProperties({} as OutgoingEvent, {
      ...Object.getOwnPropertyDescriptors(event),
      id: { value: id, enumerable: true },
    });
  } catch {
    // Sending says what is wrong with it.
    return event;
  }
}
