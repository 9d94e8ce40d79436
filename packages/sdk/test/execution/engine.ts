import { systemTimers, type Timers } from "@holdfast/core";
import type { CheckpointOutcome, Extension, Op } from "@holdfast/protocol";
import type { CheckpointPort, ExecutionResult, ExecutionStrategy } from "../../src/execution/execution.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import type { AppClient } from "../../src/functions/app-client.ts";
import type { HoldfastFunction } from "../../src/functions/define-function.ts";
import { createRegistry } from "../../src/functions/registry.ts";

const utf8 = new TextEncoder();
const text = new TextDecoder();

export const parse = (bytes: Uint8Array): unknown => JSON.parse(text.decode(bytes));

export interface EngineOptions {
  readonly client: AppClient;
  readonly fn: HoldfastFunction;
  readonly inPlace: boolean;
  readonly event?: unknown;
  readonly maxAttempts?: number;
  /** What each checkpoint is answered; default: stored, a turn of the event loop later. */
  readonly answer?: (ops: readonly Op[], number: number) => CheckpointOutcome | Promise<CheckpointOutcome>;
  readonly slug?: string;
  readonly maxPasses?: number;
  /** Timers of the pass run so many times as fast. */
  readonly haste?: number;
  /** What ends a wait, an invocation or a request, as the memo has it; default: null, as after a timeout. */
  readonly resume?: (op: Op) => unknown;
  /** Further keys of `ctx.holdfast`. */
  readonly extended?: Readonly<Record<string, unknown>>;
}

export interface RunEnd {
  readonly status: "completed" | "failed";
  readonly value: unknown;
}

