import type { DurationInput, LoggerLike } from "@holdfast/core";
import type { StateChange } from "./debug-state.ts";
import type { StallMessage } from "./stall.ts";

/** Options of `connect()` besides `apps`. Those with a variable fall back to it: `HOLDFAST_X` first, then `INNGEST_X`. */
export interface ConnectOptions {
  /**
   * WebSocket address to use instead of the one that the gateway names. `HOLDFAST_CONNECT_GATEWAY_URL`.
   * @example gatewayUrl: "wss://gateway.internal/v0/connect"
   */
  readonly gatewayUrl?: string;
  /**
   * Names this process to the gateway; must be unique among the processes of an app. Default: host name, process id
   * and a random suffix. `HOLDFAST_CONNECT_INSTANCE_ID`.
   * @example instanceId: "web-1"
   */
  readonly instanceId?: string;
  /**
   * How many requests may run at once; other work waits at the gateway. Default 1000. `HOLDFAST_CONNECT_MAX_WORKER_CONCURRENCY`.
   * @example maxWorkerConcurrency: 50
   */
  readonly maxWorkerConcurrency?: number;
  /**
   * The queues that this process serves: it runs the functions in these queues (`createFunction({ queue })`), and no
   * others. `["*"]` = every queue. Default `["default"]`: the functions that name no queue. `HOLDFAST_CONNECT_QUEUES`
   * (names separated by commas).
   * @example queues: ["default", "gpu"]
   */
  readonly queues?: readonly string[];
  /**
   * Signals that close the connection: the first one drains, the second one forces it to close. Afterwards the process
   * ends as it would by the signal, unless the app listens to it as well. Default SIGINT and SIGTERM; `[]` = none.
   * @example handleShutdownSignals: ["SIGTERM"]
   */
  readonly handleShutdownSignals?: readonly `SIG${string}`[];
  /**
   * If it is aborted before the connection is ready, `connect()` rejects with `CONNECT_CLOSED` and leaves nothing
   * behind; if later, the connection closes as with `close()`.
   * @example signal: controller.signal
   */
  readonly signal?: AbortSignal;
  /**
   * How long `connect()` waits for a ready connection. Default 30 s. `HOLDFAST_CONNECT_TIMEOUT`.
   * @example connectTimeout: "1m"
   */
  readonly connectTimeout?: DurationInput;
  /**
   * How long `close()` waits for work in flight before returning it to the gateway. Default 25 s; in development
   * (`isDev`) 1 s if a signal closes the connection, so that reloads are quick. `HOLDFAST_DRAIN_TIMEOUT`.
   * @example drainTimeout: "50s"
   */
  readonly drainTimeout?: DurationInput;
  /**
   * How long the main thread may stall before the stall is reported, with the code that blocks it: on stderr, in
   * `debugState()`, to the gateway, and afterwards to the logger. Each report stops the blocked code for some
   * milliseconds to look at its stack. 100 ms to 1 h; `false` = nothing is reported. Nothing is reported while an
   * inspector is open (`--inspect`), since breakpoints stop the main thread as well. Default 1 s.
   * `HOLDFAST_STALL_THRESHOLD` (`off` = false).
   * @example stallThreshold: "500ms"
   */
  readonly stallThreshold?: DurationInput | false;
  /**
   * How long the main thread may stall before its work is returned: its leases end, other workers take the runs, and
   * results that come later are used only if no other worker has taken the work by then. It must be longer than
   * anything that blocks on purpose, or such a step never completes. At least `stallThreshold`. Default `false` =
   * never. `HOLDFAST_MAX_STALL` (`off` = false).
   * @example maxStall: "2m"
   */
  readonly maxStall?: DurationInput | false;
  /**
   * How much of one turn of the event loop may be used before further handlers and steps start in the next turn, so
   * that servers, timers and health checks of the process run in between. Code that has started is not interrupted. At
   * least 1 ms; `false` = all start in one turn. Default 10 ms. `HOLDFAST_YIELD_AFTER` (`off` = false).
   * @example yieldAfter: "5ms"
   */
  readonly yieldAfter?: DurationInput | false;
  /**
   * Location of the connection thread's script, to be used instead of the built-in copy: the package's
   * `holdfast/connect-thread`.
   * @example workerUrl: new URL("./connect-thread.cjs", import.meta.url)
   */
  readonly workerUrl?: string | URL;
  /**
   * Memory limits of the connection thread, as in `node:worker_threads`. Default: Node's, with a young generation of 6
   * MB.
   * @example resourceLimits: { maxOldGenerationSizeMb: 256 }
   */
  readonly resourceLimits?: {
    /** Of the heap's main part, in MB. */
    readonly maxOldGenerationSizeMb?: number;
    /** Of the part for objects that live shortly, in MB. */
    readonly maxYoungGenerationSizeMb?: number;
    /** Of compiled code, in MB. */
    readonly codeRangeSizeMb?: number;
    /** Of the stack, in MB. */
    readonly stackSizeMb?: number;
  };
  /**
   * The pool of threads in which isolated code runs; see `holdfast/isolate`. They are started only if there is such
   * code.
   * @example isolation: { threads: 4, warm: 1 }
   */
  readonly isolation?: {
    /** How many threads there are at most. Default: one less than the machine has cores, and at least 2. */
    readonly threads?: number;
    /** How many of them are started with the connection and kept. Default 0. */
    readonly warm?: number;
    /** How many steps may wait for a thread; a further attempt fails with `ISOLATE_QUEUE_FULL`. Default 10000. */
    readonly maxQueue?: number;
    /** After how many turns a thread is replaced, for code that leaks. Default `false` = never. */
    readonly recycleAfter?: number | false;
    /** How long a thread may have nothing to do before it is ended; `false` = for ever. Default 1 min. */
    readonly idleTimeout?: DurationInput | false;
    /** Memory limits of each thread, as `node:worker_threads` has them. Default: Node's. */
    readonly resourceLimits?: {
      /** Of the heap's main part, in MB. */
      readonly maxOldGenerationSizeMb?: number;
      /** Of the part for objects that live shortly, in MB. */
      readonly maxYoungGenerationSizeMb?: number;
      /** Of compiled code, in MB. */
      readonly codeRangeSizeMb?: number;
      /** Of the stack, in MB. */
      readonly stackSizeMb?: number;
    };
  };
  /**
   * False = the plain protocol only. Default true. `HOLDFAST_EXTENSIONS` (`off` or `on`).
   * @example extensions: false
   */
  readonly extensions?: boolean;
  /**
   * Console-shaped or pino-shaped. Default: the logger of the first app's client.
   * @example logger: pino()
   */
  readonly logger?: LoggerLike;
  /**
   * Called when the state of the connection changes, later in the same turn. It is not awaited; if it throws, or its
   * promise rejects, that is logged (`LISTENER_FAILED`) and has no other effect.
   * @example onStateChange: ({ to }) => health.set(to === "ACTIVE")
   */
  readonly onStateChange?: (change: StateChange) => unknown;
  /**
   * Called when the main thread was blocked for `stallThreshold` or longer and is responsive again. Like
   * `onStateChange`.
   * @example onStall: ({ stalledMs, culprit }) => alerts.send(`blocked for ${stalledMs} ms`, culprit)
   */
  readonly onStall?: (stall: StallMessage) => unknown;
  /**
   * Limits for the replies and checkpoints that wait for an acknowledgement; at a limit, no new work is accepted.
   * @example outbox: { maxCount: 1_000, ackTimeout: "10s" }
   */
  readonly outbox?: {
    /** Default 10 000. */
    readonly maxCount?: number;
    /** Default 256 MiB. */
    readonly maxBytes?: number;
    /** When one without an acknowledgement is sent again. Default 5 s. */
    readonly ackTimeout?: DurationInput;
  };
  /**
   * How a connection thread that crashed or hangs is replaced.
   * @example respawn: { maxCrashes: 20 }
   */
  readonly respawn?: {
    /** Wait before the first new thread; doubles with every crash in a row. Default 100 ms. */
    readonly baseDelay?: DurationInput;
    /** Default 30 s. */
    readonly maxDelay?: DurationInput;
    /** Consecutive crashes after which the connection fails. Default 10. */
    readonly maxCrashes?: number;
    /** How long a connection must hold to end a row of crashes. Default 10 s. */
    readonly minUptime?: DurationInput;
    /**
     * A thread that gives no sign of life for this long, while the main thread is responsive, is ended and counts as crashed. Neither
     * a blocked main thread nor a suspended machine makes it look so, nor an open inspector. At least 1 s. Default 10 s.
     */
    readonly hangTimeout?: DurationInput;
  };
}
