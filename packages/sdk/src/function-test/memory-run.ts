/**
 * The gateway's half of a test: one run's log, jobs and time in memory, decided by `@holdfast/engine` as in a
 * gateway.
 */
import { createUlidFactory, systemClock, systemRandom, type UlidFactory } from "@holdfast/core";
import {
  announcesEnd,
  applyRow,
  checkpointRows,
  DEADLINE,
  type DecideContext,
  type Decision,
  decide,
  emptyRun,
  FINISH_TIMEOUT,
  hasStepJobs,
  type Input,
  isLazy,
  isParked,
  type JobState,
  jsonRow,
  needsWorker,
  type RunMeta,
  type RunState,
  requestPayload,
  runCreatedRow,
  type StepResult,
} from "@holdfast/engine";
import { type CheckpointOutcome, type EventPayload, type Op, WIRE_LIMITS } from "@holdfast/protocol";

export interface MemoryRunOptions {
  readonly appId: string;
  readonly appVersion: string | undefined;
  readonly slug: string;
  readonly events: readonly EventPayload[];
  readonly maxAttempts: number;
  /** From its creation. */
  readonly deadlineInMs: number | null;
  /** From its start, which is at once. */
  readonly finishInMs: number | null;
  readonly nowMs: number;
  readonly runId?: string;
  /** Facts of finished steps, with which a fork begins. */
  readonly kept?: readonly LogRow[];
}

/** What comes next in a run: a job for a worker, or something that was decided on here. */
export type Happening =
  | { readonly type: "WORK"; readonly job: JobState }
  | { readonly type: "DECIDED"; readonly decision: Decision | null };

/** What a step waits for, and when it comes. */
interface Arrival {
  readonly key: string;
  readonly atMs: number;
  readonly result: StepResult;
}

/** At one instant a worker comes first: its work takes no time here. Then what comes in, and timers last. */
const RANKS = { work: 0, arrival: 1, timer: 2 } as const;

/** As a gateway has it, but for the jitter: a test takes as long every time. */
const RETRY = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0 } as const;

type Wait = Decision["addWaits"][number];
type LogRow = Decision["log"][number];

/**
 * One run as a gateway keeps it, in memory: its log, its state, its time. Every decision is the gateway's own
 * (`@holdfast/engine`); what is missing is what a run alone does not need: a store, a queue, other runs.
 *
 * Its user plays the worker, and says what comes for steps that wait.
 */
export class MemoryRun {
  readonly state: RunState;
  readonly log: LogRow[] = [];
  nowMs: number;
  /** With its result or its error, once it has ended. */
  head: Decision["head"] = { status: "PENDING" };
  readonly #startedMs: number;
  readonly #written = new Set<string>();
  /** By key; of a signal that another step has taken over there is none. */
  readonly #waits = new Map<string, Wait>();
  #arrivals: readonly Arrival[] = [];
  readonly #newId: UlidFactory = createUlidFactory(systemClock, systemRandom);

