/**
 * The messages between the connection thread and a pool thread that runs handlers, and how a post is read. They go over a
 * port of their own, so that isolated functions go on while main is blocked. What each means in every situation is in
 * `isolated-message-table.ts`; docs/decisions/0069 says who keeps what.
 */
import { HoldfastError, type PlainError } from "@holdfast/core";
import type { MainMessage, ThreadMessage } from "./messages.ts";

/** Raised with every change that the other side could misread. On every message. */
export const ISOLATED_PROTOCOL_VERSION = 1;

/** Of requests: the same as those between main and the connection thread. */
export type RequestNews = Extract<
  ThreadMessage,
  { type: "REPLY_ACKED" | "CHECKPOINT_ACKED" | "LEASE_EXTENDED" | "LEASE_LOST" | "CANCEL" | "RESULTS" }
>;
export type RequestWork = Extract<MainMessage, { type: `EXECUTION_${string}` | "CHECKPOINT" | "LEASE_WANTED" }>;

export interface GivenRequest {
  readonly requestId: string;
  readonly turn: number;
}

interface Header {
  readonly version: number;
  /** The turn of the thread that it belongs to; 0 = none. What belongs to another one is ignored. */
  readonly turn: number;
}

/** From the connection thread. */
export type IsolatedCommand = Header &
  (
    | {
        /** The first on each port. */
        readonly type: "SYNC";
        /** The requests that the connection thread takes for this thread's, and which turn each was given. */
        readonly requests: readonly GivenRequest[];
        /** A turn that a connection thread before this one, or a thread before that one, was given and did not begin. */
        readonly claimedTurn: number | null;
        /** See `shared-counters.ts`. */
        readonly counters: SharedArrayBuffer;
        /** One number: how many messages that take work away were posted here. */
        readonly revocations: SharedArrayBuffer;
      }
    | Extract<ThreadMessage, { type: "EXECUTION_REQUEST" }>
    | RequestNews
  );

/** From a pool thread. */
export type IsolatedReport = Header &
  (
    | RequestWork
    /** It has the request; its code begins. */
    | { readonly type: "TURN_BEGUN"; readonly requestId: string }
    /** The thread may have its next turn. */
    | { readonly type: "TURN_ENDED" }
    /** A step's body begins. `failure` is the op that says it has failed, without the error. */
    | {
        readonly type: "STEP_BEGUN";
        readonly requestId: string;
        readonly hash: string;
        readonly failure: string;
      }
    /** It has ended. The op is there when it does not leave in a checkpoint at once. */
    | { readonly type: "STEP_ENDED"; readonly requestId: string; readonly hash: string; readonly op: string | null }
    /** SYNC has named it, and the thread never got it; a thread before it in this slot may have. */
    | { readonly type: "UNKNOWN_REQUEST"; readonly requestId: string; readonly mayHaveBegun: boolean }
    /** The thread ends, by its own code or because nothing caught an error. */
    | { readonly type: "CRASHING"; readonly error: PlainError }
  );

export type IsolatedMessage = IsolatedCommand | IsolatedReport;

// Tables, so that a type left out does not compile: the other side would take its messages for a mistake.
const COMMAND_ROWS: Readonly<Record<IsolatedCommand["type"], true>> = {
  SYNC: true,
  EXECUTION_REQUEST: true,
  REPLY_ACKED: true,
  CHECKPOINT_ACKED: true,
  LEASE_EXTENDED: true,
  LEASE_LOST: true,
  CANCEL: true,
  RESULTS: true,
};
export const ISOLATED_COMMAND_TYPES = Object.keys(COMMAND_ROWS) as readonly IsolatedCommand["type"][];

const REPORT_ROWS: Readonly<Record<IsolatedReport["type"], true>> = {
  EXECUTION_RESPONSE: true,
  EXECUTION_ERROR: true,
  EXECUTION_DROPPED: true,
  CHECKPOINT: true,
  LEASE_WANTED: true,
  TURN_BEGUN: true,
  TURN_ENDED: true,
  STEP_BEGUN: true,
  STEP_ENDED: true,
  UNKNOWN_REQUEST: true,
  CRASHING: true,
};
export const ISOLATED_REPORT_TYPES = Object.keys(REPORT_ROWS) as readonly IsolatedReport["type"][];

const COMMANDS: ReadonlySet<unknown> = new Set(ISOLATED_COMMAND_TYPES);
const REPORTS: ReadonlySet<unknown> = new Set(ISOLATED_REPORT_TYPES);

/** @throws HoldfastError `THREAD_PROTOCOL` */
export function readIsolatedCommand(posted: unknown): IsolatedCommand {
  return readMessage<IsolatedCommand>(posted, COMMANDS, "connection thread");
}

/** @throws HoldfastError `THREAD_PROTOCOL` */
export function readIsolatedReport(posted: unknown): IsolatedReport {
  return readMessage<IsolatedReport>(posted, REPORTS, "pool thread");
}

function readMessage<Message extends IsolatedMessage>(
  posted: unknown,
  known: ReadonlySet<unknown>,
  sender: string,
): Message {
  const { type, version } = (posted ?? {}) as { readonly type?: unknown; readonly version?: unknown };
  if (version === ISOLATED_PROTOCOL_VERSION && known.has(type)) return posted as Message;
  throw new HoldfastError(
    "THREAD_PROTOCOL",
    `The ${sender} sent a message of type ${JSON.stringify(type) ?? "undefined"} and version ${String(version)}; this thread knows version ${ISOLATED_PROTOCOL_VERSION}. Install one version of holdfast.`,
  );
}
