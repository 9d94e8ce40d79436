/** Routes that follow runs live, as Server-Sent Events (docs/observe.md). */
import { HoldfastError } from "@holdfast/core";
import { type LogPosition, RUN_STATUSES, type RunDetail, type RunStatus } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";

import { findFunction } from "../dispatch/index.ts";

import { followsLinks, LinksSchema, lastLink } from "./chain-links.ts";
import { answerEvents, type EventStream } from "./event-stream.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";
import { streamOfRun, streamOfRuns } from "./run-streams.ts";

/** Of one gateway, at a time. */
const MAX_WATCHERS = 1_000;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

const EVENTS = {
  contentType: "text/event-stream",
  schema: Type.String({
    description: "Messages `snapshot`, `facts`, `continued`, `end`, `reset`, `closing`; see docs/observe.md.",
  }),
};
const LastEventId = Type.Optional(
  Type.String({ description: "The same as the header `Last-Event-ID`, for clients that cannot send it." }),
);

const ONE = describe({
  operationId: "followRun",
  summary: "Follows a run until it ends, including the runs as which it continues.",
  description:
    "First a snapshot of the run, then each row of its log as it is stored. A client that sends the id of the last message in " +
    "`Last-Event-ID` goes on there, at any gateway.",
  tag: "runs",
  params: { id: "The run's id." },
  query: Type.Object({
    from: Type.Optional(Type.Enum(["now", "start"], { description: "`start`: the whole log instead of a snapshot." })),
    links: LinksSchema,
    lastEventId: LastEventId,
  }),
  answers: { 200: EVENTS },
  failures: { 404: "There is no such run.", 503: "The gateway has reached its limit of open streams." },
});

const MANY = describe({
  operationId: "followRuns",
  summary: "Follows all runs, or those of a function.",
  description:
    "First a snapshot of the newest runs, then each row of their logs as it is stored, including those of runs that start later.",
  tag: "runs",
  query: Type.Object({
    function: Type.Optional(
      Type.String({
        description: "Only runs of this function: `<app>-<function>`, its uuid, or the id that its author gave.",
      }),
    ),
    functionId: Type.Optional(Type.String({ description: "The same as `function`." })),
    status: Type.Optional(
      Type.String({ description: "Only rows by which a run gets one of these statuses: `FAILED,CANCELLED`." }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_LIMIT,
        default: DEFAULT_LIMIT,
        description: "How many runs are in the snapshot.",
      }),
    ),
    lastEventId: LastEventId,
  }),
  answers: { 200: EVENTS },
  failures: { 404: "There is no such function.", 503: "The gateway has reached its limit of open streams." },
});

export function streamApi(app: Hono, parts: HttpParts): void {
  const { store, live, dispatcher, timers, log } = parts;

  /** @throws HoldfastError `WATCHERS_FULL` */
  const admit = (): void => {
    if (live.isClosed) throw new HoldfastError("WATCHERS_FULL", "This gateway goes down: follow at another one.");
    if (live.watchers < MAX_WATCHERS) return;
    throw new HoldfastError("WATCHERS_FULL", `This gateway has ${MAX_WATCHERS} open live streams, as many as it may.`);
  };

  /** @throws HoldfastError `WATCHERS_FULL` */
  const answer = (c: Context, open: () => EventStream): Response => {
    // Others have come while this one was read for.
    admit();
    return answerEvents(c, open, {
      timers,
      onSlow: () => log("debug", `A live stream was ended: its client has read nothing for a minute.`),
    });
  };

  /** @throws HoldfastError `POSITION_INVALID` */
  const lastOf = async (
    c: Context,
  ): Promise<{ readonly position: LogPosition | null; readonly link: string | null }> => {
    // Clients that have no id yet may send it empty.
    const lastId = c.req.header("last-event-id") || c.req.query("lastEventId") || "";
    if (lastId === "") return { position: null, link: null };
    const [position = "", link = null] = lastId.split("@");
    await live.readOwn({ after: position, scope: { runIds: [], functionIds: [] }, limit: 1 });
    return { position, link };
  };

  app.get("/v1/runs/stream", MANY, async (c) => {
    const environment: string = c.get("environment");
    const named = c.req.query("function") ?? c.req.query("functionId");
    const functionId = named === undefined ? null : (await findFunction(dispatcher.functions, environment, named)).id;
    const statuses = readStatuses(c.req.query("status"));
    const limit = readLimit(c.req.query("limit"));
    admit();
    const { position } = await lastOf(c);
    return answer(c, () => streamOfRuns(parts, { environment, functionId, statuses, limit, position }));
  });

  app.get("/v1/runs/:id/stream", ONE, async (c) => {
    const from = c.req.query("from") ?? "now";
    if (from !== "now" && from !== "start") throw invalid('`from` must be "now" or "start".');
    const runId = c.req.param("id");
    const goesOn = followsLinks(c);
    const read = (id: string): Promise<RunDetail> => runOr404(c, id, (one) => live.own(() => store.getRun(one)));
    const run = await read(runId);
    admit();
    const last = await lastOf(c);
    const position = last.position ?? (from === "start" ? store.logStart : null);
    const begins = last.link === null ? run : await read(last.link);
    // A snapshot is of the run that is at work.
    const link = position === null && goesOn ? await live.own(() => lastLink(store, run)) : begins;
    return answer(c, () => streamOfRun(parts, { runId, link, position, goesOn }));
  });
}

const STATUSES: readonly string[] = RUN_STATUSES;
const isStatus = (text: string): text is RunStatus => STATUSES.includes(text);

function readStatuses(text: string | undefined): RunStatus[] {
  if (text === undefined || text === "") return [];
  return text.split(",").map((one) => {
    const status = one.trim().toUpperCase();
    if (isStatus(status)) return status;
    throw invalid(`\`status\` must be some of ${STATUSES.join(", ")}, with commas between, not "${one.slice(0, 80)}".`);
  });
}

function readLimit(text: string | undefined): number {
  const limit = Number(text ?? DEFAULT_LIMIT);
  if (Number.isInteger(limit) && limit >= 0 && limit <= MAX_LIMIT) return limit;
  throw invalid(`\`limit\` must be 0 to ${MAX_LIMIT}.`);
}

const invalid = (message: string): HoldfastError => new HoldfastError("BODY_INVALID", message);
