/**
 * Statements that write graphs: drafts, versions, what is published, with schedules and triggers in one transaction. The
 * row of the definition is locked first. Schedules come before triggers: the latter lock the registry's version.
 */
import {
  type GraphPublication,
  type GraphPublicationOutcome,
  type GraphPut,
  type GraphPutOutcome,
  type GraphTriggers,
  graphCronOwner,
  type NewCron,
  type PublishedGraph,
  type StoreGraphs,
  type Wake,
} from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { msOf } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";
import { repairGraphCrons, saveGraphCrons } from "../queue/crons.ts";
import { findGraph, graphReads } from "./graph-reads.ts";
import { GRAPH_COLUMNS, type GraphRow, graphOf } from "./rows.ts";

export function graphsOf(database: Database, notify: (wake: Wake) => void): StoreGraphs {
  const changing = async <T>(what: string, work: (query: Query) => Promise<Changed<T>>): Promise<T> => {
    const { result, changed } = await database.transaction(what, work);
    if (changed) notify({ type: "REGISTRY_CHANGED" });
    return result;
  };
  return {
    ...graphReads(database.query),
    putGraph: (put) => database.transaction("The graph could not be stored", (query) => putGraph(query, put)),
    publishGraph: (publication) =>
      changing("The graph could not be published", (query) => publishGraph(query, publication)),
    unpublishGraph: (name) =>
      changing("The graph could not be unpublished", async (query) => {
        const row = await findGraph(query, name, " FOR UPDATE");
        if (!row || row.version === null) return { result: false, changed: false };
        await query("UPDATE holdfast.graphs SET version = NULL, published_at = NULL WHERE uid = $1", [row.uid]);
        return { result: true, changed: await trigger(query, row.uid, null, []) };
      }),
    deleteGraph: (name, force) =>
      changing("The graph could not be deleted", async (query) => {
        const row = await findGraph(query, name, " FOR UPDATE");
        if (!row) return { result: "gone", changed: false };
        if (!force && (await query(LIVING, [row.uid])).length > 0) return { result: "living", changed: false };
        await query("DELETE FROM holdfast.graph_versions WHERE uid = $1", [row.uid]);
        await query("DELETE FROM holdfast.graphs WHERE uid = $1", [row.uid]);
        return { result: "deleted", changed: await trigger(query, row.uid, null, []) };
      }),
    async repairGraphCrons(crons) {
      if (crons.length > 0) await repairGraphCrons(database.query, crons);
    },
  };
}

interface Changed<T> {
  readonly result: T;
  /** The registry. */
  readonly changed: boolean;
}

/** The newest first: they live most likely. */
const LIVING = `SELECT 1 AS one FROM holdfast.graph_runs g JOIN holdfast.runs r ON r.id = g.run_id AND r.ended_at IS NULL
WHERE g.uid = $1 AND NOT g.test ORDER BY g.run_id DESC LIMIT 1`;

const UPDATE = `UPDATE holdfast.graphs SET title = $2, runner = $3, draft = $4, write_id = $5, revision = revision + 1,
  updated_at = now() WHERE uid = $1 RETURNING ${GRAPH_COLUMNS}`;

/** Another one of the same name may be written at the same time: one of them finds it there. */
const INSERT = `INSERT INTO holdfast.graphs (uid, environment, tenant, id, title, runner, revision, draft, write_id, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, now(), now()) ON CONFLICT (environment, tenant, id) DO NOTHING RETURNING ${GRAPH_COLUMNS}`;

