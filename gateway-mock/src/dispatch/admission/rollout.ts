/** Which version of its app a new run begins with while a rollout is set (docs/decisions/0094). Pure. */
import { sha256 } from "@holdfast/engine";
import type { AppRollout } from "@holdfast/store";

/** Whether the run is one of those that begin with the version of the rollout: always the same answer for one run. */
export function isRolledOut({ appId, percent }: Pick<AppRollout, "appId" | "percent">, runId: string): boolean {
  const share = sha256(`${appId}\n${runId}`).readUInt32BE(0) / 2 ** 32;
  return share * 100 < percent;
}

/**
 * The versions that a new run may begin with, the one that it is to begin with first. `versions`: those that have its
 * function, the newest first. A rollout of another version is none for it.
 */
export function versionsToBegin(
  versions: readonly string[],
  rollout: Pick<AppRollout, "appId" | "version" | "percent"> | null,
  runId: string,
): readonly string[] {
  if (!rollout?.version || !versions.includes(rollout.version)) return versions;
  const others = versions.filter((version) => version !== rollout.version);
  return isRolledOut(rollout, runId) ? [rollout.version, ...others] : [...others, rollout.version];
}
