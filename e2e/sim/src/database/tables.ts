/** The database of a schedule: the memory store's tables under virtual time, with the oracle as a listener. */
import { FAILURE_KEY } from "@holdfast/engine";
import {
  type BatchPlan,
  type EventRow,
  type JobRow,
  Tables as MemoryTables,
  type RunRow,
  type TableWatch,
  type Unit,
} from "@holdfast/store";

/** What the oracle hears of the tables. */
export interface OracleWatch extends TableWatch {
  /** A decision removes work that someone holds, and that it is not about. */
  takenAway(job: JobRow): void;
  /** A write under an epoch that was given out again meanwhile counted. */
  wroteUnder(job: JobRow, epoch: number): void;
  /** A run is about to be removed. */
  removed(run: RunRow): void;
}

const NO_WATCH: OracleWatch = {
  changed: () => {},
  logged: () => {},
  dispatched: () => {},
  unstarted: () => {},
  created: () => {},
  takenAway: () => {},
  wroteUnder: () => {},
  removed: () => {},
};

/** What the clock says at the beginning of virtual time. */
const EPOCH_MS = 1_700_000_000_000;

/** The database of a schedule: the memory store's tables under virtual time, with the oracle as a listener. */
export class Tables extends MemoryTables {
  watch: OracleWatch = NO_WATCH;
  /** Until then the server does nothing (in virtual time). */
  stopsMs = 0;
  readonly epochMs = EPOCH_MS;
  readonly #removed = new Map<string, RunRow>();
  readonly #removedEvents = new Map<string, EventRow>();
  /** Runs that were removed at some time. */
  readonly removedIds = new Set<string>();
  /** Those of them whose time was over: their events stay until theirs is. */
  readonly prunedIds = new Set<string>();

  /** `virtualMs` = since the beginning of virtual time. */
  constructor(virtualMs: () => number) {
    const nowMs = (): number => Math.floor(EPOCH_MS + virtualMs());
    super({
      clock: { nowMs, order: virtualMs },
      newUuid: (count) => `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`,
    });
  }

  override forgetRun(runId: string): void {
    const run = this.runs.get(runId);
    if (run) this.watch.removed(run);
    if (run) this.#removed.set(runId, { ...run, jobs: new Set(run.jobs), waits: new Map(run.waits) });
    this.removedIds.add(runId);
    for (const [id, event] of this.events) {
      const { runIds } = this.#removedEvents.get(id) ?? event;
      if (runIds.includes(runId)) this.#removedEvents.set(id, { ...event, runIds: [...runIds] });
    }
    super.forgetRun(runId);
  }

  /** Puts runs back that were removed, as they were: the schedule is over, and is looked at as a whole. */
  restore(): void {
    for (const [runId, run] of this.#removed) if (!this.runs.has(runId)) this.runsTable.rows.set(runId, run);
    for (const [id, event] of this.#removedEvents) {
      const later = this.events.get(id)?.runIds ?? [];
      const runIds = [...event.runIds, ...later.filter((runId) => !event.runIds.includes(runId))];
      this.eventTable.rows.set(id, { ...event, runIds });
    }
    this.#removed.clear();
    this.#removedEvents.clear();
  }

  protected override get watching(): TableWatch {
    return this.watch;
  }

  protected override decided(units: readonly Unit[], { results }: BatchPlan): void {
    for (const [index, unit] of units.entries()) this.#lookForTaken(unit, results[index]);
  }

  #lookForTaken(unit: Unit, result: BatchPlan["results"][number] | undefined): void {
    if (unit.type !== "transition" || !result || !("won" in result) || !result.won) return;
    const { fence, removeJobs } = unit.transition;
    const fenced = fence ? this.queue.get(fence.jobId) : undefined;
    if (fence && fenced && fenced.epoch !== fence.epoch) this.watch.wroteUnder(fenced, fence.epoch);
    // A run that begins to undo gives up all its work, as one that ends.
    if (removeJobs === "all" || unit.transition.log.some(({ key }) => key === FAILURE_KEY)) return;
    for (const id of removeJobs) {
      const job = this.queue.get(id);
      const isHeld = job?.leasedBy != null && job.availableMs > this.nowMs;
      if (isHeld && id !== fence?.jobId && job.functionId !== "") this.watch.takenAway(job);
    }
  }
}
