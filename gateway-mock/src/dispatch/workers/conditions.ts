/** How the workers of this gateway are, for people who look. */
import type { Clock } from "@holdfast/core";
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

interface Parts {
  readonly workers: Pick<Workers, "get">;
  readonly stalls: Pick<Stalls, "newestOf">;
  readonly states: Pick<WorkerStates, "of" | "byApp">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export class WorkerConditions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
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

  /** Of workers that say how they are, all together. */
  byApp(): AppWorkersState[] {
    return this.#parts.states.byApp();
  }
}
