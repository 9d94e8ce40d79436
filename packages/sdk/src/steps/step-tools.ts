import { type DurationInput, HoldfastError, parseDurationMs } from "@holdfast/core";
import type { CheckedOutgoings, OutgoingEvent, SchemaMap } from "../client/event-types.ts";
import { instantOf } from "./errors.ts";
import type { StepResult } from "./step-result.ts";
import { wireDuration } from "./wire-duration.ts";

/** A step's id, or its id and how it is called for people. */
export type StepId = string | { readonly id: string; readonly name?: string };

/** What a handler does durably. Each call is a step: it happens once per run, and its result is kept. */
export interface StepTools<Schemas extends SchemaMap = SchemaMap> {
  /**
   * Runs `body` and keeps what it returns, as JSON: a Date comes back as text, `undefined` stays `undefined`. When it
   * throws it is tried again; when it has failed for good the promise rejects with a `StepError`.
   */
  run<Args extends unknown[], Result>(
    id: StepId,
    body: (...args: Args) => Result,
    ...args: Args
  ): Promise<StepResult<Awaited<Result>>>;
  /** Waits without holding anything. Milliseconds, or text such as "2h". */
  sleep(id: StepId, duration: DurationInput): Promise<void>;
  /** Waits until a point in time: a Date, ISO 8601 text, or milliseconds since the Unix epoch. */
  sleepUntil(id: StepId, at: Date | string | number): Promise<void>;
  /** Sends events, once: a repeat after a crash carries the same ids, by which the gateway knows it. */
  sendEvent<const Events extends OutgoingEvent | readonly OutgoingEvent[]>(
    id: StepId,
    events: Events & CheckedOutgoings<Events, Schemas>,
  ): Promise<{ ids: string[] }>;
}

/** A call of one of the tools. */
export interface StepCall {
  readonly id: unknown;
  readonly displayName?: string;
  readonly kind: "run" | "sleep" | "sendEvent";
  /** Absent for what the gateway does by itself. The hash lets it make ids that are the same on every attempt. */
  readonly body?: (hash: string, args: readonly unknown[]) => unknown;
  /** Arguments of the author's, kept with the step. */
  readonly args?: readonly unknown[];
  /** Name of the reported op; default: the step's id. */
  readonly opName?: string;
  readonly opts?: Readonly<Record<string, unknown>>;
}

export interface StepToolsDeps {
  find(call: StepCall): Promise<unknown>;
  readonly runId: string;
  /** Milliseconds may be said; the base protocol knows whole seconds only. */
  readonly exactSleep: boolean;
  send(events: readonly OutgoingEvent[]): Promise<{ ids: string[] }>;
}

export function createStepTools(deps: StepToolsDeps): StepTools {
  const { find } = deps;
  const tools = {
    run: (id: StepId, body: (...args: unknown[]) => unknown, ...args: unknown[]) => {
      if (typeof body !== "function") return rejected(id, "step.run() needs a function as its second argument");
      const call = {
        ...named(id),
        kind: "run",
        body: (_hash: string, given: readonly unknown[]) => body(...given),
      } as const;
      if (args.length === 0) return find(call);
      return isJson(args)
        ? find({ ...call, args })
        : rejected(id, "its arguments are kept as JSON, which cannot carry them");
    },
    sleep: (id: StepId, duration: DurationInput) =>
      guarded(() => {
        const durationMs = parseDurationMs(duration, "The duration of step.sleep()");
        return find({ ...named(id), kind: "sleep", opName: wireDuration(durationMs, deps.exactSleep) });
      }),
    sleepUntil: (id: StepId, at: Date | string | number) =>
      guarded(() => {
        const instant = instantOf(typeof at === "number" ? new Date(at) : at);
        if (instant === undefined) return rejected(id, `step.sleepUntil() needs a Date, ISO 8601 text or milliseconds`);
        return find({ ...named(id), kind: "sleep", opName: instant });
      }),
    sendEvent: (id: StepId, events: OutgoingEvent | readonly OutgoingEvent[]) => {
      const list = Array.isArray(events) ? (events as readonly OutgoingEvent[]) : [events as OutgoingEvent];
      return find({
        ...named(id),
        kind: "sendEvent",
        opName: "sendEvent",
        opts: { type: "step.sendEvent" },
        body: (hash) => deps.send(list.map((event, index) => withId(event, `${deps.runId}-${hash}-${index}`))),
      });
    },
  };
  return tools as StepTools;
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

function named(id: unknown): Pick<StepCall, "id" | "displayName"> {
  if (typeof id !== "object" || id === null) return { id };
  const { id: inner, name } = id as { id?: unknown; name?: unknown };
  return typeof name === "string" && name !== "" ? { id: inner, displayName: name } : { id: inner };
}

/** The author's own id stays. What `EventType.create` attached stays, too. */
function withId(event: OutgoingEvent, id: string): OutgoingEvent {
  if (typeof event !== "object" || event === null || event.id !== undefined) return event;
  return Object.defineProperties({} as OutgoingEvent, {
    ...Object.getOwnPropertyDescriptors(event),
    id: { value: id, enumerable: true },
  });
}

function guarded(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return call();
  } catch (error) {
    return rejectedStep(error);
  }
}

/** A step that could not even be called. Nobody may be awaiting it yet, which must not end the process. */
export function rejectedStep(error: unknown): Promise<never> {
  const promise = Promise.reject(error);
  promise.catch(() => {});
  return promise;
}

function rejected(id: StepId, problem: string): Promise<never> {
  return rejectedStep(new HoldfastError("STEP_INVALID", `Step ${JSON.stringify(id)}: ${problem}.`));
}
