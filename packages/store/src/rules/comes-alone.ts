/** Which claimed jobs come without their runs. Pure. */
import type { ClaimedJob, ClaimRequest } from "../port/work.ts";

/** A timer of a run that the caller has. What was lost may have been decided on: its run is read. */
export const comesAlone = (
  { id, runId, kind, lost }: Pick<ClaimedJob, "id" | "runId" | "kind" | "lost">,
  hasRunOf: ClaimRequest["hasRunOf"],
): boolean => hasRunOf !== undefined && kind === "timer" && !lost && hasRunOf({ id, runId });
