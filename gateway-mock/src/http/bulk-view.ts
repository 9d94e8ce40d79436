/** How bulk jobs look in the API: their schemas and views. */
import { BULK_ACTIONS, type BulkJob, plainName } from "@holdfast/store";
import Type from "typebox";

import { isoTime, isoTimeOrNull } from "./iso-time.ts";
import { At, Ms, orNull, RunStatusSchema } from "./openapi/schemas.ts";

const Instant = Type.Union([Type.String(), Type.Number()], { description: "ISO 8601, or milliseconds since 1970." });

export const BulkFilterSchema = Type.Object({
  status: Type.Optional(Type.Union([RunStatusSchema, Type.Array(RunStatusSchema)])),
  functionId: Type.Optional(
    Type.String({ description: "`<app>-<function>`, its uuid, or its own id where only one app has it." }),
  ),
  eventName: Type.Optional(Type.String()),
  eventId: Type.Optional(Type.String({ description: "The id of the event that started them." })),
  key: Type.Optional(Type.String({ description: "The id that a sender gave to the event, or a caller to the run." })),
  graph: Type.Optional(Type.String({ description: "The id of the graph that they belong to." })),
  tenant: Type.Optional(Type.String({ description: "With `graph`: the tenant that the graph belongs to." })),
  error: Type.Optional(Type.String({ description: "A text in the error that they failed with." })),
  after: Type.Optional(Instant),
  before: Type.Optional(Instant),
  again: Type.Optional(
    Type.Boolean({
      description: "For `rerun` and `resume`: also takes runs that have already been rerun or forked. Default: false.",
    }),
  ),
  all: Type.Optional(Type.Literal(true, { description: "Instead of all other fields: every run of the environment." })),
});

export const BulkSchema = Type.Object(
  {
    id: Type.String(),
    action: Type.Enum([...BULK_ACTIONS]),
    status: Type.Enum(["RUNNING", "DONE", "STOPPED"]),
    filter: Type.Object({
      status: Type.Array(RunStatusSchema),
      functionId: orNull(Type.String()),
      eventName: orNull(Type.String()),
      eventIds: orNull(Type.Array(Type.String())),
      graphUid: orNull(
        Type.String({ description: "The graph that was named when it was made; others of this id are none of it." }),
      ),
      error: orNull(Type.String()),
      again: Type.Boolean({ description: "Whether runs that have already been rerun are included." }),
      createdAfterMs: orNull(Ms),
      createdBeforeMs: orNull(Ms),
    }),
    total: orNull(Type.Integer({ description: "How many runs matched when it was created; null: too many to count." })),
    done: Type.Integer(),
    skipped: Type.Integer({
      description: "Runs that were held back by a singleton or a rate limit, or that had changed meanwhile.",
    }),
    failed: Type.Integer(),
    errors: Type.Array(Type.String(), { description: "The first ten failures." }),
    createdMs: Ms,
    updatedMs: Ms,
    endedMs: orNull(Ms),
    createdAt: At,
    updatedAt: At,
    endedAt: orNull(At),
  },
  { title: "BulkJob" },
);

export const BulkPreviewSchema = Type.Object(
  {
    dryRun: Type.Literal(true),
    count: Type.Integer({ description: "How many runs match." }),
    isMore: Type.Boolean({ description: "True: there are more than were counted." }),
    runIds: Type.Array(Type.String(), { description: "The newest of them." }),
    leftOut: Type.Integer({
      description: "How many more match, but are left out because they have already been rerun.",
    }),
  },
  { title: "BulkPreview" },
);

export function bulkView(job: BulkJob): object {
  const { id, action, status, filter, total, done, skipped, failed, errors, createdMs, updatedMs, endedMs } = job;
  return {
    id,
    action,
    status,
    filter: {
      status: filter.status,
      functionId: filter.functionId === undefined ? null : plainName(filter.functionId),
      eventName: filter.eventName ?? null,
      eventIds: filter.eventIds ?? null,
      graphUid: filter.graphUid ?? null,
      error: filter.errorText === undefined ? null : (JSON.parse(`"${filter.errorText}"`) as string),
      again: filter.notAgain === undefined,
      createdAfterMs: filter.createdAfterMs ?? null,
      createdBeforeMs: filter.createdBeforeMs ?? null,
    },
    total,
    done,
    skipped,
    failed,
    errors,
    createdMs,
    updatedMs,
    endedMs,
    createdAt: isoTime(createdMs),
    updatedAt: isoTime(updatedMs),
    endedAt: isoTimeOrNull(endedMs),
  };
}
