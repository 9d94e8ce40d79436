/** What a memory store forgets so that it does not grow for ever: old runs that have ended, and their events. */
import { isRunNeeded, neededEvents } from "./needed.ts";
import type { Tables } from "./tables.ts";

/**
 * What a memory store forgets, so that a gateway that runs for weeks does not grow: of the runs that have ended the oldest
 * beyond `most`, and events beyond `most` of which no run is left. What anything still depends on stays:
 * - a run that is on hold or has jobs, or for whose end a job or another run waits;
 * - an event that a window holds, or whose `event` job has not been done.
 */
export class KeptRuns {
  readonly #tables: Tables;
  readonly #most: number;
  /** In the order in which they ended. */
  readonly #ended = new Set<string>();
  /** How many there must be before they are looked through again. */
  #nextRunSweep: number;
  #nextEventSweep: number;

  constructor(tables: Tables, most: number) {
    this.#tables = tables;
    this.#most = most;
    this.#nextRunSweep = sweepAfter(most);
    this.#nextEventSweep = sweepAfter(most);
  }

  /** A transaction wrote about these runs. */
  changed(runIds: Iterable<string>): void {
    for (const runId of runIds) {
      if (this.#tables.runsTable.isLive(runId)) this.#ended.delete(runId);
      else if (this.#tables.runs.has(runId)) this.#ended.add(runId);
    }
    if (this.#ended.size > this.#nextRunSweep) this.#forgetRuns();
    if (this.#tables.events.size > this.#nextEventSweep) this.#forgetEvents();
  }

  #forgetRuns(): void {
    for (const runId of this.#ended) {
      if (this.#ended.size <= this.#most) break;
      if (isRunNeeded(this.#tables, runId)) continue;
      this.#ended.delete(runId);
      this.#tables.forgetRun(runId);
    }
    this.#nextRunSweep = this.#sweepAgainAfter(this.#ended.size);
  }

  #forgetEvents(): void {
    const { events } = this.#tables;
    const isNeeded = neededEvents(this.#tables);
    for (const [id, { runIds }] of events) {
      if (events.size <= this.#most) break;
      if (isNeeded(id, runIds)) continue;
      this.#tables.forgetEvent(id);
    }
    this.#nextEventSweep = this.#sweepAgainAfter(events.size);
  }

  /** Where most are needed, looking through them again at each new one would cost too much. */
  #sweepAgainAfter(left: number): number {
    return sweepAfter(Math.max(this.#most, left));
  }
}

/** A tenth more, so that a sweep has something to do. */
const sweepAfter = (count: number): number => count + Math.ceil(count / 10);
