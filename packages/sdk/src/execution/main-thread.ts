/**
 * Executes requests on the thread that called `connect()`: finds the function, reads the input, and runs a `Pass` with
 * the handler. Whatever goes wrong before the handler begins becomes an error reply here.
 */
import {
  type Clock,
  HoldfastError,
  type Log,
  type LoggerLike,
  messageOf,
  systemClock,
  systemTimers,
  type Timers,
  toPlainError,
} from "@holdfast/core";
import { type EventPayload, encodeJsonBytes, isRecord, normalizeError } from "@holdfast/protocol";
import { validateData } from "../events/event-types.ts";
import type { FetchedRunState } from "../events/run-state.ts";
import type { FailureContext, HandlerContext } from "../functions/define-function.ts";
import { isolatedFunctionOf, loadIsolated } from "../functions/load-isolated.ts";
import { type RegisteredFunction, type Registry, schemaFor } from "../functions/registry.ts";
import { Journal } from "../steps/journal.ts";
import type { PassMode } from "../steps/pass-types.ts";
import { reviveError } from "../steps/revive-error.ts";
import { provideStepSignal } from "../steps/step-signal.ts";
import type { CancelSignal } from "./abort.ts";
import { currentSignal, publishCurrentExecution } from "./current.ts";
import type { CheckpointPort, ExecutionRequest, ExecutionResult, ExecutionStrategy, PassRequest } from "./execution.ts";
import { failureLogOf } from "./failure-log.ts";
import { inTurn, type Turns, UNLIMITED_TURNS } from "./fair-turns.ts";
import { handlerContext } from "./handler-context.ts";
import type { IsolatedBodies } from "./isolated-body.ts";
import { Pass } from "./pass.ts";
import { type ParsedPayload, type PassInput, parsePayload, readPassInput } from "./pass-input.ts";
import type { BodyWatch, Intercept, PassHandler, PassOptions } from "./pass-options.ts";
import { errorObject } from "./result-json.ts";
import { nothingNew } from "./result-of.ts";
import { createRunLogger } from "./run-logger.ts";
import { RunningSteps } from "./running-steps.ts";

export interface MainThreadDeps {
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly intercept?: Intercept;
  /** Who starts when; default: everyone at once. */
  readonly turns?: Turns;
  /** Where marked bodies of steps run; default: in this thread. */
  readonly isolation?: IsolatedBodies;
  /** Waits before retries are as long each time. */
  readonly withoutJitter?: boolean;
  /** In a pool thread: follows the bodies of a request. */
  readonly watch?: (request: PassRequest) => BodyWatch;
  /** For what fails; default: the logger of the function's app. */
  readonly log?: Log;
}

/** What a reply says its version is when the request's could not be read. */
const FALLBACK_VERSION = 2;

