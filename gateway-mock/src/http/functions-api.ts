/** Routes that list the functions of the apps that have connected. */
import { DEFAULT_QUEUE } from "@holdfast/protocol";
import { type ListedConnection, plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { findFunction, type KnownFunction, workersOf } from "../dispatch/index.ts";
import { isProbe } from "../probe.ts";
import { describe } from "./openapi/describe-route.ts";
import { Ms, orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { PauseSchema, pauseFields } from "./pause-view.ts";

const Any = Type.Object({}, { additionalProperties: true });

const FunctionSchema = Type.Object(
  {
    id: Type.String({ description: "`<app>-<function>`." }),
    uuid: Type.String(),
    appId: Type.String(),
    active: Type.Boolean({ description: "False: the newest deployment of its app does not include it." }),
    appVersion: Type.String({ description: "The newest version of its app." }),
    versions: Type.Array(Type.String(), { description: "Versions of the last days that include it, newest first." }),
    queue: Type.String(),
    workers: Type.Integer({
      description: "How many connected workers serve it, at all gateways; with 0, its runs wait.",
    }),
    triggers: Type.Array(Any),
    maxAttempts: Type.Integer(),
    deadlineMs: orNull(Ms),
    finishTimeoutMs: orNull(Ms),
    startTimeoutMs: orNull(Ms),
    concurrency: Type.Array(Any),
    throttle: orNull(Any),
    rateLimits: Type.Array(Any),
    debounce: orNull(Any),
    batchEvents: orNull(Any),
    singleton: orNull(Any),
    priority: orNull(Type.String({ description: "An expression." })),
    cancelOn: Type.Array(Any),
    hints: Type.Array(Type.String(), {
      description: "What may be wrong with it, according to its app: event names that are probably misspelt.",
    }),
    paused: Type.Boolean({ description: "Whether none of its work is handed out: `POST /v1/functions/{id}/pause`." }),
    pause: PauseSchema,
  },
  { title: "Function" },
);

const LIST = describe({
  operationId: "listFunctions",
  summary: "Lists the functions of all apps that have connected.",
  tag: "functions",
  query: Type.Object({}),
  answers: { 200: Type.Object({ functions: Type.Array(FunctionSchema) }) },
});

const GET = describe({
  operationId: "getFunction",
  summary: "Shows a function: its triggers, options and versions.",
  tag: "functions",
  params: { id: "`<app>-<function>`, its uuid, or its own id where only one app has it." },
  answers: { 200: FunctionSchema },
  failures: { 404: "There is no such function; the message names similar ones." },
});

export function functionsApi(app: Hono, parts: HttpParts): void {
  const { dispatcher, store, version } = parts;
  const { functions: known } = dispatcher;
  const viewOf = (fn: KnownFunction, connections: readonly ListedConnection[]): object => ({
    ...functionView(fn, known.versionsOf(fn.id)),
    workers: workersOf(fn, known, connections, (id) => dispatcher.conditions.hasFunction(id, fn.id)),
    ...pauseFields(known.controls.pauseOf(fn.id)),
  });

  app.get("/v1/functions", LIST, async (c) => {
    await known.renewIfChanged();
    const here = listed(known.all(), c.get("environment"));
    here.sort((a, b) => (a.id < b.id ? -1 : 1));
    const connections = await store.listConnections();
    return c.json({ functions: here.map((fn) => viewOf(fn, connections)) });
  });

  app.get("/v1/functions/:id", GET, async (c) => {
    const fn = await findFunction(known, c.get("environment"), c.req.param("id"));
    return c.json(viewOf(fn, await store.listConnections()));
  });

  const dev = describe({
    operationId: "getDev",
    summary: "The gateway and its functions, as development tools expect to find them.",
    tag: "gateway",
    answers: {
      200: Type.Object({
        name: Type.String(),
        version: Type.String(),
        gatewayId: Type.String(),
        functions: Type.Array(
          Type.Object({
            id: Type.String(),
            appId: Type.String(),
            queue: Type.String(),
            triggers: Type.Array(Type.Object({}, { additionalProperties: true })),
          }),
        ),
      }),
    },
  });
  app.get("/dev", dev, (c) => {
    const here = listed(dispatcher.functions.all(), c.get("environment"));
    const functions = here.map(({ id, appId, settings: plan }) => ({
      id: plainName(id),
      appId: plainName(appId),
      queue: plan.queue ?? DEFAULT_QUEUE,
      triggers: plan.triggers,
    }));
    return c.json({ name: "holdfast-gateway", version, gatewayId: parts.gatewayId, functions });
  });
}

const listed = (all: Iterable<KnownFunction>, ofEnvironment: string): KnownFunction[] =>
  [...all].filter((fn) => fn.environment === ofEnvironment && !isProbe(fn));

function functionView(fn: KnownFunction, versions: readonly string[]): object {
  const { id, uuid, appId, active, appVersion, settings, maxAttempts, deadlineInMs, finishInMs, cancelRules } = fn;
  const {
    triggers,
    queue,
    batch,
    startTimeoutMs,
    concurrency,
    throttle,
    rateLimits,
    debounce,
    singleton,
    priority,
    hints,
  } = settings;
  return {
    id: plainName(id),
    uuid,
    appId: plainName(appId),
    active,
    appVersion,
    versions,
    queue: queue ?? DEFAULT_QUEUE,
    triggers,
    maxAttempts,
    deadlineMs: deadlineInMs,
    finishTimeoutMs: finishInMs,
    startTimeoutMs,
    concurrency,
    throttle,
    rateLimits,
    debounce,
    batchEvents: batch,
    singleton,
    priority,
    cancelOn: cancelRules,
    hints,
  };
}
