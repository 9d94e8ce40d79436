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
  type RunMeta,
  type RunState,
  requestPayload,
  runCreatedRow,
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
}

/** As a gateway has it, but for the jitter: a test takes as long every time. */
const RETRY = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0 } as const;

type Wait = Decision["addWaits"][number];
type LogRow = Decision["log"][number];

/**
 * One run as a gateway keeps it, in memory: its log, its state, its time. Every decision is the gateway's own
 * (`@holdfast/engine`); what is missing is what a run alone does not need: a store, a queue, other runs.
 *
 * Its user plays the worker and the clock: takes the next job, advances the time, reports.
 */
export class MemoryRun {
  readonly state: RunState;
  nowMs: number;
  /** With its result or its error, once it has ended. */
  head: Decision["head"] = { status: "PENDING" };
  readonly #startedMs: number;
  readonly #written = new Set<string>();
  /** By key; of a signal that another step has taken over there is none. */
  readonly #waits = new Map<string, Wait>();
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
    const rows = [runCreatedRow(meta, first ?? "null", more)];
    const add = (kind: JobState["kind"], key: string, delayMs: number): void => {
      rows.push(jsonRow("DISPATCHED", key, 0, rows.length, { job: this.#newId(), kind, delayMs }));
    };
    add("pass", "", 0);
    if (deadlineInMs !== null) add("timer", DEADLINE, deadlineInMs);
    if (finishInMs !== null) add("timer", FINISH_TIMEOUT, finishInMs);
    this.write(rows);
  }

  /** Decides and keeps what was decided; null: nothing follows from it (any more). */
  decide(input: Input): Decision | null {
    const decision = decide(this.state, input, this.#context());
    if (decision === null) return null;
    this.write(decision.log);
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
    this.write(made.rows);
    return { outcome: "stored", decision: parked.length === 0 ? null : this.decide({ type: "parked", ops: parked }) };
  }

  /** A job's time has come that no worker and nothing from outside is needed for. */
  timer(job: JobState): Decision | null {
    return this.decide({ type: "timer", jobId: job.id, startedMs: this.#startedMs });
  }

  /** Whether the step waits for something that may still come. */
  awaits(key: string): boolean {
    return this.#waits.has(key);
  }

  job(kind: JobState["kind"], key: string): JobState | undefined {
    return [...this.state.jobs.values()].find((job) => job.kind === kind && job.key === key);
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
      nowMs: this.nowMs,
    });
  }

  /** A row that is there already stays as it is. */
  write(rows: readonly LogRow[]): void {
    for (const row of rows) {
      const name = `${row.kind} ${row.key} ${row.attempt} ${row.iteration}`;
      if (this.#written.has(name)) continue;
      this.#written.add(name);
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