/** Runs handlers where they were defined: on the thread that called `connect`. */
export function createMainThreadStrategy(registry: Registry, deps: MainThreadDeps = {}): ExecutionStrategy {
  const { intercept, turns = UNLIMITED_TURNS, watch } = deps;
  const runningSteps = new RunningSteps();
  const ports = {
    runningSteps,
    clock: deps.clock ?? systemClock,
    timers: deps.timers ?? systemTimers,
    turns,
    isolation: deps.isolation,
    withoutJitter: deps.withoutJitter,
  };
  publishCurrentExecution();
  provideStepSignal(currentSignal);
  const execute = async (
    request: PassRequest,
    payload: ParsedPayload,
    port: CheckpointPort,
    signal: CancelSignal,
  ): Promise<ExecutionResult> => {
    let requestVersion = FALLBACK_VERSION;
    let { log } = deps;
    try {
      const found = findFunction(registry, request);
      const failureLog = deps.log ?? failureLogOf(found);
      log = failureLog;
      const fn = found.definition.isolate === undefined || found.isFailureHandler ? found : await loadInline(found);
      const read = readPassInput(payload, () => fetchState(fn, request, signal));
      const input = read instanceof Promise ? await read : read;
      requestVersion = input.requestVersion;
      const mode = modeOf(request, input);
      const begin = (): ExecutionResult | Promise<ExecutionResult> => {
        const wait = port.whenConfirmed?.();
        // Others may have waited for the same.
        if (wait) return wait.then(() => inTurn(turns, async () => begin()));
        if (mode.type === "targeted" && isFinished(input, mode.hash)) return nothingNew(requestVersion);
        if (signal.aborted) return { ...nothingNew(requestVersion), stale: true };
        const optional: Pick<PassOptions, "intercept" | "watch"> = {
          ...(intercept === undefined ? {} : { intercept }),
          ...(watch === undefined ? {} : { watch: watch(request) }),
        };
        const options = { request, input, fn, mode, port, signal, ports, log: failureLog, ...optional };
        return new Pass(options).run(handlerOf(fn, input, request, ports.clock.nowMs()));
      };
      return await (read instanceof Promise ? inTurn(turns, async () => begin()) : begin());
    } catch (thrown) {
      if (signal.aborted) return { ...nothingNew(requestVersion), stale: true };
      logRefusal(log, request, thrown);
      return infrastructureError(thrown, requestVersion);
    }
  };
  return {
    // Parsed in its turn: a payload may be large.
    execute: (request, port, signal) =>
      inTurn(turns, () => execute(passRequestOf(request), parsePayload(request.payload), port, signal)),
    runningSteps,
  } satisfies ExecutionStrategy;
}

function passRequestOf(given: ExecutionRequest): PassRequest {
  const { requestId, appName, functionSlug, stepId, runId, jobId, userTraceCtx, extensions } = given;
  const request = { requestId, appName, functionSlug, stepId, runId, jobId, extensions };
  return userTraceCtx === undefined ? request : Object.assign(request, { userTraceCtx });
}

/** An isolated function that is to run in this thread all the same: in tests of functions, whose client is the test's. */
async function loadInline(fn: RegisteredFunction): Promise<RegisteredFunction> {
  const isolated = isolatedFunctionOf(fn);
  if (isolated === undefined) return fn;
  const loaded = await loadIsolated(isolated, fn.client);
  const { options, schemas } = loaded.client;
  const { client } = fn;
  return {
    ...loaded,
    client: {
      options,
      schemas,
      sendEvents: (events) => client.sendEvents(events),
      sendSignal: (signal) => client.sendSignal(signal),
      fetchRunState: (runId, unwanted) => client.fetchRunState(runId, unwanted),
    },
  };
}

function findFunction(registry: Registry, { appName, functionSlug }: PassRequest): RegisteredFunction {
  const fn = registry.find(appName, functionSlug);
  if (fn) return fn;
  const known = registry.slugs(appName).slice(0, 10);
  throw new HoldfastError(
    "FUNCTION_UNKNOWN",
    `The app "${appName}" has no function "${functionSlug}" in this worker; it has ${known.length > 0 ? known.join(", ") : "none"}.`,
  );
}

