/**
 * A pool thread's end of the connection: takes the turns that the connection thread gives it, keeps what was not
 * acknowledged, and goes on when the connection thread is replaced. It does for its requests what main does for its own,
 * with main's parts: ledger, lease guard and request runner. docs/decisions/0069.
 */
import type { MessagePort } from "node:worker_threads";
import {
  type Clock,
  HoldfastError,
  type Log,
  type PlainError,
  type TimerHandle,
  type Timers,
  unreachable,
} from "@holdfast/core";
import type { ExecutionRequest, ExecutionStrategy, PassRequest } from "../../execution/execution.ts";
import type { BodyWatch } from "../../execution/pass-options.ts";
import type { ThreadCells } from "../../isolation/shared/thread-cells.ts";
import { LeaseGuard } from "../main/lease-guard.ts";
import { Ledger } from "../main/ledger.ts";
import { createRequestRunner, type RequestRunner } from "../main/request-runner.ts";
import {
  ISOLATED_PROTOCOL_VERSION,
  type IsolatedCommand,
  type IsolatedReport,
  type RequestWork,
  readIsolatedCommand,
} from "../shared/isolated-messages.ts";
import { ownedBytes } from "../shared/packed-bytes.ts";
import { RecentIds } from "../shared/recent-ids.ts";
import { COUNTERS_BYTES, type SharedCounters, sharedCounters } from "../shared/shared-counters.ts";

/** Reports to main about a turn that the connection thread gave. */
export interface TurnReports {
  /** The code of the turn has this long. */
  onLent(turn: number, request: ExecutionRequest): void;
  /** Spent: the thread is to get no further turn. */
  onReturned(turn: number, isSpent: boolean): void;
}

export interface HandlerThreadDeps {
  readonly slot: number;
  readonly cells: ThreadCells;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly sdkVersion: string;
  readonly strategy: (watch: (request: PassRequest) => BodyWatch) => ExecutionStrategy;
  readonly main: TurnReports;
  /** A module could not be evaluated, and never can be in this thread. */
  readonly isSpent: () => boolean;
}

type Unaddressed<Message> = Message extends unknown ? Omit<Message, "version" | "turn"> : never;
type Sync = Extract<IsolatedCommand, { type: "SYNC" }>;
type Request = Extract<IsolatedCommand, { type: "EXECUTION_REQUEST" }>;

/** How often a body that waits for a confirmation looks again. */
const RECHECK_MS = 100;

const lossReason = (): HoldfastError =>
  new HoldfastError("LEASE_LOST", "The gateway reassigned this request; its result will not be used.");

/** More than a connection thread leaves unread when it ends: it gives this thread one turn after the other. */
const MAX_DROPPED = 64;

const keyOf = (requestId: string, turn: number): string => `${requestId} ${turn}`;

/** Without the memory of others that may be behind its bytes. */
function owned(report: Unaddressed<IsolatedReport>): Unaddressed<IsolatedReport> {
  if (report.type === "CHECKPOINT") return { ...report, ops: ownedBytes(report.ops) };
  return report.type === "EXECUTION_RESPONSE" ? { ...report, response: ownedBytes(report.response) } : report;
}

/**
 * HANDLERS-1. What is posted and not acknowledged is posted again to the next connection thread, in the same order.
 * HANDLERS-2. A request that the next connection thread does not know is given up: its signal fires, nothing of it is sent.
 * HANDLERS-3. A turn that was claimed for a request that never came here is over.
 * HANDLERS-4. The reply is posted before the turn is over; of a turn that main has ended nothing more is said.
 * HANDLERS-5. A turn that main has ended before it was said to have begun is not begun: another thread may have its
 *     request by then.
 * HANDLERS-6. A thread that became free before the next connection thread could hear it says so to that one.
 * HANDLERS-7. So does one that had dropped a request (it was cancelled, or its lease was lost): it had begun, and is not
 *     to begin again.
 * HANDLERS-8. A thread in which a module could not be evaluated gets no further turn: that would fail at once, and so the
 *     thread would get most of them.
 */
