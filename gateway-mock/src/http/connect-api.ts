/**
 * Routes of workers without a socket: start of a connection, replies and checkpoints by HTTP. What they carry goes to
 * `dispatch/queue/http-reports.ts`.
 */
import { HoldfastError } from "@holdfast/core";
import { readJson } from "@holdfast/engine";
import {
  CONNECT_PATH,
  decodeSdkResponse,
  decodeStartRequest,
  encodeFlushResponse,
  encodeStartResponse,
  FLUSH_PATH,
  isRecord,
  type Op,
  type OpName,
  parseJsonBytes,
  parseOps,
  START_PATH,
  WIRE_LIMITS,
} from "@holdfast/protocol";
import Type from "typebox";
import { GATEWAY_LIMITS } from "../config/config.ts";
import { type Dispatcher, settledOps } from "../dispatch/index.ts";
import type { AboutRequest } from "../faults/rules/fault-book.ts";
import type { RefusalStatus } from "../faults/rules/fault-rule.ts";
import { binaryAnswer, type DirectAnswer, type DirectRequest, type DirectRoute, jsonAnswer } from "./direct-route.ts";
import type { Bearer } from "./keys.ts";
import type { HttpParts } from "./parts.ts";

const BinarySchema = Type.String({ format: "binary", description: "A message of the connect protocol." });

/** What workers call: start, flush, and checkpoints of the plain protocol. */
export function connectRoutes(parts: HttpParts): DirectRoute[] {
  return [startRoute(parts), flushRoute(parts), checkpointRoute(parts)];
}

const CLOSING = "This gateway is shutting down; start again, another one will answer.";

function startRoute(parts: HttpParts): DirectRoute {
  return {
    description: {
      operationId: "startConnection",
      summary: "Answers a worker with the address of the socket and a session token for it.",
      tag: "worker protocol",
      body: { contentType: "application/octet-stream", schema: BinarySchema },
      answers: { 200: { contentType: "application/octet-stream", schema: BinarySchema } },
    },
    path: START_PATH,
    maxBodyBytes: WIRE_LIMITS.maxStartBodyBytes,
    answer: async (request) => {
      if (parts.isDraining()) throw new HoldfastError("GATEWAY_CLOSING", CLOSING);
      decodeStartRequest(await request.body());
      const refused = typeof parts.faults === "string" ? null : parts.faults.onStart();
      if (refused !== null) return refusedByFault(refused);
      return binaryAnswer(startAnswer(parts, endpoint(request), request.bearer, request.environment));
    },
  };
}

function flushRoute({ dispatcher, faults }: HttpParts): DirectRoute {
  return {
    description: {
      operationId: "flushReply",
      summary: "Takes a worker's reply that its socket could not carry.",
      tag: "worker protocol",
      body: { contentType: "application/octet-stream", schema: BinarySchema },
      answers: { 200: { contentType: "application/octet-stream", schema: BinarySchema } },
    },
    path: FLUSH_PATH,
    maxBodyBytes: dispatcher.isPlain ? WIRE_LIMITS.maxFlushBodyBytes : WIRE_LIMITS.maxReadBytes,
    answer: async (request) => {
      const body = await request.body();
      if (body.byteLength === 0) throw new HoldfastError("BODY_INVALID", "The body is empty; expected an SDKResponse.");
      if (dispatcher.isPlain) parseJsonBytes(decodeSdkResponse(body).systemTraceCtx, "`system_trace_ctx`");
      const refused = typeof faults === "string" ? null : faults.onFlush(aboutReply(body));
      if (refused !== null) return refusedByFault(refused);
      return binaryAnswer(await flushAnswer(dispatcher.httpReports, body, request.environment));
    },
  };
}

