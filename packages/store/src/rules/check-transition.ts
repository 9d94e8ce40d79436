/** Mistakes of a transition's caller that types cannot exclude; every store checks before it queues anything. */
import { HoldfastError } from "@holdfast/core";
import type { Transition } from "../port/store.ts";

/** What the types cannot say; a mistake of the caller, found before anything is queued. */
export function checkTransition(transition: Transition): void {
  const { cas, create, log, head, removeJobs, endsJobs, addJobs, runId, removeWaits, addWaits, events } = transition;
  const wrong =
    (create && (cas !== null || create.id !== runId) && "`create` goes with `cas: null` and its own run id") ||
    ((cas !== null || create) && log.length === 0 && "a change of a head needs a log row") ||
    (cas === null && head && "`head` needs `cas`") ||
    (cas === null && (removeJobs === "all" || removeJobs.length > 0) && "`removeJobs` needs `cas`") ||
    (cas === null && endsJobs && "`endsJobs` needs `cas`") ||
    (cas === null && removeWaits && "`removeWaits` needs `cas`") ||
    (cas === null && !create && addJobs.length > 0 && "`addJobs` needs `cas` or `create`") ||
    (cas === null && !create && (addWaits || events) && "`addWaits` and `events` need `cas` or `create`");
  if (wrong) throw new HoldfastError("INTERNAL", `A transition of run ${runId} is malformed: ${wrong}.`);
}
