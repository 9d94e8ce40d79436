import { type Clock, HoldfastError, systemClock, systemTimers, type Timers } from "@holdfast/core";
import { type EventPayload, encodeJsonBytes, isRecord, normalizeError } from "@holdfast/protocol";
import { validateData } from "../client/event-types.ts";
import type { HandlerContext } from "../functions/define-function.ts";
import { type RegisteredFunction, type Registry, schemaFor } from "../functions/registry.ts";
import { reviveError } from "../steps/errors.ts";
import { Journal } from "../steps/journal.ts";
import type { PassMode } from "../steps/pass-machine.ts";
import { publishCurrentExecution } from "./current.ts";
import type { ExecutionRequest, ExecutionResult, ExecutionStrategy } from "./execution.ts";
import { nothingNew, Pass, type PassHandler } from "./pass.ts";
import { type PassInput, readPassInput } from "./pass-input.ts";
import { errorObject } from "./result-json.ts";

export interface MainThreadDeps {
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/** What a reply says its version is when the request's could not be read. */
const FALLBACK_VERSION = 2;

/** Runs handlers where they were defined: on the thread that called `connect`. */
export function createMainThreadStrategy(registry: Registry, deps: MainThreadDeps = {}): ExecutionStrategy {
  const ports = { clock: deps.clock ?? systemClock, timers: deps.timers ?? systemTimers };
  publishCurrentExecution();
  return {
    async execute(request, port, signal) {
      let requestVersion = FALLBACK_VERSION;
      try {
        const fn = findFunction(registry, request);
        const input = readPassInput(request.payload);
        requestVersion = input.requestVersion;
        const mode = modeOf(request, input);
        if (mode.type === "targeted" && isFinished(input, mode.hash)) return nothingNew(requestVersion);
        if (signal.aborted) return { ...nothingNew(requestVersion), stale: true };
        return await new Pass({ request, input, fn, mode, port, signal, ports }).run(handlerOf(fn, input, request));
      } catch (thrown) {
        return infrastructureError(thrown, requestVersion);
      }
    },
  } satisfies ExecutionStrategy;
}

function findFunction(registry: Registry, { appName, functionSlug }: ExecutionRequest): RegisteredFunction {
  const fn = registry.find(appName, functionSlug);
  if (fn) return fn;
  const known = registry.slugs(appName).slice(0, 10);
  throw new HoldfastError(
    "FUNCTION_UNKNOWN",
    `The app "${appName}" has no function "${functionSlug}" here; it has ${known.length > 0 ? known.join(", ") : "none"}.`,
  );
}

function modeOf(request: ExecutionRequest, input: PassInput): PassMode {
  const { stepId } = request;
  if (stepId !== "" && stepId !== "step") return { type: "targeted", hash: stepId };
  const inPlace = request.extensions.includes("checkpoint") && !input.planOnly;
  return inPlace ? { type: "in-place" } : { type: "plain", planOnly: input.planOnly };
}

function isFinished(input: PassInput, hash: string): boolean {
  const hit = new Journal(input.steps, [hash]).lookup(hash);
  return hit !== undefined && hit.type !== "input";
}

/** Calls the author's handler with all that it is given. */
function handlerOf(fn: RegisteredFunction, input: PassInput, { runId }: ExecutionRequest): PassHandler {
  const { definition, client } = fn;
  const { retries } = definition.config.steps.step;
  return async ({ step, signal }) => {
    const context: HandlerContext<unknown> = {
      ...(await eventsOf(fn, input)),
      step,
      runId,
      attempt: input.attempt,
      maxAttempts: input.maxAttempts ?? retries.attempts + 1,
      logger: client.options.logger,
      signal,
      version: input.extended?.appVersion ?? client.options.appVersion,
    };
    if (!fn.isFailureHandler || !definition.onFailure) return definition.handler(context);
    return definition.onFailure({
      ...context,
      event: input.event as never,
      events: input.events as never,
      error: failureOf(input.event),
    });
  };
}

async function eventsOf(fn: RegisteredFunction, input: PassInput): Promise<{ event: unknown; events: unknown[] }> {
  const checked = async (event: EventPayload): Promise<EventPayload> => {
    const schema = schemaFor(fn, event.name);
    return schema ? { ...event, data: await validateData(schema, event.data, event.name) } : event;
  };
  const events = await Promise.all(input.events.map(checked));
  return { event: events[0] ?? (await checked(input.event)), events };
}

function failureOf(event: EventPayload): Error {
  const data = isRecord(event.data) ? event.data : {};
  return reviveError(normalizeError(data.error));
}

/** Nothing of the author's ran; the gateway may try elsewhere. */
function infrastructureError(thrown: unknown, requestVersion: number): ExecutionResult {
  const body = encodeJsonBytes({ type: "internal", ...errorObject(thrown) });
  return { status: "ERROR", body, noRetry: false, requestVersion };
}
