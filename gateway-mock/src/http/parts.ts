/** What the routes need from the gateway. */
import type { Socket } from "node:net";
import type { Clock, Log, Timers } from "@holdfast/core";
import type { RetentionPolicy, Store } from "@holdfast/store";
import type { Dispatcher } from "../dispatch/index.ts";
import type { Conversations } from "../faults/conversations.ts";
import type { Faults } from "../faults/faults.ts";
import type { LogReader } from "../live/log-reader.ts";
import type { ProcessReading } from "../metrics/process-reading.ts";
import type { SpanCounts } from "../telemetry/span-options.ts";
import type { CallerRules } from "./callers.ts";
import type { ErrorDocs } from "./errors.ts";
import type { Keys } from "./keys.ts";
import type { PageFiles } from "./page/files.ts";
import type { PageParts } from "./page/session-guard.ts";

/** What the HTTP side is given. */
export interface HttpParts {
  readonly dispatcher: Dispatcher;
  readonly store: Store;
  /** What live streams read. */
  readonly live: LogReader;
  readonly keys: Keys;
  readonly callers: CallerRules;
  /** Null: without a dashboard. */
  readonly page: (PageParts & { readonly files: PageFiles }) | null;
  /** Of the page about a code, at an address of this gateway that its callers can open. */
  readonly errorDocs: ErrorDocs;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly version: string;
  readonly gatewayId: string;
  readonly newId: () => string;
  /** True once the gateway goes down: workers are sent elsewhere. */
  readonly isDraining: () => boolean;
  /** What `/v1/metrics` shows beside the engine's and the store's counters. */
  readonly process: () => ProcessReading;
  /** What became of spans; null: none are made. */
  readonly spans: () => SpanCounts | null;
  /** Frames that workers have sent since the start, by kind. */
  readonly framesReceived: () => ReadonlyMap<string, number>;
  /**
   * The connection has a request that waits for long and is counted elsewhere: it takes no place of the others until
   * what comes back is called.
   */
  readonly excuse?: (socket: Socket) => () => void;
  /** How long runs are kept, as functions and options are now. */
  readonly retention: () => Promise<RetentionPolicy>;
  /** Why there are none, where none may be asked for. */
  readonly faults: Faults | string;
  readonly conversations: Conversations;
  /** Only with virtual time. */
  readonly skipTime?: (ms: number) => Promise<void>;
}
