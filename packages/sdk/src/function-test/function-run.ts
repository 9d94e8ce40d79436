/**
 * Plays one run in memory: the SDK's own execution as the worker, `memory-run.ts` as the gateway, `answers.ts` as
 * the outside world.
 */
import { type Decision, type JobState, readReport } from "@holdfast/engine";
import {
  type CheckpointOutcome,
  type EventPayload,
  isHandlerEnd,
  type Op,
  parseJsonBytes,
  parseOps,
} from "@holdfast/protocol";
import type { ExecutionStrategy } from "../execution/execution.ts";
import { HoldfastError } from "../sdk.ts";
import type { Answers, InvokedRun } from "./answers.ts";
import type { MemoryRun } from "./memory-run.ts";

export interface FunctionRunOptions {
  readonly strategy: ExecutionStrategy;
  readonly appName: string;
  readonly slug: string;
  readonly answers: Answers;
  readonly invoke: InvokedRun;
  readonly replay: boolean;
  /** The step at which to stop. */
  readonly until: string | undefined;
}

/** A step as its ops report it. */
export interface StepNote {
  readonly key: string;
  readonly fullId: string;
  op: Op;
  attempts: number;
}

/** What the decisions of `@holdfast/engine` do by themselves. */
const TEST_EXTENSIONS = ["since", "continue"] as const;
const MAX_PASSES = 10_000;
const FAILED = "inngest/function.failed";

/** Plays a run in memory to its end: the worker that runs its passes, and whatever its steps wait for. */
export class FunctionRun {
  readonly #options: FunctionRunOptions;
  readonly #memory: MemoryRun;
  /** By hashed id, in the order in which they were met. */
  readonly steps = new Map<string, StepNote>();
  passes = 0;
  isStopped = false;
  /** The event of its failure, which starts `onFailure`. */
  failedEvent: EventPayload | undefined;
  /** With which event the run goes on as a new one. */
  nextEvent: EventPayload | undefined;
  #failure: unknown;

  constructor(memory: MemoryRun, options: FunctionRunOptions) {
    this.#memory = memory;
    this.#options = options;
  }

  /** @throws HoldfastError `TEST_STEP_UNANSWERED`, `TEST_TIMEOUT` */
  async run(): Promise<void> {
    while (!this.isStopped) {
      const happening = this.#memory.next();
      if (happening === undefined) return;
      if (happening.type === "WORK") await this.#work(happening.job);
      else await this.#decided(happening.decision);
      if (this.#failure !== undefined) throw this.#failure;
    }
  }

  async #work(job: JobState): Promise<void> {
    this.passes += 1;
    if (this.passes > MAX_PASSES) {
      throw new HoldfastError("TEST_TIMEOUT", `The function was started ${MAX_PASSES} times and has not ended.`);
    }
    const { strategy, appName, slug } = this.#options;
    const { runId } = this.#memory.state;
    const inPlace = this.#memory.goesOnInPlace(job);
    const result = await strategy.execute(
      {
        requestId: `${runId}.${this.passes}`,
        appName,
        functionSlug: slug,
        stepId: job.kind === "pass" ? "step" : job.key,
        runId,
        jobId: job.id,
        payload: this.#memory.payload(job, inPlace),
        extensions: this.#looksAhead
          ? ["checkpoint", "lookahead", ...TEST_EXTENSIONS]
          : ["checkpoint", ...TEST_EXTENSIONS],
      },
      { checkpoint: (bytes) => this.#checkpoint(bytes) },
      new AbortController().signal,
    );
    if (this.#failure !== undefined || this.isStopped || result.stale) return;
    const read = readReport(result, this.#memory.nowMs, parseJsonBytes);
    const ops = read.status === "OPS" ? this.#noted(read.ops) : [];
    const report = read.status === "OPS" ? { ...read, ops } : read;
    await this.#decided(this.#memory.decide({ type: "report", jobId: job.id, inPlace, report }));
    this.#stopAfter(ops);
  }

  /** As in an app, but where the test is to see what a handler does after each step that is stored. */
  get #looksAhead(): boolean {
    return !this.#options.replay && this.#options.until === undefined;
  }

  async #checkpoint(bytes: Uint8Array): Promise<CheckpointOutcome> {
    const { memo } = this.#memory.state;
    const before = memo.size;
    const ops = this.#noted(parseOps(parseJsonBytes(bytes, "The checkpoint"), "The checkpoint"));
    const { outcome, decision } = this.#memory.checkpoint(ops);
    await this.#decided(decision);
    if (outcome !== "stored") return outcome;
    this.#stopAfter(ops);
    if (this.isStopped || this.#failure !== undefined) return "stale";
    return this.#options.replay && memo.size > before ? "stale" : "stored";
  }

  /** The ops, up to the step at which to stop. */
  #noted(ops: readonly Op[]): readonly Op[] {
    const end = ops.findIndex((op) => this.#isAtEnd(op)) + 1;
    const reported = end === 0 ? ops : ops.slice(0, end);
    for (const op of reported) if (isStep(op) && !this.#memory.state.memo.has(op.id)) this.#note(op);
    return reported;
  }

  #note(op: Op): void {
    const note = this.steps.get(op.id) ?? { key: op.id, fullId: fullIdOf(op), op, attempts: 0 };
    this.steps.set(op.id, note);
    note.op = op;
    if (op.op === "StepRun" || op.op === "StepFailed" || op.op === "StepError") note.attempts = (op.attempt ?? 0) + 1;
  }

  #isAtEnd(op: Op): boolean {
    if (!isStep(op) || op.op === "StepError" || op.op === "StepPlanned") return false;
    return fullIdOf(op) === this.#options.until && !this.#memory.state.memo.has(op.id);
  }

  #stopAfter(ops: readonly Op[]): void {
    const last = ops.at(-1);
    if (last === undefined || last.op === "StepError" || last.op === "StepPlanned") return;
    if (fullIdOf(last) === this.#options.until) this.isStopped = true;
  }

  /** The test answers steps that begin to wait. */
  async #decided(decision: Decision | null): Promise<void> {
    for (const { name, payload, invokes } of decision?.events ?? []) {
      if (invokes?.continues !== undefined) this.nextEvent = JSON.parse(payload()) as EventPayload;
      if (name === FAILED) this.failedEvent = JSON.parse(payload()) as EventPayload;
    }
    for (const { kind, key } of decision?.log ?? []) {
      if (kind !== "STEP_WAITING" || this.#failure !== undefined) continue;
      try {
        await this.#begun(key);
      } catch (thrown) {
        this.#failure = thrown;
      }
    }
  }

  async #begun(key: string): Promise<void> {
    const memory = this.#memory;
    const note = this.steps.get(key);
    if (note === undefined) return;
    const { answers, invoke } = this.#options;
    const untilMs = memory.isCall(key) ? null : (memory.state.open.get(key)?.dueMs ?? null);
    const answer = await answers.answer(note.op, note.fullId, { nowMs: memory.nowMs, untilMs }, invoke);
    if (answer !== undefined) memory.arrive(key, answer.atMs, answer.result);
  }
}

const isStep = (op: Op): boolean => op.op !== "None" && !isHandlerEnd(op);

function fullIdOf(op: Op): string {
  const { id = op.id, index = 0 } = op.userland ?? {};
  return index === 0 ? id : `${id}:${index}`;
}
