/** Rows of the tables of graphs, and what they are to the port. */
import type { GraphTriggers, GraphVersion, ListedGraph, PublishedGraph, StoredGraph } from "@holdfast/store";
import { msOf } from "../connection/pg-values.ts";

export interface GraphRow {
  readonly uid: string;
  readonly environment: string;
  readonly tenant: string;
  readonly id: string;
  readonly title: string;
  readonly runner: string | null;
  readonly revision: number;
  readonly draft: string;
  readonly write_id: string;
  readonly version: number | null;
  readonly last_version: number;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly published_ms: number | null;
}

export const LISTED_COLUMNS = `uid, environment, tenant, id, title, runner, revision, version, last_version,
  ${msOf("created_at")} AS created_ms, ${msOf("updated_at")} AS updated_ms, ${msOf("published_at")} AS published_ms`;

export const GRAPH_COLUMNS = `${LISTED_COLUMNS}, draft, write_id`;

export const listedOf = (row: Omit<GraphRow, "draft" | "write_id">): ListedGraph => ({
  uid: row.uid,
  environment: row.environment,
  tenant: row.tenant,
  id: row.id,
  title: row.title,
  runner: row.runner,
  revision: row.revision,
  version: row.version,
  lastVersion: row.last_version,
  createdMs: row.created_ms,
  updatedMs: row.updated_ms,
  publishedMs: row.published_ms,
});

export const graphOf = (row: GraphRow): StoredGraph => ({ ...listedOf(row), draftJson: row.draft });

export interface VersionRow {
  readonly uid: string;
  readonly version: number;
  readonly revision: number;
  readonly snapshot: string;
  readonly published_ms: number;
}

export const versionOf = (row: VersionRow): GraphVersion => ({
  uid: row.uid,
  version: row.version,
  revision: row.revision,
  snapshotJson: row.snapshot,
  publishedMs: row.published_ms,
});

/** SQL for what is published and triggered as a column, so that it is read at the same instant as the registry. */
export const PUBLISHED = `(SELECT COALESCE(json_agg(x ORDER BY x.uid COLLATE "C"), '[]') FROM (
    SELECT uid, environment, tenant, id, version, runner, triggers FROM holdfast.graph_triggers) x)::text AS graphs`;

type PublishedRow = Omit<PublishedGraph, "triggers"> & { readonly triggers: string };

/** The triggers are what `publishGraph` has written. */
export const publishedOf = (column: string): PublishedGraph[] =>
  (JSON.parse(column) as PublishedRow[]).map(({ environment, tenant, id, uid, version, runner, triggers }) => {
    return { environment, tenant, id, uid, version, runner, triggers: JSON.parse(triggers) as GraphTriggers };
  });
