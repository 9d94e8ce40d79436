import { seededRandom } from "@holdfast/core";
import type { Op, OpName } from "@holdfast/protocol";
import type { LogRow, NewJob, NewWait, StoredLogRow } from "@holdfast/store";
import { decide } from "../src/decide/decide.ts";
import type { Decision } from "../src/decide/draft.ts";
import type { DecideContext, Input, PassReport } from "../src/decide/input.ts";
import type { InternalEvent } from "../src/decide/internal-events.ts";
import { applyRow, fold } from "../src/run/fold.ts";
import { jsonRow, type OpenMeta, type RunMeta, readMeta, runCreatedRow } from "../src/run/log-rows.ts";
import { DEADLINE, emptyRun, FINISH_TIMEOUT, type JobState, jobKey, type RunState } from "../src/run/run-state.ts";

export const IDENTITY = { runId: "run-1", functionId: "shop-order", appId: "shop", appVersion: "1", version: 1 };

/** One run with its log and its queue, as the store would keep them. */
export class World {
  nowMs = 1_000_000;
  readonly log: StoredLogRow[] = [];
  readonly queue = new Map<string, NewJob & { readonly dueMs: number }>();
  readonly waits = new Map<string, NewWait>();
  /** Steps that wait for a signal whose place another step of the same decision has taken. */
  readonly displaced = new Set<string>();
  /** Events that happened with decisions. */
  readonly events: InternalEvent[] = [];
  /** Jobs of no run. */
  readonly jobsForOtherRuns: NewJob[] = [];
  readonly state: RunState;
  readonly #random = seededRandom(7);
  #ids = 0;

  constructor(options: { readonly maxAttempts?: number; readonly run?: Partial<RunMeta> } = {}) {
    this.state = emptyRun(IDENTITY);
    const job = { id: this.#newId(), runId: IDENTITY.runId, kind: "pass", key: "", functionId: "shop-order" } as const;
    this.write([
      runCreatedRow(
        { maxAttempts: options.maxAttempts ?? 3, ...options.run },
        '{"id":"e1","name":"shop/order","data":{}}',
      ),
      jsonRow("DISPATCHED", "", 0, 1, { job: job.id, kind: "pass" }),
    ]);
    this.queue.set(job.id, { ...job, attempt: 0, iteration: 1, dueMs: this.nowMs });
    this.#timer(DEADLINE, options.run?.deadlineInMs, 2);
    this.#timer(FINISH_TIMEOUT, options.run?.finishInMs, 3);
  }

  #timer(key: string, delayMs: number | undefined, iteration: number): void {
    if (delayMs === undefined) return;
    const id = this.#newId();
    this.write([jsonRow("DISPATCHED", key, 0, iteration, { job: id, kind: "timer", delayMs })]);
    const job = { id, runId: IDENTITY.runId, kind: "timer", key, functionId: "", attempt: 0, iteration } as const;
    this.queue.set(id, { ...job, dueMs: this.nowMs + delayMs });
  }

