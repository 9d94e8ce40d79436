/**
 * Replays recorded runs on the functions of another build and says where the first one differs: the handler runs from
 * the top over the results on record, as after a crash. No body runs, and nothing is sent.
 */
import { inNextTurn, systemClock, systemTimers } from "@holdfast/core";
import { eventsText, requestPayload, stepsText } from "@holdfast/engine";
import { isRecord, parseJsonBytes } from "@holdfast/protocol";
import type { ExecutionResult } from "../execution/execution.ts";
import type { AppClient } from "../functions/app-client.ts";
import type { HoldfastFunction } from "../functions/define-function.ts";
import type { AppInput } from "../functions/registry.ts";
import {
  createMainThreadStrategy,
  createRegistry,
  definitionOf,
  HoldfastError,
  hashStepId,
  setReplayCollector,
} from "../sdk.ts";
import { type ExportedRun, type RecordedStep, stateOf, stepOf } from "./exported-run.ts";
import { ModuleLoading } from "./module-loading.ts";

/** Where a run differs first. */
export type Divergence =
  /** This build has no such function. */
  | { readonly type: "function-missing" }
  /** A step on record is not asked for any more. */
  | { readonly type: "step-missing"; readonly step: string }
  /** A run that had ended asks for a step that it has never had. */
  | { readonly type: "step-new"; readonly step: string }
  /** Another step, or another order: what is on record, and what the code has there. */
  | { readonly type: "step-different"; readonly recorded: string; readonly found: string }
  /** Steps that are all on record come in another order. */
  | { readonly type: "step-order"; readonly step: string; readonly after: string }
  /** The handler throws where the run went on. */
  | { readonly type: "handler-failed"; readonly message: string }
  /** The handler waits for something that is no step. */
  | { readonly type: "handler-stuck" };

export interface ReplayResult {
  readonly runId: string;
  readonly functionId: string;
  readonly appVersion: string;
  readonly status: string;
  /** Null: this build does what is on record, and goes on from there. */
  readonly divergence: Divergence | null;
  /** Steps on record. */
  readonly steps: number;
  /** Steps that a run which has not ended would begin next. */
  readonly next: readonly string[];
}

const STUCK_AFTER_MS = 10_000;
/** Turns of the event loop in which further steps may be asked for beside the first new one. */
const TURNS = 3;

export class Replay {
  readonly #apps = new Map<string, AppInput & { readonly functions: HoldfastFunction[] }>();

  private constructor() {}

