/** Statements for what people have set (`ControlWrites`). Triggers raise the registry's version with each change. */
import type { AppRollout, ControlWrites, StoredControls, Wake } from "@holdfast/store";
import type { Database } from "./connection/database.ts";
import { msOf } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";

type Row = Readonly<Record<string, unknown>>;

const changes = async (query: Query, text: string, params: (string | number | null)[]): Promise<boolean> =>
  (await query<Row>(text, params)).length > 0;

const PAUSE = `INSERT INTO holdfast.function_pauses AS p (function_id, since, note) VALUES ($1, now(), $2)
ON CONFLICT (function_id) DO UPDATE SET note = excluded.note WHERE p.note IS DISTINCT FROM excluded.note RETURNING 1 AS one`;

const pauseFunction = ({ query }: Pick<Database, "query">, functionId: string, note: string | null) =>
  changes(query, PAUSE, [functionId, note]);

const resumeFunction = ({ query }: Pick<Database, "query">, functionId: string) =>
  changes(query, "DELETE FROM holdfast.function_pauses WHERE function_id = $1 RETURNING 1 AS one", [functionId]);

const ROLL_OUT = `INSERT INTO holdfast.app_rollouts AS r (app_id, version, percent, since) VALUES ($1, $2, $3, now())
ON CONFLICT (app_id) DO UPDATE SET version = excluded.version, percent = excluded.percent, since = excluded.since
WHERE (r.version, r.percent) IS DISTINCT FROM (excluded.version, excluded.percent) RETURNING 1 AS one`;

const setRollout = ({ query }: Pick<Database, "query">, { appId, version, percent }: Omit<AppRollout, "sinceMs">) =>
  changes(query, ROLL_OUT, [appId, version, percent]);

const removeRollout = ({ query }: Pick<Database, "query">, appId: string) =>
  changes(query, "DELETE FROM holdfast.app_rollouts WHERE app_id = $1 RETURNING 1 AS one", [appId]);

const DRAIN = `INSERT INTO holdfast.worker_drains (instance, since) VALUES ($1, now())
ON CONFLICT (instance) DO NOTHING RETURNING 1 AS one`;

const drainWorker = ({ query }: Pick<Database, "query">, instance: string) => changes(query, DRAIN, [instance]);

const undrainWorker = ({ query }: Pick<Database, "query">, instance: string) =>
  changes(query, "DELETE FROM holdfast.worker_drains WHERE instance = $1 RETURNING 1 AS one", [instance]);

/** SQL for all of it as columns of one row, so that it is read at the same instant as the registry. */
export const CONTROLS = `(SELECT COALESCE(json_agg(x ORDER BY x."functionId" COLLATE "C"), '[]') FROM (
    SELECT function_id AS "functionId", ${msOf("since")} AS "sinceMs", note FROM holdfast.function_pauses) x)::text AS pauses,
  (SELECT COALESCE(json_agg(x ORDER BY x."appId" COLLATE "C"), '[]') FROM (
    SELECT app_id AS "appId", version, percent, ${msOf("since")} AS "sinceMs" FROM holdfast.app_rollouts) x)::text AS rollouts,
  (SELECT COALESCE(json_agg(x ORDER BY x.instance COLLATE "C"), '[]') FROM (
    SELECT instance, ${msOf("since")} AS "sinceMs" FROM holdfast.worker_drains) x)::text AS drains`;

export interface ControlColumns {
  readonly pauses: string;
  readonly rollouts: string;
  readonly drains: string;
}

export const controlsOf = (row: ControlColumns | undefined): StoredControls => ({
  pauses: JSON.parse(row?.pauses ?? "[]") as StoredControls["pauses"],
  rollouts: JSON.parse(row?.rollouts ?? "[]") as StoredControls["rollouts"],
  drains: JSON.parse(row?.drains ?? "[]") as StoredControls["drains"],
});

export function controlWrites(database: Pick<Database, "query">, notify: (wake: Wake) => void): ControlWrites {
  const announced = async (change: Promise<boolean>): Promise<boolean> => {
    const changed = await change;
    if (changed) notify({ type: "REGISTRY_CHANGED" });
    return changed;
  };
  return {
    pauseFunction: (functionId, note) => announced(pauseFunction(database, functionId, note)),
    resumeFunction: (functionId) => announced(resumeFunction(database, functionId)),
    setRollout: (rollout) => announced(setRollout(database, rollout)),
    removeRollout: (appId) => announced(removeRollout(database, appId)),
    drainWorker: (instance) => announced(drainWorker(database, instance)),
    undrainWorker: (instance) => announced(undrainWorker(database, instance)),
  };
}
