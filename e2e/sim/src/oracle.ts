/**
 * Checks the invariants (`invariants.ts`) about steps, requests and results while a schedule runs. Other oracles
 * watch flow control, versions and the ends of runs.
 */
import { FAILURE_KEY, readStepRow } from "@holdfast/engine";
import { environmentOf, foldHead, type JobRow, type RunRow, type StoredLogRow } from "@holdfast/store";

import { parseJsonBytes } from "../../../packages/protocol/src/index.ts";
import { currentExecution } from "../../../packages/sdk/src/execution/current.ts";
import type { ExecutionResult } from "../../../packages/sdk/src/execution/execution.ts";
import type { Tables } from "./database/tables.ts";
import { FORGED } from "./forged-frames.ts";
import { type InvariantId, Violation } from "./invariants.ts";
import { LATE_MS, SHOWS_MS } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";

const RESULT_KINDS: ReadonlySet<string> = new Set(["STEP_COMPLETED", "STEP_FAILED"]);
const RESULT_OPS: ReadonlySet<unknown> = new Set(["StepRun", "Step", "StepFailed"]);

/** What is stored this shortly before a body begins crossed its permission on the way. */
const REDONE_MS = 5;

/** What the code of a pass had been given when it asked for a step. */
export interface Asked {
  /** Results that were not stored. */
  readonly ahead: readonly string[];
  /** Which part had won each race that was over, by the race's key. */
  readonly races: ReadonlyMap<string, number>;
}

export const NOTHING_GIVEN: Asked = { ahead: [], races: new Map() };

interface Deployed {
  readonly version: string;
  readonly environment: string;
}

/** Watches a schedule and ends it with the first invariant that is broken. */
export class Oracle {
  /** Bodies that began, by run and key. */
  readonly begun = new Map<string, number>();
  violation: Violation | null = null;
  effects = 0;
  /** Bodies of acknowledged steps that began under a dispatch that had been given to another worker meanwhile. */
  zombies = 0;
  /** Bodies that began when their step's result was in the store. */
  redone = 0;
  leasesLost = 0;
  /** Results that handlers were given before they were stored, and bodies that were asked for while some were. */
  lookedAhead = 0;
  askedAhead = 0;
  /** A handler was given a result that is not stored. */
  onLookAhead: () => void = () => {};
  /** Workers of the base protocol cannot be told that a run was cancelled. */
  canTellWorkers = true;
  /** A process whose app is of this version begins to execute a dispatch. */
  onExecution: (requestId: string, version: string) => void = () => {};
  readonly #scheduler: Scheduler;
  readonly #tables: Tables;
  #order = 0;
  readonly #acknowledged = new Set<string>();
  readonly #storedAt = new Map<string, number>();
  readonly #storedMs = new Map<string, number>();
  readonly #delayed = new Set<string>();
  /** When requests that plain gateways have heard nothing of were sent. */
  readonly #unheardMs = new Map<string, number>();
  readonly #dispatchedAt = new Map<string, number>();
  /** The last time that a run was cancelled, of those whose workers are not told. */
  readonly #cancelled = new Map<string, { readonly order: number; readonly atMs: number }>();
  readonly #executedBy = new Map<string, string>();
  readonly #replies = new Map<string, { readonly runId: string; readonly hashes: readonly string[] }>();
  readonly #unchecked = new Set<string>();
  readonly #given = new Map<string, string[]>();
  readonly #won = new Map<string, number>();
  readonly #lastEpochs = new Map<string, number>();

  constructor(scheduler: Scheduler, tables: Tables) {
    this.#scheduler = scheduler;
    this.#tables = tables;
    tables.watch = {
      changed: (runIds) => this.#checkRuns(runIds),
      logged: (runId, row) => this.#logged(runId, row),
      dispatched: (job, isMoved = false) => this.#dispatched(job, isMoved),
      unstarted: () => {},
      wroteUnder: (job, epoch) => this.fail("S23", `Run ${job.runId}: ${job.id} under ${epoch}, it has ${job.epoch}.`),
      created: ({ id }) => this.#created(id),
      removed: (run) => this.#removed(run),
      takenAway: ({ id, epoch, runId, kind }) => this.fail("S22", `Run ${runId}: ${kind} ${id}.${epoch}.`),
    };
  }

