/**
 * Executes requests on the thread that called `connect()`: finds the function, reads the input, and runs a `Pass` with
 * the handler. Whatever goes wrong before the handler begins becomes an error reply here.
 */
import {
  type Clock,
  HoldfastError,
  type Log,
  messageOf,
  systemClock,
  systemTimers,
  type Timers,
  toPlainError,
} from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import type { FetchedRunState } from "../events/run-state.ts";
import { isolatedFunctionOf, loadIsolated } from "../functions/load-isolated.ts";
import type { RegisteredFunction, Registry } from "../functions/registry.ts";
import { Journal } from "../steps/journal.ts";
import type { PassMode } from "../steps/pass-types.ts";
import { provideStepSignal } from "../steps/step-signal.ts";
import type { CancelSignal } from "./abort.ts";
import { currentSignal, publishCurrentExecution } from "./current.ts";
import type { CheckpointPort, ExecutionRequest, ExecutionResult, ExecutionStrategy, PassRequest } from "./execution.ts";
import { failureLogOf } from "./failure-log.ts";
import { inTurn, type Turns, UNLIMITED_TURNS } from "./fair-turns.ts";
import { HandlerCall } from "./handler-call.ts";
import type { IsolatedBodies } from "./isolated-body.ts";
import { Pass } from "./pass.ts";
import { type ParsedPayload, type PassInput, parsePayload, readPassInput } from "./pass-input.ts";
import type { BodyWatch, Intercept, PassPorts } from "./pass-options.ts";
import { errorObject } from "./result-json.ts";
import { nothingNew } from "./result-of.ts";
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
export function createMainThreadStrategy(registry: Registry, given: MainThreadDeps = {}): ExecutionStrategy {
  const { turns = UNLIMITED_TURNS, isolation, withoutJitter } = given;
  const runningSteps = new RunningSteps();
  const clock = given.clock ?? systemClock;
  const timers = given.timers ?? systemTimers;
  const deps: RequestDeps = {
    ...given,
    registry,
    ports: { runningSteps, clock, timers, turns, isolation, withoutJitter },
  };
  publishCurrentExecution();
  provideStepSignal(currentSignal);
  return {
    // Parsed in its turn: a payload may be large.
    execute: (request, port, signal) =>
      inTurn(turns, () =>
        new RequestPass(passRequestOf(request), port, signal, deps).execute(parsePayload(request.payload)),
      ),
    runningSteps,
  } satisfies ExecutionStrategy;
}

interface RequestDeps extends Pick<MainThreadDeps, "intercept" | "watch" | "log"> {
  readonly registry: Registry;
  readonly ports: PassPorts;
}

/** From a request to its pass, without a promise where nothing has to be waited for. Never rejects. */
class RequestPass {
  readonly #request: PassRequest;
  readonly #port: CheckpointPort;
  readonly #signal: CancelSignal;
  readonly #deps: RequestDeps;
  #requestVersion = FALLBACK_VERSION;
  #log: Log | undefined;

  constructor(request: PassRequest, port: CheckpointPort, signal: CancelSignal, deps: RequestDeps) {
    this.#request = request;
    this.#port = port;
    this.#signal = signal;
    this.#deps = deps;
    this.#log = deps.log;
  }

  execute(payload: ParsedPayload): Promise<ExecutionResult> {
    try {
      const fn = findFunction(this.#deps.registry, this.#request);
      this.#log ??= failureLogOf(fn);
      const isHere = fn.definition.isolate === undefined || fn.isFailureHandler;
      return isHere ? this.#read(fn, payload) : this.#later(loadInline(fn), (loaded) => this.#read(loaded, payload));
    } catch (thrown) {
      return Promise.resolve(this.#refused(thrown));
    }
  }

  #read(fn: RegisteredFunction, payload: ParsedPayload): Promise<ExecutionResult> {
    const input = readPassInput(payload, () => fetchState(fn, this.#request, this.#signal));
    return input instanceof Promise
      ? this.#later(input, (fetched) => this.#beginInTurn(fn, fetched))
      : this.#begin(fn, input);
  }

  #beginInTurn(fn: RegisteredFunction, input: PassInput): Promise<ExecutionResult> {
    return inTurn(this.#deps.ports.turns, async () => this.#begin(fn, input));
  }

  #begin(fn: RegisteredFunction, input: PassInput): Promise<ExecutionResult> {
    this.#requestVersion = input.requestVersion;
    const [request, port, signal] = [this.#request, this.#port, this.#signal];
    const { ports, intercept, watch } = this.#deps;
    const mode = modeOf(request, input);
    const wait = port.whenConfirmed?.();
    // Others may have waited for the same.
    if (wait) return this.#later(wait, () => this.#beginInTurn(fn, input));
    if (mode.type === "targeted" && isFinished(input, mode.hash)) {
      return Promise.resolve(nothingNew(this.#requestVersion));
    }
    if (signal.aborted) return Promise.resolve(this.#stale());
    const log = this.#log ?? failureLogOf(fn);
    const options = { request, input, fn, mode, port, signal, ports, log, intercept, watch: watch?.(request) };
    return new Pass(options).run(new HandlerCall(options, ports.clock.nowMs()));
  }

  #later<T>(awaited: Promise<T>, goOn: (value: T) => Promise<ExecutionResult>): Promise<ExecutionResult> {
    return awaited.then(goOn).catch((thrown: unknown) => this.#refused(thrown));
  }

  #refused(thrown: unknown): ExecutionResult {
    if (this.#signal.aborted) return this.#stale();
    logRefusal(this.#log, this.#request, thrown);
    return infrastructureError(thrown, this.#requestVersion);
  }

  #stale(): ExecutionResult {
    return { ...nothingNew(this.#requestVersion), stale: true };
  }
}

function passRequestOf(given: ExecutionRequest): PassRequest {
  const { requestId, appName, functionSlug, stepId, runId, jobId, userTraceCtx, extensions } = given;
  const request = { requestId, appName, functionSlug, stepId, runId, jobId, extensions };
  // One literal each: a property that is added later is kept beside the object.
  return userTraceCtx === undefined
    ? request
    : { requestId, appName, functionSlug, stepId, runId, jobId, extensions, userTraceCtx };
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
