/** Whether a deployment is its app's newest one, as far as the registry says: by its version and its functions. Pure. */
import type { AppRecord, Deployment } from "@holdfast/store";

/** `deployments`: of each app the newest first. Of apps without versions, builds may differ in nothing that is listed. */
export function isNewest({ id, version, functions }: AppRecord, deployments: readonly Deployment[]): boolean {
  const newest = deployments.find(({ appId }) => appId === id);
  if (version === "" || newest?.version !== version || newest.slugs.length !== functions.length) return false;
  const slugs = new Set(newest.slugs);
  return functions.every(({ slug }) => slugs.has(slug));
}
