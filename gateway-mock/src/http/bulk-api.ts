/** Routes that do something with many runs: dry runs, jobs, their progress, and how they are stopped. */
import { HoldfastError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import {
  BULK_ACTIONS,
  type BulkAction,
  type BulkFilter,
  type BulkJob,
  RUN_STATUSES,
  type RunStatus,
} from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";
import { findFunction } from "../dispatch/index.ts";
import { limitBody } from "./bodies.ts";
import { bodyOf } from "./body-fields.ts";
import { BulkFilterSchema, BulkPreviewSchema, BulkSchema, bulkView } from "./bulk-view.ts";
import { notFound } from "./errors.ts";
import { eventIdsOf } from "./events-of-key.ts";
import { graphNamed } from "./graph-filter.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";
import { instantIn } from "./read-instant.ts";
import { versionOf } from "./wanted-version.ts";

const MAX_BODY_BYTES = 64 * 1024;
const LISTED = 50;

const LIVING = ["PENDING", "RUNNING", "WAITING"] as const;
const ENDED = ["COMPLETED", "FAILED", "CANCELLED"] as const;
/** Runs of which status each action takes by default, and which it can take. */
const STATUSES = {
  cancel: { unless: LIVING, may: LIVING },
  rerun: { unless: ["FAILED"], may: ENDED },
  resume: { unless: ["FAILED"], may: ["FAILED", "CANCELLED"] },
  delete: { unless: ENDED, may: ENDED },
} as const satisfies Record<BulkAction, Record<"unless" | "may", readonly RunStatus[]>>;

const CREATE = describe({
  operationId: "createBulkJob",
  summary: "Cancels, reruns, resumes or deletes all runs that match, as a bulk job; or says how many match.",
  tag: "runs",
  query: Type.Object({}),
  body: {
    contentType: "application/json",
    schema: Type.Object({
      action: Type.Enum([...BULK_ACTIONS]),
      filter: BulkFilterSchema,
      appVersion: Type.Optional(
        Type.String({
          description: "For reruns and resumed runs: `newest` (default), `same`, or a version of the app.",
        }),
      ),
      dryRun: Type.Optional(Type.Boolean({ description: "Only says how many runs match." })),
    }),
  },
  answers: { 200: Type.Union([BulkSchema, BulkPreviewSchema]) },
  failures: { 404: "There is no such function; the message names similar ones." },
});
const LIST = describe({
  operationId: "listBulkJobs",
  summary: "Lists the newest bulk jobs.",
  tag: "runs",
  query: Type.Object({}),
  answers: { 200: Type.Object({ jobs: Type.Array(BulkSchema) }) },
});
const params = { id: "The job's id." };
const failures = { 404: "There is no such job." };
const GET = describe({
  operationId: "getBulkJob",
  summary: "Shows the progress of a bulk job.",
  tag: "runs",
  query: Type.Object({}),
  params,
  answers: { 200: BulkSchema },
  failures,
});
const STOP = describe({
  operationId: "stopBulkJob",
  summary: "Stops a bulk job; what it has already done is not undone.",
  tag: "runs",
  query: Type.Object({}),
  params,
  answers: {
    200: Type.Object({ stopped: Type.Boolean({ description: "False: it had already ended." }), job: BulkSchema }),
  },
  failures,
});

export function bulkApi(app: Hono, parts: HttpParts): void {
  const { store, dispatcher } = parts;
  const jobHere = async (c: Context, id: string): Promise<BulkJob> => {
    const job = await store.loadBulkJob(id);
    if (job?.filter.environment !== c.get("environment")) throw notFound(`There is no bulk job ${id}.`);
    return job;
  };

  app.post("/v1/bulk", CREATE, limitBody(MAX_BODY_BYTES), async (c) => {
    const { action, filter: given, dryRun, again: misplaced, ...rest } = await bodyOf(c, [...FIELDS_OF_JOB, "again"]);
    if (misplaced !== undefined) throw invalid("`again` is a field of `filter`: it says which runs.");
    if (!isAction(action)) throw invalid(`\`action\` must be one of ${BULK_ACTIONS.join(", ")}.`);
    const filter = await readFilter(parts, c.get("environment"), { action, given });
    const version = versionOf(rest);
    const again = takesAgain(action, given);
    if (dryRun === true) return c.json({ dryRun: true, ...(await dispatcher.bulkJobs.preview({ filter, again })) });
    return c.json(bulkView(await dispatcher.bulkJobs.create({ action, filter, version, again })));
  });

  app.get("/v1/bulk", LIST, async (c) => {
    const jobs = await store.listBulkJobs(c.get("environment"), LISTED);
    return c.json({ jobs: jobs.map(bulkView) });
  });

  app.get("/v1/bulk/:id", GET, async (c) => c.json(bulkView(await jobHere(c, c.req.param("id")))));

  app.post("/v1/bulk/:id/stop", STOP, async (c) => {
    const id = c.req.param("id");
    await jobHere(c, id);
    const stopped = await store.stopBulkJob(id);
    return c.json({ stopped, job: bulkView(await jobHere(c, id)) });
  });
}

const isAction = (value: unknown): value is BulkAction => (BULK_ACTIONS as readonly unknown[]).includes(value);
const invalid = (message: string): HoldfastError => new HoldfastError("BODY_INVALID", message);
const FIELDS_OF_JOB = ["action", "filter", "appVersion", "dryRun"];
const FIELDS = [
  "status",
  "functionId",
  "eventName",
  "eventId",
  "key",
  "graph",
  "tenant",
  "error",
  "after",
  "before",
  "all",
];

/** @throws HoldfastError `BODY_INVALID`, and `NOT_FOUND` for a function that there is not */
async function readFilter(
  parts: Pick<HttpParts, "store" | "dispatcher">,
  environment: string,
  { action, given }: { readonly action: BulkAction; readonly given: unknown },
): Promise<BulkFilter> {
  if (!isRecord(given) || Object.keys(given).every((name) => name === "again")) {
    throw invalid(`\`filter\` must say which runs: ${FIELDS.join(", ")}; { "all": true } means every run.`);
  }
  const other = Object.keys(given).find((name) => name !== "again" && !FIELDS.includes(name));
  if (other !== undefined)
    throw invalid(`\`filter\` has no field ${JSON.stringify(other)}; it may have ${FIELDS.join(", ")}, again.`);
  if (given.all !== undefined && given.all !== true) {
    throw invalid("`filter.all` can only be true; leave it out where other fields say which runs.");
  }
  const name = textOf(given, "functionId");
  const fn = name === undefined ? undefined : await findFunction(parts.dispatcher.functions, environment, name);
  const eventName = textOf(given, "eventName");
  const error = textOf(given, "error");
  const createdAfterMs = instantOf(given, "after");
  const createdBeforeMs = instantOf(given, "before");
  if (createdAfterMs !== undefined && createdBeforeMs !== undefined && createdAfterMs >= createdBeforeMs) {
    throw invalid("`filter.after` must be earlier than `filter.before`: no run is in between.");
  }
  const narrow = {
    environment,
    ...(fn === undefined ? {} : { functionId: fn.id }),
    ...(eventName === undefined ? {} : { eventName }),
  };
  const ofGraph = await graphNamed(parts.store, environment, { graph: textOf(given, "graph"), tenant: given.tenant });
  const eventIds = await eventIdsOf(parts, narrow, { eventId: textOf(given, "eventId"), key: textOf(given, "key") });
  return {
    ...narrow,
    ...ofGraph,
    status: statusesOf(action, given.status),
    ...(eventIds === undefined ? {} : { eventIds }),
    ...(error === undefined ? {} : { errorText: JSON.stringify(error).slice(1, -1) }),
    ...(createdAfterMs === undefined ? {} : { createdAfterMs }),
    ...(createdBeforeMs === undefined ? {} : { createdBeforeMs }),
  };
}

/** Actions that do again what a run has done: a run that was run again already is mostly not meant. */
const REPEATS: readonly BulkAction[] = ["rerun", "resume"];

/** Whether runs are taken that were run again already: what else is done to runs, is done to these, too. */
function takesAgain(action: BulkAction, given: unknown): boolean {
  const again = isRecord(given) ? given.again : undefined;
  const repeats = REPEATS.includes(action);
  if (again === undefined) return !repeats;
  if (!repeats) throw invalid("`filter.again` is for `rerun` and `resume`: also runs that were run again already.");
  if (typeof again !== "boolean") throw invalid("`filter.again` must be true or false.");
  return again;
}

function statusesOf(action: BulkAction, given: unknown): readonly RunStatus[] {
  const { unless, may } = STATUSES[action];
  if (given === undefined) return unless;
  const list = (Array.isArray(given) ? given : [given]).map((one) => String(one).toUpperCase());
  const known = RUN_STATUSES.filter((one) => list.includes(one));
  const wrong = list.find((one) => !may.some((status) => status === one));
  if (wrong === undefined && known.length > 0) return known;
  throw invalid(`To ${action} runs, \`status\` must be among ${may.join(", ")}, not ${wrong ? wrong : "empty"}.`);
}

function textOf(given: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = given[name];
  if (value === undefined || (typeof value === "string" && value !== "" && !value.includes("\0"))) return value;
  throw invalid(`\`filter.${name}\` must be a text that is not empty and has no NUL.`);
}

/** Null is refused: who has no bound means all runs, and says so. */
function instantOf(given: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = given[name];
  if (value !== null) return instantIn(`filter.${name}`, value);
  throw invalid(`\`filter.${name}\` must be a time such as 2027-01-31T09:00:00Z, or milliseconds since 1970.`);
}
