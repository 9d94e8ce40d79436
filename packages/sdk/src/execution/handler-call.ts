/** The call of the author's handler in one pass: which event it is given, which attempt it is, and the context around. */
import type { LoggerLike } from "@holdfast/core";
import { type EventPayload, isRecord, normalizeError } from "@holdfast/protocol";
import { validateData } from "../events/event-types.ts";
import type { FailureContext, HandlerContext } from "../functions/define-function.ts";
import { onlyEventOf, type RegisteredFunction, schemaFor } from "../functions/registry.ts";
import { reviveError } from "../steps/revive-error.ts";
import { handlerContext, type LazyValues } from "./handler-context.ts";
import type { HandlerTools, PassHandler } from "./pass-host.ts";
import type { PassInput } from "./pass-input.ts";
import type { PassOptions } from "./pass-options.ts";
import { createRunLogger } from "./run-logger.ts";

type HandlerSubject = Pick<PassOptions, "fn" | "input" | "request">;

export class HandlerCall implements PassHandler {
  readonly #subject: HandlerSubject;
  readonly #attempt: number;

  /** @param nowMs on the clock of this process */
  constructor(subject: HandlerSubject, nowMs: number) {
    this.#subject = subject;
    this.#attempt = attemptOf(subject.input, nowMs);
  }

  call(tools: HandlerTools): unknown {
    const { fn, input } = this.#subject;
    const events = givenEvents(input);
    const checked = checkedEvents(fn, events);
    if (checked === undefined) return this.#call(tools, events);
    return checked.then((valid) => this.#call(tools, valid));
  }

  #call(tools: HandlerTools, events: readonly EventPayload[]): unknown {
    const { fn, input, request } = this.#subject;
    const { definition, client } = fn;
    const values = {
      event: events[0],
      events,
      step: tools.step,
      runId: request.runId,
      attempt: this.#attempt,
      maxAttempts: input.maxAttempts ?? definition.config.steps.step.retries.attempts + 1,
      version: input.extended?.appVersion ?? client.options.appVersion,
    };
    const context = handlerContext(values, new HandlerValues(this.#subject, this.#attempt, tools));
    if (!fn.isFailureHandler || !definition.onFailure) return definition.handler(context);
    // Not a copy: that would create a signal that may not be needed.
    return definition.onFailure(Object.assign(context, { error: failureOf(input.event) }) as FailureContext<unknown>);
  }
}

/** What is made when a handler asks for it. */
class HandlerValues implements LazyValues {
  readonly #subject: HandlerSubject;
  readonly #attempt: number;
  readonly #tools: HandlerTools;
  #logger: LoggerLike | undefined;
  #continueAs: HandlerContext<unknown>["continueAs"] | undefined;

  constructor(subject: HandlerSubject, attempt: number, tools: HandlerTools) {
    this.#subject = subject;
    this.#attempt = attempt;
    this.#tools = tools;
  }

  get signal(): AbortSignal {
    return this.#tools.signal;
  }

  get logger(): LoggerLike {
    const { runId, functionSlug } = this.#subject.request;
    const run = { runId, functionSlug, attempt: this.#attempt, isReplaying: () => this.#tools.isReplaying };
    this.#logger ??= createRunLogger(this.#subject.fn.client.options.logger, run);
    return this.#logger;
  }

  get continueAs(): HandlerContext<unknown>["continueAs"] {
    // What it gives is only for the handler to return.
    this.#continueAs ??= ((data: unknown) => this.#tools.continueAs(data)) as HandlerContext<unknown>["continueAs"];
    return this.#continueAs;
  }
}

/** Which try this is: of the handler, or of a failed step whose turn it is, as when each step has a request of its own. */
function attemptOf({ attempt, extended }: PassInput, nowMs: number): number {
  if (!extended) return attempt;
  const atMs = extended.nowMs ?? nowMs;
  const tries = Object.values(extended.retries).filter(({ notBeforeMs }) => notBeforeMs <= atMs);
  return Math.max(attempt, ...tries.map((one) => one.attempt));
}

const INVOKED = "inngest/function.invoked";

/** The events as their schemas give them back; undefined when there is no schema. */
function checkedEvents(fn: RegisteredFunction, events: readonly EventPayload[]): Promise<EventPayload[]> | undefined {
  const schemas = events.map(({ name }) => schemaFor(fn, name === INVOKED ? eventInvoked(fn) : name));
  if (schemas.every((schema) => schema === undefined)) return undefined;
  return Promise.all(
    events.map(async (event, index) => {
      const schema = schemas[index];
      return schema ? { ...event, data: await validateData(schema, event.data, event.name) } : event;
    }),
  );
}

/** A function with one event is invoked with that event's data. */
function eventInvoked({ definition, isFailureHandler }: RegisteredFunction): string {
  return (isFailureHandler ? undefined : onlyEventOf(definition)) ?? INVOKED;
}

/** What the gateway notes in the data of an invocation is no part of it. */
function givenEvents({ event, events }: PassInput): readonly [EventPayload, ...EventPayload[]] {
  const [first = event, ...rest] = events;
  return [withoutNote(first), ...rest.map(withoutNote)];
}

function withoutNote(event: EventPayload): EventPayload {
  if (event.name !== INVOKED || !isRecord(event.data) || !("_inngest" in event.data)) return event;
  const { _inngest, ...data } = event.data;
  return { ...event, data };
}

function failureOf(event: EventPayload): Error {
  const data = isRecord(event.data) ? event.data : {};
  return reviveError(normalizeError(data.error));
}
