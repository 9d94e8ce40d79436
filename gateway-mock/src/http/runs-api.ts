/** Routes that list, show and cancel runs, retry their compensations, and show events. */
import { HoldfastError } from "@holdfast/core";
import {
  environmentOf,
  plainName,
  qualify,
  RUN_STATUSES,
  type RunDetail,
  type RunFilter,
  type RunStatus,
} from "@holdfast/store";
import type { Context, Hono } from "hono";

import { notFound } from "./errors.ts";
import { answerJson, storedJson } from "./json-answer.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";
import { runDetailView, runView } from "./run-view.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

/** What people, tests and dashboards read, and cancel. */
export function runsApi(app: Hono, parts: HttpParts): void {
  const { store, dispatcher } = parts;

  const runHere = (c: Context, id: string): Promise<RunDetail> => runOr404(c, id, (runId) => store.getRun(runId));

  app.get("/v1/runs", async (c) => {
    const page = await store.listRuns(readFilter(c));
    return answerJson(c, { runs: page.runs.map(runView), nextCursor: page.nextCursor });
  });

  app.get("/v1/runs/:id", async (c) => {
    const id = c.req.param("id");
    const detail = await runHere(c, id);
    const waiting = await dispatcher.whyWaits(detail);
    return answerJson(c, { ...runDetailView(detail, c.req.query("log") === "1"), waiting });
  });

  app.get("/v1/events/:id", async (c) => {
    const id = c.req.param("id");
    const event = await store.getEvent(id);
    if (!event || environmentOf(event.name) !== c.get("environment")) throw notFound(`There is no event ${id}.`);
    const { tsMs, receivedMs, payloadJson, runIds } = event;
    return answerJson(c, {
      id: event.id,
      name: plainName(event.name),
      tsMs,
      receivedMs,
      event: storedJson(payloadJson),
      runIds,
    });
  });

  app.post("/v1/runs/:id/compensations/retry", async (c) => {
    const id = c.req.param("id");
    await runHere(c, id);
    const outcome = await dispatcher.retryCompensations(id);
    const detail = await runHere(c, id);
    return answerJson(c, { retried: outcome === "won", run: runView(detail.head) });
  });

  app.post("/v1/runs/:id/cancel", async (c) => {
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