export class HandlerThread {
  readonly #deps: HandlerThreadDeps;
  readonly #ledger: Ledger;
  readonly #guard: LeaseGuard;
  readonly #runner: RequestRunner;
  readonly #turns = new Map<string, number>();
  /** Requests with their turns that the connection thread may still take to be here. */
  readonly #dropped = new RecentIds(MAX_DROPPED);
  /** Turns up to this one were those of threads before it in this slot. */
  readonly #bornInTurn: number;
  /** Bodies that run now, and their ops should they not end. */
  readonly #running = new Map<string, string>();
  #port: MessagePort | undefined;
  #counters: SharedCounters = sharedCounters(new SharedArrayBuffer(COUNTERS_BYTES));
  #current: { readonly turn: number; readonly requestId: string } | undefined;
  #tick: TimerHandle | undefined;

  constructor(deps: HandlerThreadDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#bornInTurn = deps.cells.read(deps.slot).turn;
    this.#ledger = new Ledger(clock);
    this.#guard = new LeaseGuard({
      counters: () => this.#counters,
      ledger: this.#ledger,
      clock,
      setLeaseWanted: (requestId, wanted) => this.#send({ type: "LEASE_WANTED", requestId, wanted }),
    });
    this.#runner = createRequestRunner({
      strategy: this.#lending(deps.strategy((request) => this.#watch(request))),
      ledger: this.#ledger,
      leaseGuard: this.#guard,
      sdkVersion: deps.sdkVersion,
      log: deps.log,
      send: (message) => this.#send(message as RequestWork),
      // Main tells of leases, also of those of requests that are here.
      listeners: { hearsLeases: false, onLease: () => {} },
      onIdle: () => this.#endTurn(),
      lossReason,
    });
  }

  /** To a new connection thread, which says SYNC first. */
  connect(port: MessagePort): void {
    this.#port?.close();
    this.#port = port;
    port.on("message", (posted: unknown) => {
      if (this.#port === port) this.#onCommand(readIsolatedCommand(posted));
    });
  }

  /** The thread is free, by whatever turn: who waits for it may claim it. */
  onFree(): void {
    if (this.#deps.cells.isWaiting("connection")) this.#post({ type: "TURN_ENDED" }, 0);
  }

  /** The thread ends. */
  onCrash(error: PlainError): void {
    this.#post({ type: "CRASHING", error }, this.#current?.turn ?? 0);
  }

  #onCommand(command: IsolatedCommand): void {
    switch (command.type) {
      case "SYNC":
        return this.#sync(command);
      case "EXECUTION_REQUEST":
        return this.#begin(command);
      case "REPLY_ACKED":
        this.#turns.delete(command.requestId);
        return this.#runner.onMessage(command);
      case "LEASE_LOST":
        this.#noteDropped(command.requestId);
        return this.#runner.onMessage(command);
      case "CHECKPOINT_ACKED":
      case "LEASE_EXTENDED":
      case "CANCEL":
      case "RESULTS":
        return this.#runner.onMessage(command);
      default:
        return unreachable(command);
    }
  }

  #sync({ requests, claimedTurn, counters, revocations }: Sync): void {
    const read = new Int32Array(revocations);
    this.#counters = { ...sharedCounters(counters), readRevocations: () => Atomics.load(read, 0) };
    this.#guard.onNewThread();
    const known = new Set(requests.map(({ requestId }) => requestId));
    for (const requestId of this.#ledger.requestIds()) {
      if (!known.has(requestId)) this.#lose(requestId);
    }
    for (const { requestId, turn } of requests) {
      if (this.#turns.has(requestId)) continue;
      if (this.#dropped.has(keyOf(requestId, turn))) this.#post({ type: "EXECUTION_DROPPED", requestId }, turn);
      else this.#send({ type: "UNKNOWN_REQUEST", requestId, mayHaveBegun: turn <= this.#bornInTurn });
    }
    for (const request of this.#ledger.requestsToAdopt()) this.#sendAgain(request);
    const isOver = claimedTurn !== null && claimedTurn !== this.#current?.turn && this.#release(claimedTurn);
    const { cells, slot } = this.#deps;
    if (!isOver && cells.read(slot).state === "free") this.onFree();
    this.#guard.recheck();
  }

  #lose(requestId: string): void {
    this.#turns.delete(requestId);
    this.#ledger.lose(requestId, lossReason());
  }

  #sendAgain({ identity, checkpoints, outcome }: ReturnType<Ledger["requestsToAdopt"]>[number]): void {
    const { requestId } = identity;
    this.#send({ type: "TURN_BEGUN", requestId });
    if (this.#current?.requestId === requestId) {
      for (const [hash, failure] of this.#running) this.#send({ type: "STEP_BEGUN", requestId, hash, failure });
    }
    for (const { sequence, ops } of checkpoints) this.#send({ type: "CHECKPOINT", requestId, sequence, ops });
    if (outcome?.kind === "response") {
      this.#send({ type: "EXECUTION_RESPONSE", requestId, response: outcome.response });
    }
    if (outcome?.kind === "error") this.#send({ type: "EXECUTION_ERROR", requestId, error: outcome.error });
  }

  #begin({ version, turn, ...request }: Request): void {
    const { requestId } = request;
    this.#current = { turn, requestId };
    this.#turns.set(requestId, turn);
    this.#running.clear();
    // Said first: if main ends the turn after the look, the connection thread knows that it has begun.
    this.#send({ type: "TURN_BEGUN", requestId });
    const status = this.#deps.cells.read(this.#deps.slot);
    if (status.state !== "connection" || status.turn !== turn) return;
    this.#startTicking();
    try {
      this.#runner.onMessage(request);
    } finally {
      if (this.#runner.running === 0) this.#endTurn();
    }
  }

  /** Main watches the time of the turn, and knows whose it is. */
  #lending(strategy: ExecutionStrategy): ExecutionStrategy {
    return {
      execute: (request, port, signal) => {
        if (this.#current) this.#deps.main.onLent(this.#current.turn, request);
        return strategy.execute(request, port, signal);
      },
    };
  }

  #watch({ requestId }: PassRequest): BodyWatch {
    return {
      onBegun: (hash, { text }) => {
        this.#running.set(hash, text);
        this.#send({ type: "STEP_BEGUN", requestId, hash, failure: text });
      },
      onEnded: ({ hash, text }) => {
        this.#running.delete(hash);
        const op = this.#ledger.hasOpenCheckpoint(requestId) ? text : null;
        this.#send({ type: "STEP_ENDED", requestId, hash, op });
      },
    };
  }

  #startTicking(): void {
    this.#tick?.cancel();
    this.#tick = this.#deps.timers.set(
      RECHECK_MS,
      () => {
        this.#startTicking();
        this.#guard.recheck();
      },
      { unref: true },
    );
  }

  #endTurn(): void {
    const { current } = { current: this.#current };
    if (current === undefined) return;
    this.#current = undefined;
    this.#tick?.cancel();
    this.#running.clear();
    this.#release(current.turn);
  }

  #release(turn: number): boolean {
    const { cells, slot, main } = this.#deps;
    const isSpent = this.#deps.isSpent();
    if (!(isSpent ? cells.doom(slot, turn) : cells.release(slot, turn))) return false;
    main.onReturned(turn, isSpent);
    if (!isSpent) this.onFree();
    return true;
  }

  #send(report: Unaddressed<Exclude<IsolatedReport, { type: "TURN_ENDED" | "CRASHING" }>>): void {
    this.#post(report, this.#turns.get(report.requestId) ?? 0);
    if (report.type === "EXECUTION_DROPPED") this.#noteDropped(report.requestId);
  }

  #noteDropped(requestId: string): void {
    const turn = this.#turns.get(requestId);
    if (turn === undefined) return;
    this.#turns.delete(requestId);
    this.#dropped.add(keyOf(requestId, turn));
  }

  #post(report: Unaddressed<IsolatedReport>, turn: number): void {
    this.#port?.postMessage({ ...owned(report), version: ISOLATED_PROTOCOL_VERSION, turn } as IsolatedReport);
  }
}