async function putGraph(query: Query, put: GraphPut): Promise<GraphPutOutcome> {
  const { environment, tenant, id, uid, title, runner, draftJson, expectedRevision, writeId } = put;
  let row = await findGraph(query, put, " FOR UPDATE");
  if (!row && (expectedRevision === null || expectedRevision === 0)) {
    const [made] = await query<GraphRow>(INSERT, [uid, environment, tenant, id, title, runner, draftJson, writeId]);
    if (made) return { outcome: "stored", graph: graphOf(made) };
    row = await findGraph(query, put, " FOR UPDATE");
  }
  if (row?.write_id === writeId) return { outcome: "stored", graph: graphOf(row) };
  if (!row || (expectedRevision !== null && expectedRevision !== row.revision)) {
    return { outcome: "conflict", graph: row ? graphOf(row) : null };
  }
  const [changed] = await query<GraphRow>(UPDATE, [row.uid, title, runner, draftJson, writeId]);
  return { outcome: "stored", graph: graphOf(changed ?? row) };
}

async function publishGraph(query: Query, publication: GraphPublication): Promise<Changed<GraphPublicationOutcome>> {
  const { uid, of, runner, triggers, crons } = publication;
  const row = await findGraph(query, publication, " FOR UPDATE");
  if (row?.uid !== uid) return { result: { outcome: "gone" }, changed: false };
  const version = await versionToPublish(query, row, of);
  if (version === "conflict") return { result: { outcome: "conflict", revision: row.revision }, changed: false };
  if (version === null) return { result: { outcome: "gone" }, changed: false };
  const [now] = await query<{ published_ms: number }>(
    `UPDATE holdfast.graphs SET version = $2, last_version = GREATEST(last_version, $2), published_at = now() WHERE uid = $1
RETURNING ${msOf("published_at")} AS published_ms`,
    [uid, version],
  );
  const { environment, tenant, id } = row;
  const isTriggered = triggers.events.length + triggers.crons.length > 0 && runner !== null;
  const published = isTriggered ? { environment, tenant, id, uid, version, runner, triggers } : null;
  const changed = await trigger(query, uid, published, crons);
  return { result: { outcome: "published", version, publishedMs: now?.published_ms ?? 0 }, changed };
}

/** A new one, or one that there is; null = there is none of that number. */
async function versionToPublish(
  query: Query,
  row: GraphRow,
  of: GraphPublication["of"],
): Promise<number | "conflict" | null> {
  if ("version" in of) {
    const text = "SELECT version FROM holdfast.graph_versions WHERE uid = $1 AND version = $2";
    return (await query(text, [row.uid, of.version])).length > 0 ? of.version : null;
  }
  const { revision, snapshotJson, writeId } = of;
  const [repeated] = await query<{ version: number }>(
    "SELECT version FROM holdfast.graph_versions WHERE uid = $1 AND write_id = $2 ORDER BY version LIMIT 1",
    [row.uid, writeId],
  );
  if (repeated) return repeated.version;
  if (row.revision !== revision) return "conflict";
  const version = row.last_version + 1;
  await query(
    `INSERT INTO holdfast.graph_versions (uid, version, revision, snapshot, write_id, published_at)
VALUES ($1, $2, $3, $4, $5, now())`,
    [row.uid, version, revision, snapshotJson, writeId],
  );
  return version;
}

const SET_TRIGGERS = `INSERT INTO holdfast.graph_triggers AS t (uid, environment, tenant, id, version, runner, triggers)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (uid) DO UPDATE SET version = excluded.version, runner = excluded.runner,
  triggers = excluded.triggers
WHERE (t.version, t.runner, t.triggers) IS DISTINCT FROM (excluded.version, excluded.runner, excluded.triggers)
RETURNING 1 AS one`;

/** Whether the registry is another one by it. */
async function trigger(
  query: Query,
  uid: string,
  published: PublishedGraph | null,
  crons: readonly NewCron[],
): Promise<boolean> {
  await saveGraphCrons(query, graphCronOwner(uid), published ? crons : []);
  if (!published) {
    return (await query("DELETE FROM holdfast.graph_triggers WHERE uid = $1 RETURNING 1 AS one", [uid])).length > 0;
  }
  const { environment, tenant, id, version, runner, triggers } = published;
  const text = JSON.stringify(triggers satisfies GraphTriggers);
  return (await query(SET_TRIGGERS, [uid, environment, tenant, id, version, runner, text])).length > 0;
}
