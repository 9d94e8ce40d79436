/** How the workers of this gateway are, for people who look. */
import type { Clock } from "@holdfast/core";
import type { ConnectionMark } from "@holdfast/store";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { StallReport, Stalls } from "./stalls.ts";
import type { AppWorkersState, ReportedState, WorkerStates } from "./worker-states.ts";
import type { Workers } from "./workers.ts";

/** How a connected worker is, as its gateway has it. */
export interface WorkerCondition {
  readonly heartbeatMs: number;
  /** For how long nothing was heard of it. */
  readonly silentMs: number;
  /** Null: no ping was answered yet. */
  readonly roundTripMs: number | null;
  readonly extensions: readonly string[];
  /** The newest first. */
  readonly stalls: readonly StallReport[];
  /** What it said of itself last; null: nothing. */
  readonly state: ReportedState | null;
}

/** So many heartbeats may be late before a worker counts as silent: one that is a bit late is not. */
const LATE_HEARTBEATS = 1.5;

interface Parts {
  readonly workers: Pick<Workers, "get" | "all">;
  readonly stalls: Pick<Stalls, "newestOf">;
  readonly states: Pick<WorkerStates, "of" | "byApp">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export class WorkerConditions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether a worker has the function; undefined: it is not connected here. */
  hasFunction(connectionId: string, functionId: string): boolean | undefined {
    return this.#parts.workers.get(connectionId)?.functionIds.has(functionId);
  }

  /** What a worker of this gateway has of each part of its capacity, the main one first; null for one of another. */
  inFlightOf(connectionId: string): number[] | null {
    const worker = this.#parts.workers.get(connectionId);
    return worker ? Array.from(worker.partitions(), ({ inFlight }) => inFlight) : null;
  }

  /** Null: it is connected to another gateway. */
  of(connectionId: string): WorkerCondition | null {
    const { workers, stalls, states, clock } = this.#parts;
    const worker = workers.get(connectionId);
    if (!worker) return null;
    const { heartbeatMs, seenMs, roundTripMs, extensions } = worker.session;
    return {
      heartbeatMs,
      silentMs: Math.max(0, Math.round(clock.monotonicMs() - seenMs)),
      roundTripMs: roundTripMs ?? null,
      extensions: [...extensions].sort(),
      stalls: stalls.newestOf(worker),
      state: states.of(worker),
    };
  }

  /** What there is to be seen of each worker of this gateway; null: nothing. */
  *marks(): Iterable<readonly [connectionId: string, mark: ConnectionMark | null]> {
    const nowMs = this.#parts.clock.monotonicMs();
    for (const worker of this.#parts.workers.all()) yield [worker.id, this.#markOf(worker, nowMs)];
  }

  /** Null: it is connected to another gateway, or there is nothing to be seen. */
  markOf(connectionId: string): ConnectionMark | null {
    const worker = this.#parts.workers.get(connectionId);
    return worker ? this.#markOf(worker, this.#parts.clock.monotonicMs()) : null;
  }

  #markOf(worker: ConnectedWorker, nowMs: number): ConnectionMark | null {
    const { heartbeatMs, seenMs } = worker.session;
    if (nowMs - seenMs > LATE_HEARTBEATS * heartbeatMs) return "SILENT";
    const state = this.#parts.states.of(worker);
    if (state?.phase === "CLOSING") return null;
    return (state?.mainLagMs ?? 0) > 0 || this.#parts.stalls.newestOf(worker)[0]?.ended === false ? "BLOCKED" : null;
  }

  /** Of workers that say how they are, all together. */
  byApp(): AppWorkersState[] {
    return this.#parts.states.byApp();
  }
}
