/** What `/metrics` is made of: one reading of everything that counts, taken when one is asked for. */
import type { HistogramCounts } from "@holdfast/core";
import type { DatabaseHealth, QueueDepth, StoreStats, TableSize } from "@holdfast/store";
import type { AppWorkersState, Dispatcher } from "../dispatch/index.ts";
import type { SpanCounts } from "../telemetry/span-options.ts";
import type { ProcessReading } from "./process-reading.ts";

export interface MetricSources {
  readonly version: string;
  readonly isDraining: boolean;
  readonly dispatcher: ReturnType<Dispatcher["status"]>;
  /** By the function's id, its environment included. */
  readonly functions: ReturnType<Dispatcher["functionCounts"]>;
  readonly store: StoreStats;
  readonly database: DatabaseHealth;
  /** Null while the database is away. */
  readonly queue: QueueDepth | null;
  readonly tables: readonly TableSize[] | null;
  /** Null: no spans are made. */
  readonly spans: SpanCounts | null;
  /** Clients of live streams. */
  readonly watchers: number;
  readonly nowMs: number;
  readonly process: ProcessReading;
  /** Those that say how they are, by app. */
  readonly workers: readonly AppWorkersState[];
  /** Frames that workers have sent, by kind. */
  readonly framesReceived: ReadonlyMap<string, number>;
}

/** A number, numbers by labels, or a distribution. Null: not known just now, so nothing is shown. */
export type Reading =
  | number
  | readonly Labelled<number>[]
  | HistogramCounts
  | readonly Labelled<HistogramCounts>[]
  | null;

export interface Labelled<T> {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: T;
}
