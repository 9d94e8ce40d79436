// Generated from proto/connect.proto by scripts/generate.mjs; do not edit.
import { type CodecReader, NO_BYTES } from "../codec-reader.ts";
import type { CodecWriter } from "../codec-writer.ts";

export const GatewayMessageType = { GATEWAY_HELLO: 0, WORKER_CONNECT: 1, GATEWAY_CONNECTION_READY: 2, GATEWAY_EXECUTOR_REQUEST: 3, WORKER_READY: 4, WORKER_REQUEST_ACK: 5, WORKER_REPLY: 6, WORKER_REPLY_ACK: 7, WORKER_PAUSE: 8, WORKER_HEARTBEAT: 9, GATEWAY_HEARTBEAT: 10, GATEWAY_CLOSING: 11, WORKER_REQUEST_EXTEND_LEASE: 12, WORKER_REQUEST_EXTEND_LEASE_ACK: 13, SYNC_FAILED: 14, WORKER_STATUS: 15, WORKER_CHECKPOINT: 100, GATEWAY_CHECKPOINT_ACK: 101, WORKER_REQUEST_NACK: 102, GATEWAY_CANCEL: 103, WORKER_STALL: 104, WORKER_MAIN_PAUSE: 105, WORKER_MAIN_READY: 106, WORKER_STATE: 107, GATEWAY_RESULTS: 108 } as const;

export const SDKResponseStatus = { NOT_COMPLETED: 0, DONE: 1, ERROR: 2 } as const;

export const ConnectionStatus = { CONNECTED: 0, READY: 1, DRAINING: 2, DISCONNECTING: 3, DISCONNECTED: 4 } as const;

export const WorkerDisconnectReason = { WORKER_SHUTDOWN: 0, UNEXPECTED: 1, GATEWAY_DRAINING: 2, CONSECUTIVE_HEARTBEATS_MISSED: 3, MESSAGE_TOO_LARGE: 4 } as const;

export const CheckpointOutcome = { CHECKPOINT_OUTCOME_UNSPECIFIED: 0, CHECKPOINT_OUTCOME_STORED: 1, CHECKPOINT_OUTCOME_STALE: 2, CHECKPOINT_OUTCOME_INVALID: 3 } as const;

export const NackReason = { NACK_REASON_UNSPECIFIED: 0, NACK_REASON_UNKNOWN_APP: 1, NACK_REASON_UNKNOWN_FUNCTION: 2, NACK_REASON_SHUTTING_DOWN: 3, NACK_REASON_AT_CAPACITY: 4, NACK_REASON_MALFORMED: 5, NACK_REASON_DRAIN_TIMEOUT: 6, NACK_REASON_STALLED: 7 } as const;

export const WorkerPhase = { WORKER_PHASE_UNSPECIFIED: 0, WORKER_PHASE_CONNECTING: 1, WORKER_PHASE_ACTIVE: 2, WORKER_PHASE_RECONNECTING: 3, WORKER_PHASE_CLOSING: 4 } as const;

export interface ConnectMessage {
  kind: number;
  payload: Uint8Array;
}

export function writeConnectMessage(w: CodecWriter, m: Readonly<ConnectMessage>): void {
  if (m.kind) w.int32(8, m.kind);
  if (m.payload?.length) w.bytes(18, m.payload);
}

