/** Checks what came of reruns, forks, deletions and bulk jobs, once a schedule is over (`operators.ts`). */
import { readRunCreated, readStepRow } from "@holdfast/engine";
import type { RunRow, StoredLogRow } from "@holdfast/store";
import { rerunIdOf } from "../../../gateway-mock/src/dispatch/repair/bulk-names.ts";
import type { Tables } from "./database/tables.ts";
import { EDITED } from "./operator-words.ts";
import type { Oracle } from "./oracle.ts";

export interface OperatedWorld {
  readonly tables: Tables;
  readonly oracle: Oracle;
}

const RESULTS: ReadonlySet<string> = new Set(["STEP_COMPLETED", "STEP_FAILED"]);

const metaOf = ({ log }: RunRow): ReturnType<typeof readRunCreated>["meta"] | null =>
  log[0] ? readRunCreated(log[0].dataJson).meta : null;

/** It was made of another run, by someone who asked for that. */
export function isMadeOfAnother(run: RunRow): boolean {
  const meta = metaOf(run);
  return meta?.rerunOf !== undefined || meta?.forkedFrom !== undefined;
}

export const isInvokedByStep = (run: RunRow): boolean => metaOf(run)?.parent !== undefined;

/** A fork that was told another result than its step gives. */
export const isEdited = ({ log }: RunRow): boolean =>
  log.some(({ kind, dataJson }) => kind === "STEP_COMPLETED" && dataJson.includes(`"data":${JSON.stringify(EDITED)}`));

/** A run that was deleted has left nothing; before what was removed is put back. */
export function checkDeleted({ tables, oracle }: OperatedWorld): void {
  for (const runId of tables.removedIds) {
    if (tables.runs.has(runId)) continue;
    const { jobs, runsTable, origins, events } = tables;
    const job = [...tables.queue.values()].find((one) => one.runId === runId);
    if (job) oracle.fail("S53", `Run ${runId} has a job: ${job.kind} ${job.id}.`);
    if (runsTable.waits.hasParent(runId) || jobs.has({ runId: "", kind: "child", key: runId }))
      oracle.fail("S53", `Run ${runId} is waited for.`);
    if (origins.has(runId)) oracle.fail("S53", `Run ${runId} has an origin.`);
    const event = [...events.values()].find(({ runIds }) => runIds.length > 0 && runIds.every((id) => id === runId));
    if (event && !tables.prunedIds.has(runId)) oracle.fail("S53", `Run ${runId} has left event ${event.event.id}.`);
  }
}

/** Each fork keeps what had ended before its step, and nothing else. */
export function checkForks({ tables, oracle }: OperatedWorld): void {
  for (const run of tables.runs.values()) {
    const from = metaOf(run)?.forkedFrom;
    const origin = from && tables.runs.get(from.runId);
    // What a run that was resumed had dropped is another question.
    if (!from || !origin || origin.log.some(({ kind }) => kind === "RUN_REVIVED")) continue;
    const first = run.log.findIndex(({ kind }) => kind === "DISPATCHED");
    const kept = new Set(run.log.slice(0, first).flatMap(({ kind, key }) => (RESULTS.has(kind) ? [key] : [])));
    const key = stepOf(origin, from.step);
    const at = origin.log.findIndex((row) => row.kind.startsWith("STEP_") && row.key === key);
    const before = givenBefore(origin.log, at);
    const lost = before.find((one) => !kept.has(one));
    if (lost) oracle.fail("S52", `Run ${run.head.id} of ${from.runId} from ${from.step} has not kept ${lost}.`);
    const more = [...kept].find((one) => one !== key && !before.includes(one));
    if (more !== undefined) oracle.fail("S52", `Run ${run.head.id} from ${from.step} has kept ${more}.`);
  }
}

/** Keys of the results that are in a log before this row, without those that the code was given after it. */
function givenBefore(log: readonly StoredLogRow[], index: number): readonly string[] {
  const given: string[] = [];
  const placeOf = ({ kind, dataJson }: StoredLogRow): number | undefined =>
    kind === "STEP_COMPLETED" || kind === "STEP_FAILED" ? readStepRow(kind, dataJson).meta.at : undefined;
  for (const row of log.slice(0, index)) {
    if (RESULTS.has(row.kind)) given.splice(placeOf(row) ?? given.length, 0, row.key);
  }
  const row = log[index];
  return row === undefined ? given : given.slice(0, placeOf(row));
}

/** `name`: as people call it, with the number of its round; or its key. */
function stepOf({ log }: RunRow, name: string): string | undefined {
  const rows = log.filter(({ kind }) => kind.startsWith("STEP_"));
  return rows.find(({ key }) => key === name)?.key ?? rows.find(({ dataJson }) => namesIn(dataJson).has(name))?.key;
}

function namesIn(dataJson: string): ReadonlySet<string> {
  const data = JSON.parse(dataJson) as { name?: string; step?: { name?: string } };
  return new Set([data.name ?? "", data.step?.name ?? ""]);
}

/** What a bulk job that is done says it did is what it did. */
export function checkBulkJobs({ tables, oracle }: OperatedWorld): void {
  const runs = [...tables.runs.values()];
  const isGone = (runId: string): boolean => tables.removedIds.has(runId);
  for (const { id, action, status, done, skipped, failed, errors } of tables.bulkJobs.values()) {
    if (status === "RUNNING") oracle.fail("S54", `Bulk job ${id} goes on.`);
    if (status !== "DONE") continue;
    const did = runs.filter((run) => {
      if (action === "rerun")
        return metaOf(run)?.rerunOf !== undefined && rerunIdOf(id, metaOf(run)?.rerunOf ?? "") === run.head.id;
      return (
        action === "cancel" && run.log.some(({ kind, dataJson }) => kind === "RUN_CANCELLED" && dataJson.includes(id))
      );
    });
    // What was deleted before it was counted is not.
    const least = did.filter(({ head }) => !isGone(head.id)).length;
    if ((action === "rerun" || action === "cancel") && (done > did.length || done < least))
      oracle.fail(
        "S54",
        `Bulk job ${id} says ${action} of ${done} runs, and did it to ${did.length} (${skipped} skipped, ${failed} failed: ${errors.join("; ")}).`,
      );
  }
}
