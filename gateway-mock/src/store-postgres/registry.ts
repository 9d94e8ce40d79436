/**
 * Statements for apps, deployments and gateways. Every change of functions raises the registry's version, which writes
 * may rest on (docs/decisions/0039).
 */
import { createHash } from "node:crypto";
import {
  type AppRecord,
  type Deployment,
  functionTaken,
  queuesOf,
  type Registration,
  type StoredFunction,
  type StoredRegistry,
  StoreError,
} from "@holdfast/store";
import type { Database } from "./connection/database.ts";
import { textArray } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";
import { hasVersion } from "./connections.ts";
import { CONTROLS, type ControlColumns, controlsOf } from "./controls.ts";
import { PUBLISHED, publishedOf } from "./graphs/rows.ts";

interface FunctionRow {
  readonly slug: string;
  readonly uuid: string;
  readonly app_id: string;
  readonly app_version: string;
  readonly name: string;
  readonly triggers: string;
  readonly config: string;
  readonly active: boolean;
}

const COLUMNS = "slug, uuid::text AS uuid, app_id, app_version, name, triggers, config, active";

/** Later than this the newest deployment of an app counts as gone when another one is there. */
const GROUP_GONE_MS = 60_000;
const GROUP_GONE = `${GROUP_GONE_MS} ms`;
/** One that was last seen earlier is forgotten, unless it is its app's newest. */
export const GROUP_KEPT = "7 days";

const hasLeft = (group: string): string => `COALESCE(${group}.left_at >= ${group}.seen_at, false)`;

/** A worker of `o` is connected somewhere, as far as versions tell it from one of `g`: what was said of it is out of date. */
const IS_CONNECTED = `o.version <> g.version AND EXISTS (SELECT FROM holdfast.connections c
      WHERE c.seen_at > now() - interval '${GROUP_GONE}' AND ${hasVersion("c.app_versions", "o.app_id || '@' || o.version")})`;

/** Marks deployments as seen. One that is new or has come back, or whose successors are all gone, becomes the newest. */
const SEE_GROUPS = `INSERT INTO holdfast.app_groups AS g (app_id, hash, since, seen_at, version, slugs, queues)
SELECT app_id, hash, clock_timestamp(), now(), version, slugs::text[], queues
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS n(app_id, hash, version, slugs, queues) ORDER BY app_id, hash
ON CONFLICT (app_id, hash) DO UPDATE SET seen_at = now(), version = excluded.version, slugs = excluded.slugs,
  queues = excluded.queues, since = CASE WHEN (
    SELECT $8::boolean AND bool_and((${hasLeft("o")} OR o.seen_at <= now() - interval '${GROUP_GONE}') AND NOT (${IS_CONNECTED}))
      OR g.seen_at < now() - $6::float8 * interval '1 ms' AND max(o.seen_at) IS NOT NULL
        AND ($7::float8 = 0 OR ${hasLeft("g")} AND min(o.since) > g.left_at OR max(o.seen_at) - g.seen_at > $7::float8 * interval '1 ms')
    FROM holdfast.app_groups o WHERE o.app_id = g.app_id AND o.since > g.since
  ) THEN clock_timestamp() ELSE g.since END`;

/** Of each app once: looked up for each of its functions, it would be as many times all of its deployments. */
const newestOf = (apps: string): string => `newest AS MATERIALIZED (
  SELECT DISTINCT ON (g.app_id) g.app_id, g.hash FROM holdfast.app_groups g WHERE g.app_id = ANY(${apps}::text[])
  ORDER BY g.app_id, g.since DESC)`;

/** The newest deployment's functions as they are; those that only an older one has are kept for its runs. */
const SAVE = `WITH ${newestOf("$2")}, n AS MATERIALIZED (
  SELECT n.*, n.hash = (SELECT g.hash FROM newest g WHERE g.app_id = n.app_id) AS newest
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    AS n(slug, app_id, app_version, sdk, name, triggers, config, hash)
), saved AS (
  INSERT INTO holdfast.functions AS f (slug, uuid, app_id, app_version, sdk, name, triggers, config, active, updated_at)
  SELECT slug, gen_random_uuid(), app_id, app_version, sdk, name, triggers, config, newest, now() FROM n
  ORDER BY slug COLLATE "C"
  ON CONFLICT (slug) DO UPDATE SET app_id = excluded.app_id,
    uuid = CASE WHEN f.app_id = excluded.app_id THEN f.uuid ELSE excluded.uuid END, app_version = excluded.app_version, sdk = excluded.sdk,
    name = excluded.name, triggers = excluded.triggers, config = excluded.config, active = true, updated_at = now()
  WHERE excluded.active AND (f.app_id, f.app_version, f.sdk, f.name, f.triggers, f.config, f.active) IS DISTINCT FROM
    (excluded.app_id, excluded.app_version, excluded.sdk, excluded.name, excluded.triggers, excluded.config, true)
  RETURNING slug
) SELECT count(*)::int AS changed FROM saved`;