export function readConnectMessage(r: CodecReader, end = r.end): ConnectMessage {
  const m: ConnectMessage = { kind: 0, payload: NO_BYTES };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.kind = r.int32();
        break;
      case 18:
        m.payload = r.bytes();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface StartRequest {
  excludeGateways: readonly string[];
}

export function writeStartRequest(w: CodecWriter, m: Readonly<StartRequest>): void {
  for (const each of m.excludeGateways) w.string(10, each);
}

export function readStartRequest(r: CodecReader, end = r.end): StartRequest {
  const excludeGateways: string[] = [];
  const m: StartRequest = { excludeGateways };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        excludeGateways.push(r.string());
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface StartResponse {
  connectionId: string;
  gatewayEndpoint: string;
  gatewayGroup: string;
  sessionToken: string;
  syncToken: string;
}

export function writeStartResponse(w: CodecWriter, m: Readonly<StartResponse>): void {
  if (m.connectionId) w.string(10, m.connectionId);
  if (m.gatewayEndpoint) w.string(18, m.gatewayEndpoint);
  if (m.gatewayGroup) w.string(26, m.gatewayGroup);
  if (m.sessionToken) w.string(34, m.sessionToken);
  if (m.syncToken) w.string(42, m.syncToken);
}

export function readStartResponse(r: CodecReader, end = r.end): StartResponse {
  const m: StartResponse = { connectionId: "", gatewayEndpoint: "", gatewayGroup: "", sessionToken: "", syncToken: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.connectionId = r.string();
        break;
      case 18:
        m.gatewayEndpoint = r.string();
        break;
      case 26:
        m.gatewayGroup = r.string();
        break;
      case 34:
        m.sessionToken = r.string();
        break;
      case 42:
        m.syncToken = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface FlushResponse {
  requestId: string;
}

export function writeFlushResponse(w: CodecWriter, m: Readonly<FlushResponse>): void {
  if (m.requestId) w.string(10, m.requestId);
}

export function readFlushResponse(r: CodecReader, end = r.end): FlushResponse {
  const m: FlushResponse = { requestId: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface AuthData {
  sessionToken: string;
  syncToken: string;
}

export function writeAuthData(w: CodecWriter, m: Readonly<AuthData>): void {
  if (m.sessionToken) w.string(10, m.sessionToken);
  if (m.syncToken) w.string(18, m.syncToken);
}

export function readAuthData(r: CodecReader, end = r.end): AuthData {
  const m: AuthData = { sessionToken: "", syncToken: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.sessionToken = r.string();
        break;
      case 18:
        m.syncToken = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface SystemAttributes {
  cpuCores: number;
  memBytes: number;
  os: string;
}

export function writeSystemAttributes(w: CodecWriter, m: Readonly<SystemAttributes>): void {
  if (m.cpuCores) w.int32(8, m.cpuCores);
  if (m.memBytes) w.int64(16, m.memBytes);
  if (m.os) w.string(26, m.os);
}

export function readSystemAttributes(r: CodecReader, end = r.end): SystemAttributes {
  const m: SystemAttributes = { cpuCores: 0, memBytes: 0, os: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.cpuCores = r.int32();
        break;
      case 16:
        m.memBytes = r.int64();
        break;
      case 26:
        m.os = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface Timestamp {
  seconds: number;
  nanos: number;
}

export function writeTimestamp(w: CodecWriter, m: Readonly<Timestamp>): void {
  if (m.seconds) w.int64(8, m.seconds);
  if (m.nanos) w.int32(16, m.nanos);
}

export function readTimestamp(r: CodecReader, end = r.end): Timestamp {
  const m: Timestamp = { seconds: 0, nanos: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.seconds = r.int64();
        break;
      case 16:
        m.nanos = r.int32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface AppConfiguration {
  appName: string;
  appVersion?: string | undefined;
  functions: Uint8Array;
  featureObservations: Uint8Array;
}

export function writeAppConfiguration(w: CodecWriter, m: Readonly<AppConfiguration>): void {
  if (m.appName) w.string(10, m.appName);
  if (m.appVersion !== undefined) w.string(18, m.appVersion);
  if (m.functions?.length) w.bytes(34, m.functions);
  if (m.featureObservations?.length) w.bytes(42, m.featureObservations);
}

export function readAppConfiguration(r: CodecReader, end = r.end): AppConfiguration {
  const m: AppConfiguration = { appName: "", functions: NO_BYTES, featureObservations: NO_BYTES };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.appName = r.string();
        break;
      case 18:
        m.appVersion = r.string();
        break;
      case 34:
        m.functions = r.bytes();
        break;
      case 42:
        m.featureObservations = r.bytes();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface FeatureObservations {
  aiMetadataExtraction?: AIMetadataExtraction | undefined;
  extendedTraces?: ExtendedTraces | undefined;
  sendEvents?: SendEvents | undefined;
}

export function writeFeatureObservations(w: CodecWriter, m: Readonly<FeatureObservations>): void {
  if (m.aiMetadataExtraction !== undefined) w.message(10, writeAIMetadataExtraction, m.aiMetadataExtraction);
  if (m.extendedTraces !== undefined) w.message(18, writeExtendedTraces, m.extendedTraces);
  if (m.sendEvents !== undefined) w.message(26, writeSendEvents, m.sendEvents);
}

export function readFeatureObservations(r: CodecReader, end = r.end): FeatureObservations {
  const m: FeatureObservations = {  };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.aiMetadataExtraction = readAIMetadataExtraction(r, r.endOfMessage());
        break;
      case 18:
        m.extendedTraces = readExtendedTraces(r, r.endOfMessage());
        break;
      case 26:
        m.sendEvents = readSendEvents(r, r.endOfMessage());
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface AIMetadataExtraction {
  readinessReason: number;
  otelSetup?: OTelSetup | undefined;
}

export function writeAIMetadataExtraction(w: CodecWriter, m: Readonly<AIMetadataExtraction>): void {
  if (m.readinessReason) w.int32(8, m.readinessReason);
  if (m.otelSetup !== undefined) w.message(18, writeOTelSetup, m.otelSetup);
}

export function readAIMetadataExtraction(r: CodecReader, end = r.end): AIMetadataExtraction {
  const m: AIMetadataExtraction = { readinessReason: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.readinessReason = r.int32();
        break;
      case 18:
        m.otelSetup = readOTelSetup(r, r.endOfMessage());
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface ExtendedTraces {
  readinessReason: number;
  config?: ExtendedTracesConfig | undefined;
  otelSetup?: OTelSetup | undefined;
}

export function writeExtendedTraces(w: CodecWriter, m: Readonly<ExtendedTraces>): void {
  if (m.readinessReason) w.int32(8, m.readinessReason);
  if (m.config !== undefined) w.message(18, writeExtendedTracesConfig, m.config);
  if (m.otelSetup !== undefined) w.message(26, writeOTelSetup, m.otelSetup);
}

export function readExtendedTraces(r: CodecReader, end = r.end): ExtendedTraces {
  const m: ExtendedTraces = { readinessReason: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.readinessReason = r.int32();
        break;
      case 18:
        m.config = readExtendedTracesConfig(r, r.endOfMessage());
        break;
      case 26:
        m.otelSetup = readOTelSetup(r, r.endOfMessage());
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface ExtendedTracesConfig {
  behavior: number;
}

export function writeExtendedTracesConfig(w: CodecWriter, m: Readonly<ExtendedTracesConfig>): void {
  if (m.behavior) w.int32(8, m.behavior);
}

export function readExtendedTracesConfig(r: CodecReader, end = r.end): ExtendedTracesConfig {
  const m: ExtendedTracesConfig = { behavior: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.behavior = r.int32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface SendEvents {
  readinessReason: number;
  config?: SendEventsConfig | undefined;
}

export function writeSendEvents(w: CodecWriter, m: Readonly<SendEvents>): void {
  if (m.readinessReason) w.int32(8, m.readinessReason);
  if (m.config !== undefined) w.message(18, writeSendEventsConfig, m.config);
}

export function readSendEvents(r: CodecReader, end = r.end): SendEvents {
  const m: SendEvents = { readinessReason: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.readinessReason = r.int32();
        break;
      case 18:
        m.config = readSendEventsConfig(r, r.endOfMessage());
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface SendEventsConfig {
  eventKeyConfigured: boolean;
  eventApiOriginOverrideConfigured: boolean;
}

export function writeSendEventsConfig(w: CodecWriter, m: Readonly<SendEventsConfig>): void {
  if (m.eventKeyConfigured) w.bool(8, m.eventKeyConfigured);
  if (m.eventApiOriginOverrideConfigured) w.bool(16, m.eventApiOriginOverrideConfigured);
}

export function readSendEventsConfig(r: CodecReader, end = r.end): SendEventsConfig {
  const m: SendEventsConfig = { eventKeyConfigured: false, eventApiOriginOverrideConfigured: false };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.eventKeyConfigured = r.bool();
        break;
      case 16:
        m.eventApiOriginOverrideConfigured = r.bool();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface OTelSetup {
  path: number;
  providerFound: boolean;
  providerSource: number;
  addSpanProcessorAttempted: boolean;
  spanProcessorAdded: boolean;
  failure: number;
}

export function writeOTelSetup(w: CodecWriter, m: Readonly<OTelSetup>): void {
  if (m.path) w.int32(8, m.path);
  if (m.providerFound) w.bool(16, m.providerFound);
  if (m.providerSource) w.int32(24, m.providerSource);
  if (m.addSpanProcessorAttempted) w.bool(32, m.addSpanProcessorAttempted);
  if (m.spanProcessorAdded) w.bool(40, m.spanProcessorAdded);
  if (m.failure) w.int32(48, m.failure);
}

export function readOTelSetup(r: CodecReader, end = r.end): OTelSetup {
  const m: OTelSetup = { path: 0, providerFound: false, providerSource: 0, addSpanProcessorAttempted: false, spanProcessorAdded: false, failure: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.path = r.int32();
        break;
      case 16:
        m.providerFound = r.bool();
        break;
      case 24:
        m.providerSource = r.int32();
        break;
      case 32:
        m.addSpanProcessorAttempted = r.bool();
        break;
      case 40:
        m.spanProcessorAdded = r.bool();
        break;
      case 48:
        m.failure = r.int32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerConnectRequestData {
  connectionId: string;
  instanceId: string;
  authData?: AuthData | undefined;
  capabilities: Uint8Array;
  apps: readonly AppConfiguration[];
  workerManualReadinessAck: boolean;
  systemAttributes?: SystemAttributes | undefined;
  environment?: string | undefined;
  framework: string;
  platform?: string | undefined;
  sdkVersion: string;
  sdkLanguage: string;
  startedAt?: Timestamp | undefined;
  maxWorkerConcurrency?: number | undefined;
}

export function writeWorkerConnectRequestData(w: CodecWriter, m: Readonly<WorkerConnectRequestData>): void {
  if (m.connectionId) w.string(10, m.connectionId);
  if (m.instanceId) w.string(18, m.instanceId);
  if (m.authData !== undefined) w.message(26, writeAuthData, m.authData);
  if (m.capabilities?.length) w.bytes(34, m.capabilities);
  for (const each of m.apps) w.message(42, writeAppConfiguration, each);
  if (m.workerManualReadinessAck) w.bool(48, m.workerManualReadinessAck);
  if (m.systemAttributes !== undefined) w.message(58, writeSystemAttributes, m.systemAttributes);
  if (m.environment !== undefined) w.string(66, m.environment);
  if (m.framework) w.string(74, m.framework);
  if (m.platform !== undefined) w.string(82, m.platform);
  if (m.sdkVersion) w.string(90, m.sdkVersion);
  if (m.sdkLanguage) w.string(98, m.sdkLanguage);
  if (m.startedAt !== undefined) w.message(106, writeTimestamp, m.startedAt);
  if (m.maxWorkerConcurrency !== undefined) w.int64(112, m.maxWorkerConcurrency);
}

export function readWorkerConnectRequestData(r: CodecReader, end = r.end): WorkerConnectRequestData {
  const apps: AppConfiguration[] = [];
  const m: WorkerConnectRequestData = { connectionId: "", instanceId: "", capabilities: NO_BYTES, workerManualReadinessAck: false, framework: "", sdkVersion: "", sdkLanguage: "", apps };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.connectionId = r.string();
        break;
      case 18:
        m.instanceId = r.string();
        break;
      case 26:
        m.authData = readAuthData(r, r.endOfMessage());
        break;
      case 34:
        m.capabilities = r.bytes();
        break;
      case 42:
        apps.push(readAppConfiguration(r, r.endOfMessage()));
        break;
      case 48:
        m.workerManualReadinessAck = r.bool();
        break;
      case 58:
        m.systemAttributes = readSystemAttributes(r, r.endOfMessage());
        break;
      case 66:
        m.environment = r.string();
        break;
      case 74:
        m.framework = r.string();
        break;
      case 82:
        m.platform = r.string();
        break;
      case 90:
        m.sdkVersion = r.string();
        break;
      case 98:
        m.sdkLanguage = r.string();
        break;
      case 106:
        m.startedAt = readTimestamp(r, r.endOfMessage());
        break;
      case 112:
        m.maxWorkerConcurrency = r.int64();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface GatewayConnectionReadyData {
  heartbeatInterval: string;
  extendLeaseInterval: string;
  statusInterval: string;
  extensions: readonly string[];
}

export function writeGatewayConnectionReadyData(w: CodecWriter, m: Readonly<GatewayConnectionReadyData>): void {
  if (m.heartbeatInterval) w.string(10, m.heartbeatInterval);
  if (m.extendLeaseInterval) w.string(18, m.extendLeaseInterval);
  if (m.statusInterval) w.string(26, m.statusInterval);
  for (const each of m.extensions) w.string(8002, each);
}

export function readGatewayConnectionReadyData(r: CodecReader, end = r.end): GatewayConnectionReadyData {
  const extensions: string[] = [];
  const m: GatewayConnectionReadyData = { heartbeatInterval: "", extendLeaseInterval: "", statusInterval: "", extensions };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.heartbeatInterval = r.string();
        break;
      case 18:
        m.extendLeaseInterval = r.string();
        break;
      case 26:
        m.statusInterval = r.string();
        break;
      case 8002:
        extensions.push(r.string());
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface SystemError {
  code: string;
  data?: Uint8Array | undefined;
  message: string;
}

export function writeSystemError(w: CodecWriter, m: Readonly<SystemError>): void {
  if (m.code) w.string(10, m.code);
  if (m.data !== undefined) w.bytes(18, m.data);
  if (m.message) w.string(26, m.message);
}

export function readSystemError(r: CodecReader, end = r.end): SystemError {
  const m: SystemError = { code: "", message: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.code = r.string();
        break;
      case 18:
        m.data = r.bytes();
        break;
      case 26:
        m.message = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface GatewayExecutorRequestData {
  requestId: string;
  accountId: string;
  envId: string;
  appId: string;
  appName: string;
  functionId: string;
  functionSlug: string;
  stepId?: string | undefined;
  requestPayload: Uint8Array;
  systemTraceCtx: Uint8Array;
  userTraceCtx: Uint8Array;
  runId: string;
  leaseId: string;
  jobId: string;
}

export function writeGatewayExecutorRequestData(w: CodecWriter, m: Readonly<GatewayExecutorRequestData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.accountId) w.string(18, m.accountId);
  if (m.envId) w.string(26, m.envId);
  if (m.appId) w.string(34, m.appId);
  if (m.appName) w.string(42, m.appName);
  if (m.functionId) w.string(50, m.functionId);
  if (m.functionSlug) w.string(58, m.functionSlug);
  if (m.stepId !== undefined) w.string(66, m.stepId);
  if (m.requestPayload?.length) w.bytes(74, m.requestPayload);
  if (m.systemTraceCtx?.length) w.bytes(82, m.systemTraceCtx);
  if (m.userTraceCtx?.length) w.bytes(90, m.userTraceCtx);
  if (m.runId) w.string(98, m.runId);
  if (m.leaseId) w.string(106, m.leaseId);
  if (m.jobId) w.string(114, m.jobId);
}

export function readGatewayExecutorRequestData(r: CodecReader, end = r.end): GatewayExecutorRequestData {
  const m: GatewayExecutorRequestData = { requestId: "", accountId: "", envId: "", appId: "", appName: "", functionId: "", functionSlug: "", requestPayload: NO_BYTES, systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES, runId: "", leaseId: "", jobId: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.accountId = r.string();
        break;
      case 26:
        m.envId = r.string();
        break;
      case 34:
        m.appId = r.string();
        break;
      case 42:
        m.appName = r.string();
        break;
      case 50:
        m.functionId = r.string();
        break;
      case 58:
        m.functionSlug = r.string();
        break;
      case 66:
        m.stepId = r.string();
        break;
      case 74:
        m.requestPayload = r.bytes();
        break;
      case 82:
        m.systemTraceCtx = r.bytes();
        break;
      case 90:
        m.userTraceCtx = r.bytes();
        break;
      case 98:
        m.runId = r.string();
        break;
      case 106:
        m.leaseId = r.string();
        break;
      case 114:
        m.jobId = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerRequestAckData {
  requestId: string;
  accountId: string;
  envId: string;
  appId: string;
  functionSlug: string;
  stepId?: string | undefined;
  systemTraceCtx: Uint8Array;
  userTraceCtx: Uint8Array;
  runId: string;
}

export function writeWorkerRequestAckData(w: CodecWriter, m: Readonly<WorkerRequestAckData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.accountId) w.string(18, m.accountId);
  if (m.envId) w.string(26, m.envId);
  if (m.appId) w.string(34, m.appId);
  if (m.functionSlug) w.string(42, m.functionSlug);
  if (m.stepId !== undefined) w.string(50, m.stepId);
  if (m.systemTraceCtx?.length) w.bytes(58, m.systemTraceCtx);
  if (m.userTraceCtx?.length) w.bytes(66, m.userTraceCtx);
  if (m.runId) w.string(74, m.runId);
}

export function readWorkerRequestAckData(r: CodecReader, end = r.end): WorkerRequestAckData {
  const m: WorkerRequestAckData = { requestId: "", accountId: "", envId: "", appId: "", functionSlug: "", systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES, runId: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.accountId = r.string();
        break;
      case 26:
        m.envId = r.string();
        break;
      case 34:
        m.appId = r.string();
        break;
      case 42:
        m.functionSlug = r.string();
        break;
      case 50:
        m.stepId = r.string();
        break;
      case 58:
        m.systemTraceCtx = r.bytes();
        break;
      case 66:
        m.userTraceCtx = r.bytes();
        break;
      case 74:
        m.runId = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerRequestExtendLeaseData {
  requestId: string;
  accountId: string;
  envId: string;
  appId: string;
  functionSlug: string;
  stepId?: string | undefined;
  systemTraceCtx: Uint8Array;
  userTraceCtx: Uint8Array;
  runId: string;
  leaseId: string;
  runningSteps: readonly RunningStep[];
}

export function writeWorkerRequestExtendLeaseData(w: CodecWriter, m: Readonly<WorkerRequestExtendLeaseData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.accountId) w.string(18, m.accountId);
  if (m.envId) w.string(26, m.envId);
  if (m.appId) w.string(34, m.appId);
  if (m.functionSlug) w.string(42, m.functionSlug);
  if (m.stepId !== undefined) w.string(50, m.stepId);
  if (m.systemTraceCtx?.length) w.bytes(58, m.systemTraceCtx);
  if (m.userTraceCtx?.length) w.bytes(66, m.userTraceCtx);
  if (m.runId) w.string(74, m.runId);
  if (m.leaseId) w.string(82, m.leaseId);
  for (const each of m.runningSteps) w.message(8002, writeRunningStep, each);
}

export function readWorkerRequestExtendLeaseData(r: CodecReader, end = r.end): WorkerRequestExtendLeaseData {
  const runningSteps: RunningStep[] = [];
  const m: WorkerRequestExtendLeaseData = { requestId: "", accountId: "", envId: "", appId: "", functionSlug: "", systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES, runId: "", leaseId: "", runningSteps };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.accountId = r.string();
        break;
      case 26:
        m.envId = r.string();
        break;
      case 34:
        m.appId = r.string();
        break;
      case 42:
        m.functionSlug = r.string();
        break;
      case 50:
        m.stepId = r.string();
        break;
      case 58:
        m.systemTraceCtx = r.bytes();
        break;
      case 66:
        m.userTraceCtx = r.bytes();
        break;
      case 74:
        m.runId = r.string();
        break;
      case 82:
        m.leaseId = r.string();
        break;
      case 8002:
        runningSteps.push(readRunningStep(r, r.endOfMessage()));
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface RunningStep {
  id: string;
  runningMs: number;
}

export function writeRunningStep(w: CodecWriter, m: Readonly<RunningStep>): void {
  if (m.id) w.string(10, m.id);
  if (m.runningMs) w.uint32(16, m.runningMs);
}

export function readRunningStep(r: CodecReader, end = r.end): RunningStep {
  const m: RunningStep = { id: "", runningMs: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.id = r.string();
        break;
      case 16:
        m.runningMs = r.uint32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerRequestExtendLeaseAckData {
  requestId: string;
  accountId: string;
  envId: string;
  appId: string;
  functionSlug: string;
  newLeaseId?: string | undefined;
}

export function writeWorkerRequestExtendLeaseAckData(w: CodecWriter, m: Readonly<WorkerRequestExtendLeaseAckData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.accountId) w.string(18, m.accountId);
  if (m.envId) w.string(26, m.envId);
  if (m.appId) w.string(34, m.appId);
  if (m.functionSlug) w.string(42, m.functionSlug);
  if (m.newLeaseId !== undefined) w.string(50, m.newLeaseId);
}

export function readWorkerRequestExtendLeaseAckData(r: CodecReader, end = r.end): WorkerRequestExtendLeaseAckData {
  const m: WorkerRequestExtendLeaseAckData = { requestId: "", accountId: "", envId: "", appId: "", functionSlug: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.accountId = r.string();
        break;
      case 26:
        m.envId = r.string();
        break;
      case 34:
        m.appId = r.string();
        break;
      case 42:
        m.functionSlug = r.string();
        break;
      case 50:
        m.newLeaseId = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface SDKResponse {
  requestId: string;
  accountId: string;
  envId: string;
  appId: string;
  status: number;
  body: Uint8Array;
  noRetry: boolean;
  retryAfter?: string | undefined;
  sdkVersion: string;
  requestVersion: number;
  systemTraceCtx: Uint8Array;
  userTraceCtx: Uint8Array;
  runId: string;
}

export function writeSDKResponse(w: CodecWriter, m: Readonly<SDKResponse>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.accountId) w.string(18, m.accountId);
  if (m.envId) w.string(26, m.envId);
  if (m.appId) w.string(34, m.appId);
  if (m.status) w.int32(40, m.status);
  if (m.body?.length) w.bytes(50, m.body);
  if (m.noRetry) w.bool(56, m.noRetry);
  if (m.retryAfter !== undefined) w.string(66, m.retryAfter);
  if (m.sdkVersion) w.string(74, m.sdkVersion);
  if (m.requestVersion) w.uint32(80, m.requestVersion);
  if (m.systemTraceCtx?.length) w.bytes(90, m.systemTraceCtx);
  if (m.userTraceCtx?.length) w.bytes(98, m.userTraceCtx);
  if (m.runId) w.string(106, m.runId);
}

export function readSDKResponse(r: CodecReader, end = r.end): SDKResponse {
  const m: SDKResponse = { requestId: "", accountId: "", envId: "", appId: "", status: 0, body: NO_BYTES, noRetry: false, sdkVersion: "", requestVersion: 0, systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES, runId: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.accountId = r.string();
        break;
      case 26:
        m.envId = r.string();
        break;
      case 34:
        m.appId = r.string();
        break;
      case 40:
        m.status = r.int32();
        break;
      case 50:
        m.body = r.bytes();
        break;
      case 56:
        m.noRetry = r.bool();
        break;
      case 66:
        m.retryAfter = r.string();
        break;
      case 74:
        m.sdkVersion = r.string();
        break;
      case 80:
        m.requestVersion = r.uint32();
        break;
      case 90:
        m.systemTraceCtx = r.bytes();
        break;
      case 98:
        m.userTraceCtx = r.bytes();
        break;
      case 106:
        m.runId = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerReplyAckData {
  requestId: string;
}

export function writeWorkerReplyAckData(w: CodecWriter, m: Readonly<WorkerReplyAckData>): void {
  if (m.requestId) w.string(10, m.requestId);
}

export function readWorkerReplyAckData(r: CodecReader, end = r.end): WorkerReplyAckData {
  const m: WorkerReplyAckData = { requestId: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerStatusData {
  inFlightRequestIds: readonly string[];
  shutdownRequested: boolean;
}

export function writeWorkerStatusData(w: CodecWriter, m: Readonly<WorkerStatusData>): void {
  for (const each of m.inFlightRequestIds) w.string(10, each);
  if (m.shutdownRequested) w.bool(16, m.shutdownRequested);
}

export function readWorkerStatusData(r: CodecReader, end = r.end): WorkerStatusData {
  const inFlightRequestIds: string[] = [];
  const m: WorkerStatusData = { shutdownRequested: false, inFlightRequestIds };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        inFlightRequestIds.push(r.string());
        break;
      case 16:
        m.shutdownRequested = r.bool();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerCheckpointData {
  requestId: string;
  runId: string;
  leaseId: string;
  sequence: number;
  ops: Uint8Array;
}

export function writeWorkerCheckpointData(w: CodecWriter, m: Readonly<WorkerCheckpointData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.runId) w.string(18, m.runId);
  if (m.leaseId) w.string(26, m.leaseId);
  if (m.sequence) w.uint32(32, m.sequence);
  if (m.ops?.length) w.bytes(42, m.ops);
}

export function readWorkerCheckpointData(r: CodecReader, end = r.end): WorkerCheckpointData {
  const m: WorkerCheckpointData = { requestId: "", runId: "", leaseId: "", sequence: 0, ops: NO_BYTES };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.runId = r.string();
        break;
      case 26:
        m.leaseId = r.string();
        break;
      case 32:
        m.sequence = r.uint32();
        break;
      case 42:
        m.ops = r.bytes();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface GatewayCheckpointAckData {
  requestId: string;
  sequence: number;
  outcome: number;
  message: string;
}

export function writeGatewayCheckpointAckData(w: CodecWriter, m: Readonly<GatewayCheckpointAckData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.sequence) w.uint32(16, m.sequence);
  if (m.outcome) w.int32(24, m.outcome);
  if (m.message) w.string(34, m.message);
}

export function readGatewayCheckpointAckData(r: CodecReader, end = r.end): GatewayCheckpointAckData {
  const m: GatewayCheckpointAckData = { requestId: "", sequence: 0, outcome: 0, message: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 16:
        m.sequence = r.uint32();
        break;
      case 24:
        m.outcome = r.int32();
        break;
      case 34:
        m.message = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerRequestNackData {
  requestId: string;
  runId: string;
  leaseId: string;
  reason: number;
  message: string;
}

export function writeWorkerRequestNackData(w: CodecWriter, m: Readonly<WorkerRequestNackData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.runId) w.string(18, m.runId);
  if (m.leaseId) w.string(26, m.leaseId);
  if (m.reason) w.int32(32, m.reason);
  if (m.message) w.string(42, m.message);
}

export function readWorkerRequestNackData(r: CodecReader, end = r.end): WorkerRequestNackData {
  const m: WorkerRequestNackData = { requestId: "", runId: "", leaseId: "", reason: 0, message: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.runId = r.string();
        break;
      case 26:
        m.leaseId = r.string();
        break;
      case 32:
        m.reason = r.int32();
        break;
      case 42:
        m.message = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface GatewayCancelData {
  requestId: string;
  reason: string;
}

export function writeGatewayCancelData(w: CodecWriter, m: Readonly<GatewayCancelData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.reason) w.string(18, m.reason);
}

export function readGatewayCancelData(r: CodecReader, end = r.end): GatewayCancelData {
  const m: GatewayCancelData = { requestId: "", reason: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.reason = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface GatewayResultsData {
  requestId: string;
  results: string;
  offset: number;
}

export function writeGatewayResultsData(w: CodecWriter, m: Readonly<GatewayResultsData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.results) w.string(18, m.results);
  if (m.offset) w.uint32(24, m.offset);
}

export function readGatewayResultsData(r: CodecReader, end = r.end): GatewayResultsData {
  const m: GatewayResultsData = { requestId: "", results: "", offset: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.results = r.string();
        break;
      case 24:
        m.offset = r.uint32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerStallData {
  requestId: string;
  runId: string;
  functionSlug: string;
  stepId: string;
  stalledMs: number;
  stack: string;
  ended: boolean;
  location: string;
  codeName: string;
  sequence: number;
  suppressed: number;
  waiting: number;
  leasesGivenUp: boolean;
  waitedMs: number;
  noCpu: boolean;
}

export function writeWorkerStallData(w: CodecWriter, m: Readonly<WorkerStallData>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.runId) w.string(18, m.runId);
  if (m.functionSlug) w.string(26, m.functionSlug);
  if (m.stepId) w.string(34, m.stepId);
  if (m.stalledMs) w.uint32(40, m.stalledMs);
  if (m.stack) w.string(50, m.stack);
  if (m.ended) w.bool(56, m.ended);
  if (m.location) w.string(66, m.location);
  if (m.codeName) w.string(74, m.codeName);
  if (m.sequence) w.uint32(80, m.sequence);
  if (m.suppressed) w.uint32(88, m.suppressed);
  if (m.waiting) w.uint32(96, m.waiting);
  if (m.leasesGivenUp) w.bool(104, m.leasesGivenUp);
  if (m.waitedMs) w.uint32(112, m.waitedMs);
  if (m.noCpu) w.bool(120, m.noCpu);
}

export function readWorkerStallData(r: CodecReader, end = r.end): WorkerStallData {
  const m: WorkerStallData = { requestId: "", runId: "", functionSlug: "", stepId: "", stalledMs: 0, stack: "", ended: false, location: "", codeName: "", sequence: 0, suppressed: 0, waiting: 0, leasesGivenUp: false, waitedMs: 0, noCpu: false };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.runId = r.string();
        break;
      case 26:
        m.functionSlug = r.string();
        break;
      case 34:
        m.stepId = r.string();
        break;
      case 40:
        m.stalledMs = r.uint32();
        break;
      case 50:
        m.stack = r.string();
        break;
      case 56:
        m.ended = r.bool();
        break;
      case 66:
        m.location = r.string();
        break;
      case 74:
        m.codeName = r.string();
        break;
      case 80:
        m.sequence = r.uint32();
        break;
      case 88:
        m.suppressed = r.uint32();
        break;
      case 96:
        m.waiting = r.uint32();
        break;
      case 104:
        m.leasesGivenUp = r.bool();
        break;
      case 112:
        m.waitedMs = r.uint32();
        break;
      case 120:
        m.noCpu = r.bool();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerStateData {
  phase: number;
  mainLagMs: number;
  roundTripMs?: number | undefined;
  unansweredHeartbeats: number;
  inFlight: number;
  requests: readonly WorkerStateRequest[];
  outboxCount: number;
  outboxBytes: number;
  outboxFull: boolean;
  reconnectAttempts: number;
  crashes: number;
  lastErrorCode: string;
  lastError: string;
  stalls: number;
  stallsUnseen: boolean;
  logsDropped: number;
  pool?: WorkerPool | undefined;
  process?: WorkerProcess | undefined;
  transitions: readonly WorkerTransition[];
}

export function writeWorkerStateData(w: CodecWriter, m: Readonly<WorkerStateData>): void {
  if (m.phase) w.int32(8, m.phase);
  if (m.mainLagMs) w.uint32(16, m.mainLagMs);
  if (m.roundTripMs !== undefined) w.uint32(24, m.roundTripMs);
  if (m.unansweredHeartbeats) w.uint32(32, m.unansweredHeartbeats);
  if (m.inFlight) w.uint32(40, m.inFlight);
  for (const each of m.requests) w.message(50, writeWorkerStateRequest, each);
  if (m.outboxCount) w.uint32(56, m.outboxCount);
  if (m.outboxBytes) w.int64(64, m.outboxBytes);
  if (m.outboxFull) w.bool(72, m.outboxFull);
  if (m.reconnectAttempts) w.uint32(80, m.reconnectAttempts);
  if (m.crashes) w.uint32(88, m.crashes);
  if (m.lastErrorCode) w.string(98, m.lastErrorCode);
  if (m.lastError) w.string(106, m.lastError);
  if (m.stalls) w.uint32(112, m.stalls);
  if (m.stallsUnseen) w.bool(120, m.stallsUnseen);
  if (m.logsDropped) w.uint32(128, m.logsDropped);
  if (m.pool !== undefined) w.message(138, writeWorkerPool, m.pool);
  if (m.process !== undefined) w.message(146, writeWorkerProcess, m.process);
  for (const each of m.transitions) w.message(154, writeWorkerTransition, each);
}

export function readWorkerStateData(r: CodecReader, end = r.end): WorkerStateData {
  const requests: WorkerStateRequest[] = [];
  const transitions: WorkerTransition[] = [];
  const m: WorkerStateData = { phase: 0, mainLagMs: 0, unansweredHeartbeats: 0, inFlight: 0, outboxCount: 0, outboxBytes: 0, outboxFull: false, reconnectAttempts: 0, crashes: 0, lastErrorCode: "", lastError: "", stalls: 0, stallsUnseen: false, logsDropped: 0, requests, transitions };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.phase = r.int32();
        break;
      case 16:
        m.mainLagMs = r.uint32();
        break;
      case 24:
        m.roundTripMs = r.uint32();
        break;
      case 32:
        m.unansweredHeartbeats = r.uint32();
        break;
      case 40:
        m.inFlight = r.uint32();
        break;
      case 50:
        requests.push(readWorkerStateRequest(r, r.endOfMessage()));
        break;
      case 56:
        m.outboxCount = r.uint32();
        break;
      case 64:
        m.outboxBytes = r.int64();
        break;
      case 72:
        m.outboxFull = r.bool();
        break;
      case 80:
        m.reconnectAttempts = r.uint32();
        break;
      case 88:
        m.crashes = r.uint32();
        break;
      case 98:
        m.lastErrorCode = r.string();
        break;
      case 106:
        m.lastError = r.string();
        break;
      case 112:
        m.stalls = r.uint32();
        break;
      case 120:
        m.stallsUnseen = r.bool();
        break;
      case 128:
        m.logsDropped = r.uint32();
        break;
      case 138:
        m.pool = readWorkerPool(r, r.endOfMessage());
        break;
      case 146:
        m.process = readWorkerProcess(r, r.endOfMessage());
        break;
      case 154:
        transitions.push(readWorkerTransition(r, r.endOfMessage()));
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerStateRequest {
  requestId: string;
  runId: string;
  functionSlug: string;
  replied: boolean;
  ageMs: number;
  leaseAgeMs: number;
}

export function writeWorkerStateRequest(w: CodecWriter, m: Readonly<WorkerStateRequest>): void {
  if (m.requestId) w.string(10, m.requestId);
  if (m.runId) w.string(18, m.runId);
  if (m.functionSlug) w.string(26, m.functionSlug);
  if (m.replied) w.bool(32, m.replied);
  if (m.ageMs) w.uint32(40, m.ageMs);
  if (m.leaseAgeMs) w.uint32(48, m.leaseAgeMs);
}

export function readWorkerStateRequest(r: CodecReader, end = r.end): WorkerStateRequest {
  const m: WorkerStateRequest = { requestId: "", runId: "", functionSlug: "", replied: false, ageMs: 0, leaseAgeMs: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 10:
        m.requestId = r.string();
        break;
      case 18:
        m.runId = r.string();
        break;
      case 26:
        m.functionSlug = r.string();
        break;
      case 32:
        m.replied = r.bool();
        break;
      case 40:
        m.ageMs = r.uint32();
        break;
      case 48:
        m.leaseAgeMs = r.uint32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerPool {
  threads: number;
  busy: number;
  queued: number;
  oldestMs?: number | undefined;
  overruns: number;
  crashes: number;
  recycled: number;
  abandoned: number;
}

export function writeWorkerPool(w: CodecWriter, m: Readonly<WorkerPool>): void {
  if (m.threads) w.uint32(8, m.threads);
  if (m.busy) w.uint32(16, m.busy);
  if (m.queued) w.uint32(24, m.queued);
  if (m.oldestMs !== undefined) w.uint32(32, m.oldestMs);
  if (m.overruns) w.uint32(40, m.overruns);
  if (m.crashes) w.uint32(48, m.crashes);
  if (m.recycled) w.uint32(56, m.recycled);
  if (m.abandoned) w.uint32(64, m.abandoned);
}

export function readWorkerPool(r: CodecReader, end = r.end): WorkerPool {
  const m: WorkerPool = { threads: 0, busy: 0, queued: 0, overruns: 0, crashes: 0, recycled: 0, abandoned: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.threads = r.uint32();
        break;
      case 16:
        m.busy = r.uint32();
        break;
      case 24:
        m.queued = r.uint32();
        break;
      case 32:
        m.oldestMs = r.uint32();
        break;
      case 40:
        m.overruns = r.uint32();
        break;
      case 48:
        m.crashes = r.uint32();
        break;
      case 56:
        m.recycled = r.uint32();
        break;
      case 64:
        m.abandoned = r.uint32();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerProcess {
  pid: number;
  rssBytes: number;
  cpuMs: number;
  uptimeMs: number;
}

export function writeWorkerProcess(w: CodecWriter, m: Readonly<WorkerProcess>): void {
  if (m.pid) w.uint32(8, m.pid);
  if (m.rssBytes) w.int64(16, m.rssBytes);
  if (m.cpuMs) w.int64(24, m.cpuMs);
  if (m.uptimeMs) w.int64(32, m.uptimeMs);
}

export function readWorkerProcess(r: CodecReader, end = r.end): WorkerProcess {
  const m: WorkerProcess = { pid: 0, rssBytes: 0, cpuMs: 0, uptimeMs: 0 };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.pid = r.uint32();
        break;
      case 16:
        m.rssBytes = r.int64();
        break;
      case 24:
        m.cpuMs = r.int64();
        break;
      case 32:
        m.uptimeMs = r.int64();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}

export interface WorkerTransition {
  atMs: number;
  event: string;
  from: string;
  to: string;
}

export function writeWorkerTransition(w: CodecWriter, m: Readonly<WorkerTransition>): void {
  if (m.atMs) w.int64(8, m.atMs);
  if (m.event) w.string(18, m.event);
  if (m.from) w.string(26, m.from);
  if (m.to) w.string(34, m.to);
}

export function readWorkerTransition(r: CodecReader, end = r.end): WorkerTransition {
  const m: WorkerTransition = { atMs: 0, event: "", from: "", to: "" };
  while (r.position < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        m.atMs = r.int64();
        break;
      case 18:
        m.event = r.string();
        break;
      case 26:
        m.from = r.string();
        break;
      case 34:
        m.to = r.string();
        break;
      default:
        r.skip(tag);
    }
  }
  return r.finish(m, end);
}
