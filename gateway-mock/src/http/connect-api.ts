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
import type { Context, Hono } from "hono";
import { GATEWAY_LIMITS } from "../config.ts";
import { type Dispatcher, settledOps } from "../dispatch/index.ts";
import { limitBody } from "./bodies.ts";
import { errorResponse } from "./errors.ts";
import type { Bearer } from "./keys.ts";
import type { HttpParts } from "./parts.ts";

const BINARY = { "Content-Type": "application/octet-stream" };

/** What workers call: start, flush, and checkpoints of the plain protocol. */
export function connectApi(app: Hono, parts: HttpParts): void {
  const { dispatcher } = parts;

  app.post(START_PATH, limitBody(WIRE_LIMITS.maxStartBodyBytes), async (c) => {
    if (parts.isDraining())
      return errorResponse(c, new HoldfastError("STORE_FAILED", "This gateway is shutting down."));
    decodeStartRequest(await bytes(c));
    return c.body(startAnswer(parts, endpoint(c), c.get("bearer"), c.get("environment")), 200, BINARY);
  });

  app.post(FLUSH_PATH, limitBody(WIRE_LIMITS.maxFlushBodyBytes), async (c) => {
    const body = await bytes(c);
    if (body.byteLength === 0) throw new HoldfastError("BODY_INVALID", "The body is empty; expected an SDKResponse.");
    if (dispatcher.isPlain) parseJsonBytes(decodeSdkResponse(body).systemTraceCtx, "`system_trace_ctx`");
    return c.body(await flushAnswer(dispatcher.httpReports, body, c.get("environment")), 200, BINARY);
  });

  app.post("/v1/checkpoint/:runId/async", limitBody(GATEWAY_LIMITS.maxCheckpointBodyBytes), async (c) => {
    const { item, ops } = await readCheckpoint(await bytes(c));
    const { outcome, message } = await dispatcher.httpReports.checkpoint(
      item,
      c.req.param("runId"),
      ops,
      c.get("environment"),
    );
    switch (outcome) {
      case "stored":
        return c.body(null, 200);
      case "stale":
        return c.json({ error: message, code: "LEASE_LOST", status: 409 }, 409);
      case "invalid":
        return c.json({ error: message, code: "BODY_INVALID", status: 400 }, 400);
    }
  });
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

async function bytes(c: Context): Promise<Uint8Array> {
  return new Uint8Array(await c.req.arrayBuffer());
}

/** The address that the worker used, so that it works through port forwards and proxies. */
function endpoint(c: Context): string {
  const url = new URL(c.req.url);
  const secure = url.protocol === "https:" || c.req.header("x-forwarded-proto")?.split(",")[0]?.trim() === "https";
  return `${secure ? "wss" : "ws"}://${url.host}${CONNECT_PATH}`;
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
