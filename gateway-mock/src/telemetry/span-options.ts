/** What an export of spans is given, and what it counts. */
import type { Log } from "@holdfast/core";

export interface SpanExportOptions {
  /** Base URL; `/v1/traces` is added. */
  readonly endpoint: string;
  readonly ratio: number;
  readonly version: string;
  readonly log: Log;
}

/** What became of spans since the start. */
export interface SpanCounts {
  readonly recorded: number;
  readonly exported: number;
  /** The receiver did not take them. */
  readonly lost: number;
}
