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
  graph: Type.Optional(Type.String({ description: "The id of the graph that they are of." })),
  tenant: Type.Optional(Type.String({ description: "With `graph`: whose graph it is." })),
  error: Type.Optional(Type.String({ description: "A text in what they failed with." })),
  after: Type.Optional(Instant),
  before: Type.Optional(Instant),
  again: Type.Optional(
    Type.Boolean({
      description: "Of `rerun` and `resume`: also runs of which a rerun or a fork is there already. Default: false.",
    }),
  ),
  all: Type.Optional(Type.Literal(true, { description: "In place of all others: every run of the environment." })),
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
      again: Type.Boolean({ description: "Also runs that were run again already." }),
      createdAfterMs: orNull(Ms),
      createdBeforeMs: orNull(Ms),
    }),
    total: orNull(Type.Integer({ description: "How many runs fitted when it was made; null: too many to count." })),
    done: Type.Integer(),
    skipped: Type.Integer({ description: "Held back by a singleton or a rate limit, or changed meanwhile." }),
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
    count: Type.Integer({ description: "How many runs fit." }),
    isMore: Type.Boolean({ description: "There are more than were counted." }),
    runIds: Type.Array(Type.String(), { description: "The newest of them." }),
    leftOut: Type.Integer({ description: "How many fit as well, and are left out: they were run again already." }),
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