  #newId(): string {
    this.#ids += 1;
    return `job-${this.#ids}`;
  }

  context(): DecideContext {
    return {
      nowMs: this.nowMs,
      latestMs: this.nowMs,
      random: this.#random,
      newId: () => this.#newId(),
      retry: { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0 },
      maxSteps: 1000,
      maxStateLength: 100_000,
      hasFunction: (functionId) => functionId.startsWith("shop-"),
      waitMatch: (condition) => `["condition"]\n${condition}`,
      expressionProblem: (source) => (source === "(" ? "The expression `(` cannot be used: it ends too early." : null),
      isSignalTaken: (signal) => signal === "taken",
    };
  }

  decide(input: Input): Decision | null {
    const decision = decide(this.state, input, this.context());
    if (decision) this.commit(decision);
    return decision;
  }

  commit(decision: Decision): void {
    this.write(decision.log);
    this.state.version += 1;
    if (decision.removeJobs === "all") this.queue.clear();
    else for (const id of decision.removeJobs) this.queue.delete(id);
    if (decision.removeWaits === "all") this.waits.clear();
    else for (const key of decision.removeWaits) this.waits.delete(key);
    for (const wait of decision.addWaits) {
      if (this.waits.has(wait.key)) throw new Error(`step ${wait.key} waits twice`);
      const rivals = decision.addWaits.filter(({ kind, name }) => kind === "signal" && name === wait.name);
      if (rivals.length > 1) throw new Error(`${rivals.length} steps wait for the signal ${wait.name}`);
      this.waits.set(wait.key, wait);
    }
    for (const row of decision.log) {
      if (row.kind !== "STEP_WAITING" || decision.addWaits.some(({ key }) => key === row.key)) continue;
      if (readMeta<OpenMeta>(row.dataJson).wait?.kind === "signal") this.displaced.add(row.key);
    }
    this.events.push(...decision.events);
    for (const job of decision.addJobs) {
      if (job.runId === "") {
        this.jobsForOtherRuns.push(job);
        continue;
      }
      const twin = [...this.queue.values()].some((one) => one.kind === job.kind && one.key === job.key);
      if (twin) throw new Error(`a second job of kind ${job.kind} with key "${job.key}" was made`);
      this.queue.set(job.id, { ...job, dueMs: Math.max(this.nowMs + (job.delayMs ?? 0), job.notBeforeMs ?? 0) });
    }
  }

  write(rows: readonly LogRow[]): void {
    for (const row of rows) {
      const known = this.log.some(
        (one) =>
          one.kind === row.kind &&
          one.key === row.key &&
          one.attempt === row.attempt &&
          one.iteration === row.iteration,
      );
      if (known) continue;
      const stored = { ...row, seq: this.log.length + 1, atMs: this.nowMs, headVersion: null, headStatus: null };
      this.log.push(stored);
      applyRow(this.state, stored, stored.atMs);
      this.state.seq = stored.seq;
    }
  }

  /** The state as another gateway would read it. */
  reread(): RunState {
    return fold(emptyRun({ ...IDENTITY, version: this.state.version }), this.log);
  }

  job(kind: JobState["kind"], key = ""): JobState {
    const job = this.state.jobs.get(jobKey(kind, key));
    if (!job) throw new Error(`there is no ${kind} job ${key}; have ${[...this.state.jobs.keys()]}`);
    return job;
  }

  has(kind: JobState["kind"], key = ""): boolean {
    return this.state.jobs.has(jobKey(kind, key));
  }

  /** A report on the pass. */
  pass(report: PassReport, inPlace = false): Decision | null {
    return this.decide({ type: "report", jobId: this.job("pass").id, inPlace, report });
  }

  step(key: string, report: PassReport): Decision | null {
    return this.decide({ type: "report", jobId: this.job("step", key).id, inPlace: false, report });
  }

  timer(key: string): Decision | null {
    return this.decide({ type: "timer", jobId: this.job("timer", key).id });
  }

  kinds(): string[] {
    return this.log.map((row) => (row.key === "" ? row.kind : `${row.kind} ${row.key}`));
  }
}

export function ops(list: readonly Op[], more: Partial<Extract<PassReport, { status: "OPS" }>> = {}): PassReport {
  return { status: "OPS", ops: list, requestVersion: 2, noRetry: false, ...more };
}

export function op(name: OpName, id: string, more: Partial<Op> = {}): Op {
  return { id, op: name, displayName: id, ...more };
}

/** A finished step that can be undone. */
export const undoable = (id: string): Op =>
  op("StepRun", id, { data: id, userland: { id }, opts: { compensate: true } });
export const done = (id: string, data: unknown = id): Op => op("StepRun", id, { data });
export const planned = (id: string, race = false): Op =>
  op("StepPlanned", id, race ? { opts: { parallelMode: "race" } } : {});
export const sleeping = (id: string, name = "10s"): Op => op("Sleep", id, { name });
export const failing = (id: string, more: Partial<Op> = {}): Op =>
  op("StepError", id, { error: { name: "Error", message: "no" }, ...more });
