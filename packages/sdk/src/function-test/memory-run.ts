import {
  createUlidFactory,
  HoldfastError,
  parseDurationMs,
  parseGoDurationMs,
  systemClock,
  systemRandom,
} from "@holdfast/core";
import {
  type CheckpointOutcome,
  type EventPayload,
  encodeJsonBytes,
  normalizeError,
  type Op,
  parseJsonBytes,
  parseOps,
} from "@holdfast/protocol";
import type { ExecutionResult, ExecutionStrategy } from "../execution/execution.ts";
import type { Answers, Ending, InvokedRun } from "./answers.ts";

export interface MemoryRunOptions {
  readonly strategy: ExecutionStrategy;
  readonly appName: string;
  readonly slug: string;
  readonly events: readonly EventPayload[];
  readonly maxAttempts: number;
  readonly deadline: string | undefined;
  readonly appVersion: string | undefined;
  readonly answers: Answers;
  readonly invoke: InvokedRun;
  readonly replay: boolean;
  readonly nowMs: number;
  /** The step at which to stop. */
  readonly until: string | undefined;
}

/** What is known of a step. */
export interface StepNote {
  readonly fullId: string;
  op: Op;
  attempts: number;
  entry: { readonly value: unknown } | undefined;
  isUndefined: boolean;
}

export type MemoryEnd =
  | { readonly status: "completed"; readonly value: unknown }
  | { readonly status: "failed"; readonly value: unknown }
  | { readonly status: "stopped" };

const MAX_PASSES = 10_000;
const RETRY_BASE_MS = 1000;
const MAX_RETRY_MS = 60_000;

/** One run without a gateway: memo, retries and time are kept here, and time passes at once. */
export class MemoryRun {
  readonly #options: MemoryRunOptions;
  readonly steps = new Map<string, StepNote>();
  readonly runId: string;
  passes = 0;
  nowMs: number;
  readonly #deadlineMs: number | undefined;
  /** In the order in which they finished. */
  readonly #memo: string[] = [];
  readonly #retries = new Map<string, { attempt: number; notBeforeMs: number }>();
  readonly #parked = new Map<string, Ending>();
  #passAttempt = 0;
  #isStopped = false;
  #failure: unknown;

  constructor(options: MemoryRunOptions) {
    this.#options = options;
    this.nowMs = options.nowMs;
    this.runId = createUlidFactory(systemClock, systemRandom)();
    const { deadline } = options;
    this.#deadlineMs =
      deadline === undefined ? undefined : options.nowMs + (parseGoDurationMs(deadline) ?? parseDurationMs(deadline));
  }

  async run(): Promise<MemoryEnd> {
    for (;;) {
      const result = await this.#pass();
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isStopped) return { status: "stopped" };
      if (result.stale) continue;
      const end = await this.#decide(result);
      if (end !== undefined) return end;
      if (this.#isStopped) return { status: "stopped" };
    }
  }

