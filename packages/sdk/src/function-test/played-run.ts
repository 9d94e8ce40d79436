/**
 * Runs of `FunctionTest`, from their event to what the test sees of them: `function-run.ts` plays each, here or in pool
 * threads; what it invokes and its `onFailure` are runs, too.
 */
import { logFor, type PlainError, silentLog, systemClock, unreachable } from "@holdfast/core";
import { eventsText, readRunOptions, type StepResult as StepEnd, stepsText } from "@holdfast/engine";
import { type EventPayload, isRecord, normalizeError } from "@holdfast/protocol";
import type { OutgoingEvent } from "../events/event-types.ts";
import type { SendDouble } from "../events/send-double.ts";
import type { CronData } from "../events/triggers.ts";
import type { ExecutionStrategy } from "../execution/execution.ts";
import type { IsolatedBodies } from "../execution/isolated-body.ts";
import type { AppClient } from "../functions/app-client.ts";
import type { FunctionDefinition, HoldfastFunction } from "../functions/define-function.ts";
import type { AppInput } from "../functions/registry.ts";
import {
  createIsolation,
  createMainThreadStrategy,
  createRegistry,
  currentExecution,
  definitionOf,
  encodeEvents,
  encodeSignal,
  openThreadedHandlers,
  provideSendDouble,
  reviveError,
} from "../sdk.ts";
import { Answers, type InvokedRun } from "./answers.ts";
import { CheckedBodies } from "./checked-bodies.ts";
import { FunctionRun } from "./function-run.ts";
import { MemoryRun } from "./memory-run.ts";
import { viewOf } from "./step-view.ts";
import type { FunctionTestOptions, TestRun } from "./test-types.ts";
import { misnamedAnswers, type TimedOutWait } from "./unused-answers.ts";

/** What a handler in a thread asks of the test. */
type TestCall = Parameters<Parameters<typeof openThreadedHandlers>[0]["answer"]>[0];

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
  readonly timedOut: readonly TimedOutWait[];
}

/**
 * Runs the function, the functions that it invokes, and its `onFailure`. With `isolation: "real"` each run has threads of
 * its own, and fails where one of them cannot load a module, whatever became of the step.
 * @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`, `ISOLATE_LISTEN`, `ISOLATE_THREAD_LOST`
 */
export async function runForTest<Output>(
  fn: HoldfastFunction,
  options: FunctionTestOptions,
  until: string | undefined,
): Promise<Played<Output>> {
  if (options.isolation !== "real") return runInMemory(fn, options, until);
  const { logger, logLevel } = (definitionOf(fn) as FunctionDefinition).client.options;
  const isolation = createIsolation(logFor(logger, logLevel));
  const isolated = new CheckedBodies(isolation);
  try {
    const played = await runInMemory<Output>(fn, { ...options, isolated }, until);
    isolated.throwFault();
    return played;
  } catch (error) {
    // It is why the run came to anything else.
    isolated.throwFault();
    throw error;
  } finally {
    await isolation.close();
  }
}

interface RunOptions extends FunctionTestOptions {
  /** Absent: isolated bodies and handlers run here. */
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
  // One object for both runs: what only `onFailure` uses is used.
  const answers = new Answers(options.steps ?? []);
  const played = await play<Output>(fn, definition.config.id, events, { ...options, nowMs, answers }, until);
  const { failureConfig } = definition;
  if (played.failedEvent === undefined || failureConfig === undefined) return withHints(definition, played);
  const { run: onFailure, timedOut } = await play(
    fn,
    failureConfig.id,
    [played.failedEvent],
    { ...options, nowMs: nowMs + played.run.elapsedMs, answers },
    undefined,
  );
  const run = { ...played.run, unusedAnswers: answers.unused, onFailure };
  return withHints(definition, { ...played, run, timedOut: [...played.timedOut, ...timedOut] });
}

/** Logs which answers were probably meant for a wait that timed out: the run itself may look as it should. */
function withHints<Output>({ client }: FunctionDefinition, played: Played<Output>): Played<Output> {
  const { logger, logLevel } = client.options;
  const log = logFor(logger, logLevel);
  for (const hint of misnamedAnswers(played.run.unusedAnswers, played.timedOut)) log("warn", hint);
  return played;
}

async function play<Output>(
  fn: HoldfastFunction,
  slug: string,
  events: readonly EventPayload[],
  options: RunOptions & { readonly nowMs: number; readonly answers: Answers },
  until: string | undefined,
): Promise<Played<Output>> {
  const { client, config, failureConfig, isolate } = definitionOf(fn) as FunctionDefinition;
  const { id: appId, appVersion } = client.options;
  const { maxAttempts, deadlineInMs, finishInMs } = readRunOptions(
    JSON.stringify(slug === failureConfig?.id ? failureConfig : config),
  );
  const { nowMs, answers } = options;
  const memory = new MemoryRun({ appId, appVersion, slug, events, maxAttempts, deadlineInMs, finishInMs, nowMs });
  const sent: Sent = { events: [], signals: [] };
  const double = doubleOf(sent);
  const app = { client: recording(client, double, memory), functions: [fn] };
  const isThreaded = options.isolated !== undefined && isolate !== undefined && slug === config.id;
  const strategy = isThreaded ? await inThreads(app, answers) : here(app, answers, options.isolated);
  const replay = options.replay === true;
  const invoke = invoker(options, sent);
  const played = new FunctionRun(memory, { strategy, appName: appId, slug, answers, invoke, replay, until });
  const { runId } = memory.state;
  doubles.set(runId, double);
  provideSendDouble(() => doubles.get(currentExecution()?.runId ?? ""));
  try {
    await played.run();
  } finally {
    doubles.delete(runId);
    await strategy.close?.();
  }
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
    unusedAnswers: answers.unused,
  };
  return { run, error, failedEvent: played.failedEvent, timedOut: timedOutOf(played, run, answers) };
}

