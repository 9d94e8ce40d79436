/**
 * The messages between main and a pool thread. What each means in every situation is in `isolation-table.ts`, how a
 * post is read in `read-messages.ts`. Those between the connection thread and a pool thread go over a port of their own.
 */
import type { MessagePort } from "node:worker_threads";
import {
  type Clock,
  type ClockReading,
  HoldfastError,
  type LogLevel,
  type PlainError,
  readClocks,
  suspensionBetween,
} from "@holdfast/core";
import { type RequestTrace, WIRE_LIMITS } from "@holdfast/protocol";
import type { StepEndMessage, StepStartMessage } from "../../diagnostics/channels.ts";

/** Raised with every change that an older thread or main could misread. On every message. */
export const ISOLATION_VERSION = 3;

/** Bytes of a body's arguments in one message: as much as events and step results of a run may be. */
export const MAX_INPUT_BYTES = WIRE_LIMITS.maxRunStateLength;
/** Bytes of what comes back: the largest result, as JSON text of two-byte characters, and what is around it. */
export const MAX_ANSWER_BYTES = 4 * WIRE_LIMITS.maxOutputBytes;

/** Values that cost less in the message itself than serialized into bytes of their own. */
export type ShortValues = readonly (string | number | boolean | null | undefined)[];

export const MAX_SHORT_VALUES = 8;
export const MAX_SHORT_CHARS = 1_024;

export function areShort(values: readonly unknown[]): values is ShortValues {
  return (
    values.length <= MAX_SHORT_VALUES &&
    values.every((value) =>
      typeof value === "string"
        ? value.length <= MAX_SHORT_CHARS
        : value === null || value === undefined || typeof value === "number" || typeof value === "boolean",
    )
  );
}

/** Messages are quicker, unless the process or a thread of it was suspended; modules may be slower. */
const CONFIRMED_MS = 500;

/**
 * Whether code must not begin by this: the work may be another worker's by now. All threads of a process have one clock.
 */
export function isUnconfirmed(asOf: ClockReading, clock: Clock): boolean {
  return suspensionBetween(asOf, readClocks(clock), CONFIRMED_MS) !== null;
}

/** Code that a pool thread can find: a module, and in it what `isolated()` was given this name for, or an export. */
export interface CodeReference {
  readonly kind: "body" | "export";
  /** URL, as `import()` takes it. */
  readonly module: string;
  readonly name: string;
}

/** Whose code a turn runs: for logs and messages, and for `currentExecution()`. */
export interface TurnSubject {
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  readonly trace?: RequestTrace;
  readonly step?: { readonly id: string; readonly hash: string; readonly attempt: number };
}

/** What a thread needs to begin; plain data but for the ports. It comes as `workerData`. */
export interface PoolThreadInit {
  readonly version: number;
  /** `isPoolThread` looks for it in preloads. */
  readonly isPoolThread: true;
  /** What the thread is: code in it can look it up under `POOL_THREAD_KEY`. */
  readonly script: string;
  /** Main's clock when it started the thread. */
  readonly started: ClockReading;
  readonly slot: number;
  readonly cells: SharedArrayBuffer;
  readonly port: MessagePort;
  /** Of functions whose handlers run in the thread: plain data that only their owner reads. */
  readonly handlers?: unknown;
}

interface Header {
  readonly version: number;
  /** The turn that it belongs to; 0 = none. Late answers are known by it. */
  readonly turn: number;
}

/** A value as JSON text; `undefined` is marked. */
export interface AnswerJson {
  readonly text: string;
  readonly isUndefined: boolean;
  readonly loss?: AnswerLoss;
}

/** The first value of which JSON keeps less than it may seem, as `events/json-loss.ts` finds it. */
export interface AnswerLoss {
  readonly what: string;
  readonly path: string;
  readonly becomes: "{}" | "null" | "nothing" | '{"0":...}';
}

/** What was thrown in a thread, read there. */
export interface AnswerThrown {
  readonly error: PlainError & { readonly __serialized: true };
  readonly isFinal: boolean;
  readonly isStepError: boolean;
  readonly retryAfter?: string;
}

export interface TurnTiming {
  readonly startedMs: number;
  readonly durationMs: number;
}

/** From main. */
export type PoolCommand = Header &
  (
    | {
        readonly type: "RUN_BODY";
        readonly code: CodeReference;
        readonly subject: TurnSubject;
        /** The arguments: serialized, see `MAX_INPUT_BYTES`, or as they are where they are few and short. */
        readonly input: Uint8Array | ShortValues;
        /** The thread may have to evaluate the module first: it says BEGUN when the code begins. */
        readonly announces: boolean;
        /** As of when the work is known to be ours; null: nothing can take it away. See `isUnconfirmed`. */
        readonly asOf: ClockReading | null;
      }
    /** The code may begin: the work is known to be ours as of this. */
    | { readonly type: "CONFIRMED"; readonly asOf: ClockReading }
    /** Evaluates modules and looks for the code; answered by LOADED or FAILED. */
    | {
        readonly type: "LOAD";
        readonly codes: readonly CodeReference[];
        /** In the list of all that is evaluated before the connection is made. */
        readonly firstPlace: number;
        /** That of all handlers, too. */
        readonly withHandlers: boolean;
      }
    | { readonly type: "ABORT"; readonly reason: PlainError }
    /** The port to the connection thread, instead of the one before. */
    | { readonly type: "CONNECTION_PORT"; readonly port: MessagePort }
    /** The thread is doomed and has no turn: it ends by itself. */
    | { readonly type: "END" }
  );

