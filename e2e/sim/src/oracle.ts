import { foldHead } from "../../../gateway-mock/src/store/fold-head.ts";
import type { StoredLogRow } from "../../../gateway-mock/src/store/store.ts";
import {
  decodeGatewayFrame,
  decodeWorkerFrame,
  frameKind,
  parseJsonBytes,
} from "../../../packages/protocol/src/index.ts";
import type { DebugState } from "../../../packages/sdk/src/connect/shared/debug-state.ts";
import type { AnyMessage } from "../../../packages/sdk/src/connect/shared/messages.ts";
import { currentExecution } from "../../../packages/sdk/src/execution/current.ts";
import type { ExecutionResult } from "../../../packages/sdk/src/execution/execution.ts";
import type { JobRow } from "./database/rows.ts";
import type { Tables } from "./database/tables.ts";
import { GATEWAY_TIMES } from "./gateway.ts";
import { type InvariantId, Violation } from "./invariants.ts";
import type { Connection } from "./network.ts";
import type { Actor, Scheduler } from "./scheduler.ts";

const RESULT_OPS: ReadonlySet<unknown> = new Set(["StepRun", "Step", "StepFailed"]);

/** Watches a schedule and ends it with the first invariant that is broken. */
export class Oracle {
  /** Bodies that began, by run and key. */
  readonly begun = new Map<string, number>();
  violation: Violation | null = null;
  effects = 0;
  /** Bodies of acknowledged steps that began under a dispatch that had been given to somebody else meanwhile. */
  zombies = 0;
  leasesLost = 0;
  /** A process whose app is of this version begins to execute a dispatch. */
  onExecution: (requestId: string, version: string) => void = () => {};
  readonly #scheduler: Scheduler;
  readonly #tables: Tables;
  #order = 0;
  readonly #acknowledged = new Set<string>();
  readonly #storedAt = new Map<string, number>();
  readonly #dispatchedAt = new Map<string, number>();
  readonly #executedBy = new Map<string, string>();
  readonly #replies = new Map<string, { readonly runId: string; readonly hashes: readonly string[] }>();
  readonly #unchecked = new Set<string>();

  constructor(scheduler: Scheduler, tables: Tables) {
    this.#scheduler = scheduler;
    this.#tables = tables;
    tables.watch = {
      changed: (runIds) => this.#checkRuns(runIds),
      logged: (runId, row) => this.#logged(runId, row),
      dispatched: (job) => this.#dispatched(job),
      wroteUnder: (job, epoch) => this.fail("S23", `Run ${job.runId}: ${job.id} under ${epoch}, it has ${job.epoch}.`),
      created: () => {},
      takenAway: ({ id, epoch, runId, kind }) => this.fail("S22", `Run ${runId}: ${kind} ${id}.${epoch}.`),
    };
  }

  fail(id: InvariantId, detail: string): void {
    if (this.violation) return;
    this.violation = new Violation(id, detail);
    this.#scheduler.trace.note(this.#scheduler.nowMs, "oracle", "violation", this.violation.message);
  }

  /** A step's body begins, in the code that calls this; how many times it has now. */
  begin(runId: string, key: string): number {
    const execution = currentExecution();
    if (!execution?.step) throw new Error("A body runs outside of a step.");
    const { requestId, step } = execution;
    const name = `${runId} ${step.hash}`;
    this.effects += 1;
    this.#scheduler.trace.note(this.#scheduler.nowMs, "effect", key, `${requestId} ${step.id}`);
    if (this.#acknowledged.has(name)) {
      if (!this.#counts(requestId)) this.zombies += 1;
      else this.fail("S1", `Run ${runId}, step ${step.id} (${key}), request ${requestId}.`);
    }
    const storedAt = this.#storedAt.get(name);
    const dispatchedAt = this.#dispatchedAt.get(requestId);
    if (storedAt !== undefined && dispatchedAt !== undefined && storedAt < dispatchedAt) {
      this.fail("S2", `Run ${runId}, step ${step.id} (${key}), request ${requestId}.`);
    }
    const count = (this.begun.get(`${runId} ${key}`) ?? 0) + 1;
    this.begun.set(`${runId} ${key}`, count);
    return count;
  }

  /** A process begins to execute a dispatch. */
  executes(requestId: string, process: string, version: string): void {
    this.onExecution(requestId, version);
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
    for (const hash of reply.hashes) {
      if (this.#storedAt.has(`${reply.runId} ${hash}`)) this.#acknowledged.add(`${reply.runId} ${hash}`);
    }
  }

  /** Whether what is reported for this dispatch would still be taken. */
  #counts(requestId: string): boolean {
    const [jobId = "", epoch] = requestId.split(".");
    return this.#tables.queue.get(jobId)?.epoch === Number(epoch);
  }

  #dispatched(job: JobRow): void {
    this.#order += 1;
    this.#dispatchedAt.set(`${job.id}.${job.epoch}`, this.#order);
  }

