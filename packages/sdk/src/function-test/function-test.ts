/**
 * `FunctionTest`, which users create in tests. It reads the options and the outcome; `function-run.ts` plays the
 * run.
 */
import { logFor, type PlainError, silentLog, systemClock } from "@holdfast/core";
import { eventsText, readRunOptions, type StepResult as StepEnd, stepsText } from "@holdfast/engine";
import { type EventPayload, isRecord, normalizeError, type Op } from "@holdfast/protocol";
import type { OutgoingEvent } from "../events/event-types.ts";
import type { IsolatedBodies } from "../execution/isolated-body.ts";
import type { AppClient } from "../functions/app-client.ts";
import type { FunctionDefinition, HoldfastFunction } from "../functions/define-function.ts";
import {
  checkKnown,
  createIsolation,
  createMainThreadStrategy,
  createRegistry,
  definitionOf,
  HoldfastError,
  invalidOption,
  reviveError,
  STEP_KINDS,
  stepKinds,
} from "../sdk.ts";
import type { OutputOf } from "../steps/references.ts";
import type { StepKind } from "../steps/step-kinds.ts";
import type { StepResult } from "../steps/step-result.ts";
import { Answers, type InvokedRun } from "./answers.ts";
import { FunctionRun, type StepNote } from "./function-run.ts";
import { MemoryRun } from "./memory-run.ts";
import type { FunctionTestOptions, TestRun, TestStep } from "./test-types.ts";

/**
 * Runs a function in memory: without a gateway, without a database, and time passes at once. The code that runs it is what
 * runs it in an app, and the code that decides how the run goes on is a gateway's.
 *
 *     const test = new FunctionTest(order, { event: { name: "shop/order.placed", data: { card: "4242" } } });
 *     const { output, state } = await test.run();
 */
export class FunctionTest<const Fn extends HoldfastFunction> {
  readonly #fn: Fn;
  readonly #options: FunctionTestOptions;

  constructor(fn: Fn, options: FunctionTestOptions = {}) {
    if (definitionOf(fn) === undefined) {
      throw new HoldfastError("OPTION_INVALID", "FunctionTest needs a function created by createFunction().");
    }
    checkOptions(options);
    this.#fn = fn;
    this.#options = options;
  }

