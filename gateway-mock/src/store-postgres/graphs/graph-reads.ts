/** Statements that read graphs, their versions, and which runs were made of them. */
import type { GraphName, GraphRunMark, StoreGraphs } from "@holdfast/store";
import { msOf, textArray } from "../connection/pg-values.ts";
import type { Param, Query } from "../connection/query.ts";
import { GRAPH_COLUMNS, type GraphRow, graphOf, LISTED_COLUMNS, listedOf, type VersionRow, versionOf } from "./rows.ts";

const OF_NAME = "environment = $1 AND tenant = $2 AND id = $3";

export async function findGraph(
  query: Query,
  { environment, tenant, id }: GraphName,
  lock: "" | " FOR UPDATE" = "",
): Promise<GraphRow | undefined> {
  const text = `SELECT ${GRAPH_COLUMNS} FROM holdfast.graphs WHERE ${OF_NAME}${lock}`;
  const [row] = await query<GraphRow>(text, [environment, tenant, id]);
  return row;
}

interface MarkRow {
  readonly run_id: string;
  readonly uid: string;
  readonly version: number | null;
  readonly test: boolean;
}

type Reads = Pick<
  StoreGraphs,
  "getGraph" | "getGraphVersion" | "listGraphVersions" | "listGraphs" | "graphRuns" | "graphNames" | "oldGraphTests"
>;

export function graphReads(query: Query): Reads {
  return {
    async getGraph(name) {
      const row = await findGraph(query, name);
      return row ? graphOf(row) : null;
    },
    async getGraphVersion(uid, version) {
      const [row] = await query<VersionRow>(
        `SELECT uid, version, revision, snapshot, ${msOf("published_at")} AS published_ms FROM holdfast.graph_versions
WHERE uid = $1 AND version = $2`,
        [uid, version],
      );
      return row ? versionOf(row) : null;
    },
    async listGraphVersions(uid, limit, before) {
      const rows = await query<Omit<VersionRow, "snapshot">>(
        `SELECT uid, version, revision, ${msOf("published_at")} AS published_ms FROM holdfast.graph_versions
WHERE uid = $1 AND ($2::int IS NULL OR version < $2) ORDER BY version DESC LIMIT $3`,
        [uid, before ?? null, limit],
      );
      return rows.map(({ published_ms: publishedMs, ...row }) => ({ ...row, publishedMs }));
    },
    listGraphs: (filter) => listGraphs(query, filter),
    async graphRuns(runIds) {
      if (runIds.length === 0) return new Map();
      const text = "SELECT run_id, uid, version, test FROM holdfast.graph_runs WHERE run_id = ANY($1::text[])";
      const rows = await query<MarkRow>(text, [textArray(runIds)]);
      return new Map(
        rows.map(({ run_id, uid, version, test }): [string, GraphRunMark] => [run_id, { uid, version, test }]),
      );
    },
    async graphNames(uids) {
      if (uids.length === 0) return new Map();
      const text = "SELECT uid, environment, tenant, id FROM holdfast.graphs WHERE uid = ANY($1::text[])";
      const rows = await query<GraphName & { readonly uid: string }>(text, [textArray(uids)]);
      return new Map(rows.map(({ uid, ...name }): [string, GraphName] => [uid, name]));
    },
    async oldGraphTests(olderThanMs, limit) {
      const rows = await query<{ run_id: string }>(
        `SELECT g.run_id FROM holdfast.graph_runs g
WHERE g.test AND g.created_at < now() - $1::float8 * interval '1 millisecond'
  AND NOT EXISTS (SELECT FROM holdfast.run_holds h WHERE h.run_id = g.run_id OFFSET 0)
ORDER BY g.created_at, g.run_id LIMIT $2`,
        [olderThanMs, limit],
      );
      return rows.map(({ run_id }) => run_id);
    },
  };
}

async function listGraphs(
  query: Query,
  { environment, tenant, limit, after }: Parameters<StoreGraphs["listGraphs"]>[0],
): ReturnType<StoreGraphs["listGraphs"]> {
  const params: Param[] = [environment, limit];
  const param = (value: Param): string => `$${params.push(value)}`;
  const where = ["environment = $1"];
  if (tenant !== undefined) where.push(`tenant = ${param(tenant)}`);
  if (after !== undefined) where.push(`(tenant, id) > (${param(after.tenant)}, ${param(after.id)})`);
  const text = `SELECT ${LISTED_COLUMNS} FROM holdfast.graphs WHERE ${where.join(" AND ")} ORDER BY tenant, id LIMIT $2`;
  return (await query<Omit<GraphRow, "draft" | "write_id">>(text, params)).map(listedOf);
}
