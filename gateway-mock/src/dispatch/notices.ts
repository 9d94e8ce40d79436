/**
 * What a gateway tells its owner of the work that it does: events that came in, runs that ended, attempts that failed.
 * Facts without words; `../notices` makes lines of them. Only facts that this gateway has stored become notices, once each.
 * They are told when what follows from a commit has left: a line takes as long as the request that an event starts.
 */
import { type PlainError, ulidTimeMs } from "@holdfast/core";
import { type FailureMeta, type RunState, readMeta } from "@holdfast/engine";
import { type IntakeItem, type LogRow, plainName, type SkippedBy } from "@holdfast/store";
import { Spans } from "./spans.ts";

export type Notice =
  | {
      readonly type: "EVENT_STORED";
      readonly eventId: string;
      /** With its environment in front. */
      readonly name: string;
      /** Of the runs that it started. */
      readonly functionIds: readonly string[];
      /** A run will be made of it and of others, later. */
      readonly isCollected: boolean;
      /** What has kept runs from being made. */
      readonly skippedBy: readonly SkippedBy[];
      /** Runs wait for such an event. */
      readonly isAwaited: boolean;
    }
  | {
      readonly type: "RUN_ENDED";
      readonly runId: string;
      readonly functionId: string;
      /** Where the gateway makes spans. */
      readonly traceId?: string;
      readonly status: "COMPLETED" | "FAILED" | "CANCELLED";
      readonly tookMs: number;
      /** Null when it completed. */
      readonly error: PlainError | null;
    }
  | {
      readonly type: "ATTEMPT_FAILED";
      readonly runId: string;
      readonly functionId: string;
      /** Where the gateway makes spans. */
      readonly traceId?: string;
      /** As the author wrote it; null: the handler itself. */
      readonly step: string | null;
      /** Zero-based. */
      readonly attempt: number;
      readonly nextInMs: number;
      readonly error: PlainError;
    };

/** What has become of an event and its runs, of which some may not have been made. */
export interface StoredEvent {
  readonly awaited: boolean;
  readonly skipped?: readonly string[];
  readonly skippedWindows?: number;
  readonly skippedBy?: readonly SkippedBy[];
}

export type OnNotice = (notice: Notice) => void;

export class Notices {
  readonly #notify: OnNotice | undefined;
  /** Of what was stored in the last turn or two of the event loop. */
  #untold: Notice[] = [];
  readonly #spans: Spans;

  /** Without `onNotice` nothing is looked at. */
  constructor(onNotice?: OnNotice, spans = new Spans()) {
    this.#notify = onNotice;
    this.#spans = spans;
  }

  /** An event is stored with its runs. Those that runs cause by their ends are no news unless they start some. */
  started(item: IntakeItem, { skipped = [], skippedWindows = 0, skippedBy = [], awaited }: StoredEvent): void {
    if (!this.#notify || (item.runs.length === 0 && isInternal(item.event.name))) return;
    const made = item.runs.filter(({ run }) => !skipped.includes(run.id));
    this.#tellLater({
      type: "EVENT_STORED",
      eventId: item.event.id,
      name: item.event.name,
      functionIds: made.map(({ run }) => run.functionId),
      isCollected: (item.windows ?? []).length > skippedWindows,
      skippedBy,
      isAwaited: awaited,
    });
  }

  /** A fact is in the log since `atMs`, and was not before. */
  stored(state: RunState, row: LogRow, atMs: number): void {
    if (!this.#notify || !NOTICED.has(row.kind)) return;
    const { runId, functionId } = state;
    const traceId = this.#spans.traceIdOf(state);
    const of = { runId, functionId, ...(traceId === undefined ? {} : { traceId }) };
    const tookMs = Math.max(0, atMs - ulidTimeMs(runId));
    switch (row.kind) {
      case "RUN_COMPLETED":
        return this.#tellLater({ type: "RUN_ENDED", ...of, status: "COMPLETED", tookMs, error: null });
      case "RUN_FAILED":
      case "RUN_CANCELLED": {
        const status = row.kind === "RUN_FAILED" ? "FAILED" : "CANCELLED";
        return this.#tellLater({
          type: "RUN_ENDED",
          ...of,
          status,
          tookMs,
          error: readMeta<Failed>(row.dataJson).error,
        });
      }
      case "STEP_ATTEMPT_FAILED": {
        const { step, error, delayMs } = readMeta<FailureMeta>(row.dataJson);
        const name = step.name ?? null;
        return this.#tellLater({
          type: "ATTEMPT_FAILED",
          ...of,
          step: name,
          attempt: row.attempt,
          nextInMs: delayMs,
          error,
        });
      }
      case "PASS_FAILED": {
        const { error, delayMs = 0 } = readMeta<Failed>(row.dataJson);
        return this.#tellLater({
          type: "ATTEMPT_FAILED",
          ...of,
          step: null,
          attempt: row.attempt,
          nextInMs: delayMs,
          error,
        });
      }
      default:
    }
  }

  #tellLater(notice: Notice): void {
    this.#untold.push(notice);
    // Frames leave at the end of the turn, which may come after a first `setImmediate`.
    if (this.#untold.length === 1) setImmediate(() => setImmediate(() => this.#tell()));
  }

  #tell(): void {
    const untold = this.#untold;
    this.#untold = [];
    for (const notice of untold) this.#notify?.(notice);
  }
}

const NOTICED: ReadonlySet<LogRow["kind"]> = new Set([
  "RUN_COMPLETED",
  "RUN_FAILED",
  "RUN_CANCELLED",
  "STEP_ATTEMPT_FAILED",
  "PASS_FAILED",
] as const);

const isInternal = (name: string): boolean => plainName(name).startsWith("inngest/");

interface Failed {
  readonly error: PlainError;
  readonly delayMs?: number;
}
