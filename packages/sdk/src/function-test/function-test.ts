import { HoldfastError, type PlainError, systemClock } from "@holdfast/core";
import { type EventPayload, isRecord, normalizeError, type Op } from "@holdfast/protocol";
import type { OutgoingEvent } from "../events/event-types.ts";
import { createMainThreadStrategy } from "../execution/main-thread.ts";
import type { AppClient } from "../functions/app-client.ts";
import { definitionOf, type FunctionDefinition, type HoldfastFunction } from "../functions/define-function.ts";
import { createRegistry } from "../functions/registry.ts";
import { checkKnown, invalidOption } from "../options.ts";
import { reviveError } from "../steps/errors.ts";
import type { OutputOf } from "../steps/references.ts";
import { STEP_KINDS, type StepKind, stepKinds } from "../steps/step-kinds.ts";
import type { StepResult } from "../steps/step-result.ts";
import { Answers, type InvokedRun } from "./answers.ts";
import { MemoryRun, type StepNote } from "./memory-run.ts";
import type { FunctionTestOptions, TestRun, TestStep } from "./test-types.ts";

/**
 * Runs a function in memory: without a gateway, without a database, and time passes at once. The code that runs it is what
 * runs it in an app, too.
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
    return (await runInMemory<TestOutput<Fn>>(this.#fn, this.#merged(more), undefined)).run;
  }

  /**
   * Runs until the step has its result, or, for a step that the gateway does, until it has begun.
   * @throws HoldfastError `TEST_STEP_UNANSWERED`; `NOT_FOUND` when the run ends without that step
   */
  async runUntil(
    stepId: string,
    more: FunctionTestOptions = {},
  ): Promise<TestRun<TestOutput<Fn>> & { readonly step: TestStep }> {
    const { run } = await runInMemory<TestOutput<Fn>>(this.#fn, this.#merged(more), stepId);
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

const KNOWN = ["event", "events", "steps", "functions", "replay", "nowMs"];

/** @throws HoldfastError `OPTION_INVALID` */
function checkOptions(options: FunctionTestOptions): void {
  checkKnown("FunctionTest", options, KNOWN);
  const { event, events, steps = [], functions = [] } = options;
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
}

async function runInMemory<Output>(
  fn: HoldfastFunction,
  options: FunctionTestOptions,
  until: string | undefined,
): Promise<Played<Output>> {
  const definition = definitionOf(fn) as FunctionDefinition;
  const nowMs = options.nowMs ?? systemClock.nowMs();
  const events = eventsOf(definition, options, nowMs);
  const played = await play<Output>(fn, definition.config.id, events, { ...options, nowMs }, until);
  const { failureConfig } = definition;
  if (played.error === undefined || failureConfig === undefined) return played;
  const data = { function_id: definition.config.id, run_id: "run", error: played.error, event: events[0] };
  const failed: EventPayload = { id: "failure", name: "inngest/function.failed", data, ts: nowMs };
  const { run: onFailure } = await play(fn, failureConfig.id, [failed], { ...options, nowMs }, undefined);
  return { ...played, run: { ...played.run, onFailure } };
}

async function play<Output>(
  fn: HoldfastFunction,
  slug: string,
  events: readonly EventPayload[],
  options: FunctionTestOptions & { readonly nowMs: number },
  until: string | undefined,
): Promise<Played<Output>> {
  const { client, config, failureConfig } = definitionOf(fn) as FunctionDefinition;
  const { retries } = (slug === failureConfig?.id ? failureConfig : config).steps.step;
  const sent: Sent = { events: [], signals: [] };
  const answers = new Answers(options.steps ?? []);
  const registry = createRegistry([{ client: recording(client, sent), functions: [fn] }]);
  const memory = new MemoryRun({
    strategy: createMainThreadStrategy(registry, { intercept: answers.intercept }),
    appName: client.options.id,
    slug,
    events,
    maxAttempts: retries.attempts + 1,
    deadline: isRecord(config.holdfast) && slug === config.id ? String(config.holdfast.deadline) : undefined,
    appVersion: client.options.appVersion,
    answers,
    invoke: invoker(options, sent),
    replay: options.replay === true,
    nowMs: options.nowMs,
    until,
  });
  const end = await memory.run();
  const steps = [...memory.steps.values()].filter(({ fullId }) => fullId !== "holdfast/failure").map(viewOf);
  const error = end.status === "failed" ? normalizeError(end.value) : undefined;
  const run: TestRun<Output> = {
    status: end.status,
    output: end.status === "completed" ? (end.value as Output) : undefined,
    error: error === undefined ? undefined : withReport(error),
    steps,
    state: Object.fromEntries(
      steps.flatMap(({ id, status, output }) => (status === "completed" ? [[id, output]] : [])),
    ),
    sentEvents: sent.events,
    sentSignals: sent.signals,
    elapsedMs: memory.nowMs - options.nowMs,
    passes: memory.passes,
  };
  return { run, error };
}

/** What was undone is part of the error. */
function withReport(plain: PlainError & Record<string, unknown>): Error {
  const error = reviveError(plain);
  return plain.compensation === undefined ? error : Object.assign(error, { compensation: plain.compensation });
}

/** The client of the function, which sends nothing. */
function recording(client: AppClient, sent: Sent): AppClient {
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
    fetchRunState: (runId, signal) => client.fetchRunState(runId, signal),
  };
}

function invoker({ functions = [], nowMs, replay = false }: FunctionTestOptions, sent: Sent): InvokedRun {
  return async (slug, payload) => {
    const fn = functions.find((each) => each.slug === slug);
    if (fn === undefined) return undefined;
    const data = isRecord(payload) && isRecord(payload.data) ? payload.data : {};
    const event = { name: "inngest/function.invoked", data };
    const time = nowMs === undefined ? {} : { nowMs };
    const { run, error } = await runInMemory(fn, { event, functions, replay, ...time }, undefined);
    sent.events.push(...run.sentEvents);
    sent.signals.push(...run.sentSignals);
    return error === undefined ? { output: run.output } : { error };
  };
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

/** Of steps that the gateway does; those of the app are all told alike. */
const kindOfOp = (op: Op["op"]): StepKind | undefined =>
  op === "StepPlanned" ? undefined : stepKinds.find((kind) => STEP_KINDS[kind].op === op);

function viewOf({ fullId, op, attempts, entry, isUndefined }: StepNote): TestStep {
  const type = op.opts?.type;
  const inner = type === "step.sendEvent" ? "sendEvent" : type === "step.sendSignal" ? "sendSignal" : "run";
  const value = entry?.value;
  const error = isRecord(value) && value.error !== undefined ? value.error : op.error;
  const isFailed = isRecord(value) && value.error !== undefined;
  const data = isRecord(value) && "data" in value && isForm(value) ? value.data : value;
  return {
    id: fullId,
    kind: kindOfOp(op.op) ?? inner,
    status: entry === undefined ? "waiting" : isFailed ? "failed" : "completed",
    output: entry === undefined || isFailed || isUndefined ? undefined : data,
    error: error === undefined ? undefined : reviveError(normalizeError(error)),
    attempts,
    options: {
      ...op.opts,
      ...(op.op === "WaitForEvent" ? { event: op.name } : op.op === "Sleep" ? { until: op.name } : {}),
    },
  };
}

function isForm(value: Record<string, unknown>): boolean {
  return Object.keys(value).every((key) => key === "data" || key === "type");
}
