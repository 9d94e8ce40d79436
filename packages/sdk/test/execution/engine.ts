import { type Clock, systemClock, systemTimers, type Timers } from "@holdfast/core";
import { type Decision, type JobState, readReport, type StepResult } from "@holdfast/engine";
import {
  type CheckpointOutcome,
  type EventPayload,
  type Extension,
  encodeJsonBytes,
  isRecord,
  normalizeError,
  type Op,
  parseJsonBytes,
  parseOps,
} from "@holdfast/protocol";
import type { CheckpointPort, ExecutionResult, ExecutionStrategy } from "../../src/execution/execution.ts";
import { FairTurns, type Turns, UNLIMITED_TURNS } from "../../src/execution/fair-turns.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { MemoryRun } from "../../src/function-test/memory-run.ts";
import type { AppClient } from "../../src/functions/app-client.ts";
import type { HoldfastFunction } from "../../src/functions/define-function.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { Records } from "./records.ts";

const text = new TextDecoder();

export const parse = (bytes: Uint8Array): unknown => JSON.parse(text.decode(bytes));

export interface EngineOptions {
  readonly client: AppClient;
  readonly fn: HoldfastFunction;
  readonly inPlace: boolean;
  /** In place: the handler goes on over results that are not stored yet. */
  readonly looksAhead?: boolean;
  readonly event?: EventPayload;
  readonly maxAttempts?: number;
  /** What each checkpoint is answered; default: stored, a turn of the event loop later. */
  readonly answer?: (ops: readonly Op[], number: number) => CheckpointOutcome | Promise<CheckpointOutcome>;
  readonly slug?: string;
  readonly maxPasses?: number;
  /** Facts of finished steps, with which a fork begins. */
  readonly kept?: Decision["log"];
  /** Timers of the pass run so many times as fast. */
  readonly haste?: number;
  /** What a wait, an invocation or a request gets, as the memo has it, or `NEVER`; default: nothing, so that waits time out. */
  readonly resume?: (op: Op) => unknown;
  /** Default: everything starts at once. */
  readonly turns?: Turns;
  /** Further keys of `ctx.holdfast`. */
  readonly extended?: Readonly<Record<string, unknown>>;
}

/** What is waited for does not come. */
export const NEVER = Symbol("never");

export interface RunEnd {
  readonly status: "completed" | "failed";
  readonly value: unknown;
}

const EVENT: EventPayload = { id: "e1", name: "test/event", data: { n: 1 }, ts: 1 };

/** Every third start or so waits for another turn: what comes of a run must not depend on that. */
export function shortTurns(): Turns {
  let usedMs = 0;
  const monotonicMs = (): number => {
    usedMs += 4;
    return usedMs;
  };
  return new FairTurns({ monotonicMs, nextTurn: (begin) => setImmediate(begin) }).limitedTo(10);
}

/**
 * Moves only where a test moves it: how long a body takes decides which results travel together, and on a busy machine
 * every body may take long. It begins at the system's time, from which the CPU time of the process is read as well.
 */
export class StillClock implements Clock {
  readonly #startedMs = systemClock.monotonicMs();
  #passedMs = 0;
  readonly nowMs = systemClock.nowMs;
  readonly monotonicMs = (): number => this.#startedMs + this.#passedMs;

  pass(ms: number): void {
    this.#passedMs += ms;
  }
}