function timedOutOf({ steps }: FunctionRun, run: TestRun, answers: Answers): TimedOutWait[] {
  const ended = new Set(
    run.steps.flatMap(({ id, status, output }) => (status === "completed" && output === null ? [id] : [])),
  );
  return [...steps.values()].flatMap(({ fullId, op }) => {
    const isWait = op.op === "WaitForEvent" || op.op === "WaitForSignal";
    if (!isWait || !ended.has(fullId) || answers.has(fullId)) return [];
    return [{ stepId: fullId, waitedFor: op.name ?? "" }];
  });
}

type TestStrategy = ExecutionStrategy & { close?(): Promise<void> };

/** In this thread, isolated bodies where `isolated` says. */
function here(app: AppInput, answers: Answers, isolated: IsolatedBodies | undefined): TestStrategy {
  return createMainThreadStrategy(createRegistry([app]), {
    intercept: answers.intercept,
    withoutJitter: true,
    ...(isolated ? { isolation: isolated } : {}),
    // What fails is in the result, and is often what is tested.
    log: silentLog,
  });
}

/** In threads of the run's own. What they ask for they get from this test: mocked steps, and what the app sends. */
function inThreads(app: AppInput, answers: Answers): Promise<TestStrategy> {
  const { options } = app.client;
  return openThreadedHandlers({
    app,
    mocked: answers.ids,
    answer: (call) => answered(call, app.client, answers),
    log: logFor(options.logger, options.logLevel),
  });
}

function answered(call: TestCall, client: AppClient, answers: Answers): unknown {
  switch (call.type) {
    case "STEP":
      return answers.find(call.fullId)?.handler(...(call.args as never[]));
    case "SEND_EVENTS":
      return client.sendEvents(call.events);
    case "SEND_SIGNAL":
      return client.sendSignal(call.signal);
    case "FETCH_RUN_STATE":
      return client.fetchRunState(call.runId, new AbortController().signal);
    default:
      return unreachable(call);
  }
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

/** Of the runs that are played now, by id: what clients of their code send goes there. */
const doubles = new Map<string, SendDouble>();

/** The client of the function, which sends nothing and fetches from memory. */
function recording(client: AppClient, double: SendDouble, { state }: MemoryRun): AppClient {
  return {
    options: client.options,
    schemas: client.schemas,
    sendEvents: (events) => double.events(events, client.schemas),
    sendSignal: (signal) => double.signal(signal),
    fetchRunState: async () => ({ steps: JSON.parse(stepsText(state)), events: JSON.parse(eventsText(state)) }),
  };
}

/** Checks what an app would send, and keeps what JSON leaves of it. */
function doubleOf(sent: Sent): SendDouble {
  return {
    events: async (given, schemas) => {
      // Without the trace of the test.
      const events: OutgoingEvent[] = JSON.parse(await encodeEvents(given, schemas, systemClock, {}));
      const first = sent.events.length;
      sent.events.push(...events);
      return { ids: events.map(({ id }, index) => id ?? `event-${first + index}`) };
    },
    signal: async (given) => {
      const { signal, data } = given ?? {};
      sent.signals.push(JSON.parse(encodeSignal(signal, data)) as Sent["signals"][number]);
      return {};
    },
  };
}

function invoker({ functions = [], replay = false, isolated }: RunOptions, sent: Sent): InvokedRun {
  return async (slug, payload, nowMs) => {
    const fn = functions.find((each) => each.slug === slug);
    if (fn === undefined) return undefined;
    const { data, v, meta } = isRecord(payload) ? payload : {};
    const more = { ...(typeof v === "string" ? { v } : {}), ...(meta === undefined ? {} : { meta }) };
    const event = { name: "inngest/function.invoked", data: isRecord(data) ? data : {}, ...more };
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
  const given = events ?? [event ?? { name, data: trigger?.cron === undefined ? {} : tickOf(trigger.cron, nowMs) }];
  // As events travel: what JSON leaves of them.
  return given.map((each, index) => ({
    ...(JSON.parse(JSON.stringify({ ...each, data: each.data ?? {} })) as { name: string; data: unknown }),
    id: each.id ?? `event-${index}`,
    ts: each.ts ?? nowMs,
  }));
}

/** What a gateway says of a tick that is due now. */
function tickOf(cron: string, nowMs: number): CronData {
  const at = new Date(nowMs).toISOString().replace(".000Z", "Z");
  return { cron, scheduledAt: at, fireAt: at };
}