  fail(id: InvariantId, detail: string): void {
    if (this.violation) return;
    this.violation = new Violation(id, detail);
    this.#scheduler.trace.note(this.#scheduler.nowMs, "oracle", "violation", this.violation.message);
  }

  /** The code of a pass asks for a step whose body may run: what it has been given until now. */
  asks(runId: string, seen: ReadonlySet<string>): readonly string[] {
    const ahead = [...seen].filter((hash) => !this.#storedAt.has(`${runId} ${hash}`));
    if (ahead.length > 0) this.askedAhead += 1;
    return ahead;
  }

  /** The code of a pass was given the result of a body that it has run. */
  gives(runId: string, hash: string): void {
    const requestId = currentExecution()?.requestId ?? "";
    const given = this.#given.get(requestId);
    if (given) given.push(hash);
    else this.#given.set(requestId, [hash]);
    if (this.#storedAt.has(`${runId} ${hash}`)) return;
    this.lookedAhead += 1;
    this.onLookAhead();
  }

  /** A step's body begins, in the code that calls this; how many times it has now. */
  begin(runId: string, key: string, { ahead, races }: Asked): number {
    const execution = currentExecution();
    if (!execution?.step) throw new Error("A body runs outside of a step.");
    const { requestId, step } = execution;
    const name = `${runId} ${step.hash}`;
    this.effects += 1;
    const missing = ahead.find((hash) => !this.#storedAt.has(`${runId} ${hash}`));
    if (missing !== undefined) this.fail("S45", `Run ${runId}, step ${step.id} (${key}): ${missing} is not stored.`);
    this.#checkRaces(runId, races, `step ${step.id} (${key}), request ${requestId}`);
    this.#scheduler.trace.note(this.#scheduler.nowMs, "effect", key, `${requestId} ${step.id}`);
    if (this.#acknowledged.has(name)) {
      if (!this.#counts(requestId)) this.zombies += 1;
      else this.fail("S1", `Run ${runId}, step ${step.id} (${key}), request ${requestId}.`);
    }
    this.#checkRedone(runId, name, `Run ${runId}, step ${step.id} (${key}), request ${requestId}`, requestId);
    const storedAt = this.#storedAt.get(name);
    const dispatchedAt = this.#dispatchedAt.get(requestId);
    if (storedAt !== undefined && dispatchedAt !== undefined && storedAt < dispatchedAt) {
      this.fail("S2", `Run ${runId}, step ${step.id} (${key}), request ${requestId}.`);
    }
    const count = (this.begun.get(`${runId} ${key}`) ?? 0) + 1;
    this.begun.set(`${runId} ${key}`, count);
    return count;
  }

  /** A body begins only when all is stored that its code had been given: from then on the race is over for everyone. */
  #checkRaces(runId: string, races: Asked["races"], what: string): void {
    for (const [key, part] of races) {
      const name = `${runId} ${key}`;
      const before = this.#won.get(name) ?? part;
      this.#won.set(name, before);
      if (before !== part) this.fail("S58", `Run ${runId}, race ${key}, ${what}: part ${part} won, ${before} before.`);
    }
  }

  /** The network kept a request back for so long that it was given to others, and its worker cannot know. */
  delayed(requestId: string): void {
    this.#delayed.add(requestId);
  }

  /** A plain gateway sends a request: until it has heard of it, it gives it to others as soon as the connection ends. */
  sentPlainly(requestId: string): void {
    this.#unheardMs.set(requestId, this.#scheduler.nowMs);
  }

  /** The acknowledgement of a request has reached its gateway. */
  heardOf(requestId: string): void {
    this.#unheardMs.delete(requestId);
  }

  #checkRedone(runId: string, name: string, what: string, requestId: string): void {
    const storedMs = this.#storedMs.get(name);
    if (storedMs === undefined || this.#delayed.has(requestId)) return;
    const { nowMs } = this.#scheduler;
    const agoMs = nowMs - storedMs;
    if (agoMs <= REDONE_MS) return;
    // Its worker does not ask about what is so young.
    const isYoung = (sinceMs = Number.NEGATIVE_INFINITY): boolean => nowMs - sinceMs <= SHOWS_MS + LATE_MS;
    if (isYoung(this.#unheardMs.get(requestId))) return;
    const cancelled = this.#cancelled.get(runId);
    if (cancelled && isYoung(cancelled.atMs) && cancelled.order > (this.#dispatchedAt.get(requestId) ?? 0)) return;
    this.redone += 1;
    this.fail("S38", `${what}, stored ${Math.round(agoMs)} ms ago.`);
  }

  /** A process begins to execute a dispatch. */
  executes(requestId: string, process: string, { version, environment }: Deployed): void {
    this.onExecution(requestId, version);
    const job = this.#tables.queue.get(requestId.split(".")[0] ?? "");
    if (job && environmentOf(job.functionId) !== environment)
      this.fail("S43", `Request ${requestId} of ${job.functionId} is executed by ${process} of "${environment}".`);
    const before = this.#executedBy.get(requestId);
    if (before !== undefined) this.fail("S3", `Request ${requestId} is executed by ${process} after ${before}.`);
    this.#executedBy.set(requestId, process);
  }

  replies(requestId: string, runId: string, result: ExecutionResult): void {
    const hashes = result.status === "NOT_COMPLETED" ? resultsIn(result.body) : [];
    this.#replies.set(requestId, { runId, hashes });
  }

  /** The worker was told that these ops are stored. */
  checkpointStored(runId: string, ops: Uint8Array): void {
    for (const hash of resultsIn(ops)) {
      this.#acknowledged.add(`${runId} ${hash}`);
      if (!this.#storedAt.has(`${runId} ${hash}`)) this.fail("S4", `Run ${runId}, step ${hash}.`);
    }
  }

  replyAcknowledged(requestId: string): void {
    if (this.#counts(requestId)) this.fail("S5", `Request ${requestId}.`);
    const reply = this.#replies.get(requestId);
    if (!reply) return;
    this.#checkGiven(requestId, reply.runId);
    for (const hash of reply.hashes) {
      if (this.#storedAt.has(`${reply.runId} ${hash}`)) this.#acknowledged.add(`${reply.runId} ${hash}`);
    }
  }

  /** The reply of the job's last dispatch: it was decided on. */
  #checkGiven(requestId: string, runId: string): void {
    const [jobId = "", epoch] = requestId.split(".");
    const isDecided = this.#lastEpochs.get(jobId) === Number(epoch);
    if (!isDecided || this.#tables.runs.get(runId)?.head.status !== "COMPLETED") return;
    const lost = this.#given.get(requestId)?.find((hash) => !this.#storedAt.has(`${runId} ${hash}`));
    if (lost !== undefined) this.fail("S46", `Run ${runId}, request ${requestId}: ${lost} is not stored.`);
  }

  /** Whether what is reported for this dispatch would still be taken. */
  #counts(requestId: string): boolean {
    const [jobId = "", epoch] = requestId.split(".");
    return this.#tables.queue.get(jobId)?.epoch === Number(epoch);
  }

  #dispatched(job: JobRow, isMoved: boolean): void {
    if (!isMoved && this.#tables.registry.controls.isPaused(job.functionId))
      this.fail("S50", `Run ${job.runId}: ${job.kind} ${job.id}.${job.epoch} of ${job.functionId}.`);
    this.#order += 1;
    this.#dispatchedAt.set(`${job.id}.${job.epoch}`, this.#order);
    this.#lastEpochs.set(job.id, job.epoch);
  }

  #logged(runId: string, row: StoredLogRow): void {
    this.#unchecked.add(runId);
    if (row.kind === "RUN_REVIVED") this.#revived(runId, row);
    if (row.kind === "RUN_CANCELLED" && !this.canTellWorkers)
      this.#cancelled.set(runId, { order: ++this.#order, atMs: this.#scheduler.nowMs });
    if (row.kind === "LEASE_LOST") this.leasesLost += 1;
    if (row.dataJson.includes(FORGED)) this.fail("S41", `Run ${runId}: ${row.kind} ${row.key} is an impostor's.`);
    if (row.kind !== "STEP_COMPLETED" && row.kind !== "STEP_FAILED") return;
    this.#order += 1;
    const name = `${runId} ${row.key}`;
    if (this.#storedAt.has(name)) this.fail("S7", `Run ${runId}, step ${row.key} has a second result.`);
    this.#storedAt.set(name, this.#order);
    this.#storedMs.set(name, this.#scheduler.nowMs);
  }

  /** What it drops is done again. */
  #revived(runId: string, { dataJson }: StoredLogRow): void {
    const { dropped } = JSON.parse(dataJson) as { readonly dropped: readonly string[] };
    for (const key of dropped) {
      const ended = this.#tables.runs.get(runId)?.log.findLast((row) => row.key === key && RESULT_KINDS.has(row.kind));
      const { name = "" } = ended?.kind === "STEP_COMPLETED" ? readStepRow(ended.kind, ended.dataJson).meta : {};
      // What was to be undone, and the failure for which, is begun again.
      if (ended?.kind === "STEP_COMPLETED" && !name.startsWith("compensate ") && key !== FAILURE_KEY)
        this.fail("S57", `Run ${runId}, step ${name}.`);
      this.#forget(`${runId} ${key}`);
    }
  }

  /** A run that was deleted is made again when its event is sent once more. */
  #created(runId: string): void {
    if (!this.#tables.removedIds.has(runId)) return;
    for (const name of [...this.#storedAt.keys()]) if (name.startsWith(`${runId} `)) this.#forget(name);
  }

  #forget(name: string): void {
    this.#acknowledged.delete(name);
    this.#storedAt.delete(name);
    this.#storedMs.delete(name);
  }

  /** What of it is younger than it may be is said by those who remove it. */
  #removed({ head, jobs, waits }: RunRow): void {
    const { queue, runsTable } = this.#tables;
    const isTold = [...queue.values()].every(({ kind, key }) => kind !== "child" || key !== head.id);
    if (head.endedMs !== null && jobs.size + waits.size === 0 && isTold && !runsTable.waits.hasParent(head.id)) return;
    this.fail("S51", `Run ${head.id} is ${head.status}, with ${jobs.size} jobs and ${waits.size} waits.`);
  }

  #checkRuns(runIds: ReadonlySet<string>): void {
    for (const runId of runIds) this.checkRun(runId);
  }

  checkRun(runId: string): void {
    const run = this.#tables.runs.get(runId);
    if (!run) return;
    const { head, log, jobs } = run;
    try {
      const folded = foldHead(log);
      const fields = ["status", "version", "endedMs", "outputJson", "errorJson"] as const;
      const wrong = fields.find((name) => folded[name] !== head[name]);
      if (wrong) this.fail("S6", `Run ${runId}: ${wrong} is ${head[wrong]}, its log says ${folded[wrong]}.`);
    } catch (error) {
      this.fail("S6", `Run ${runId}: ${(error as Error).message}.`);
    }
    if (head.endedMs === null && jobs.size === 0) this.fail("S8", `Run ${runId} is ${head.status} and has no job.`);
    if (head.endedMs !== null && jobs.size > 0) this.fail("S8", `Run ${runId} is ${head.status} and has jobs.`);
  }
}

/** Hashes of the steps that have a result among some ops. */
function resultsIn(ops: Uint8Array): readonly string[] {
  const list = parseJsonBytes(ops, "The ops") as { op: unknown; id: string }[];
  return Array.isArray(list) ? list.filter(({ op }) => RESULT_OPS.has(op)).map(({ id }) => id) : [];
}
