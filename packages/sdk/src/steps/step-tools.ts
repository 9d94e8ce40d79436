/**
 * The `step` object that a handler is given: turns each call into a `StepCall`. The tools that wait are in
 * `wait-tools.ts`, `step.run` is in `run-call.ts`, `step.fetch` in `fetch-tool.ts`.
 */
import type { OutgoingEvent, SchemaMap } from "../events/event-types.ts";
import { eventList } from "../events/send-events.ts";
import { fetchCall } from "./fetch-tool.ts";
import { INNGEST_TOOLS } from "./inngest-tools.ts";
import { durationMsOf, instantOf } from "./points-in-time.ts";
import { runCall } from "./run-call.ts";
import { guarded, invalidStep, named, type StepCall, type StepHost, type StepId } from "./step-call.ts";
import type { StepTools } from "./step-types.ts";
import { eventCall, invokeCall, signalCall, type WaitToolsDeps } from "./wait-tools.ts";
import { wireDuration } from "./wire-duration.ts";

export interface StepToolsDeps extends WaitToolsDeps {
  readonly host: StepHost;
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
  const { host } = deps;
  const tools: UntypedTools = {
    waitForEvent: (id: StepId, options: unknown) => guarded(id, () => eventCall(deps, id, options), host),
    waitForSignal: (id: StepId, options: unknown) => guarded(id, () => signalCall(deps, id, options), host),
    invoke: (id: StepId, options: unknown) => guarded(id, () => invokeCall(deps, id, options), host),
    run: (id: StepId, body: unknown, ...rest: unknown[]) => guarded(id, () => runCall(id, body, rest), host),
    sleep: (id: StepId, duration: unknown) =>
      guarded(
        id,
        (): StepCall => {
          const durationMs = durationMsOf(duration, "The duration of step.sleep()");
          return { ...named(id), kind: "sleep", opName: wireDuration(durationMs, deps.exact), show: nothing };
        },
        host,
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
        host,
      ),
    sendEvent: (id: StepId, events: unknown) => guarded(id, () => sendEventCall(deps, id, events), host),
    sendSignal: (id: StepId, options: unknown) => guarded(id, () => sendSignalCall(deps, id, options), host),
    fetch: (...args: readonly unknown[]) => guarded("step.fetch", () => fetchCall(args), host),
  };
  Object.setPrototypeOf(tools, INNGEST_TOOLS);
  return tools as StepTools<SchemaMap>;
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