/**
 * A gateway's engine in memory, for one run: keeps memo and order, plays retries, sleeps and waits (time passes at once) and
 * follows the parallel rule of version 2 of the plain protocol.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #strategy: ExecutionStrategy;
  readonly memo = new Map<string, unknown>();
  readonly undefinedSteps = new Set<string>();
  readonly signatures = new Map<string, string>();
  readonly retries = new Map<string, { attempt: number; notBeforeMs: number }>();
  readonly results: ExecutionResult[] = [];
  readonly checkpoints: Op[][] = [];
  readonly replies: Op[][] = [];
  /** Of the timers that were set. */
  readonly delaysMs: number[] = [];
  #pending = new Set<string>();
  #queue: { stepId: string; attempt: number }[] = [{ stepId: "step", attempt: 0 }];
  #parked: Op[] = [];
  /** Steps after which a pass is made, whatever else is pending. */
  readonly #raced = new Set<string>();
  /** How often a worker lost its work on the way. */
  losses = 0;
  #passAttempt = 0;
  #version = -1;
  signal = new AbortController();
  /** Called before each request. */
  onRequest: () => void = () => {};

  constructor(options: EngineOptions) {
    this.#options = options;
    const { client, fn, haste = 1 } = options;
    const timers: Timers = {
      set: (delayMs, fire, more) => {
        this.delaysMs.push(delayMs);
        return systemTimers.set(delayMs / haste, fire, more);
      },
    };
    this.#strategy = createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), { timers });
  }

  get maxAttempts(): number {
    return this.#options.maxAttempts ?? 3;
  }

  /** One request; what the pass answered. */
  async request(stepId = "step", attempt = 0, extra: Record<string, unknown> = {}): Promise<ExecutionResult> {
    const { client, fn, inPlace } = this.#options;
    this.onRequest();
    const event = this.#options.event ?? { id: "e1", name: "test/event", data: { n: 1 }, ts: 1 };
    const payload = {
      version: this.#version,
      event,
      events: [event],
      steps: Object.fromEntries(this.memo),
      ctx: {
        run_id: "01RUN",
        attempt,
        max_attempts: this.maxAttempts,
        stack: { stack: [...this.memo.keys()], current: this.memo.size },
        disable_immediate_execution: !inPlace && this.#pending.size > 0,
        use_api: false,
        ...(inPlace ? { holdfast: this.#extended() } : {}),
      },
      ...extra,
    };
    const result = await this.#strategy.execute(
      {
        requestId: "r1",
        appName: client.options.id,
        functionSlug: this.#options.slug ?? fn.slug,
        stepId,
        runId: "01RUN",
        jobId: "j1",
        payload: utf8.encode(JSON.stringify(payload)),
        extensions: (inPlace ? ["checkpoint"] : []) satisfies Extension[],
      },
      this.#port(),
      this.signal.signal,
    );
    this.results.push(result);
    return result;
  }

  #extended(): object {
    return {
      v: 1,
      retries: Object.fromEntries(this.retries),
      undefinedSteps: [...this.undefinedSteps],
      signatures: Object.fromEntries(this.signatures),
      ...this.#options.extended,
    };
  }

  #port(): CheckpointPort {
    let open = false;
    return {
      checkpoint: async (bytes) => {
        const ops = parse(bytes) as Op[];
        this.checkpoints.push(ops);
        if (ops.every((op) => op.op === "StepPlanned")) {
          return this.#options.answer?.(ops, this.checkpoints.length) ?? "stored";
        }
        if (open) throw new Error("two checkpoints are unanswered at once");
        open = true;
        const answer = this.#options.answer?.(ops, this.checkpoints.length) ?? "stored";
        await new Promise((resolve) => setImmediate(resolve));
        const outcome = await answer;
        if (outcome === "stored") for (const op of ops) this.#checkpointed(op);
        open = false;
        return outcome;
      },
    };
  }

  #checkpointed(op: Op): void {
    if (op.op === "StepRun" || op.op === "StepFailed") this.#save(op);
    else this.#op({ stepId: "step", attempt: 0 }, op);
  }

  #save(op: Op): void {
    if (this.memo.has(op.id)) return;
    if (op.op === "StepFailed") this.memo.set(op.id, { type: "error", error: op.error });
    else if (op.op === "StepRun") this.memo.set(op.id, { type: "data", data: op.data ?? null });
    else this.memo.set(op.id, this.#options.resume?.(op) ?? null);
    if (op.undefinedResult) this.undefinedSteps.add(op.id);
    const kind = op.op === "StepFailed" ? "StepRun" : op.op;
    const { ordinal, displayName } = op;
    this.signatures.set(op.id, ordinal === undefined ? `${kind} ${displayName}` : `${kind}:${displayName}#${ordinal}`);
    this.retries.delete(op.id);
    this.#pending.delete(op.id);
    this.#passAttempt = 0;
  }

  /** Plays the whole run. */
  async run(): Promise<RunEnd> {
    for (let passes = 0; passes < (this.#options.maxPasses ?? 5000); passes += 1) {
      const job = this.#queue.shift();
      if (!job) {
        this.#wake();
        continue;
      }
      const result = await this.request(job.stepId, job.attempt);
      const end = this.#decide(job, result);
      if (end) return end;
    }
    throw new Error("the run did not end");
  }

  /** Time passes: what is waited for happens, one thing at a time, so that the order of waking is a fact. */
  #wake(): void {
    const op = this.#parked.shift();
    if (op === undefined) throw new Error("the run has neither a job nor a wait");
    this.#save(op);
    this.#discover(op.id);
  }

  #discover(done = ""): void {
    const isWanted = this.#pending.size === 0 || this.#raced.has(done);
    if (this.#options.inPlace || isWanted) this.#enqueue("step", this.#passAttempt);
  }

  #enqueue(stepId: string, attempt: number): void {
    if (!this.#queue.some((job) => job.stepId === stepId)) this.#queue.push({ stepId, attempt });
  }

  #decide(job: { stepId: string; attempt: number }, result: ExecutionResult): RunEnd | undefined {
    if (result.stale) {
      this.losses += 1;
      this.signal = new AbortController();
      this.#enqueue(job.stepId, job.attempt);
      return undefined;
    }
    const body = parse(result.body);
    if (result.status === "DONE") return { status: result.noRetry ? "failed" : "completed", value: body };
    if (result.status === "ERROR") {
      if (job.attempt + 1 >= this.maxAttempts) return { status: "failed", value: body };
      this.#passAttempt = job.attempt + 1;
      this.#queue.push({ ...job, attempt: job.attempt + 1 });
      return undefined;
    }
    this.#version = result.requestVersion;
    this.#ops(job, body as Op[]);
    return undefined;
  }

  #ops(job: { stepId: string; attempt: number }, ops: readonly Op[]): void {
    this.replies.push([...ops]);
    const { inPlace } = this.#options;
    if (!inPlace && job.stepId === "step" && ops.length > 1) {
      this.#pending = new Set(ops.map((op) => op.id).filter((id) => !this.memo.has(id)));
    }
    if (ops.length === 0) this.#discover();
    for (const op of ops) this.#op(job, op);
    // What is to be tried again is among the parked ops, if the code still has it.
    if (inPlace && ops.some((op) => this.retries.has(op.id))) this.#discover();
  }

  #op(job: { stepId: string; attempt: number }, op: Op): void {
    if (this.memo.has(op.id)) return;
    if (op.opts?.parallelMode === "race") this.#raced.add(op.id);
    switch (op.op) {
      case "StepRun":
      case "StepFailed":
        this.#save(op);
        return this.#discover(op.id);
      case "StepError":
        if (this.#options.inPlace) {
          this.retries.set(op.id, { attempt: (op.attempt ?? 0) + 1, notBeforeMs: 0 });
          return;
        }
        this.#queue.push({ ...job, attempt: job.attempt + 1 });
        return;
      case "StepPlanned":
        return this.#enqueue(op.id, 0);
      case "Sleep":
      case "WaitForEvent":
      case "WaitForSignal":
      case "InvokeFunction":
      case "Gateway":
        if (!this.#parked.some((parked) => parked.id === op.id)) this.#parked.push(op);
        return;
      default:
        throw new Error(`unexpected op ${op.op}`);
    }
  }
}