export type PublishedStep =
  | { readonly moment: "start"; readonly message: StepStartMessage }
  | { readonly moment: "end"; readonly message: StepEndMessage };

/** A line that code printed, or that a plain handler gave to its logger. */
export interface PrintedLine {
  readonly level: LogLevel;
  readonly text: string;
  /** What was given to the logger: for the logger of this app, with these fields. */
  readonly logged?: { readonly appId: string; readonly args: readonly unknown[]; readonly fields: LineFields };
}

export type LineFields = Readonly<Record<string, unknown>>;

/** To main. */
export type PoolReport = Header &
  (
    | { readonly type: "READY" }
    /** The code does not begin: since it was known that the work is ours too much time has passed. It waits for CONFIRMED. */
    | { readonly type: "UNCONFIRMED" }
    /** The code of the turn begins; sent where RUN_BODY asked for it. */
    | { readonly type: "BEGUN" }
    | { readonly type: "DONE"; readonly json: AnswerJson; readonly timing: TurnTiming }
    /** The code threw, or there is none. */
    | {
        readonly type: "FAILED";
        readonly thrown: AnswerThrown;
        readonly timing: TurnTiming | null;
        readonly isSpent: boolean;
      }
    | { readonly type: "LOADED" }
    /**
     * It does not begin with its turn, of either owner: code of an earlier one has computed in between. It ends by
     * itself, since main may be blocked.
     */
    | { readonly type: "LEFT_BEHIND"; readonly busyMs: number }
    /** What code of the turn printed. */
    | {
        readonly type: "OUTPUT";
        readonly lines: readonly PrintedLine[];
        /** Lines before these that main could not take in time. */
        readonly dropped: number;
        /** Whose body printed it; null = that of the turn's subject, or none. */
        readonly step: string | null;
      }
    /** A step of a handler in the thread started or ended, and main has said that it wants to hear of that. */
    | { readonly type: "STEP"; readonly step: PublishedStep }
    /** What the SDK itself logs there, of the code of a turn. */
    | {
        readonly type: "LOG";
        readonly level: LogLevel;
        readonly message: string;
        readonly data: Readonly<Record<string, unknown>>;
        /** Keys of the data that the message has in words. */
        readonly inWords: readonly string[];
      }
    /** Nothing caught an error, or process.exit() was called: the thread ends. */
    | {
        readonly type: "CRASHING";
        readonly origin: "uncaughtException" | "unhandledRejection" | "exit";
        readonly error: PlainError;
      }
    /** The connection thread gave it a turn; its code has this long. */
    | { readonly type: "LENT"; readonly subject: TurnSubject; readonly budgetMs: number }
    /** Spent: a module could not be evaluated, and never can be in this thread. It is doomed; main ends it. */
    | { readonly type: "RETURNED"; readonly isSpent: boolean }
    /** It got something that it cannot read. */
    | { readonly type: "REFUSED"; readonly error: PlainError }
  );

export type IsolationMessage = PoolCommand | PoolReport;

// Tables, so that a type left out does not compile: the other side would take its messages for a mistake.
const COMMAND_ROWS: Readonly<Record<PoolCommand["type"], true>> = {
  RUN_BODY: true,
  LOAD: true,
  CONFIRMED: true,
  ABORT: true,
  CONNECTION_PORT: true,
  END: true,
};
export const COMMAND_TYPES = Object.keys(COMMAND_ROWS) as readonly PoolCommand["type"][];

const REPORT_ROWS: Readonly<Record<PoolReport["type"], true>> = {
  READY: true,
  UNCONFIRMED: true,
  BEGUN: true,
  DONE: true,
  FAILED: true,
  LOADED: true,
  LEFT_BEHIND: true,
  OUTPUT: true,
  LOG: true,
  STEP: true,
  CRASHING: true,
  LENT: true,
  RETURNED: true,
  REFUSED: true,
};
export const REPORT_TYPES = Object.keys(REPORT_ROWS) as readonly PoolReport["type"][];

/** What crosses is measured where it is sent and where it comes in. @throws HoldfastError `ISOLATE_VALUE_INVALID` */
export function checkSize(what: "arguments" | "result", bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new HoldfastError(
    "ISOLATE_VALUE_INVALID",
    `The ${what} of isolated code are ${bytes} bytes long; the limit is ${maxBytes}. Store large data elsewhere and pass a reference.`,
  );
}

/** @throws HoldfastError `ISOLATE_PORT` */
export function checkPort(port: unknown): void {
  const candidate = port as Partial<MessagePort> | null | undefined;
  if (typeof candidate?.postMessage === "function" && typeof candidate.start === "function") return;
  throw new HoldfastError(
    "ISOLATE_PORT",
    "A pool thread got no port in a message that must bring one: its sender did not transfer it. A port works in one thread at a time and has to be named in the transfer list of postMessage().",
  );
}