  /**
   * Runs to the end, each time anew. Sleeps are skipped; waits that `steps` does not answer time out.
   * @param more added to the options, answers before those of the constructor
   * @throws HoldfastError `TEST_STEP_UNANSWERED`
   */
  async run(more: FunctionTestOptions = {}): Promise<TestRun<TestOutput<Fn>>> {
    return (await runIsolated<TestOutput<Fn>>(this.#fn, this.#merged(more), undefined)).run;
  }

  /**
   * Runs until the step has its result, or, for a step that the gateway does, until it has begun.
   * @throws HoldfastError `TEST_STEP_UNANSWERED`; `NOT_FOUND` when the run ends without that step
   */
  async runUntil(
    stepId: string,
    more: FunctionTestOptions = {},
  ): Promise<TestRun<TestOutput<Fn>> & { readonly step: TestStep }> {
    const { run } = await runIsolated<TestOutput<Fn>>(this.#fn, this.#merged(more), stepId);
    const step = run.steps.find((each) => each.id === stepId);
    if (step !== undefined) return { ...run, step };
    const met = run.steps.map((each) => `"${each.id}"`).join(", ") || "none";
    throw new HoldfastError(
      "NOT_FOUND",
      `The run ended as ${run.status} without the step "${stepId}"; its steps were ${met}.`,
    );
  }

  #merged(more: FunctionTestOptions): FunctionTestOptions {
    checkOptions(more);
    return { ...this.#options, ...more, steps: [...(this.#options.steps ?? []), ...(more.steps ?? [])] };
  }
}

const KNOWN = ["event", "events", "steps", "functions", "replay", "isolation", "nowMs"];

/** @throws HoldfastError `OPTION_INVALID` */
function checkOptions(options: FunctionTestOptions): void {
  checkKnown("FunctionTest", options, KNOWN);
  const { event, events, steps = [], functions = [], isolation = "inline" } = options;
  const refuse = (name: string, what: string): never => {
    throw invalidOption(`the option \`${name}\` of FunctionTest`, `must be ${what}.`);
  };
  const isEvent = (each: unknown): boolean => isRecord(each) && typeof each.name === "string" && each.name !== "";
  if (event !== undefined && !isEvent(event)) refuse("event", "an event: { name, data }");
  if (events !== undefined && !(Array.isArray(events) && events.length > 0 && events.every(isEvent))) {
    refuse("events", "an array of one or more events: { name, data }");
  }
  const isAnswer = (each: unknown): boolean =>
    isRecord(each) && typeof each.id === "string" && typeof each.handler === "function";
  if (!Array.isArray(steps) || !steps.every(isAnswer)) refuse("steps", "an array of { id, handler }");
  if (isolation !== "inline" && isolation !== "real") refuse("isolation", '"inline" or "real"');
  const isFunction = (each: unknown): boolean => definitionOf(each) !== undefined;
  if (!Array.isArray(functions) || !functions.every(isFunction))
    refuse("functions", "an array of functions created by createFunction()");
}

/** The function's result as JSON has it. */
export type TestOutput<Fn> = StepResult<Awaited<OutputOf<Fn>>>;

interface Sent {
  readonly events: OutgoingEvent[];
  readonly signals: { readonly signal: string; readonly data?: unknown }[];
}

/** A run, and its error as it would travel. */
interface Played<Output> {
  readonly run: TestRun<Output>;
  readonly error: PlainError | undefined;
  /** The event that a gateway makes of its failure. */
  readonly failedEvent: EventPayload | undefined;
}

/** With `isolation: "real"` each run has threads of its own. */
async function runIsolated<Output>(
  fn: HoldfastFunction,
  options: FunctionTestOptions,
  until: string | undefined,
): Promise<Played<Output>> {
  if (options.isolation !== "real") return runInMemory(fn, options, until);
  const { logger, logLevel } = (definitionOf(fn) as FunctionDefinition).client.options;
  const isolated = createIsolation(logFor(logger, logLevel));
  try {
    return await runInMemory(fn, { ...options, isolated }, until);
  } finally {
    await isolated.close();
  }
}

interface RunOptions extends FunctionTestOptions {
  /** Absent: isolated bodies run here. */
  readonly isolated?: IsolatedBodies | undefined;
}

async function runInMemory<Output>(
  fn: HoldfastFunction,
  options: RunOptions,
  until: string | undefined,
): Promise<Played<Output>> {
  const definition = definitionOf(fn) as FunctionDefinition;
  const nowMs = options.nowMs ?? systemClock.nowMs();
  const events = eventsOf(definition, options, nowMs);
  const played = await play<Output>(fn, definition.config.id, events, { ...options, nowMs }, until);
  const { failureConfig } = definition;
  if (played.failedEvent === undefined || failureConfig === undefined) return played;
  const { run: onFailure } = await play(
    fn,
    failureConfig.id,
    [played.failedEvent],
    { ...options, nowMs: nowMs + played.run.elapsedMs },
    undefined,
  );
  return { ...played, run: { ...played.run, onFailure } };
}

async function play<Output>(
  fn: HoldfastFunction,
  slug: string,
  events: readonly EventPayload[],
  options: RunOptions & { readonly nowMs: number },
  until: string | undefined,
): Promise<Played<Output>> {
  const { client, config, failureConfig } = definitionOf(fn) as FunctionDefinition;
  const { id: appId, appVersion } = client.options;
  const { maxAttempts, deadlineInMs, finishInMs } = readRunOptions(
    JSON.stringify(slug === failureConfig?.id ? failureConfig : config),
  );
  const { nowMs } = options;
  const memory = new MemoryRun({ appId, appVersion, slug, events, maxAttempts, deadlineInMs, finishInMs, nowMs });
  const sent: Sent = { events: [], signals: [] };
  const answers = new Answers(options.steps ?? []);
  const registry = createRegistry([{ client: recording(client, sent, memory), functions: [fn] }]);
  const strategy = createMainThreadStrategy(registry, {
    intercept: answers.intercept,
    withoutJitter: true,
    ...(options.isolated ? { isolation: options.isolated } : {}),
    // What fails is in the result, and is often what is tested.
    log: silentLog,
  });
  const replay = options.replay === true;
  const invoke = invoker(options, sent);
  const played = new FunctionRun(memory, { strategy, appName: appId, slug, answers, invoke, replay, until });
  await played.run();
  const { outputJson = "null", errorJson } = memory.head;
  const { nextEvent } = played;
  const status = played.isStopped ? "stopped" : nextEvent ? "continued" : STATUSES[memory.state.status];
  const error = errorJson === undefined ? undefined : normalizeError(JSON.parse(errorJson));
  const steps = [...played.steps.values()]
    .filter(({ fullId }) => fullId !== "holdfast/failure")
    .map((note) => viewOf(note, memory));
  const run: TestRun<Output> = {
    status,
    continuedAs: nextEvent?.data,
    output: status === "completed" ? (JSON.parse(outputJson) as Output) : undefined,
    error: error === undefined ? undefined : withReport(error),
    steps,
    state: Object.fromEntries(
      steps.flatMap(({ id, status, output }) => (status === "completed" ? [[id, output]] : [])),
    ),
    sentEvents: sent.events,
    sentSignals: sent.signals,
    elapsedMs: memory.nowMs - nowMs,
    passes: played.passes,
  };
  return { run, error, failedEvent: played.failedEvent };
}

/** A run that goes on was stopped. */
const STATUSES = {
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled",
  PENDING: "stopped",
  RUNNING: "stopped",
  WAITING: "stopped",
} as const satisfies Record<MemoryRun["state"]["status"], TestRun["status"]>;

/** What was undone is part of the error. */
function withReport(plain: PlainError & Record<string, unknown>): Error {
  const error = reviveError(plain);
  return plain.compensation === undefined ? error : Object.assign(error, { compensation: plain.compensation });
}

/** The client of the function, which sends nothing and fetches from memory. */
function recording(client: AppClient, sent: Sent, { state }: MemoryRun): AppClient {
  return {
    options: client.options,
    schemas: client.schemas,
    sendEvents: async (events) => {
      sent.events.push(...events);
      return { ids: events.map((event, index) => event.id ?? `event-${sent.events.length - events.length + index}`) };
    },
    sendSignal: async (signal) => {
      sent.signals.push(signal);
      return {};
    },
    fetchRunState: async () => ({ steps: JSON.parse(stepsText(state)), events: JSON.parse(eventsText(state)) }),
  };
}

function invoker({ functions = [], replay = false, isolated }: RunOptions, sent: Sent): InvokedRun {
  return async (slug, payload, nowMs) => {
    const fn = functions.find((each) => each.slug === slug);
    if (fn === undefined) return undefined;
    const data = isRecord(payload) && isRecord(payload.data) ? payload.data : {};
    const event = { name: "inngest/function.invoked", data };
    let next: OutgoingEvent = event;
    let elapsedMs = 0;
    for (;;) {
      const options = { event: next, functions, replay, nowMs: nowMs + elapsedMs, isolated };
      const { run, error } = await runInMemory(fn, options, undefined);
      sent.events.push(...run.sentEvents);
      sent.signals.push(...run.sentSignals);
      elapsedMs += run.elapsedMs;
      // The end of the last run is the end of the invocation.
      if (run.status === "continued") next = { name: event.name, data: run.continuedAs as Record<string, unknown> };
      else return { result: endOf(run, error), elapsedMs };
    }
  };
}

function endOf(run: TestRun<unknown>, error: PlainError | undefined): StepEnd {
  return error === undefined ? { type: "data", text: JSON.stringify(run.output ?? null) } : { type: "error", error };
}

function eventsOf(
  definition: FunctionDefinition,
  { event, events }: FunctionTestOptions,
  nowMs: number,
): EventPayload[] {
  const [trigger] = definition.config.triggers;
  const name = trigger?.event ?? (trigger?.cron === undefined ? "inngest/function.invoked" : "inngest/scheduled.timer");
  const given = events ?? [event ?? { name, data: trigger?.cron === undefined ? {} : { cron: trigger.cron } }];
  // As events travel: what JSON leaves of them.
  return given.map((each, index) => ({
    ...(JSON.parse(JSON.stringify({ ...each, data: each.data ?? {} })) as { name: string; data: unknown }),
    id: each.id ?? `event-${index}`,
    ts: each.ts ?? nowMs,
  }));
}

/** For steps that the gateway executes; those of the app are all reported as the same op. */
const kindOfOp = (op: Op["op"]): StepKind | undefined =>
  op === "StepPlanned" ? undefined : stepKinds.find((kind) => STEP_KINDS[kind].op === op);

function viewOf({ key, fullId, op, attempts }: StepNote, { state }: MemoryRun): TestStep {
  const type = op.opts?.type;
  const inner = type === "step.sendEvent" ? "sendEvent" : type === "step.sendSignal" ? "sendSignal" : "run";
  const memo = state.memo.get(key);
  const end = memo && (JSON.parse(memo.text) as { type: "data"; data: unknown } | { type: "error"; error: unknown });
  const error = end?.type === "error" ? end.error : op.error;
  return {
    id: fullId,
    kind: kindOfOp(op.op) ?? inner,
    status: end === undefined ? "waiting" : end.type === "error" ? "failed" : "completed",
    output: end?.type === "data" && memo?.isUndefined !== true ? end.data : undefined,
    error: error === undefined ? undefined : reviveError(normalizeError(error)),
    attempts,
    options: {
      ...op.opts,
      ...(op.op === "WaitForEvent" ? { event: op.name } : op.op === "Sleep" ? { until: op.name } : {}),
    },
  };
}
