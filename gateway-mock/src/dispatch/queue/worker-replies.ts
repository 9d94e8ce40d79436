/**
 * What workers report over their sockets: replies, checkpoints, nacks. Checks whose request it is, then decides or
 * takes the fast path: rows under the fence alone, without a decision.
 */
import { isUlid, messageOf } from "@holdfast/core";
import {
  type CheckpointRows,
  checkpointRows,
  isEnded,
  isLazy,
  isParked,
  type PassReport,
  type RunState,
} from "@holdfast/engine";
import type { CheckpointOutcome, Op, RequestNack, SdkResponse, WorkerFrame } from "@holdfast/protocol";
import { type Fence, levelFor } from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";
import type { AfterRequest, Emit } from "../dispatcher-effects.ts";

import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";

import type { RunCache } from "../run-cache.ts";
import type { ConnectedWorker } from "../workers/connected-worker.ts";
import type { Dispatch } from "../workers/dispatch.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import type { RequestName } from "../workers/lease-proofs.ts";
import type { Ownership, Reporter } from "../workers/ownership.ts";
import { parseRequestId } from "../workers/request-id.ts";
import { StoringReplies } from "../workers/storing-replies.ts";
import type { Workers } from "../workers/workers.ts";
import { type CheckpointResult, FOREIGN, STALE, STORED } from "./checkpoint-result.ts";
import { reportOfTooLarge } from "./large-messages.ts";
import { PerKeyOrder } from "./per-key-order.ts";
import { checkpointOps, type ReadOps, reportOf } from "./read-reports.ts";
import type { RunUpdater } from "./run-updater.ts";

type CheckpointFrame = Extract<WorkerFrame, { kind: "WORKER_CHECKPOINT" }>;
/** What is left of a message once its bytes have been read: while it waits for its commit nothing holds these. */
type CheckpointName = Pick<CheckpointFrame, "requestId" | "runId" | "leaseId" | "sequence">;
type ResponseName = Pick<SdkResponse, "requestId" | "runId">;

/** What became of a checkpoint; null: it could not be stored, for this error. */
type CheckpointEnded = (result: CheckpointResult | null, error?: unknown) => void;

/** After a refusal for want of room a worker is left alone for this long. */
const CAPACITY_REST_MS = 250;

/** What workers report about their requests. */
export class WorkerReplies {
  readonly #options: DispatcherOptions;
  readonly #runs: RunCache;
  readonly #workers: Workers;
  readonly #dispatches: Dispatches;
  readonly #updater: RunUpdater;
  readonly #ownership: Ownership;
  readonly #time: DatabaseTime;
  readonly #counters: DispatcherCounters;
  /** What workers say of one request over their sockets. */
  readonly #order = new PerKeyOrder();
  readonly #storing: StoringReplies;

  constructor(
    options: DispatcherOptions,
    parts: {
      runs: RunCache;
      workers: Workers;
      dispatches: Dispatches;
      updater: RunUpdater;
      ownership: Ownership;
      time: DatabaseTime;
      counters: DispatcherCounters;
    },
    emit: Emit<AfterRequest>,
  ) {
    this.#options = options;
    this.#runs = parts.runs;
    this.#workers = parts.workers;
    this.#dispatches = parts.dispatches;
    this.#updater = parts.updater;
    this.#ownership = parts.ownership;
    this.#time = parts.time;
    this.#counters = parts.counters;
    this.#storing = new StoringReplies(parts.workers, emit);
  }

  readonly #nowMs = (): number => this.#time.nowMs();