/** The state of a run that is too large for one request. Aborted by `signal`. */
async function fetchState(
  { client }: RegisteredFunction,
  { runId }: PassRequest,
  signal: CancelSignal,
): Promise<FetchedRunState> {
  const unwanted = new AbortController();
  const stop = (): void => unwanted.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    return await client.fetchRunState(runId, unwanted.signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function modeOf(request: PassRequest, input: PassInput): PassMode {
  const { stepId } = request;
  if (stepId !== "" && stepId !== "step") return { type: "targeted", hash: stepId };
  // A gateway that has steps of this run under way in the plain manner leaves our object out of the request.
  const inPlace = request.extensions.includes("checkpoint") && input.extended !== undefined && !input.planOnly;
  if (!inPlace) return { type: "plain", planOnly: input.planOnly };
  // What the handler does over a result may be why the work was lost: then the result is stored first.
  const wasLost = (input.extended?.losses ?? 0) > 0;
  return { type: "in-place", looksAhead: request.extensions.includes("lookahead") && !wasLost };
}

function isFinished(input: PassInput, hash: string): boolean {
  const hit = new Journal(input.steps, [hash]).lookup(hash);
  return hit !== undefined && hit.type !== "input";
}

/** Calls the author's handler with all that it is given. */
function handlerOf(
  fn: RegisteredFunction,
  input: PassInput,
  { runId, functionSlug }: PassRequest,
  nowMs: number,
): PassHandler {
  const { definition, client } = fn;
  const { retries } = definition.config.steps.step;
  const attempt = attemptOf(input, nowMs);
  const call = ({ step, signal, isReplaying, continueAs }: Parameters<PassHandler>[0], given: GivenEvents): unknown => {
    const values = {
      event: given.event,
      events: given.events,
      step,
      runId,
      attempt,
      maxAttempts: input.maxAttempts ?? retries.attempts + 1,
      version: input.extended?.appVersion ?? client.options.appVersion,
      // What it gives is only for the handler to return.
      continueAs: continueAs as HandlerContext<unknown>["continueAs"],
    };
    const logger = (): LoggerLike =>
      createRunLogger(client.options.logger, { runId, functionSlug, attempt, isReplaying });
    const context = handlerContext(values, { signal, logger });
    if (!fn.isFailureHandler || !definition.onFailure) return definition.handler(context);
    // Not a copy: that would create a signal that may not be needed.
    return definition.onFailure(Object.assign(context, { error: failureOf(input.event) }) as FailureContext<unknown>);
  };
  return (tools) => {
    const events = givenEvents(input);
    const checked = checkedEvents(fn, events);
    if (checked === undefined) return call(tools, { event: events[0], events });
    return checked.then(([event, ...rest]) => call(tools, { event, events: [event, ...rest] }));
  };
}

/** Which try this is: of the handler, or of a failed step whose turn it is, as when each step has a request of its own. */
function attemptOf({ attempt, extended }: PassInput, nowMs: number): number {
  if (!extended) return attempt;
  const atMs = extended.nowMs ?? nowMs;
  const tries = Object.values(extended.retries).filter(({ notBeforeMs }) => notBeforeMs <= atMs);
  return Math.max(attempt, ...tries.map((one) => one.attempt));
}

interface GivenEvents {
  readonly event: unknown;
  readonly events: readonly unknown[];
}

const INVOKED = "inngest/function.invoked";

/** The events as their schemas give them back; undefined when there is no schema. */
function checkedEvents(fn: RegisteredFunction, events: readonly EventPayload[]): Promise<EventPayload[]> | undefined {
  const schemas = events.map(({ name }) => schemaFor(fn, name === INVOKED ? onlyEventOf(fn) : name));
  if (schemas.every((schema) => schema === undefined)) return undefined;
  return Promise.all(
    events.map(async (event, index) => {
      const schema = schemas[index];
      return schema ? { ...event, data: await validateData(schema, event.data, event.name) } : event;
    }),
  );
}

/** A function with one event is invoked with that event's data. */
function onlyEventOf({ definition, isFailureHandler }: RegisteredFunction): string {
  const { triggers } = definition.config;
  return (triggers.length === 1 && !isFailureHandler && triggers[0]?.event) || INVOKED;
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

/** No code of the author's ran. Without a function there is no app whose logger it could be: the gateway says it. */
function logRefusal(log: Log | undefined, { runId, functionSlug }: PassRequest, thrown: unknown): void {
  const message = `A request for ${functionSlug} could not be carried out: ${messageOf(thrown)}`;
  log?.("error", message, { runId, functionSlug, err: toPlainError(thrown) }, ["functionSlug"]);
}

/** No code of the author's ran; the gateway may try another worker. */
function infrastructureError(thrown: unknown, requestVersion: number): ExecutionResult {
  const body = encodeJsonBytes({ type: "internal", ...errorObject(thrown) });
  return { status: "ERROR", body, noRetry: false, requestVersion };
}
