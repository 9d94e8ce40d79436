/** Which graphs runs are of, as lists and details of runs say it. */
import { plainName, type RunHead, type Store } from "@holdfast/store";
import { isGraphEvent } from "../dispatch/index.ts";

export interface GraphOfRun {
  /** Null: it is deleted, or was never stored, as of a test. */
  readonly id: string | null;
  readonly tenant: string | null;
  readonly version: number | null;
  readonly test: boolean;
}

/** Two look-ups by keys for a page with runs of graphs, none for others. */
export async function graphsOfRuns(
  store: Pick<Store, "graphRuns" | "graphNames">,
  runs: readonly Pick<RunHead, "id" | "eventName">[],
): Promise<ReadonlyMap<string, GraphOfRun>> {
  const ofGraphs = runs.flatMap(({ id, eventName }) => (isGraphEvent(plainName(eventName)) ? [id] : []));
  if (ofGraphs.length === 0) return new Map();
  const marks = await store.graphRuns(ofGraphs);
  const uids = new Set([...marks.values()].map(({ uid }) => uid));
  const names = await store.graphNames([...uids].filter((uid) => uid !== ""));
  return new Map(
    [...marks].map(([runId, { uid, version, test }]) => {
      const { id = null, tenant = null } = names.get(uid) ?? {};
      return [runId, { id, tenant, version, test }];
    }),
  );
}