  /** A reply over the socket: acknowledged once it is durable, or no longer wanted. */
  onReply(worker: ConnectedWorker, response: SdkResponse): void {
    const report = reportOf(response, this.#nowMs);
    const { requestId, runId } = response;
    const name = { requestId, runId };
    this.#order.process(requestId, report, (read) => this.#storeReply(worker, name, read));
  }

  #storeReply(worker: ConnectedWorker, response: ResponseName, report: PassReport): void {
    const { requestId } = response;
    const inPlace = worker.session.extensions.has("checkpoint");
    this.#reply(response, report, inPlace, this.#ownership.bySocket(worker)).then(
      () => worker.session.send({ kind: "WORKER_REPLY_ACK", requestId }),
      (error: unknown) => {
        // No acknowledgement: the worker keeps the reply and sends it again.
        this.#options.log(levelFor(error, "error"), `A reply could not be stored: ${messageOf(error)}`, {
          runId: response.runId,
          requestId,
        });
      },
    );
  }

  /**
   * Stores a reply. Resolved means durable, or that its request is no longer wanted; with false: that it is not theirs.
   * @throws HoldfastError `STORE_FAILED`
   */
  async reply(response: SdkResponse, inPlaceHint: boolean, from: Reporter): Promise<boolean> {
    const report = await reportOf(response, this.#nowMs);
    return this.#reply(response, report, inPlaceHint, from);
  }

  async #reply(response: ResponseName, report: PassReport, inPlaceHint: boolean, from: Reporter): Promise<boolean> {
    this.#counters.replies += 1;
    const { requestId } = response;
    const fence = parseRequestId(requestId);
    const dispatch = this.#dispatches.get(requestId);
    const runId = dispatch?.runId ?? response.runId;
    if (!fence || !isUlid(runId)) {
      this.#counters.repliesStale += 1;
      return true;
    }
    const inPlace = dispatch ? dispatch.inPlace : inPlaceHint;
    this.#runs.retain(runId);
    let stored = nothingStored;
    try {
      if (!(dispatch ? holds(from, dispatch, response.runId) : await this.#isOwner(from, runId))) {
        this.#ownership.recordRefusal(from.worker, "a reply", { requestId, runId });
        return false;
      }
      this.#dispatches.continued.finish(fence);
      if (dispatch) {
        stored = this.#storing.begin(dispatch);
        this.#dispatches.finish(dispatch);
        if (dispatch.commits > 0) await commitsDone(dispatch);
      }
      const outcome = await this.#updater.apply(runId, { type: "report", jobId: fence.jobId, inPlace, report }, fence);
      if (outcome !== "won") this.#counters.repliesStale += 1;
      if (report.status === "INVALID") {
        this.#options.log("warn", `A reply failed its run: ${report.error.message}`, { runId, requestId });
      }
      return true;
    } finally {
      stored();
      this.#runs.release(runId);
    }
  }

  /** It has sent a message that cannot be read. */
  onTooLarge(worker: ConnectedWorker): void {
    const requests = [...worker.requests].flatMap((requestId) => this.#dispatches.get(requestId) ?? []);
    const known = reportOfTooLarge(worker, requests);
    if (known && !this.#options.settings.plain) this.#storeReply(worker, known.request, known.report);
  }

  onCheckpoint(worker: ConnectedWorker, frame: CheckpointFrame): void {
    const { requestId, runId, leaseId, sequence, ops } = frame;
    const name = { requestId, runId, leaseId, sequence };
    const dispatch = this.#dispatches.get(requestId);
    const from = this.#ownership.bySocket(worker, name);
    if (dispatch && holds(from, dispatch, runId)) this.#dispatches.acknowledge(dispatch, worker);
    this.#order.process(requestId, checkpointOps(ops), (read) => this.#storeCheckpoint(worker, name, read, from));
  }

  #storeCheckpoint(worker: ConnectedWorker, name: CheckpointName, read: ReadOps, from: Reporter): void {
    const { requestId, sequence, runId } = name;
    const send = (outcome: CheckpointOutcome, message: string): void =>
      worker.session.send({ kind: "GATEWAY_CHECKPOINT_ACK", requestId, sequence, outcome, message });
    if ("problem" in read) return send("invalid", read.problem);
    this.#checkpoint(name, read.ops, from, (result, error) => {
      if (result) return send(result.outcome, result.message);
      this.#options.log(levelFor(error, "error"), `A checkpoint could not be stored: ${messageOf(error)}`, {
        runId,
        requestId,
      });
      send("invalid", "The store failed; report the steps in a reply.");
    });
  }

  /**
   * Stores finished steps of a request that goes on.
   * @throws HoldfastError `STORE_FAILED`
   */
  checkpoint(name: RequestName, ops: readonly Op[], from: Reporter): Promise<CheckpointResult> {
    return answered((ended) => this.#checkpoint(name, ops, from, ended));
  }

  /** A call tells the end, not a promise: each step of a run comes through here. */
  #checkpoint(name: RequestName, ops: readonly Op[], from: Reporter, ended: CheckpointEnded): void {
    this.#counters.checkpoints += 1;
    const dispatch = this.#dispatches.get(name.requestId);
    const state = dispatch && this.#runs.peek(dispatch.runId);
    // Nearly always: then nothing but the commit is waited for.
    const isFast = state && holds(from, dispatch, name.runId) && !ops.some(needsDecision);
    if (isFast) return this.#fastCheckpoint(dispatch, state, ops, ended);
    this.#anyCheckpoint(name, ops, from).then(ended, (error: unknown) => ended(null, error));
  }

  async #anyCheckpoint(
    { requestId, runId: givenRunId }: RequestName,
    ops: readonly Op[],
    from: Reporter,
  ): Promise<CheckpointResult> {
    const fence = parseRequestId(requestId);
    const dispatch = this.#dispatches.get(requestId);
    const runId = dispatch?.runId ?? givenRunId;
    if (!fence || !isUlid(runId)) return this.#stale();
    if (!(dispatch ? holds(from, dispatch, givenRunId) : await this.#loadAndCheckOwner(from, runId))) {
      this.#ownership.recordRefusal(from.worker, "a checkpoint", { requestId, runId });
      return FOREIGN;
    }
    const parked = ops.filter(needsDecision);
    const rest = parked.length > 0 ? ops.filter((op) => !needsDecision(op)) : ops;
    this.#dispatches.continued.heard(fence);
    const state = dispatch && this.#runs.peek(runId);
    const result = state
      ? await answered((ended) => this.#fastCheckpoint(dispatch, state, rest, ended))
      : await this.#runs.serial(runId, () => this.#slowCheckpoint(runId, fence, rest));
    const done = parked.length > 0 && result.outcome === "stored" ? await this.#park(runId, fence, parked) : result;
    // The worker stops and says nothing more of it.
    if (done.outcome === "stale" && dispatch) this.#dispatches.finish(dispatch);
    if (done.outcome === "stale") this.#dispatches.continued.finish(fence);
    return done;
  }

  /** Whether a run that this gateway did not dispatch is theirs. One that does not exist belongs to no worker. */
  async #isOwner(from: Reporter, runId: string): Promise<boolean> {
    const state = await this.#runs.load(runId);
    return state === null || from.owns(state.appId);
  }

  async #loadAndCheckOwner(from: Reporter, runId: string): Promise<boolean> {
    this.#runs.retain(runId);
    try {
      return await this.#isOwner(from, runId);
    } finally {
      this.#runs.release(runId);
    }
  }

  /** Waits that began make jobs, and what was deferred must not be missed by the run's end, so they take a decision. */
  async #park(runId: string, fence: Fence, ops: readonly Op[]): Promise<CheckpointResult> {
    this.#runs.retain(runId);
    try {
      const outcome = await this.#updater.apply(runId, { type: "parked", ops }, fence);
      return outcome === "won" || outcome === "nothing" ? STORED : this.#stale();
    } finally {
      this.#runs.release(runId);
    }
  }

  /** We gave the request out and have the run's state: rows under the fence, nothing else. */
  #fastCheckpoint(dispatch: Dispatch, state: RunState, ops: readonly Op[], ended: CheckpointEnded): void {
    const { runId, fence } = dispatch;
    let made: CheckpointRows;
    try {
      made = checkpointRows(state, ops, this.#updater.context());
    } catch (error) {
      return ended(null, error);
    }
    if (!made.ok) return ended({ outcome: "invalid", message: made.message });
    if (made.rows.length === 0) return ended(STORED);
    const raisesVersion = ops.some(({ opts }) => opts?.compensate === true);
    dispatch.commits += 1;
    this.#runs.add(runId, { fence, log: made.rows, metas: made.metas, raisesVersion }, (outcome, error) => {
      // The worker stops and says nothing more of it.
      if (outcome?.won === false) this.#dispatches.finish(dispatch);
      dispatch.commits -= 1;
      if (dispatch.commits === 0) dispatch.onCommitsDone?.();
      ended(outcome && (outcome.won ? STORED : this.#stale()), error);
    });
  }

  /** Another gateway gave it out, and does not hear of it. */
  async #slowCheckpoint(runId: string, fence: Fence, ops: readonly Op[]): Promise<CheckpointResult> {
    this.#runs.forget(runId);
    const state = await this.#runs.load(runId);
    if (!state || isEnded(state.status)) return this.#stale();
    const made = checkpointRows(state, ops, this.#updater.context());
    if (!made.ok) return { outcome: "invalid", message: made.message };
    if (made.rows.length === 0) return STORED;
    const outcome = await this.#runs.addElsewhere(state, { fence, log: made.rows });
    return outcome.won ? STORED : this.#stale();
  }

  /** The worker refuses work, or hands it back. */
  onNack(worker: ConnectedWorker, frame: RequestNack): void {
    this.#counters.nacks += 1;
    const { clock } = this.#options;
    const { log } = worker.session;
    const dispatch = this.#dispatches.get(frame.requestId);
    const fence = dispatch?.fence ?? parseRequestId(frame.requestId);
    const data = { requestId: frame.requestId, runId: frame.runId, reason: frame.reason };
    const isTheirs =
      frame.leaseId === "" && dispatch
        ? holds(this.#ownership.bySocket(worker), dispatch, frame.runId)
        : this.#ownership.leaseholder(worker, frame) !== undefined;
    if (!isTheirs) return this.#ownership.recordRefusal(worker, "a nack", frame);
    switch (frame.reason) {
      case "AT_CAPACITY":
        this.#workers.rest(worker, clock.monotonicMs() + CAPACITY_REST_MS);
        break;
      case "SHUTTING_DOWN":
      case "DRAIN_TIMEOUT":
        this.#workers.close(worker);
        break;
      case "UNKNOWN_APP":
      case "UNKNOWN_FUNCTION":
        if (dispatch) this.#workers.removeFunction(worker, dispatch.functionId);
        log("error", `A worker does not have a function that it registered: ${frame.message}`, data);
        break;
      case "MALFORMED":
      case "STALLED":
        log("warn", `A worker returned a request (${frame.reason}): ${frame.message}`, data);
        this.#workers.rest(worker, clock.monotonicMs() + CAPACITY_REST_MS);
        break;
    }
    const lost = frame.reason === "STALLED" || frame.reason === "MALFORMED";
    if (dispatch) this.#dispatches.abandon([dispatch], () => lost);
    else if (fence) this.#dispatches.release([{ ...fence, lost }]);
  }

  #stale(): CheckpointResult {
    this.#counters.checkpointsStale += 1;
    return STALE;
  }
}

/** Replies of old workers name no run. */
const holds = (from: Reporter, dispatch: Dispatch, runId: string): boolean =>
  (runId === "" || runId === dispatch.runId) && from.owns(dispatch.appId);

const nothingStored = (): void => {};

const needsDecision = (op: Op): boolean => isParked(op) || isLazy(op);

function answered(begin: (ended: CheckpointEnded) => void): Promise<CheckpointResult> {
  return new Promise((resolve, reject) => {
    begin((result, error) => (result ? resolve(result) : reject(error)));
  });
}

function commitsDone(dispatch: Dispatch): Promise<void> {
  return new Promise((resolve) => {
    dispatch.onCommitsDone = resolve;
  });
}
