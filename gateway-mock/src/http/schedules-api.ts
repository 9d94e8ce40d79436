/** The route that lists schedules, of functions and of graphs: when each was last, and when it comes next. */
import { environmentOf, graphOfCron, type ListedCron, plainName, type RunHead } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { isoTime, isoTimeOrNull } from "./iso-time.ts";
import { describe } from "./openapi/describe-route.ts";
import { At, Ms, orNull, RunStatusSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

const ScheduleSchema = Type.Object(
  {
    cron: Type.String(),
    functionId: orNull(Type.String({ description: "Of a function's schedule." })),
    graph: orNull(
      Type.Object(
        { id: Type.String(), tenant: Type.String(), version: Type.Integer() },
        { description: "Of a graph's." },
      ),
    ),
    paused: Type.Boolean({ description: "True: its function is paused, and ticks wait." }),
    nextAt: At,
    nextMs: Ms,
    dueAt: orNull(At),
    dueMs: orNull(Type.Number({ description: "With what jitter or a pause has added; null = nothing stands for it." })),
    last: orNull(
      Type.Object(
        { runId: Type.String(), status: RunStatusSchema, createdMs: Ms, endedMs: orNull(Ms) },
        { title: "ScheduledRun", description: "The newest run that it started, if that is among the ten newest." },
      ),
    ),
  },
  { title: "Schedule" },
);

const LIST = describe({
  operationId: "listSchedules",
  summary: "Lists the schedules of functions and graphs, each with its last and its next run.",
  tag: "functions",
  query: Type.Object({}),
  answers: { 200: Type.Object({ schedules: Type.Array(ScheduleSchema) }) },
});

const TIMER = "inngest/scheduled.timer";
/** Runs among which that of a schedule is looked for, where its owner has others. */
const LOOKED_AT = 10;
/** The end of a graph's event, which says what has triggered it. */
const CAUSE_CHARS = 1_000;
const AT_ONCE = 4;

type Parts = Pick<HttpParts, "store" | "dispatcher">;

export function schedulesApi(app: Hono, parts: Parts): void {
  app.get("/v1/schedules", LIST, async (c) => {
    const { functions } = parts.dispatcher;
    await functions.renewIfChanged();
    const environment: string = c.get("environment");
    const crons = await parts.store.listCrons();
    const here = crons.filter(({ functionId }) => environmentOfCron(parts, functionId) === environment);
    const schedules: object[] = [];
    for (let at = 0; at < here.length; at += AT_ONCE) {
      schedules.push(...(await Promise.all(here.slice(at, at + AT_ONCE).map((cron) => viewOf(parts, cron)))));
    }
    return c.json({ schedules });
  });
}

function environmentOfCron({ dispatcher }: Parts, functionId: string): string | undefined {
  const uid = graphOfCron(functionId);
  return uid === null ? environmentOf(functionId) : dispatcher.functions.graphs.get(uid)?.environment;
}

async function viewOf(parts: Parts, cron: ListedCron): Promise<object> {
  const { functions } = parts.dispatcher;
  const { functionId, tickMs, dueMs } = cron;
  const uid = graphOfCron(functionId);
  const graph = uid === null ? undefined : functions.graphs.get(uid);
  const last = await (uid === null ? lastOfFunction(parts, cron) : lastOfGraph(parts, cron, uid));
  return {
    cron: cron.cron,
    functionId: uid === null ? plainName(functionId) : null,
    graph: graph ? { id: graph.id, tenant: graph.tenant, version: graph.version } : null,
    paused: functions.controls.pauseOf(graph?.runner ?? functionId) !== null,
    nextAt: isoTime(tickMs),
    nextMs: tickMs,
    dueAt: isoTimeOrNull(dueMs),
    dueMs,
    last: last && { runId: last.id, status: last.status, createdMs: last.createdMs, endedMs: last.endedMs },
  };
}

async function lastOfFunction({ store, dispatcher }: Parts, { functionId, cron }: ListedCron): Promise<RunHead | null> {
  const triggers = dispatcher.functions.get(functionId)?.settings.triggers ?? [];
  const isOnly = triggers.filter(({ type }) => type === "cron").length <= 1;
  const environment = environmentOf(functionId);
  const { runs } = await store.listRuns({
    ...{ environment, functionId, eventName: TIMER, limit: isOnly ? 1 : LOOKED_AT },
  });
  if (isOnly) return runs[0] ?? null;
  return firstWith(
    store,
    runs,
    (payload) => (JSON.parse(payload) as { data?: { cron?: unknown } }).data?.cron === cron,
  );
}

async function lastOfGraph({ store }: Parts, { cron }: ListedCron, uid: string): Promise<RunHead | null> {
  const { runs } = await store.listRuns({ graphUid: uid, test: false, limit: LOOKED_AT });
  const cause = `"trigger":{"cron":${JSON.stringify(cron)},`;
  return firstWith(store, runs, (payload) => payload.slice(-CAUSE_CHARS).includes(cause));
}

/** The first whose event fits. */
async function firstWith(
  store: Parts["store"],
  runs: readonly RunHead[],
  fits: (payload: string) => boolean,
): Promise<RunHead | null> {
  for (const run of runs) {
    const event = await store.getEvent(run.eventId);
    if (event && fits(event.payloadJson)) return run;
  }
  return null;
}