  /**
   * Loads an app without connecting it: functions are what it exports, and what it gives `connect()`. A module that has
   * connected is not waited for: `closed` never comes.
   * @throws HoldfastError `REPLAY_APP_INVALID`
   */
  static async open(importApp: () => Promise<unknown>): Promise<Replay> {
    const replay = new Replay();
    const loading = new ModuleLoading();
    setReplayCollector({
      add: (functions) => {
        replay.#add(functions);
        loading.onConnect();
      },
    });
    try {
      replay.#collect(await loading.load(importApp), 0);
      if (replay.#apps.size === 0) await loading.connectedLate();
    } finally {
      setReplayCollector(undefined);
    }
    if (replay.#apps.size > 0) return replay;
    throw new HoldfastError(
      "REPLAY_APP_INVALID",
      "The module has no functions: export those that createFunction() made, or give them to connect() when it is loaded.",
    );
  }

  /** Slugs of the functions, by app. */
  get functions(): readonly string[] {
    return [...this.#apps.values()].flatMap(({ functions }) => functions.map(({ slug }) => slug));
  }

  async run(exported: ExportedRun): Promise<ReplayResult> {
    const { id: runId, functionId, appVersion, status } = exported.run;
    const { divergence, steps, next } = await this.#replay(exported);
    return { runId, functionId, appVersion, status, divergence, steps, next };
  }

  #add(functions: readonly HoldfastFunction[]): void {
    for (const fn of functions) {
      const definition = definitionOf(fn);
      if (definition === undefined) continue;
      const { appId, client } = definition;
      const app = this.#apps.get(appId) ?? { client, functions: [] };
      this.#apps.set(appId, app);
      if (!app.functions.some(({ slug }) => slug === fn.slug)) app.functions.push(fn);
    }
  }

  #collect(value: unknown, depth: number): void {
    if (definitionOf(value) !== undefined) return this.#add([value as HoldfastFunction]);
    if (typeof value !== "object" || value === null || depth > 2) return;
    for (const inner of Object.values(value)) this.#collect(inner, depth + 1);
  }

  async #replay(exported: ExportedRun): Promise<Pick<ReplayResult, "divergence" | "steps" | "next">> {
    const { run } = exported;
    const recorded = recordedSteps(exported);
    const found = (divergence: Divergence | null, next: readonly string[] = []) => {
      return { divergence, steps: recorded.size, next };
    };
    const app = this.#apps.get(run.appId);
    const client = app && offline(app.client, exported);
    const registry = client && createRegistry([{ client, functions: app.functions }]);
    if (!registry?.find(run.appId, run.functionId)) return found({ type: "function-missing" });
    const asked = new Map<string, string>();
    const begun: string[] = [];
    const stop = new AbortController();
    const strategy = createMainThreadStrategy(registry, {
      intercept: (fullId, call) => {
        const key = hashStepId(fullId);
        asked.set(key, fullId);
        if (call.body === undefined) return call;
        const body = (): Promise<never> => {
          begun.push(fullId);
          afterTurns(TURNS, () => stop.abort());
          // A pass that is stopped waits for its bodies.
          return new Promise((_resolve, reject) =>
            stop.signal.addEventListener("abort", () => reject(stop.signal.reason)),
          );
        };
        return { ...call, body };
      },
    });
    const result = await orStuck(strategy.execute(requestOf(exported), NO_PORT, stop.signal));
    if (result === "stuck") return found({ type: "handler-stuck" });
    const failure = failureOf(result);
    if (failure?.code === "NON_DETERMINISM") return found(differentStep(failure.message));
    const missing = [...recorded].find(([key]) => !asked.has(key));
    if (missing && failure && !isEnded(run.status)) return found({ type: "handler-failed", message: failure.message });
    if (missing) return found({ type: "step-missing", step: missing[1].name });
    const moved = firstMoved(recorded, asked);
    if (moved) return found(moved);
    const fresh = [...asked].flatMap(([key, fullId]) => (recorded.has(key) ? [] : [fullId]));
    const [first] = fresh;
    if (isEnded(run.status)) {
      // A step that the handler's end does not wait for has lost a race, and need not be on record.
      const isOver = run.status === "FAILED" ? failure !== undefined : hasReturned(result);
      return found(first === undefined || isOver ? null : { type: "step-new", step: first });
    }
    if (failure) return found(hasThrown(exported) ? null : { type: "handler-failed", message: failure.message });
    return found(null, [...new Set([...fresh, ...begun])]);
  }
}

const CONFLICT = /recorded (.+), where the code now has (.+?)\. (?:While runs|Keep ids)/s;

/** The error as it was reported says it in words only. */
function differentStep(message: string): Divergence {
  const [, recorded = message, found = "another one"] = CONFLICT.exec(message) ?? [];
  return { type: "step-different", recorded, found };
}

/** A step that is asked for after one that it came before; null = there is none. */
function firstMoved(recorded: RecordedSteps, asked: ReadonlyMap<string, string>): Divergence | null {
  let last = { ordinal: -1, name: "" };
  for (const [key, name] of asked) {
    const ordinal = recorded.get(key)?.ordinal;
    if (ordinal === undefined) continue;
    if (ordinal < last.ordinal) return { type: "step-order", step: name, after: last.name };
    last = { ordinal, name };
  }
  return null;
}

type RecordedSteps = ReadonlyMap<string, RecordedStep>;