  #logged(runId: string, row: StoredLogRow): void {
    this.#unchecked.add(runId);
    if (row.kind === "LEASE_LOST") this.leasesLost += 1;
    if (row.kind !== "STEP_COMPLETED" && row.kind !== "STEP_FAILED") return;
    this.#order += 1;
    const name = `${runId} ${row.key}`;
    if (this.#storedAt.has(name)) this.fail("S7", `Run ${runId}, step ${row.key} has a second result.`);
    this.#storedAt.set(name, this.#order);
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

export interface ProcessLimits {
  readonly maxWorkerConcurrency: number;
  readonly outboxCount: number;
}

/** What one app process and its threads say to each other and to gateways, and whether they may. */
export class ProcessWatch {
  readonly #oracle: Oracle;
  readonly #name: string;
  readonly #limits: ProcessLimits;
  /** Requests that main has, or that were posted to it. */
  readonly #posted = new Set<string>();
  readonly #open = { requests: new Set<string>(), checkpoints: new Set<string>() };
  /** Threads that know of the shutdown. */
  readonly #closing = new Set<Actor>();
  readonly #beats = new WeakMap<Connection, { readonly atMs: number; readonly frozenMs: number }>();
  /** Connections on which the thread has announced itself. */
  readonly #announced = new Map<Actor, Connection>();
  /** Leases that a gateway refused to extend. */
  readonly #refused = new Set<string>();
  /** Work that was given up at the end of a drain and is to be handed back. */
  readonly #toHandBack = new Map<string, Actor>();

  constructor(oracle: Oracle, name: string, limits: ProcessLimits) {
    this.#oracle = oracle;
    this.#name = name;
    this.#limits = limits;
  }

  /** The thread hands a message to the port. */
  posted(thread: Actor, message: AnyMessage): void {
    if (message.type === "EXECUTION_REQUEST") this.#posted.add(message.requestId);
    if (message.type !== "LEASE_LOST" || !this.#closing.has(thread) || this.#refused.has(message.requestId)) return;
    const connection = this.#announced.get(thread);
    if (connection?.agent.readyState === 1) this.#toHandBack.set(message.requestId, thread);
  }

  /** Requests that were given up at the end of the drain, and not handed back although a connection was there. */
  get notHandedBack(): readonly string[] {
    return [...this.#toHandBack.keys()];
  }

  /** What a thread was about to do when it was killed nobody does. */
  killed(thread: Actor): void {
    for (const [requestId, owner] of this.#toHandBack) if (owner === thread) this.#toHandBack.delete(requestId);
  }

  /** Main hands a message to its thread. */
  sent(message: AnyMessage): void {
    switch (message.type) {
      case "EXECUTION_RESPONSE":
      case "EXECUTION_ERROR":
        this.#open.requests.delete(message.requestId);
        return;
      case "CHECKPOINT":
        this.#open.checkpoints.add(`${message.requestId} ${message.sequence}`);
        return;
      case "EXECUTION_DROPPED":
        return this.#forget(message.requestId);
      case "INIT": {
        // What ended while there was no thread is told to none: a new one knows only what it is given.
        const adopted = new Set(message.adopted.map(({ identity }) => identity.requestId));
        for (const requestId of [...this.#open.requests]) if (!adopted.has(requestId)) this.#forget(requestId);
        return;
      }
      default:
        return;
    }
  }

  /** A message arrives. */
  arrived(thread: Actor, message: AnyMessage): void {
    switch (message.type) {
      case "CLOSE":
        this.#closing.add(thread);
        return;
      case "EXECUTION_REQUEST":
        this.#open.requests.add(message.requestId);
        return;
      case "CHECKPOINT_ACKED":
        this.#open.checkpoints.delete(`${message.requestId} ${message.sequence}`);
        return;
      case "LEASE_LOST":
        this.#forget(message.requestId);
        return;
      case "DEBUG_STATE":
        return this.#checkBounds(message.debug);
      case "REPLY_ACKED":
        this.#forget(message.requestId);
        this.#oracle.replyAcknowledged(message.requestId);
        return;
      default:
        return;
    }
  }

  /** A thread sends a frame. */
  sends(thread: Actor, bytes: Uint8Array, connection: Connection): void {
    switch (frameKind(bytes)) {
      case WORKER_READY:
        if (this.#closing.has(thread)) this.#oracle.fail("S11", `${this.#name}, thread ${thread.name}.`);
        this.#announced.set(thread, connection);
        return;
      case WORKER_PAUSE:
        this.#announced.set(thread, connection);
        return;
      case WORKER_HEARTBEAT:
        return this.#beat(thread, connection);
      case WORKER_REQUEST_NACK: {
        const frame = decodeWorkerFrame(bytes);
        if (frame.kind === "WORKER_REQUEST_NACK") this.#toHandBack.delete(frame.requestId);
        return;
      }
      case WORKER_REQUEST_ACK: {
        const frame = decodeWorkerFrame(bytes);
        if (frame.kind !== "WORKER_REQUEST_ACK" || this.#posted.has(frame.requestId)) return;
        this.#oracle.fail("S19", `${this.#name} acknowledged ${frame.requestId}, which main does not know.`);
        return;
      }
      default:
        return;
    }
  }

  /** A gateway sends a frame to one of the threads. */
  isSent(bytes: Uint8Array): void {
    if (frameKind(bytes) !== WORKER_REQUEST_EXTEND_LEASE_ACK) return;
    const frame = decodeGatewayFrame(bytes);
    if (frame.kind !== "WORKER_REQUEST_EXTEND_LEASE_ACK" || frame.newLeaseId !== undefined) return;
    this.#refused.add(frame.requestId);
  }

  #beat(thread: Actor, connection: Connection): void {
    const { nowMs } = thread.scheduler;
    const before = this.#beats.get(connection);
    this.#beats.set(connection, { atMs: nowMs, frozenMs: thread.frozenMs });
    if (!before) return;
    const gapMs = nowMs - before.atMs - (thread.frozenMs - before.frozenMs);
    if (gapMs > BEAT_MS + BEAT_SLACK_MS)
      this.#oracle.fail("S18", `${thread.name}: ${Math.round(gapMs)} ms between two.`);
  }

  #checkBounds({ outbox, inFlight, inFlightCount }: DebugState): void {
    const { maxWorkerConcurrency, outboxCount } = this.#limits;
    const running = inFlight.filter(({ state }) => state === "running").length;
    if (running > maxWorkerConcurrency) this.#oracle.fail("S14", `${this.#name} runs ${running} requests.`);
    // What runs when the outbox is full may still end, each with a checkpoint and a reply.
    const most = outboxCount + 2 * maxWorkerConcurrency;
    if (outbox.count > most)
      this.#oracle.fail("S14", `${this.#name}: ${outbox.count} letters, ${inFlightCount} requests.`);
  }

  /** What is still waited for. */
  get unanswered(): readonly string[] {
    return [...this.#open.requests, ...this.#open.checkpoints];
  }

  #forget(requestId: string): void {
    this.#open.requests.delete(requestId);
    for (const key of this.#open.checkpoints) {
      if (key.startsWith(`${requestId} `)) this.#open.checkpoints.delete(key);
    }
  }
}

/** Numbers of kinds, as on the wire. */
const WORKER_READY = 4;
const WORKER_REQUEST_ACK = 5;
const WORKER_PAUSE = 8;
const WORKER_HEARTBEAT = 9;
const WORKER_REQUEST_EXTEND_LEASE_ACK = 13;
const WORKER_REQUEST_NACK = 102;

const BEAT_MS = GATEWAY_TIMES.heartbeatMs;
/** Timers may be late. */
const BEAT_SLACK_MS = 50;

/** Hashes of the steps that have a result among some ops. */
function resultsIn(ops: Uint8Array): readonly string[] {
  const list = parseJsonBytes(ops, "The ops") as { op: unknown; id: string }[];
  return Array.isArray(list) ? list.filter(({ op }) => RESULT_OPS.has(op)).map(({ id }) => id) : [];
}
