/**
 * The words of a stall that both threads use: its policy, its reports, what the debug state shows.
 * `../thread/stall-watch.ts` makes them.
 */
import type { RequestIdentity } from "@holdfast/protocol";

/** How the connection thread watches the main thread. */
export interface StallPolicy {
  /** No sign of life for this long is a stall; null = nothing is reported. */
  readonly thresholdMs: number | null;
  /** After this long the leases are returned; null = never. */
  readonly maxStallMs: number | null;
  /** Why the blocked thread cannot be asked for its stack; null = it can. */
  readonly noStack: string | null;
  /** What the kernel calls main's thread, where it does. */
  readonly mainTask?: string;
  /** Files below it are Holdfast's own, and never to blame. */
  readonly ownFolder?: string | null;
}

/** Whose code it was. */
export interface StallExecution {
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /** The id that the author gave the step; null = in the handler, outside of steps. */
  readonly stepId: string | null;
}

/** One line of the stack, after source maps. Lines and columns count from 1. */
export interface StallFrame {
  /** Empty = an anonymous function. */
  readonly functionName: string;
  /** A path, or the script's address as the engine has it. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One report about a main thread that is stalled. */
export interface StallReport {
  /** Rises with every report of this process. */
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /**
   * `blocked`: code kept main from running. `no-cpu`: main would have run, but was given no processor: the machine, or the
   * limit of the container, is taken up by something else. Then `culprit` is null, `stack` is empty, and `execution` is
   * only who suffered from it.
   */
  readonly cause: "blocked" | "no-cpu";
  /** How long main had given no sign of life. */
  readonly stalledMs: number;
  /** How much of that it waited for a processor, as far as that is known. */
  readonly waitedMs: number;
  /** Null = no function of ours was running there. */
  readonly execution: StallExecution | null;
  /** `stack`: the blocked code itself was asked. `only-request`: it could not be asked, and only this request was running. */
  readonly foundBy: "stack" | "only-request" | "none";
  /**
   * The blocking code: the innermost frame that is neither Node's nor a dependency's, where there is one. Null where only
   * Node's and Holdfast's own code was seen.
   */
  readonly culprit: StallFrame | null;
  /** Innermost first, without Holdfast's own frames; empty when main could not be asked. */
  readonly stack: readonly StallFrame[];
  /** Why there is no stack. */
  readonly problem: string | null;
  /** Other requests that cannot go on meanwhile. */
  readonly waiting: number;
  readonly leasesGivenUp: boolean;
  /** Reports before this one that were left out, because there were too many of them. */
  readonly suppressed: number;
}

/**
 * The main thread was blocked, and is responsive again (before that nothing runs there that could be told): what `onStall`
 * is given, and `holdfast:stall` says. The last report, with the whole duration as `stalledMs`.
 */
export interface StallMessage extends StallReport {
  /** Of the connection, as in `connection.instanceId`. */
  readonly instanceId: string;
}

/** What the debug state says about stalls. */
export interface StallDebugState {
  /** `debugger`: nothing is reported while an inspector is open, since a breakpoint stops main, too. */
  readonly detection: "on" | "off" | "debugger";
  /** Stalls since the thread started. */
  readonly count: number;
  readonly reports: number;
  readonly suppressed: number;
  readonly current: {
    readonly stalledMs: number;
    readonly leasesGivenUp: boolean;
    readonly report: StallReport | null;
  } | null;
  readonly last: {
    readonly endedAtMs: number;
    readonly stalledMs: number;
    readonly report: StallReport | null;
  } | null;
}

export type RunningRequest = Pick<RequestIdentity, "requestId" | "runId" | "functionSlug">;

/** `file:line:column`. */
export function placeOf({ file, line, column }: StallFrame): string {
  return `${file}:${line}:${column}`;
}