const RETIRE = `WITH ${newestOf("$1")} UPDATE holdfast.functions f SET active = false, updated_at = now()
FROM unnest($1::text[], $2::text[], $3::text[]) AS n(app_id, hash, slugs) JOIN newest g USING (app_id, hash)
WHERE f.app_id = n.app_id AND f.active AND NOT f.slug = ANY(n.slugs::text[]) RETURNING f.slug`;

/** A registration holds this lock, so that of two apps that want one slug the second one sees the first. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('holdfast registry', 0))";

/** Functions of other apps with these slugs that are still in use: by a deployment, or by runs that have not ended. */
const TAKEN = `SELECT n.slug, n.app_id, f.app_id AS holder, EXISTS (
    SELECT FROM holdfast.app_groups g WHERE g.app_id = f.app_id AND g.seen_at > now() - interval '${GROUP_GONE}'
      AND (g.slugs IS NULL OR f.slug = ANY(g.slugs))) AS deployed
FROM unnest($1::text[], $2::text[]) AS n(slug, app_id)
JOIN holdfast.functions f ON f.slug = n.slug AND f.app_id <> n.app_id
WHERE EXISTS (
    SELECT FROM holdfast.app_groups g WHERE g.app_id = f.app_id AND g.seen_at > now() - interval '${GROUP_GONE}'
      AND (g.slugs IS NULL OR f.slug = ANY(g.slugs)))
  OR EXISTS (SELECT FROM holdfast.runs r WHERE r.function_id = f.slug AND r.app_id = f.app_id AND r.ended_at IS NULL)
ORDER BY n.slug LIMIT 1`;

interface TakenRow {
  readonly slug: string;
  readonly app_id: string;
  readonly holder: string;
  readonly deployed: boolean;
}

export interface SavedApps {
  readonly functions: readonly StoredFunction[];
  /** Whether anything is different from before. */
  readonly changed: boolean;
}

export function saveApps(
  database: Database,
  given: readonly AppRecord[],
  registration: Registration = {},
): Promise<SavedApps> {
  // Of two records of one app or function the later counts: a statement can write a row only once.
  const apps = [...new Map(given.map((app) => [app.id, app])).values()];
  if (apps.length === 0) return Promise.resolve({ functions: [], changed: false });
  return database.transaction("The functions of an app could not be stored", (query) =>
    save(query, apps, registration),
  );
}

async function save(
  query: Query,
  apps: readonly AppRecord[],
  { startedAgoMs, awayMs = GROUP_GONE_MS, trustsSilence = true }: Registration,
): Promise<SavedApps> {
  const hashes = new Map(apps.map((app) => [app.id, groupHash(app)]));
  const all = [...new Map(apps.flatMap((app) => app.functions.map((fn) => [fn.slug, { app, fn }] as const))).values()];
  const ids = textArray(apps.map(({ id }) => id));
  const groups = textArray(apps.map(({ id }) => hashes.get(id) ?? ""));
  const slugs = textArray(apps.map((app) => textArray(app.functions.map(({ slug }) => slug))));
  const own = [textArray(all.map(({ fn }) => fn.slug)), textArray(all.map(({ app }) => app.id))];
  await query(LOCK);
  const [taken] = await query<TakenRow>(TAKEN, own);
  if (taken) throw functionTaken(taken.slug, taken.app_id, taken.holder, taken.deployed ? "deployment" : "runs");
  const [versions, queues] = [apps.map(({ version }) => version), apps.map((app) => JSON.stringify(queuesOf(app)))];
  const how = [startedAgoMs ?? null, awayMs, trustsSilence];
  await query(SEE_GROUPS, [ids, groups, textArray(versions), slugs, textArray(queues), ...how]);
  const [saved] = await query<{ changed: number }>(SAVE, [
    ...own,
    textArray(all.map(({ app }) => app.version)),
    textArray(all.map(({ app }) => app.sdk)),
    textArray(all.map(({ fn }) => fn.name)),
    textArray(all.map(({ fn }) => fn.triggersJson)),
    textArray(all.map(({ fn }) => fn.configJson)),
    textArray(all.map(({ app }) => hashes.get(app.id) ?? "")),
  ]);
  const retired = await query(RETIRE, [ids, groups, slugs]);
  const rows = await query<FunctionRow>(
    `SELECT ${COLUMNS} FROM holdfast.functions WHERE app_id = ANY($1::text[]) ORDER BY slug`,
    [ids],
  );
  return { functions: rows.map(functionOf), changed: (saved?.changed ?? 0) + retired.length > 0 };
}

