/** What a command and the process that replays runs for it tell each other. */
import type { ErrorCode } from "@holdfast/core";

export interface ShownDivergence {
  readonly type: string;
  readonly step?: string;
  readonly after?: string;
  readonly recorded?: string;
  readonly found?: string;
  readonly message?: string;
}

/** As `holdfast/testing` has it; this package does not depend on that one. */
export interface ReplayResult {
  readonly runId: string;
  readonly functionId: string;
  readonly appVersion: string;
  readonly status: string;
  readonly divergence: ShownDivergence | null;
  readonly steps: number;
  readonly next: readonly string[];
}

export interface LoadOptions {
  /** The file of the app, as it was typed. */
  readonly app: string;
  readonly loadTimeoutMs: number;
}

export type ToReplay =
  | ({ readonly type: "load" } & LoadOptions)
  /** One line of an export. */
  | { readonly type: "replay"; readonly line: string }
  /** All were replayed. */
  | { readonly type: "finish" };

export type FromReplay =
  /** From here on the module of the app is evaluated. */
  | { readonly type: "loading" }
  | { readonly type: "loaded"; readonly functions: readonly string[] }
  | { readonly type: "replayed"; readonly result: ReplayResult }
  | { readonly type: "finished" }
  /** Neither the app nor the line can be used; the app's own errors have no code. */
  | { readonly type: "refused"; readonly code: ErrorCode | null; readonly message: string }
  /** The code of a handler threw where nothing catches it, or ended the process. Null: not known of which run. */
  | { readonly type: "threw"; readonly runId: string | null; readonly message: string }
  | { readonly type: "exited"; readonly runId: string | null };
