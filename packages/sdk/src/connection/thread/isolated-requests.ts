/**
 * Owns where each request of an isolated function is: in line for a pool thread, or in one. It stands between
 * `RequestManager` and the pool's threads as `MainPort` does between it and main; docs/decisions/0069.
 */
import {
  type Clock,
  HoldfastError,
  type Log,
  type PlainError,
  type TimerHandle,
  type Timers,
  toPlainError,
} from "@holdfast/core";
import type { ExecutorRequest, RequestIdentity } from "@holdfast/protocol";
import { threadCells } from "../../isolation/shared/thread-cells.ts";
import { lostTurnReply } from "../machines/lost-turn.ts";
import type { IsolatedReport, RequestNews } from "../shared/isolated-messages.ts";
import type { AdoptedRequest, InitMessage, PoolThreadPort } from "../shared/messages.ts";
import { encodeReply } from "../shared/reply.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import { sharable } from "../shared/shared-bytes.ts";
import { IsolatedTurn, type IsolatedWork } from "./isolated-turn.ts";
import type { MainPort } from "./main-port.ts";
import { type DrainPort, PoolThreads } from "./pool-threads.ts";
import type { Emit, IsolatedEffect } from "./thread-effect.ts";

export interface IsolatedRequestsDeps {
  readonly config: Pick<SerializableConfig, "isolated" | "sdkVersion">;
  readonly pool: InitMessage["pool"];
  readonly counters: SharedArrayBuffer;
  readonly drainPort: DrainPort;
  readonly port: Pick<MainPort, "post">;
  readonly coalescing: Pick<MainPort, "post">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** How long main has been blocked. */
  readonly mainLagMs: () => number;
  readonly scheduleFlush: () => void;
}

/** A main that is blocked for longer is not sent requests any more that it only keeps: they would pile up in its queue. */
const MAX_LAG_MS = 10_000;

/** Main says why a thread has ended within this time, unless it is blocked. */
const MAIN_REASON_MS = 2_000;

const keyOf = (appName: string, functionSlug: string): string => `${appName}\n${functionSlug}`;

/**
 * The requests of isolated functions, from their acceptance to the acknowledgement of their replies.
 *
 * ISOLATED-1. A request is with one thread at a time: it is given to another one only if its thread has ended without
 *     having begun with it.
 * ISOLATED-2. Main knows that a request is in flight, and which turn it has, before the thread does.
 * ISOLATED-3. Of a thread that ends every message counts that it has posted; then each request that it had begun with is
 *     answered, once.
 * ISOLATED-4. What a thread says of a turn that it does not have changes nothing.
 */
export class IsolatedRequests {
  readonly #deps: IsolatedRequestsDeps;
  readonly #emit: Emit<IsolatedEffect>;
  readonly #names: ReadonlySet<string>;
  readonly #cells: ReturnType<typeof threadCells> | null;
  readonly #threads: PoolThreads | null;
  readonly #turns = new Map<string, IsolatedTurn>();
  /** Those that stand in line. */
  #waiting: string[] = [];
  #saidWaiting = 0;
  /** Threads that have ended, and main has not said why. */
  readonly #unexplained = new Map<number, TimerHandle>();

