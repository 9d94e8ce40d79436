/** Routes that list, show and cancel runs, and retry their compensations. */
import { HoldfastError } from "@holdfast/core";
import { qualify, RUN_STATUSES, type RunDetail, type RunFilter, type RunStatus } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";

import { answerJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { orNull, RunDetailSchema, RunSchema, RunStatusSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";
import { runDetailView, runView } from "./run-view.ts";
import { waitingView } from "./waiting-view.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
const MAX_DESCENDANTS = 100;

const QuerySchema = Type.Object({
  status: Type.Optional(RunStatusSchema),
  functionId: Type.Optional(Type.String({ description: "`<app>-<function>`." })),
  function: Type.Optional(Type.String({ description: "The same as `functionId`." })),
  eventId: Type.Optional(Type.String({ description: "Of an event: the runs that it has started." })),
  event: Type.Optional(Type.String({ description: "The same as `eventId`." })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  cursor: Type.Optional(Type.String({ description: "The `nextCursor` of the page before." })),
});

const LIST = describe({
  operationId: "listRuns",
  summary: "Lists runs, newest first.",
  tag: "runs",
  query: QuerySchema,
  answers: {
    200: Type.Object({ runs: Type.Array(RunSchema), nextCursor: orNull(Type.String()) }, { title: "RunPage" }),
  },
});

const GET = describe({
  operationId: "getRun",
  summary: "Shows a run with its steps, and why it waits.",
  tag: "runs",
  params: { id: "The run's id." },
  query: Type.Object({ log: Type.Optional(Type.String({ description: "`1`: also the log." })) }),
  answers: { 200: RunDetailSchema },
  failures: { 404: "There is no such run." },
});

const RETRY = describe({
  operationId: "retryCompensations",
  summary: "Makes a failed run try again what it could not undo.",
  tag: "runs",
  params: { id: "The run's id." },
  answers: {
    200: Type.Object({ retried: Type.Boolean({ description: "False: there was nothing to undo." }), run: RunSchema }),
  },
  failures: { 404: "There is no such run." },
});

const CANCEL = describe({
  operationId: "cancelRun",
  summary: "Cancels a run.",
  tag: "runs",
  params: { id: "The run's id." },
  answers: {
    200: Type.Object({ cancelled: Type.Boolean({ description: "False: it had ended already." }), run: RunSchema }),
  },
  failures: { 404: "There is no such run." },
});

/** What people, tests and dashboards read, and cancel. */
export function runsApi(app: Hono, parts: HttpParts): void {
  const { store, dispatcher } = parts;

  const runHere = (c: Context, id: string): Promise<RunDetail> => runOr404(c, id, (runId) => store.getRun(runId));

  app.get("/v1/runs", LIST, async (c) => {
    const page = await store.listRuns(readFilter(c));
    return answerJson(c, { runs: page.runs.map(runView), nextCursor: page.nextCursor });
  });

  app.get("/v1/runs/:id", GET, async (c) => {
    const id = c.req.param("id");
    const detail = await runHere(c, id);
    const waiting = await dispatcher.whyWaits(detail);
    const descendants = await store.descendantsOf(id, MAX_DESCENDANTS);
    return answerJson(c, {
      ...runDetailView(detail, c.req.query("log") === "1"),
      waiting: waitingView(waiting),
      descendants,
    });
  });

  app.post("/v1/runs/:id/compensations/retry", RETRY, async (c) => {
    const id = c.req.param("id");
    await runHere(c, id);
    const outcome = await dispatcher.retryCompensations(id);
    const detail = await runHere(c, id);
    return answerJson(c, { retried: outcome === "won", run: runView(detail.head) });
  });

  app.post("/v1/runs/:id/cancel", CANCEL, async (c) => {
    const id = c.req.param("id");
    await runHere(c, id);
    const outcome = await dispatcher.cancel(id, "The run was cancelled over the API.");
    const detail = await runHere(c, id);
    return answerJson(c, { cancelled: outcome === "won", run: runView(detail.head) });
  });
}

function readFilter(c: Context): RunFilter {
  const { status, cursor } = c.req.query();
  const functionId = c.req.query("functionId") ?? c.req.query("function");
  const eventId = c.req.query("eventId") ?? c.req.query("event");
  const limit = Number(c.req.query("limit") ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new HoldfastError("BODY_INVALID", `\`limit\` must be 1 to ${MAX_LIMIT}.`);
  }
  const wanted = status?.toUpperCase();
  if (wanted !== undefined && !(RUN_STATUSES as readonly string[]).includes(wanted)) {
    throw new HoldfastError("BODY_INVALID", `\`status\` must be one of ${RUN_STATUSES.join(", ")}.`);
  }
  const environment: string = c.get("environment");
  return {
    limit,
    environment,
    ...(wanted === undefined ? {} : { status: wanted as RunStatus }),
    ...(functionId === undefined ? {} : { functionId: qualify(environment, functionId) }),
    ...(eventId === undefined ? {} : { eventId }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}
