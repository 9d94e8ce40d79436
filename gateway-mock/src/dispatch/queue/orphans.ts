/**
 * Looks for orphans: runs that have not ended and have no reason to wait, since neither a job nor a wait moves them on.
 * There is never one unless something is wrong; each is logged once and counted until it is none any more.
 */
import type { Log } from "@holdfast/core";
import type { Store } from "@holdfast/store";
import type { WaitingRuns } from "./waiting-runs.ts";

/** At each sweep the newest runs, and so many more of all others in turn. */
const NEWEST = 1_000;
const IN_TURN = 4_000;
/** On request: all of them. */
const PAGE = 20_000;

export interface OrphansParts {
  readonly store: Pick<Store, "unmovedRuns">;
  readonly waitingRuns: Pick<WaitingRuns, "whyWait">;
  readonly log: Log;
}

export interface OrphanReport {
  readonly runIds: readonly string[];
  /** How many runs were looked at. */
  readonly looked: number;
}

/** The orphans of this database, as far as this gateway has looked. */
export class Orphans {
  readonly #parts: OrphansParts;
  #known: ReadonlySet<string> = new Set();
  /** Where the next sweep goes on; undefined: from the newest. */
  #cursor: string | undefined;

  constructor(parts: OrphansParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#known.size;
  }

  /** A look at some runs; costs the same however many there are. */
  async sweep(): Promise<void> {
    const newest = await this.#parts.store.unmovedRuns({ limit: NEWEST });
    const cursor = this.#cursor ?? newest.nextCursor ?? undefined;
    const others = cursor === undefined ? null : await this.#parts.store.unmovedRuns({ limit: IN_TURN, cursor });
    this.#cursor = others?.nextCursor ?? undefined;
    await this.#judge([...newest.runIds, ...(others?.runIds ?? [])]);
  }

  /** A look at all runs. */
  async lookAtAll(): Promise<OrphanReport> {
    const found: string[] = [];
    let looked = 0;
    let cursor: string | null | undefined;
    do {
      const page = await this.#parts.store.unmovedRuns({ limit: PAGE, ...(cursor == null ? {} : { cursor }) });
      found.push(...page.runIds);
      looked += page.looked;
      cursor = page.nextCursor;
    } while (cursor !== null);
    await this.#judge(found);
    return { runIds: [...this.#known].sort(), looked };
  }

  /** A run counts once its reason, worked out as for people, is none. */
  async #judge(found: readonly string[]): Promise<void> {
    const asked = [...new Set([...this.#known, ...found])];
    if (asked.length === 0) return;
    const reasons = await this.#parts.waitingRuns.whyWait(asked);
    const orphans = [...reasons].flatMap(([runId, reason]) => (reason === null ? [runId] : []));
    for (const runId of orphans) {
      if (this.#known.has(runId)) continue;
      const message = `Run ${runId} has not ended, and nothing moves it on: neither a job nor a wait. Cancel it, or run it again.`;
      this.#parts.log("error", message, { runId });
    }
    this.#known = new Set(orphans);
  }
}