  constructor(options: MemoryRunOptions) {
    const { appId, appVersion = "", slug, events, maxAttempts, deadlineInMs, finishInMs, nowMs } = options;
    this.nowMs = nowMs;
    this.#startedMs = nowMs;
    const runId = options.runId ?? this.#newId();
    this.state = emptyRun({ runId, functionId: slug, appId, appVersion, version: 1 });
    const [first, ...more] = events.map((event) => JSON.stringify(event));
    const meta: RunMeta = {
      maxAttempts,
      ...(announcesEnd(events[0]?.name ?? "") ? { quiet: true } : {}),
      ...(deadlineInMs === null ? {} : { deadlineInMs }),
      ...(finishInMs === null ? {} : { finishInMs }),
    };
    const { kept = [] } = options;
    const rows = [runCreatedRow(meta, first ?? "null", more), ...kept];
    const add = (kind: JobState["kind"], key: string, delayMs: number): void => {
      rows.push(jsonRow("DISPATCHED", key, 0, rows.length - kept.length, { job: this.#newId(), kind, delayMs }));
    };
    add("pass", "", 0);
    if (deadlineInMs !== null) add("timer", DEADLINE, deadlineInMs);
    if (finishInMs !== null) add("timer", FINISH_TIMEOUT, finishInMs);
    this.#write(rows);
  }

  /** Decides and keeps what was decided; null: nothing follows from it (any more). */
  decide(input: Input): Decision | null {
    const decision = decide(this.state, input, this.#context());
    if (decision === null) return null;
    this.#write(decision.log);
    this.head = decision.head;
    this.state.version += 1;
    if (decision.removeWaits === "all") this.#waits.clear();
    else for (const key of decision.removeWaits) this.#waits.delete(key);
    for (const wait of decision.addWaits) {
      if (wait.kind === "signal") this.#displace(wait.name);
      this.#waits.set(wait.key, wait);
    }
    return decision;
  }

  /** Finished steps and waits of a pass that goes on; what was decided when there were waits. */
  checkpoint(ops: readonly Op[]): { readonly outcome: CheckpointOutcome; readonly decision: Decision | null } {
    const parked = ops.filter((op) => isParked(op) || isLazy(op));
    const rest = ops.filter((op) => !parked.includes(op));
    const made = checkpointRows(this.state, rest, this.#context());
    if (!made.ok) return { outcome: "invalid", decision: null };
    this.#write(made.rows);
    return { outcome: "stored", decision: parked.length === 0 ? null : this.decide({ type: "parked", ops: parked }) };
  }

  /** What is due first; time passes until then. Undefined: the run has ended. */
  next(): Happening | undefined {
    this.#arrivals = this.#arrivals.filter((one) => this.#inputOf(one) !== undefined);
    const jobs = [...this.state.jobs.values()].filter(({ kind }) => kind !== "fetch" && kind !== "child");
    const [first] = [
      ...jobs.map((job) => ({ atMs: job.dueMs, rank: needsWorker(job) ? RANKS.work : RANKS.timer, job })),
      ...this.#arrivals.map((arrival) => ({ atMs: arrival.atMs, rank: RANKS.arrival, arrival })),
    ].sort((a, b) => a.atMs - b.atMs || a.rank - b.rank);
    if (first === undefined) return undefined;
    this.nowMs = Math.max(this.nowMs, first.atMs);
    if ("arrival" in first) {
      const input = this.#inputOf(first.arrival);
      return { type: "DECIDED", decision: input === undefined ? null : this.decide(input) };
    }
    const { job } = first;
    if (needsWorker(job)) return { type: "WORK", job };
    return { type: "DECIDED", decision: this.decide({ type: "timer", jobId: job.id, startedMs: this.#startedMs }) };
  }

  /** Ends a step that waits, at this instant, if it still waits then. */
  arrive(key: string, atMs: number, result: StepResult): void {
    this.#arrivals = [...this.#arrivals, { key, atMs, result }];
  }

  /** Whether the step is an HTTP request, which has no timeout. */
  isCall(key: string): boolean {
    return this.#fetchOf(key) !== undefined;
  }

  #fetchOf(key: string): JobState | undefined {
    return [...this.state.jobs.values()].find((job) => job.kind === "fetch" && job.key === key);
  }

  #inputOf({ key, result }: Arrival): Input | undefined {
    const fetch = this.#fetchOf(key);
    if (fetch !== undefined) return { type: "fetched", jobId: fetch.id, result };
    return this.#waits.has(key) ? { type: "arrived", key, result } : undefined;
  }

  /** Whether a worker that has the extension keeps the pass going over checkpoints. */
  goesOnInPlace(job: JobState): boolean {
    return job.kind === "pass" && !hasStepJobs(this.state);
  }

  /** What a worker is sent for a job. */
  payload(job: JobState, inPlace: boolean): Uint8Array {
    const isPass = job.kind === "pass";
    return requestPayload(this.state, {
      requestId: job.id,
      jobId: job.id,
      queueItem: job.id,
      attempt: isPass ? this.state.passAttempt : job.attempt,
      stepId: isPass ? "step" : job.key,
      functionUuid: null,
      inPlace,
      looksAhead: false,
      nowMs: this.nowMs,
    });
  }

  /** A row that is there already stays as it is. */
  #write(rows: readonly LogRow[]): void {
    for (const row of rows) {
      const name = `${row.kind} ${row.key} ${row.attempt} ${row.iteration}`;
      if (this.#written.has(name)) continue;
      this.#written.add(name);
      this.log.push(row);
      applyRow(this.state, row, this.nowMs);
    }
  }

  /** The step that had waited for the signal until now waits on for its timeout alone. */
  #displace(signal: string): void {
    for (const [key, wait] of this.#waits) {
      if (wait.kind === "signal" && wait.name === signal) this.#waits.delete(key);
    }
  }

  #context(): DecideContext {
    return {
      nowMs: this.nowMs,
      latestMs: this.nowMs,
      // Only the jitter of looking for a step that the code has no more: none.
      random: () => 0.5,
      newId: this.#newId,
      retry: RETRY,
      maxSteps: WIRE_LIMITS.maxStepsPerRun,
      maxStateLength: WIRE_LIMITS.maxRunStateLength,
      hasFunction: () => true,
      // Conditions are left to the answers of the test: no event arrives here that would have to be compared.
      expressionProblem: () => null,
      waitMatch: () => "",
      isSignalTaken: (signal) =>
        [...this.#waits.values()].some(({ kind, name }) => kind === "signal" && name === signal),
    };
  }
}