  constructor(deps: IsolatedRequestsDeps, emit: Emit<IsolatedEffect>) {
    const { config, pool, counters, drainPort, log, scheduleFlush } = deps;
    this.#deps = deps;
    this.#emit = emit;
    this.#names = new Set(config.isolated.map(({ appName, functionSlug }) => keyOf(appName, functionSlug)));
    this.#cells = pool === null ? null : threadCells(pool.cells);
    this.#threads =
      this.#cells === null
        ? null
        : new PoolThreads({
            ...{ cells: this.#cells, counters, drainPort, log, scheduleFlush },
            onReport: (slot, report) => this.#onReport(slot, report),
            onClosed: (slot, lastWords) => this.#onClosed(slot, lastWords),
          });
  }

  /** How many stand in line. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** The one that came first and has not ended. */
  get oldest(): string | undefined {
    const [requestId] = this.#turns.keys();
    return requestId;
  }

  isIsolated({ appName, functionSlug }: Pick<ExecutorRequest, "appName" | "functionSlug">): boolean {
    return this.#threads !== null && this.#names.has(keyOf(appName, functionSlug));
  }

  has(requestId: string): boolean {
    return this.#turns.has(requestId);
  }

  /** A request that was accepted: it gets a thread, or stands in line for one. */
  take({ appName, leaseId }: ExecutorRequest, identity: RequestIdentity, work: IsolatedWork): void {
    const { requestId } = identity;
    const shared = { ...work, request: sharable(work.request) };
    this.#turns.set(requestId, new IsolatedTurn(identity, shared));
    const isKept = this.#deps.mainLagMs() < MAX_LAG_MS;
    const kept = isKept ? { request: shared.request, extensions: work.extensions } : null;
    this.#deps.port.post({ type: "ISOLATED_REQUEST", requestId, identity, appName, leaseId, work: kept });
    this.#waiting.push(requestId);
    this.#assign();
  }

  /** What a thread before this one knew. Afterwards come the ports. */
  adopt(adopted: readonly AdoptedRequest[]): void {
    for (const { identity, isolated } of adopted) {
      if (isolated === undefined) continue;
      const { place, work } = isolated;
      // Its lease is confirmed before it begins, as that of everything that is adopted.
      const turn = new IsolatedTurn(identity, work === null ? undefined : { ...work, doubtNumber: 0, asOf: null });
      turn.place = place;
      turn.mayHaveBegun = place !== null;
      this.#turns.set(identity.requestId, turn);
    }
    for (const port of this.#deps.pool?.ports ?? []) this.#addThread(port);
    // The oldest one comes first in line.
    for (const [requestId, { place }] of [...this.#turns].reverse()) {
      if (place === null) this.#again(requestId);
      else if (!this.#threads?.has(place.slot)) this.#emit({ do: "ISOLATED_RETURNED", requestId });
    }
    this.#assign();
  }

  /** To the thread that has it; main is told what it keeps. */
  post(message: RequestNews): void {
    const { port, coalescing } = this.#deps;
    const turn = this.#turns.get(message.requestId);
    if (turn === undefined) return;
    if (turn.place !== null) this.#threads?.post(turn.place.slot, turn.place.turn, message);
    if (message.type === "LEASE_LOST") turn.isLeaseLost = true;
    if (message.type === "LEASE_EXTENDED") {
      const { doubtNumber, asOf } = message;
      if (turn.work) turn.work = { ...turn.work, doubtNumber, asOf: asOf ?? turn.work.asOf };
      coalescing.post(message);
    }
    if (message.type === "REPLY_ACKED") {
      port.post(message);
      this.#turns.delete(message.requestId);
    }
    // No thread has it yet, so no code of it has to end first.
    if (message.type === "CANCEL" && turn.work !== undefined && turn.place === null) {
      this.#emit({ do: "ISOLATED_WORK", message: { type: "EXECUTION_DROPPED", requestId: message.requestId } });
    }
  }

  /** It is not in flight any more. */
  forget(requestId: string): void {
    const turn = this.#turns.get(requestId);
    if (turn === undefined) return;
    this.#turns.delete(requestId);
    this.#waiting = this.#waiting.filter((one) => one !== requestId);
    this.#deps.port.post({ type: "ISOLATED_ENDED", requestId, isLeaseLost: turn.isLeaseLost });
    this.#noteWaiting();
  }

  onThreadStarted(started: PoolThreadPort): void {
    this.#onThreadGone(started.slot, null);
    this.#addThread(started);
    this.#assign();
  }

  onThreadLost(slot: number, error: PlainError): void {
    this.#onThreadGone(slot, error);
  }

  /** Before main's messages leave: one word about all that stand in line. */
  prepareFlush(): void {
    const waiting = this.#waiting.length;
    const isNews = waiting > this.#saidWaiting || (waiting === 0 && this.#saidWaiting > 0);
    if (isNews) this.#deps.port.post({ type: "POOL_THREAD_WANTED", waiting });
    if (isNews) this.#saidWaiting = waiting;
  }

  /** After main's messages have left. */
  flush(): void {
    this.#threads?.flush();
  }

  stop(): void {
    for (const timer of this.#unexplained.values()) timer.cancel();
    this.#threads?.close();
  }

  #addThread(port: PoolThreadPort): void {
    const requests = [...this.#turns].flatMap(([requestId, { place }]) =>
      place?.slot === port.slot ? [{ requestId, turn: place.turn }] : [],
    );
    this.#threads?.add(port, requests);
  }

  #assign(): void {
    // Said first: a thread that becomes free after that says so.
    this.#cells?.setWaiting("connection", this.#waiting.length > 0);
    while (this.#waiting.length > 0) {
      const place = this.#threads?.claim() ?? null;
      if (place === null) break;
      const requestId = this.#waiting.shift() as string;
      const turn = this.#turns.get(requestId);
      if (turn?.work === undefined) continue;
      turn.place = place;
      this.#deps.port.post({ type: "ISOLATED_TURN", requestId, place });
      this.#threads?.post(place.slot, place.turn, { type: "EXECUTION_REQUEST", requestId, ...turn.work });
    }
    this.#noteWaiting();
  }

  #noteWaiting(): void {
    this.#cells?.setWaiting("connection", this.#waiting.length > 0);
    this.#deps.scheduleFlush();
  }

  #onReport(slot: number, report: IsolatedReport): void {
    if (report.type === "TURN_ENDED") return this.#assign();
    if (report.type === "CRASHING") return;
    const turn = this.#turns.get(report.requestId);
    if (turn?.place?.slot !== slot) return;
    if (report.type === "UNKNOWN_REQUEST") {
      if (report.mayHaveBegun) return this.#emit({ do: "ISOLATED_RETURNED", requestId: report.requestId });
      this.#again(report.requestId);
      return this.#assign();
    }
    if (turn.place.turn !== report.turn) return;
    switch (report.type) {
      case "TURN_BEGUN":
        turn.work = undefined;
        turn.mayHaveBegun = false;
        return;
      case "STEP_BEGUN":
        return turn.onStepBegun(report.hash, report.failure);
      case "STEP_ENDED":
        return turn.onStepEnded(report.hash, report.op);
      default:
        return this.#emit({ do: "ISOLATED_WORK", message: report });
    }
  }

  #onClosed(slot: number, lastWords: PlainError | null): void {
    if (lastWords !== null) return this.#failTurns(slot, lastWords);
    const isIdle = ![...this.#turns.values()].some(({ place }) => place?.slot === slot);
    if (isIdle) return;
    const timer = this.#deps.timers.set(MAIN_REASON_MS, () => this.#failTurns(slot, toPlainError(endedSilently())));
    this.#unexplained.set(slot, timer);
  }

  #onThreadGone(slot: number, error: PlainError | null): void {
    if (!this.#threads?.has(slot) && !this.#unexplained.has(slot)) return;
    const lastWords = this.#threads?.remove(slot) ?? null;
    this.#failTurns(slot, error ?? lastWords ?? toPlainError(endedSilently()));
  }

  #failTurns(slot: number, error: PlainError): void {
    this.#unexplained.get(slot)?.cancel();
    this.#unexplained.delete(slot);
    const { clock, config } = this.#deps;
    for (const [requestId, turn] of [...this.#turns]) {
      if (turn.place?.slot !== slot) continue;
      if (turn.mayHaveBegun) this.#emit({ do: "ISOLATED_RETURNED", requestId });
      else if (turn.work !== undefined) this.#again(requestId);
      else {
        turn.place = null;
        const content = lostTurnReply(turn, error, clock.nowMs());
        const response = encodeReply(turn.identity, content, config.sdkVersion);
        this.#emit({ do: "ISOLATED_WORK", message: { type: "EXECUTION_RESPONSE", requestId, response } });
      }
    }
    this.#assign();
  }

  /** No thread has begun with it: it is the first in line. Without it there is nothing to give to a thread. */
  #again(requestId: string): void {
    const turn = this.#turns.get(requestId);
    if (turn === undefined) return;
    turn.place = null;
    turn.mayHaveBegun = false;
    if (turn.work === undefined) this.#emit({ do: "ISOLATED_RETURNED", requestId });
    else this.#waiting.unshift(requestId);
  }
}

const endedSilently = (): HoldfastError =>
  new HoldfastError(
    "ISOLATE_THREAD_LOST",
    "The thread that ran the function has ended without a word, as when it runs out of memory or calls process.exit().",
  );
