/**
 * Names and limits that gateway and worker must agree on. Those of the base protocol are not ours to change.
 */

/** Offered and echoed in the WebSocket upgrade. */
export const SUBPROTOCOL = "v0.connect.inngest.com";
export const START_PATH = "/v0/connect/start";
/** What SDKs put into the path of events where they have no event key. */
export const NO_EVENT_KEY = "NO_EVENT_KEY_SET";
export const FLUSH_PATH = "/v0/connect/flush";
export const CONNECT_PATH = "/v0/connect";
/** Below them `/{runId}/actions` has the steps of a run and `/{runId}/batch` its events. */
export const RUNS_PATH = "/v0/runs";
export const PROTOBUF_CONTENT_TYPE = "application/protobuf";

const MiB = 1024 * 1024;

/** What those who only send have to know. */
export const EVENT_LIMITS = {
  maxEventBytes: 3 * MiB,
  maxEventsPerRequest: 5000,
  maxEventNameLength: 255,
  /** Ours. */
  maxSignalLength: 512,
  /**
   * Ours: the same for event data and step results: requests, and events that contain others, wrap them in more levels.
   */
  maxDataDepth: 180,
} as const;

/** Sizes of what crosses the wire. Those without a note are facts of the base protocol. */
export const WIRE_LIMITS = /* @__PURE__ */ (() =>
  ({
    ...EVENT_LIMITS,
    /** One WebSocket message, either way. */
    maxFrameBytes: 8 * MiB,
    /**
     * Ours: what a gateway still reads of a worker, as a message or a flushed reply. Workers of the base protocol send
     * results of any size: what can be read fails its step, and what cannot ends the connection of all others with it.
     */
    maxReadBytes: 32 * MiB,
    /** One step's or function's result. */
    maxOutputBytes: 4 * MiB,
    /** With more than this the worker fetches events and steps over HTTP (`ctx.use_api`). */
    maxRequestPayloadBytes: 4 * MiB,
    /** Characters of a run's events and step results. */
    maxRunStateLength: 32 * MiB,
    maxStartBodyBytes: 1 * MiB,
    maxFlushBodyBytes: 8 * MiB,
    maxAppsPerConnection: 100,
    /** What the reference allows without an entitlement to more. */
    plainAppsPerConnection: 10,
    maxStepsPerRun: 1000,
    maxRetries: 20,
    maxDefersPerRun: 20,
    /** Characters of all their inputs. */
    maxDeferLength: 4 * MiB,
    /** Ours: characters of the stack in WORKER_STALL. */
    maxStallStackLength: 8_000,
    /** Ours: what WORKER_STATE lists at most, and characters of each of its texts. */
    maxStateRequests: 20,
    maxStateTransitions: 10,
    maxStateTextLength: 500,
    /** Ours: a larger WORKER_STATE is not read. */
    maxStateBytes: 64 * 1024,
    /** Ours: how deep JSON from a peer may nest. */
    maxJsonDepth: 200,
  }) as const)();
