/** Routes that list, show and cancel runs, and retry their compensations. */
import { HoldfastError, isUlid } from "@holdfast/core";
import { RUN_STATUSES, type RunDetail, type RunFilter, type RunHead, type RunStatus } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";
import { findFunction, type RunWaiting } from "../dispatch/index.ts";
import { LinksSchema } from "./chain-links.ts";
import { eventIdsOf } from "./events-of-key.ts";
import { graphFilterIn } from "./graph-filter.ts";
import { graphsOfRuns } from "./graphs-of-runs.ts";
import { isoTime } from "./iso-time.ts";
import { answerJson } from "./json-answer.ts";
import { waitAsAsked } from "./long-polls.ts";
import { describe } from "./openapi/describe-route.ts";
import { ListedRunSchema, orNull, RunDetailSchema, RunSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { cursorIn } from "./read-cursor.ts";
import { instantIn } from "./read-instant.ts";
import { switchIn } from "./read-switch.ts";
import { runOr404 } from "./run-or-404.ts";
import { runDetailView, runView } from "./run-view.ts";
import { waitingView } from "./waiting-view.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
const MAX_DESCENDANTS = 100;

const QuerySchema = Type.Object({
  status: Type.Optional(
    Type.String({ description: `One or several, separated by commas: ${RUN_STATUSES.join(", ")}.` }),
  ),
  functionId: Type.Optional(
    Type.String({ description: "`<app>-<function>`, its uuid, or its own id where only one app has it." }),
  ),
  function: Type.Optional(Type.String({ description: "The same as `functionId`." })),
  eventName: Type.Optional(Type.String({ description: "The name of the event that started them." })),
  eventId: Type.Optional(Type.String({ description: "The id of the event that started them." })),
  event: Type.Optional(
    Type.String({ description: "The same as `eventName`, or as `eventId` if it is the id of an event." }),
  ),
  after: Type.Optional(
    Type.String({ description: "Created at this time or later: ISO 8601, or milliseconds since 1970." }),
  ),
  before: Type.Optional(Type.String({ description: "Created before this time." })),
  key: Type.Optional(
    Type.String({
      description: "The id that the sender gave to the event or the invocation, as long as that id counts.",
    }),
  ),
  error: Type.Optional(
    Type.String({ description: "Failed and cancelled runs with this text in their error; case is ignored." }),
  ),
  graph: Type.Optional(Type.String({ description: "The id of a stored graph." })),
  tenant: Type.Optional(Type.String({ description: "With `graph`: the tenant that the graph belongs to." })),
  test: Type.Optional(Type.String({ description: "`1`: only tests of graphs; `0`: everything but tests of graphs." })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  cursor: Type.Optional(Type.String({ description: "The `nextCursor` of the page before." })),
  waiting: Type.Optional(
    Type.String({
      description:
        "`1`: also says why each run that has not ended waits; keys of limits are shown without their values. `only`: the same, without runs " +
        "that have ended or that a worker is executing; a page may then have fewer than `limit`: `nextCursor` says where to go on.",
    }),
  ),
});

const LIST = describe({
  operationId: "listRuns",
  summary: "Lists runs, newest first.",
  tag: "runs",
  query: QuerySchema,
  answers: {
    200: Type.Object({ runs: Type.Array(ListedRunSchema), nextCursor: orNull(Type.String()) }, { title: "RunPage" }),
  },
});

const GET = describe({
  operationId: "getRun",
  summary: "Shows a run with its steps, and why it waits.",
  tag: "runs",
  params: { id: "The run's id." },
  query: Type.Object({
    log: Type.Optional(Type.String({ description: "`1`: includes the log." })),
    wait: Type.Optional(
      Type.String({
        description:
          "Such as `30s`, at most a minute: the answer comes once the run has ended, or after that time with the run as it is. A run that continues as another one (`continueAs`) has not ended: the answer is then the last of them.",
      }),
    ),
    links: LinksSchema,
  }),
  answers: { 200: RunDetailSchema },
  failures: {
    404: "There is no such run.",
    503: "Too many callers are waiting, the gateway is shutting down, or the database is unavailable; try again.",
  },
});

const RETRY = describe({
  operationId: "retryCompensations",
  summary: "Makes a failed run retry the compensations that have not succeeded.",
  tag: "runs",
  params: { id: "The run's id." },
  answers: {
    200: Type.Object({
      retried: Type.Boolean({
        description: "False: there was nothing to undo, or the run was cancelled; cancelled runs are not undone.",
      }),
      run: RunSchema,
    }),
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
    const waiting = waitingIn(c.req.query("waiting"));
    const filter = { ...(await readFilter(c, parts, waiting)), ...(await graphFilterIn(c, store)) };
    const { runs, nextCursor } = await store.listRuns(filter);
    const graphs = await graphsOfRuns(store, runs);
    const listed = (head: RunHead): object => ({ ...runView(head), graph: graphs.get(head.id) ?? null });
    if (waiting === null) return answerJson(c, { runs: runs.map(listed), nextCursor });
    const going = runs.flatMap(({ id, endedMs }) => (endedMs === null ? [id] : []));
    const why = await dispatcher.waitingRuns.whyWait(going);
    const shown = waiting === "only" ? runs.filter(({ id }) => waits(why, id)) : runs;
    const views = shown.map((head) => ({ ...listed(head), waiting: waitingView(why.get(head.id) ?? null) }));
    return answerJson(c, { runs: views, nextCursor });
  });

  app.get("/v1/runs/:id", GET, async (c) => {
    const withLog = switchIn("log", c.req.query("log"));
    const { id, ended } = await waitAsAsked(c, c.req.param("id"), parts);
    const detail = ended ?? (await runHere(c, id));
    const waiting = await dispatcher.waitingRuns.whyWaits(detail);
    const descendants = await store.descendantsOf(id, MAX_DESCENDANTS);
    const graphs = await graphsOfRuns(store, [detail.head]);
    return answerJson(c, {
      ...runDetailView(detail, withLog),
      running: dispatcher.waitingRuns.runningSteps(detail).map((one) => ({ ...one, sinceAt: isoTime(one.sinceMs) })),
      waiting: waitingView(waiting),
      descendants,
      graph: graphs.get(detail.head.id) ?? null,
    });
  });

  app.post("/v1/runs/:id/compensations/retry", RETRY, async (c) => {
    const id = c.req.param("id");
    await runHere(c, id);
    const outcome = await dispatcher.repairs.retryCompensations(id);
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

type Waiting = "1" | "only" | null;

/** @throws HoldfastError `BODY_INVALID` */
function waitingIn(text: string | undefined): Waiting {
  if (text === undefined || text === "0" || text === "") return null;
  if (text === "1" || text === "only") return text;
  throw new HoldfastError("BODY_INVALID", "`waiting` must be 1 (why each run waits) or only (no others, too).");
}

/** What moves on by itself: a worker is at it, or about to be. */
const MOVING: ReadonlySet<string> = new Set<RunWaiting["reason"]>(["AT_WORK", "SENT", "STARTING"]);

/** One that is not there has ended meanwhile; one without a reason waits for what never comes. */
const waits = (why: ReadonlyMap<string, RunWaiting | null>, id: string): boolean =>
  why.has(id) && !MOVING.has(why.get(id)?.reason ?? "");

/** @throws HoldfastError `BODY_INVALID`, and `NOT_FOUND` for a function that there is not */
async function readFilter(c: Context, parts: HttpParts, waiting: Waiting): Promise<RunFilter> {
  const { event, error, key } = c.req.query();
  const name = c.req.query("functionId") ?? c.req.query("function");
  const isId = event !== undefined && isUlid(event);
  const eventId = c.req.query("eventId") ?? (isId ? event : undefined);
  const eventName = c.req.query("eventName") ?? (isId ? undefined : event);
  const limit = Number(c.req.query("limit") ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new HoldfastError("BODY_INVALID", `\`limit\` must be 1 to ${MAX_LIMIT}.`);
  }
  const cursor = cursorIn(c.req.query("cursor"));
  const unless = waiting === "only" ? LIVING : error === undefined ? undefined : ENDED_BADLY;
  const statuses = readStatuses(c.req.query("status")) ?? unless;
  const createdAfterMs = instantIn("after", c.req.query("after"));
  const createdBeforeMs = instantIn("before", c.req.query("before"));
  const environment: string = c.get("environment");
  const fn = name === undefined ? undefined : await findFunction(parts.dispatcher.functions, environment, name);
  const narrow = {
    environment,
    ...(fn === undefined ? {} : { functionId: fn.id }),
    ...(eventName === undefined ? {} : { eventName }),
  };
  const eventIds = await eventIdsOf(parts, narrow, { eventId, key });
  return {
    ...narrow,
    limit,
    ...(statuses === undefined ? {} : { status: statuses }),
    ...(eventIds === undefined ? {} : { eventIds }),
    // As it stands in JSON.
    ...(error === undefined ? {} : { errorText: JSON.stringify(error).slice(1, -1) }),
    ...(createdAfterMs === undefined ? {} : { createdAfterMs }),
    ...(createdBeforeMs === undefined ? {} : { createdBeforeMs }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const LIVING: readonly RunStatus[] = ["PENDING", "RUNNING", "WAITING"];
const ENDED_BADLY: readonly RunStatus[] = ["FAILED", "CANCELLED"];

function readStatuses(text: string | undefined): readonly RunStatus[] | undefined {
  if (text === undefined) return undefined;
  return text.split(",").map((one) => {
    const wanted = RUN_STATUSES.find((status) => status === one.trim().toUpperCase());
    if (wanted !== undefined) return wanted;
    throw new HoldfastError("BODY_INVALID", `\`status\` must be of ${RUN_STATUSES.join(", ")}, parted by commas.`);
  });
}