/** Steps by hashed id, in the order in which they appear on record; without those that undo. */
function recordedSteps({ run }: ExportedRun): RecordedSteps {
  const steps = new Map<string, RecordedStep>();
  for (const fact of run.log) {
    const step = stepOf(fact);
    if (step?.name === "holdfast/failure") break;
    if (step && fact.kind !== "DEFERRED" && !steps.has(fact.key)) steps.set(fact.key, step);
  }
  return steps;
}

/** Where its record ends the handler had thrown: it is to be tried again, or its run undoes its steps. */
function hasThrown({ run }: ExportedRun): boolean {
  let isThrown = false;
  for (const fact of run.log) {
    const step = stepOf(fact);
    if (step?.name === "holdfast/failure") return true;
    if (step !== undefined) isThrown = false;
    else if (fact.kind === "PASS_FAILED" && fact.key === "") isThrown = true;
  }
  return isThrown;
}

function hasReturned(result: ExecutionResult): boolean {
  if (result.stale) return false;
  if (result.status !== "NOT_COMPLETED") return result.status === "DONE";
  const body = parseJsonBytes(result.body, "The reply");
  return Array.isArray(body) && body.some((op) => isRecord(op) && op.op === "RunComplete");
}

const isEnded = (status: string): boolean => status === "COMPLETED" || status === "FAILED";

function requestOf(exported: ExportedRun): Parameters<ReturnType<typeof createMainThreadStrategy>["execute"]>[0] {
  const { id: runId, appId: appName, functionId: functionSlug, log } = exported.run;
  const payload = requestPayload(stateOf(exported), {
    requestId: runId,
    jobId: runId,
    queueItem: runId,
    attempt: 0,
    stepId: "step",
    functionUuid: null,
    inPlace: true,
    looksAhead: false,
    nowMs: log.at(-1)?.atMs ?? systemClock.nowMs(),
  } as Parameters<typeof requestPayload>[1]);
  const extensions = ["checkpoint", "since", "continue"] as const;
  return { requestId: runId, appName, functionSlug, stepId: "step", runId, jobId: runId, payload, extensions };
}

/** What a pass would store while it goes on is stored nowhere. */
const NO_PORT = { checkpoint: () => Promise.resolve("stale" as const) };

/** The app's client, which sends nothing and says nothing. */
function offline(client: AppClient, exported: ExportedRun): AppClient {
  const refuse = (): Promise<never> => Promise.reject(new Error("Nothing is sent while a run is replayed."));
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const state = stateOf(exported);
  return {
    ...client,
    options: { ...client.options, logger },
    schemas: client.schemas,
    sendEvents: refuse,
    sendSignal: refuse,
    fetchRunState: async () => ({ steps: JSON.parse(stepsText(state)), events: JSON.parse(eventsText(state)) }),
  } as AppClient;
}

function failureOf(result: ExecutionResult): { readonly code: unknown; readonly message: string } | undefined {
  if (result.stale) return undefined;
  const body = parseJsonBytes(result.body, "The reply");
  if (result.status === "NOT_COMPLETED") {
    const ops = Array.isArray(body) ? body : [];
    const failed = ops.find(
      (op) => isRecord(op) && op.op === "StepRun" && JSON.stringify(op).includes("holdfast/failure"),
    );
    const data = isRecord(failed) && isRecord(failed.data) ? failed.data : undefined;
    return data ? errorOf(data.error) : undefined;
  }
  return result.status === "ERROR" || result.noRetry ? errorOf(body) : undefined;
}

function errorOf(value: unknown): { readonly code: unknown; readonly message: string } {
  const { code, name, message } = isRecord(value) ? value : {};
  return { code, message: `${typeof name === "string" ? name : "Error"}: ${String(message)}` };
}

async function orStuck(result: Promise<ExecutionResult>): Promise<ExecutionResult | "stuck"> {
  return new Promise((resolve, reject) => {
    const timer = systemTimers.set(STUCK_AFTER_MS, () => resolve("stuck"));
    result.then(resolve, reject).finally(() => timer.cancel());
  });
}

function afterTurns(turns: number, then: () => void): void {
  if (turns === 0) then();
  else inNextTurn(() => afterTurns(turns - 1, then));
}
