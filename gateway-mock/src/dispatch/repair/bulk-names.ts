/** The ids of bulk jobs and of the runs that they make, and how a job names a version. */
import { ulidFromSeed } from "@holdfast/core";
import { sha256 } from "@holdfast/engine";
import type { BulkJob } from "@holdfast/store";
import type { WantedVersion } from "./repairs.ts";

/** The first character after the time says which comes first: the job, then the runs that it makes. */
export const bulkIdOf = (id: string): string => `${id.slice(0, 10)}0${id.slice(11)}`;

/** The same however often it is asked for; of the job's time, so it comes after all runs that the job looks at. */
export function rerunIdOf(bulkId: string, runId: string): string {
  const entropy = Uint8Array.from(sha256(`${bulkId}\n${runId}`).subarray(0, 10));
  return `${madeBy(bulkId)}${ulidFromSeed(0, entropy, 0).slice(11)}`;
}

/** How the ids of runs begin that a job makes: its work, when it is done again, is no work of others. */
export const madeBy = (bulkId: string): string => `${bulkId.slice(0, 10)}Z`;

/** Of reruns and resumed runs. */
export function versionOf({ appVersion }: BulkJob): WantedVersion {
  if (appVersion === "") return { type: "newest" };
  return appVersion === "same" ? { type: "same" } : { type: "named", version: appVersion.slice(1) };
}
