/** Routes that say how the gateway is: health, readiness, metrics. */
import { messageOf } from "@holdfast/core";
import type { Hono } from "hono";
import Type from "typebox";
import { describe } from "./openapi/describe-route.ts";
import { orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { AppWorkersSchema } from "./worker-state-schema.ts";

const CommitsLostSchema = Type.Object(
  {
    atMs: Type.Number(),
    batches: Type.Integer({ description: "Commits that are lost." }),
    writes: Type.Integer({ description: "Writes in these commits, as far as they are known." }),
    restored: Type.Integer({ description: "Writes that were sent again and are stored." }),
    runs: Type.Integer(),
    incomplete: Type.Array(Type.String(), { description: "The first few runs that lack something." }),
    isOver: Type.Boolean({ description: "False: the writes are still being sent again." }),
  },
  { title: "CommitsLost", description: "Writes that the database acknowledged to this gateway and then lost." },
);
const SlowLeaseSchema = Type.Object(
  { tookMs: Type.Number(), leaseMs: Type.Number(), agoMs: Type.Number() },
  {
    title: "SlowLease",
    description: "The database took so long to lease work that the work could not be sent at once (DATABASE_SLOW).",
  },
);
const ReadySchema = Type.Object(
  {
    ready: Type.Boolean(),
    reason: Type.Optional(Type.String()),
    commitsLost: Type.Optional(CommitsLostSchema),
    slowLease: Type.Optional(SlowLeaseSchema),
  },
  { title: "Ready" },
);
const CountersSchema = Type.Object({}, { additionalProperties: true, description: "Names and numbers." });
const DatabaseSchema = Type.Object(
  {
    ok: Type.Boolean(),
    awayMs: Type.Number(),
    error: Type.Union([Type.String(), Type.Null()]),
    outages: Type.Integer(),
    awayMsTotal: Type.Number(),
    conflicts: Type.Integer(),
    commitsLost: orNull(CommitsLostSchema),
  },
  { title: "DatabaseHealth" },
);

const TableSchema = Type.Object(
  {
    table: Type.String(),
    bytes: Type.Number({ description: "Size including indexes." }),
    rows: Type.Number({ description: "The number of rows, as estimated by the database." }),
    partitions: Type.Integer(),
    oldestMs: Type.Union([Type.Number(), Type.Null()], {
      description: "When its oldest row was created, if that is known.",
    }),
  },
  { title: "TableSize" },
);

const RESENDING = "COMMITS_LOST: the database has gone back; what it had acknowledged is being sent again";

export function statusApi(app: Hono, parts: HttpParts): void {
  const { dispatcher, store, version } = parts;
  // Restarting the gateway does not bring a database back: without one it is alive, and says what it waits for.
  app.get(
    "/health",
    describe({
      operationId: "getHealth",
      summary: "Whether the gateway is alive.",
      tag: "gateway",
      answers: { 200: Type.Object({ ok: Type.Boolean(), version: Type.String(), database: DatabaseSchema }) },
    }),
    (c) => c.json({ ok: true, version, database: store.health() }),
  );

  app.get(
    "/ready",
    describe({
      operationId: "getReady",
      summary: "Whether the gateway takes work, for load balancers.",
      tag: "gateway",
      answers: { 200: ReadySchema, 503: ReadySchema },
    }),
    async (c) => {
      if (parts.isDraining()) return c.json({ ready: false, reason: "draining" }, 503);
      try {
        await store.ping();
        const { ok, error, commitsLost } = store.health();
        const { slowLease } = dispatcher;
        const lost = { ...(commitsLost ? { commitsLost } : {}), ...(slowLease ? { slowLease } : {}) };
        if (commitsLost?.isOver === false) return c.json({ ready: false, reason: RESENDING, ...lost }, 503);
        return ok ? c.json({ ready: true, ...lost }) : c.json({ ready: false, reason: error, ...lost }, 503);
      } catch (error) {
        return c.json({ ready: false, reason: messageOf(error) }, 503);
      }
    },
  );

  const metrics = describe({
    operationId: "getMetrics",
    summary: "Counters of the dispatcher, the store, the database, the queue, the workers and the process, as JSON.",
    tag: "gateway",
    answers: {
      200: Type.Object({
        dispatcher: CountersSchema,
        store: CountersSchema,
        database: DatabaseSchema,
        queue: Type.Union([
          Type.Object({
            due: Type.Number(),
            leased: Type.Number(),
            later: Type.Number(),
            oldestDueMs: orNull(Type.Number()),
            lanes: Type.Number({ description: "Of functions with limits: lanes that have jobs." }),
            dueInLanes: Type.Number({ description: "Due jobs that wait in them for a slot." }),
          }),
          Type.Null(),
        ]),
        tables: Type.Union([Type.Array(TableSchema), Type.Null()]),
        workers: Type.Array(AppWorkersSchema, { description: "By app, of those that say how they are." }),
        process: CountersSchema,
      }),
    },
  });
  app.get("/v1/metrics", metrics, async (c) => {
    const database = store.health();
    const queue = database.ok ? await store.queueDepth() : null;
    const tables = database.ok ? await store.tableSizes() : null;
    const counters = { dispatcher: dispatcher.status(), store: store.stats() };
    const workers = dispatcher.conditions.byApp();
    return c.json({ ...counters, database, queue, tables, workers, process: parts.process() });
  });
}