/** Gives a worker the requests of one run, in place or on the plain protocol; what follows is decided as on a gateway. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #strategy: ExecutionStrategy;
  readonly #memory: MemoryRun;
  readonly #startedMs = systemClock.nowMs();
  readonly #records: Records;
  /** Of the passes. */
  readonly clock = new StillClock();
  readonly results: ExecutionResult[] = [];
  readonly checkpoints: Op[][] = [];
  readonly replies: Op[][] = [];
  /** Of the timers that were set. */
  readonly delaysMs: number[] = [];
  readonly #reportedOps = new Map<string, Op>();
  /** How often a worker lost its work on the way. */
  losses = 0;
  signal = new AbortController();
  /** Called before each request. */
  onRequest: () => void = () => {};

  constructor(options: EngineOptions) {
    this.#options = options;
    const { client, fn, haste = 1, slug = fn.slug, event = EVENT, maxAttempts = 3 } = options;
    const timers: Timers = {
      set: (delayMs, fire, more) => {
        this.delaysMs.push(delayMs);
        return systemTimers.set(delayMs / haste, fire, more);
      },
    };
    this.#strategy = createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), {
      clock: this.clock,
      timers,
      turns: options.turns ?? UNLIMITED_TURNS,
    });
    this.#memory = new MemoryRun({
      appId: client.options.id,
      appVersion: client.options.appVersion,
      slug,
      events: [event],
      maxAttempts,
      deadlineInMs: null,
      finishInMs: null,
      nowMs: this.#startedMs,
      runId: "01RUN",
      ...(options.kept ? { kept: options.kept } : {}),
    });
    this.#records = new Records(this.#memory.state);
  }

  /** Finished steps by hashed id, in the order of their completion; what a test puts here the run has on record. */
  get memo(): Records {
    return this.#records;
  }

  get log(): Decision["log"] {
    return this.#memory.log;
  }

  get signatures(): Records["signatures"] {
    return this.#records.signatures;
  }

  get retries(): Records["retries"] {
    return this.#records.retries;
  }

  /** One request; what the pass answered. */
  async request(stepId = "step", attempt = 0, extra: Record<string, unknown> = {}): Promise<ExecutionResult> {
    const isPass = stepId === "step";
    const job: JobState = {
      id: "j1",
      kind: isPass ? "pass" : "step",
      key: isPass ? "" : stepId,
      attempt,
      iteration: 1,
      dueMs: 0,
    };
    const { result } = await this.#execute(job, extra);
    return result;
  }

  async #execute(
    job: JobState,
    extra: Record<string, unknown> = {},
  ): Promise<{ readonly result: ExecutionResult; readonly inPlace: boolean }> {
    const { client, fn, slug = fn.slug } = this.#options;
    this.onRequest();
    const inPlace = this.#options.inPlace && this.#memory.goesOnInPlace(job);
    const result = await this.#strategy.execute(
      {
        requestId: "r1",
        appName: client.options.id,
        functionSlug: slug,
        stepId: job.kind === "pass" ? "step" : job.key,
        runId: "01RUN",
        jobId: job.id,
        payload: this.#payload(job, inPlace, extra),
        extensions: inPlace ? this.#extensions : [],
      },
      this.#port(),
      this.signal.signal,
    );
    this.results.push(result);
    return { result, inPlace };
  }

  get #extensions(): readonly Extension[] {
    return this.#options.looksAhead === true ? ["checkpoint", "lookahead"] : ["checkpoint"];
  }

  /** What a gateway sends, but for what the test has changed. */
  #payload(job: JobState, inPlace: boolean, extra: Record<string, unknown>): Uint8Array {
    const root = parse(this.#memory.payload(job, inPlace)) as { ctx: Record<string, unknown> };
    const { holdfast } = root.ctx as { holdfast?: { signatures: Record<string, string> } };
    const known = holdfast && { ...holdfast, signatures: this.#records.known, ...this.#options.extended };
    const ctx = { ...root.ctx, attempt: job.attempt, ...(known ? { holdfast: known } : {}) };
    return encodeJsonBytes({ ...root, ctx, ...extra });
  }

  #port(): CheckpointPort {
    let open = false;
    return {
      checkpoint: async (bytes) => {
        const ops = parse(bytes) as Op[];
        this.checkpoints.push(ops);
        const isAnnouncement = ops.every((op) => op.op === "StepPlanned");
        if (open && !isAnnouncement) throw new Error("two checkpoints are unanswered at once");
        open ||= !isAnnouncement;
        const answer = this.#options.answer?.(ops, this.checkpoints.length) ?? "stored";
        if (!isAnnouncement) await new Promise((resolve) => setImmediate(resolve));
        const outcome = await answer;
        const stored = outcome === "stored" ? this.#store(bytes) : outcome;
        if (!isAnnouncement) open = false;
        return stored;
      },
    };
  }

  #store(bytes: Uint8Array): CheckpointOutcome {
    const ops = parseOps(parseJsonBytes(bytes, "The checkpoint"), "The checkpoint");
    for (const op of ops) this.#reportedOps.set(op.id, op);
    const { outcome, decision } = this.#memory.checkpoint(ops);
    this.#decided(decision);
    return outcome;
  }

  /** How much time has passed in the run. */
  get elapsedMs(): number {
    return this.#memory.nowMs - this.#startedMs;
  }

  /** Plays the whole run. */
  async run(): Promise<RunEnd> {
    const { maxPasses = 5000 } = this.#options;
    let passes = 0;
    for (let next = this.#memory.next(); next !== undefined; next = this.#memory.next()) {
      if (next.type === "DECIDED") this.#decided(next.decision);
      else if (passes === maxPasses) throw new Error("the run did not end");
      else {
        passes += 1;
        await this.#work(next.job);
      }
    }
    return this.#end();
  }

  #end(): RunEnd {
    const { status, outputJson, errorJson } = this.#memory.head;
    if (status === "COMPLETED") return { status: "completed", value: JSON.parse(outputJson ?? "null") };
    return { status: "failed", value: JSON.parse(errorJson ?? "null") };
  }

  async #work(job: JobState): Promise<void> {
    const attempt = job.kind === "pass" ? this.#memory.state.passAttempt : job.attempt;
    const { result, inPlace } = await this.#execute({ ...job, attempt });
    if (result.stale) {
      this.losses += 1;
      this.signal = new AbortController();
      return;
    }
    const report = readReport(result, this.#memory.nowMs, parseJsonBytes);
    if (report.status === "OPS") {
      this.replies.push(parse(result.body) as Op[]);
      for (const op of report.ops) this.#reportedOps.set(op.id, op);
    }
    this.#decided(this.#memory.decide({ type: "report", jobId: job.id, inPlace, report }));
  }

  #decided(decision: Decision | null): void {
    for (const { kind, key } of decision?.log ?? []) {
      const op = this.#reportedOps.get(key);
      if (kind === "STEP_WAITING" && op !== undefined && op.op !== "Sleep") this.#answer(op);
    }
  }

  /** Ends what the gateway does for a step, once it does it: the pass that goes on does not hear of it. */
  async end(key: string, given: unknown): Promise<void> {
    const { state } = this.#memory;
    while (state.open.get(key)?.phase !== "waiting") await new Promise((resolve) => setImmediate(resolve));
    const call = [...state.jobs.values()].find((job) => job.kind === "fetch" && job.key === key);
    const result = endOf(given);
    this.#memory.decide(call ? { type: "fetched", jobId: call.id, result } : { type: "arrived", key, result });
  }

  /** Waits that get nothing time out; invocations and requests end with nothing. */
  #answer(op: Op): void {
    const given: unknown = this.#options.resume?.(op) ?? null;
    if (given === NEVER) return;
    if (given === null && (op.op === "WaitForEvent" || op.op === "WaitForSignal")) return;
    this.#memory.arrive(op.id, this.#memory.nowMs, endOf(given));
  }
}

/** Of the forms that a memo has: an error, data, or the value itself. */
function endOf(given: unknown): StepResult {
  if (isRecord(given) && given.error !== undefined) return { type: "error", error: normalizeError(given.error) };
  const isForm = isRecord(given) && Object.keys(given).join() === "data";
  return { type: "data", text: JSON.stringify(isForm ? given.data : given) };
}