/** Equal for workers of one deployment. */
function groupHash(app: AppRecord): string {
  const { id, version, sdk, functions } = app;
  const sorted = [...functions].sort((x, y) => (x.slug < y.slug ? -1 : 1));
  const texts = sorted.map(({ slug, name, triggersJson, configJson }) => [slug, name, triggersJson, configJson]);
  return createHash("sha256")
    .update(JSON.stringify([id, version, sdk, texts]))
    .digest("hex");
}

export async function recentBuilds(
  { query }: Pick<Database, "query">,
  appId: string,
  version: string,
): Promise<readonly string[]> {
  const rows = await query<{ hash: string }>(
    `SELECT hash FROM holdfast.app_groups
WHERE app_id = $1 AND version = $2 AND seen_at > now() - interval '${GROUP_GONE}' ORDER BY hash`,
    [appId, version],
  );
  return rows.map(({ hash }) => hash);
}

const IS_KEPT = `slugs IS NOT NULL AND seen_at > now() - interval '${GROUP_KEPT}'`;

/** Which deployments are there, and since when each counts as new; all else of the registry raises its version. */
const MARK = `SELECT version::text || ' ' || (SELECT COALESCE(sum(hashtextextended(app_id || ' ' || hash || ' ' || since::text, 0)), 0)
  FROM holdfast.app_groups WHERE ${IS_KEPT})::text AS mark FROM holdfast.registry WHERE one`;

export async function registryMark({ query }: Pick<Database, "query">): Promise<string> {
  const [row] = await query<{ mark: string }>(MARK);
  return row?.mark ?? "";
}

/** One statement, so that all of it is of one instant. */
const LOAD = `SELECT r.version::float8 AS version,
  (SELECT COALESCE(json_agg(x ORDER BY x.slug COLLATE "C"), '[]') FROM (SELECT ${COLUMNS} FROM holdfast.functions) x)::text AS functions,
  (SELECT COALESCE(json_agg(d ORDER BY d.app_id COLLATE "C", d.since DESC), '[]') FROM (
    SELECT app_id, version, slugs, queues, since FROM holdfast.app_groups WHERE ${IS_KEPT}) d)::text AS deployments,
  ${CONTROLS}, ${PUBLISHED}
FROM holdfast.registry r WHERE r.one`;

interface LoadedRow extends ControlColumns {
  readonly graphs: string;
  readonly version: number;
  readonly functions: string;
  readonly deployments: string;
}

interface DeploymentRow {
  readonly app_id: string;
  readonly version: string;
  readonly slugs: readonly string[];
  readonly queues: string;
}

export async function loadRegistry({ query }: Pick<Database, "query">): Promise<StoredRegistry> {
  const [row] = await query<LoadedRow>(LOAD);
  const functions = JSON.parse(row?.functions ?? "[]") as FunctionRow[];
  const deployments = JSON.parse(row?.deployments ?? "[]") as DeploymentRow[];
  return {
    version: Number(row?.version),
    functions: functions.map(functionOf),
    deployments: deployments.map(({ app_id: appId, version, slugs, queues }) => {
      return { appId, version, slugs, queues: JSON.parse(queues) as Deployment["queues"] };
    }),
    controls: controlsOf(row),
    graphs: publishedOf(row?.graphs ?? "[]"),
  };
}

export async function registryVersion({ query }: Pick<Database, "query">): Promise<number> {
  const [row] = await query<{ version: number }>("SELECT version::float8 AS version FROM holdfast.registry WHERE one");
  return Number(row?.version);
}

const functionOf = (row: FunctionRow): StoredFunction => ({
  slug: row.slug,
  uuid: row.uuid,
  appId: row.app_id,
  appVersion: row.app_version,
  name: row.name,
  triggersJson: row.triggers,
  configJson: row.config,
  active: row.active,
});

export async function touchGateway(database: Database, gatewayId: string): Promise<void> {
  // A gateway that has nothing to do learns from this that no write ends, before leases do that no one can extend.
  await database.attended(
    database.query(
      `INSERT INTO holdfast.gateways (id, seen_at) VALUES ($1, now())
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`,
      [gatewayId],
    ),
  );
}

export async function loadSecret(database: Database): Promise<string> {
  const [row] = await database.query<{ value: string }>("SELECT value FROM holdfast.secrets WHERE name = 'proofs'");
  if (!row) throw new StoreError("other", "The secret of this database is missing from the table `secrets`.");
  return row.value;
}
