/** Whether a deployment is its app's newest one, as far as the registry says. Pure. */
import type { AppRecord, Deployment, FunctionRecord, StoredFunction } from "@holdfast/store";

export interface RegistryState {
  /** Of each app the newest first. */
  readonly deployments: readonly Deployment[];
  /** By slug. */
  readonly functions: ReadonlyMap<string, StoredFunction>;
}

/**
 * By its version and the slugs of its functions. Builds without versions may have these in common, so for them each
 * function must be stored as the app has it: then nothing would change if another build were taken for the newest.
 */
export function isNewest(
  { id, version, functions }: AppRecord,
  { deployments, functions: stored }: RegistryState,
): boolean {
  const newest = deployments.find(({ appId }) => appId === id);
  if (newest?.version !== version || newest.slugs.length !== functions.length) return false;
  const slugs = new Set(newest.slugs);
  if (!functions.every(({ slug }) => slugs.has(slug))) return false;
  return version !== "" || functions.every((fn) => isStored(fn, stored.get(fn.slug)));
}

const isStored = (fn: FunctionRecord, stored: StoredFunction | undefined): boolean =>
  stored?.active === true &&
  stored.name === fn.name &&
  stored.triggersJson === fn.triggersJson &&
  stored.configJson === fn.configJson;