  async #pass(): Promise<ExecutionResult> {
    this.passes += 1;
    if (this.passes > MAX_PASSES) {
      throw new HoldfastError("TEST_TIMEOUT", `The function was started ${MAX_PASSES} times and has not ended.`);
    }
    const { strategy, appName, slug } = this.#options;
    return strategy.execute(
      {
        requestId: `${this.runId}.${this.passes}`,
        appName,
        functionSlug: slug,
        stepId: "step",
        runId: this.runId,
        jobId: this.runId,
        payload: encodeJsonBytes(this.#payload()),
        extensions: ["checkpoint"],
      },
      { checkpoint: (bytes) => this.#checkpoint(bytes) },
      new AbortController().signal,
    );
  }

  #payload(): object {
    const { events, maxAttempts, appVersion } = this.#options;
    const finished = this.#memo.map((hash) => [hash, this.steps.get(hash)] as const);
    return {
      version: 2,
      event: events[0],
      events,
      steps: Object.fromEntries(finished.map(([hash, note]) => [hash, note?.entry?.value])),
      ctx: {
        run_id: this.runId,
        attempt: this.#passAttempt,
        max_attempts: maxAttempts,
        stack: { stack: this.#memo, current: this.#memo.length },
        disable_immediate_execution: false,
        use_api: false,
        holdfast: {
          v: 1,
          nowMs: this.nowMs,
          retries: Object.fromEntries(this.#retries),
          undefinedSteps: finished.flatMap(([hash, note]) => (note?.isUndefined ? [hash] : [])),
          signatures: Object.fromEntries(finished.flatMap(([hash, note]) => signatureOf(hash, note))),
          ...(this.#deadlineMs === undefined ? {} : { deadlineMs: this.#deadlineMs }),
          ...(appVersion === undefined ? {} : { appVersion }),
        },
      },
    };
  }

  async #checkpoint(bytes: Uint8Array): Promise<CheckpointOutcome> {
    const before = this.#memo.length;
    await this.#apply(parseOps(parseJsonBytes(bytes, "The checkpoint"), "The checkpoint"));
    if (this.#isStopped || this.#failure !== undefined) return "stale";
    return this.#options.replay && this.#memo.length > before ? "stale" : "stored";
  }

  async #decide(result: ExecutionResult): Promise<MemoryEnd | undefined> {
    const body = parseJsonBytes(result.body, "The reply");
    if (result.status === "DONE") return { status: result.noRetry ? "failed" : "completed", value: body };
    if (result.status === "ERROR") {
      this.#passAttempt += 1;
      if (this.#passAttempt >= this.#options.maxAttempts) return { status: "failed", value: body };
      this.nowMs += retryDelayMs(this.#passAttempt, result.retryAfter, this.nowMs);
      return undefined;
    }
    const before = this.#memo.length;
    const ops = parseOps(body, "The reply");
    await this.#apply(ops);
    if (this.#failure !== undefined) throw this.#failure;
    // What is no longer waited for does not move the run on.
    if (this.#memo.length === before && !this.#isStopped) this.#moveOn(new Set(ops.map((op) => op.id)));
    return undefined;
  }

  async #apply(ops: readonly Op[]): Promise<void> {
    for (const op of ops) {
      if (op.op === "None" || this.steps.get(op.id)?.entry !== undefined) continue;
      const note = this.#note(op);
      switch (op.op) {
        case "StepRun":
          note.attempts = (op.attempt ?? 0) + 1;
          note.isUndefined = op.undefinedResult === true;
          this.#finish(op.id, { type: "data", data: op.data ?? null });
          break;
        case "StepFailed":
          note.attempts = (op.attempt ?? 0) + 1;
          this.#finish(op.id, { type: "error", error: normalizeError(op.error) });
          break;
        case "StepError": {
          note.attempts = (op.attempt ?? 0) + 1;
          const delayMs = retryDelayMs(note.attempts, op.retryAfter, this.nowMs);
          this.#retries.set(op.id, { attempt: note.attempts, notBeforeMs: this.nowMs + delayMs });
          break;
        }
        case "StepPlanned":
          break;
        default:
          await this.#park(op, note);
      }
      if (note.fullId === this.#options.until && op.op !== "StepError" && op.op !== "StepPlanned")
        this.#isStopped = true;
      if (this.#isStopped) return;
    }
  }

  #note(op: Op): StepNote {
    const known = this.steps.get(op.id);
    if (known !== undefined) {
      known.op = op;
      return known;
    }
    const { id = op.id, index = 0 } = op.userland ?? {};
    const fullId = index === 0 ? id : `${id}:${index}`;
    const note: StepNote = { fullId, op, attempts: 0, entry: undefined, isUndefined: false };
    this.steps.set(op.id, note);
    return note;
  }

  async #park(op: Op, { fullId }: StepNote): Promise<void> {
    if (this.#parked.has(op.id)) return;
    try {
      this.#parked.set(op.id, await this.#options.answers.end(op, fullId, this.nowMs, this.#options.invoke));
    } catch (thrown) {
      this.#failure = thrown;
    }
  }

  #finish(hash: string, value: unknown): void {
    const note = this.steps.get(hash);
    if (note === undefined) return;
    note.entry = { value };
    this.#memo.push(hash);
    this.#retries.delete(hash);
    this.#parked.delete(hash);
    this.#passAttempt = 0;
  }

  /** Nothing runs: time goes on to what is due first. */
  #moveOn(asked: ReadonlySet<string>): void {
    let first: { hash: string; dueMs: number } | undefined;
    const look = (hash: string, dueMs: number): void => {
      if (asked.has(hash) && (first === undefined || dueMs < first.dueMs)) first = { hash, dueMs };
    };
    for (const [hash, { dueMs }] of this.#parked) look(hash, dueMs);
    for (const [hash, { notBeforeMs }] of this.#retries) look(hash, notBeforeMs);
    if (first === undefined) throw new HoldfastError("INTERNAL", "The run under test waits for nothing.");
    this.nowMs = Math.max(this.nowMs, first.dueMs);
    const ending = this.#parked.get(first.hash);
    if (ending !== undefined) this.#finish(first.hash, ending.entry);
  }
}

function signatureOf(hash: string, note: StepNote | undefined): readonly (readonly [string, string])[] {
  const ordinal = note?.op.ordinal;
  if (note === undefined || ordinal === undefined) return [];
  return [[hash, `${note.op.op}:${note.fullId}#${ordinal}`]];
}

function retryDelayMs(attempt: number, retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return Math.min(MAX_RETRY_MS, RETRY_BASE_MS * 2 ** (attempt - 1));
  const given = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return Number.isNaN(given) ? RETRY_BASE_MS : Math.max(0, given);
}