function checkpointRoute({ dispatcher }: HttpParts): DirectRoute {
  return {
    description: {
      operationId: "checkpointRun",
      summary: "Takes finished steps of a run while its pass goes on.",
      tag: "worker protocol",
      params: { runId: "The run's id." },
      body: { contentType: "application/json", schema: Type.Object({}, { additionalProperties: true }) },
      answers: { 200: null },
      failures: { 409: "Another worker has the work." },
    },
    path: "/v1/checkpoint/:runId/async",
    maxBodyBytes: GATEWAY_LIMITS.maxCheckpointBodyBytes,
    answer: async (request) => {
      const { item, ops } = await readCheckpoint(await request.body());
      const { param, environment } = request;
      const { outcome, message } = await dispatcher.httpReports.checkpoint(item, param, ops, environment);
      switch (outcome) {
        case "stored":
          return { status: 200, contentType: null, body: null };
        case "stale":
          return jsonAnswer({ error: message, code: "LEASE_LOST", status: 409 }, 409);
        case "invalid":
          return jsonAnswer({ error: message, code: "BODY_INVALID", status: 400 }, 400);
      }
    },
  };
}

function refusedByFault(status: RefusalStatus): DirectAnswer {
  const body = { error: "A fault that was asked for has refused this call.", code: "STORE_FAILED", status };
  return jsonAnswer(body, status);
}

/** What a reply is about: of a call, no connection is known. */
function aboutReply(body: Uint8Array): AboutRequest {
  const { runId } = decodeSdkResponse(body);
  return { connection: null, functionId: () => null, runId: () => runId, steps: () => [] };
}

/** The body of a successful start call. */
export function startAnswer(
  { keys, clock, gatewayId, newId }: Pick<HttpParts, "keys" | "clock" | "gatewayId" | "newId">,
  gatewayEndpoint: string,
  bearer: Bearer,
  environment: string,
): Uint8Array<ArrayBuffer> {
  const connectionId = newId();
  return encodeStartResponse({
    connectionId,
    gatewayEndpoint,
    gatewayGroup: `gw-${gatewayId.slice(-8).toLowerCase()}`,
    sessionToken: keys.sessionToken(bearer, environment, connectionId, clock.nowMs()),
    syncToken: "",
  }) as Uint8Array<ArrayBuffer>;
}

/**
 * Takes a reply that came by HTTP; the body of the answer once it is durable.
 * @throws HoldfastError `FRAME_INVALID`, `REQUEST_NOT_OWNED`, `STORE_FAILED`
 */
export async function flushAnswer(
  reports: Dispatcher["httpReports"],
  body: Uint8Array,
  environment: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const response = decodeSdkResponse(body);
  await reports.flush(response, environment);
  return encodeFlushResponse({ requestId: response.requestId }) as Uint8Array<ArrayBuffer>;
}

/** The address that the worker used, so that it works through port forwards and proxies. */
function endpoint({ url, header }: DirectRequest): string {
  const { protocol, host } = new URL(url);
  const secure = protocol === "https:" || header("x-forwarded-proto")?.split(",")[0]?.trim() === "https";
  return `${secure ? "wss" : "ws"}://${host}${CONNECT_PATH}`;
}

const CHECKPOINT_OPS: ReadonlySet<OpName> = new Set([
  "StepRun",
  "StepPlanned",
  "DeferAdd",
  "DeferAbort",
  "None",
  "Step",
] as const);

async function readCheckpoint(body: Uint8Array): Promise<{ item: string; ops: Op[] }> {
  const value = await readJson(body, { what: "The body", levels: 3 });
  if (!isRecord(value)) throw new HoldfastError("BODY_INVALID", "The body is not an object.");
  const item = typeof value.qi_id === "string" && value.qi_id !== "" ? value.qi_id : value.request_id;
  if (typeof item !== "string") throw new HoldfastError("BODY_INVALID", "`qi_id` and `request_id` are missing.");
  const ops = parseOps(await settledOps(value.steps, "steps"), "steps");
  const foreign = ops.find((op) => !CHECKPOINT_OPS.has(op.op));
  if (foreign) throw new HoldfastError("BODY_INVALID", `A checkpoint cannot hold ${foreign.op}.`);
  return { item, ops };
}
