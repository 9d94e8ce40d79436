/** The route that starts a run of one function, and tells repeated requests the same run. */
import { HoldfastError, nearestName } from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import type { Hono } from "hono";
import Type from "typebox";
import { limitBody } from "./bodies.ts";
import { readSeed, SEED_HEADER } from "./events-api.ts";
import { readJsonBody } from "./json-body.ts";
import { describe } from "./openapi/describe-route.ts";
import { Json } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { Deadline, deadlineIn, Instant, instantIn } from "./read-instant.ts";

const BodySchema = Type.Object(
  {
    data: Type.Optional(Type.Object({}, { additionalProperties: true, description: "The `data` of its event." })),
    id: Type.Optional(
      Type.String({
        maxLength: 256,
        description: "A second call with the same id within 30 days refers to the same run of the function.",
      }),
    ),
    at: Type.Optional(Instant),
    deadline: Type.Optional(Deadline),
    appVersion: Type.Optional(
      Type.String({ description: "Starts with this version of the app instead of the newest." }),
    ),
    priority: Type.Optional(
      Type.Integer({ minimum: -600, maximum: 600, description: "By how many seconds it is put ahead of other runs." }),
    ),
    user: Type.Optional(Json),
    v: Type.Optional(Type.String()),
    meta: Type.Optional(Json),
    traceparent: Type.Optional(
      Type.String({ description: "The span it is started in (W3C Trace Context); default: the header of that name." }),
    ),
    tracestate: Type.Optional(Type.String()),
  },
  { title: "Invocation" },
);

const OutcomeSchema = Type.Union(
  [
    Type.Object({
      outcome: Type.Literal("started"),
      functionId: Type.String(),
      runId: Type.String(),
      eventId: Type.String(),
      isNew: Type.Boolean({ description: "False: an earlier request with this id started it." }),
    }),
    Type.Object({
      outcome: Type.Literal("skipped"),
      functionId: Type.String(),
      reason: Type.Enum(["rateLimit", "idempotency", "singleton"]),
      runId: Type.Union([Type.String({ description: "Of a singleton, the run that has its place." }), Type.Null()]),
    }),
    Type.Object({
      outcome: Type.Literal("postponed"),
      functionId: Type.String(),
      reason: Type.Enum(["debounce", "batchEvents"]),
      eventId: Type.String({ description: "A run will be made of it: `GET /v1/runs?eventId=...` finds it." }),
    }),
  ],
  { title: "InvocationOutcome" },
);

const FIELDS: readonly string[] = Object.keys(BodySchema.properties);

const INVOKE = describe({
  operationId: "invokeFunction",
  summary: "Starts a run of one function.",
  description:
    "The run is subject to the function's `rateLimit`, `idempotency`, `singleton`, `debounce` and `batchEvents`: `outcome` says what happened. The header `x-inngest-event-id-seed` identifies the request: if it is sent again with the same value, it counts once.",
  tag: "runs",
  params: { id: "The function: `<app>-<function>`, its uuid, or its own id where only one app has it." },
  body: { contentType: "application/json", schema: BodySchema },
  answers: { 200: OutcomeSchema },
  failures: { 404: "There is no such function; the message names similar ones." },
});

export function invocationsApi(app: Hono, { dispatcher }: Pick<HttpParts, "dispatcher">): void {
  app.post("/v1/functions/:id/runs", INVOKE, limitBody(WIRE_LIMITS.maxEventBytes), async (c) => {
    const bytes = new Uint8Array(await c.req.arrayBuffer());
    const body = bytes.byteLength === 0 ? {} : await readJsonBody(bytes);
    if (!isRecord(body)) throw new HoldfastError("BODY_INVALID", "The body must be an object.");
    checkFields(body);
    const { at, deadline, ...rest } = body;
    const seed = readSeed(c.req.header(SEED_HEADER));
    const atMs = instantIn("at", at);
    const outcome = await dispatcher.invoke({
      traceparent: c.req.header("traceparent"),
      tracestate: c.req.header("tracestate"),
      ...rest,
      environment: c.get("environment"),
      function: c.req.param("id"),
      ...(atMs === undefined ? {} : { atMs }),
      ...deadlineIn(deadline),
      ...(seed ? { seed } : {}),
    });
    return c.json(outcome);
  });
}

function checkFields(body: Record<string, unknown>): void {
  const unknown = Object.keys(body).find((name) => !FIELDS.includes(name));
  if (unknown === undefined) return;
  const near = nearestName(unknown, FIELDS);
  const hint = near === undefined ? "Valid are" : `Did you mean \`${near}\`? Valid are`;
  throw new HoldfastError(
    "BODY_INVALID",
    `There is no field \`${unknown.slice(0, 80)}\`. ${hint} ${FIELDS.join(", ")}.`,
  );
}
