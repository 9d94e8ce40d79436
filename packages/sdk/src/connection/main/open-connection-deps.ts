/** What a connection is made of; `connect.ts` puts it together. */
import type { Clock, Log, Random, Timers } from "@holdfast/core";
import type { ExecutionStrategy } from "../../execution/execution.ts";
import type { Isolation } from "../../isolation/main/isolation.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { Inspectors } from "./inspectors.ts";
import type { ConnectionCallbacks } from "./listeners.ts";
import type { ThreadHandle } from "./spawn-thread.ts";
import type { RespawnPolicy } from "./thread-host.ts";

export interface OpenConnectionDeps {
  readonly config: SerializableConfig;
  /** For the log. */
  readonly functionCount?: number;
  /** For the log: what names the environment, where no option does. */
  readonly envVariable?: string | undefined;
  readonly strategy: ExecutionStrategy;
  readonly startThread: () => ThreadHandle;
  /** The threads that isolated code runs in. */
  readonly isolation?: Pick<Isolation, "debugState" | "close" | "memory">;
  /** The same, for isolated functions; undefined = there is none. */
  readonly pool?: ConnectionPool;
  /** Of all connections that share this main thread. Default: of this one alone. */
  readonly inspectors?: Inspectors;
  readonly respawn: RespawnPolicy;
  /** How long the thread may give no sign of life, in main's own ticks. Default 10 s. */
  readonly hangTimeoutMs?: number;
  readonly connectTimeoutMs: number;
  readonly drainTimeoutMs: number;
  /** The same where a signal closes the connection. Default: that. */
  readonly signalDrainMs?: number;
  /** What the thread gets on top of the drain before it is terminated. Default: as long as `close()` promises. */
  readonly closeGraceMs?: number;
  readonly signals: readonly NodeJS.Signals[];
  /** Closes the connection, also before it is ready. */
  readonly abort?: AbortSignal | undefined;
  readonly callbacks?: ConnectionCallbacks;
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
}
