export {
  allocatePooled,
  allocateRoomy,
  allocateSharable,
  asciiText,
  pooledText,
  SHARED_FROM_BYTES,
  sharableText,
} from "./byte-memory.ts";
export {
  decodeFlushResponse,
  decodeGatewayFrame,
  decodeSdkResponse,
  decodeStartRequest,
  decodeStartResponse,
  decodeWorkerFrame,
  encodeFlushResponse,
  encodeGatewayFrame,
  encodeSdkResponse,
  encodeStartRequest,
  encodeStartResponse,
  encodeWorkerFrame,
  frameKind,
  wrapReply,
} from "./codec.ts";
export { EVENT_FIELDS, matchPathProblem, noSuchField, timestampProblem } from "./event-fields.ts";
export {
  type EventPayload,
  type ExecutionContext,
  type ExecutionPayload,
  type ExtendedContext,
  encodeJsonBytes,
  HANDLER_END_ID,
  isHandlerEnd,
  type MemoEntry,
  normalizeError,
  OP_NAMES,
  type Op,
  type OpName,
  parseJsonBytes,
  parseOps,
} from "./execution.ts";
export * from "./frames.ts";
export { EXTENDED_INTERVALS, PLAIN_INTERVALS, TIMEOUTS, WORKER_FALLBACK_INTERVALS } from "./intervals.ts";
export { isRecord, jsonNestsDeeperThan } from "./json-text.ts";
export {
  CONNECT_PATH,
  EVENT_LIMITS,
  FLUSH_PATH,
  NO_EVENT_KEY,
  PROTOBUF_CONTENT_TYPE,
  RUNS_PATH,
  START_PATH,
  SUBPROTOCOL,
  WIRE_LIMITS,
} from "./limits.ts";
export { DEFAULT_QUEUE, EVERY_QUEUE, queueNameProblem, servedQueuesProblem, servesQueue } from "./queues.ts";
export {
  attemptSpanName,
  encodeRequestTrace,
  idOfDigest,
  type RequestTrace,
  readRequestTrace,
  readSpanContext,
  type SpanContext,
  traceparentOf,
} from "./trace-context.ts";
export type {
  PoolState,
  ProcessState,
  StateRequest,
  StateTransition,
  WorkerPhase,
  WorkerState,
} from "./worker-state.ts";
