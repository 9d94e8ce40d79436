/** Runs that nothing here is busy with, kept for a while: what wakes them up often comes soon. */

/** As far as it matters here. */
export interface ParkedRun {
  readonly state: { readonly stateLength: number } | null;
}

export interface ParkedLimits {
  readonly mostRuns: number;
  /** Of the events and results of all of them. */
  readonly mostChars: number;
}

export const PARKED_LIMITS: ParkedLimits = { mostRuns: 10_000, mostChars: 8_000_000 };

/** When there are too many, those go that have been here for the longest. */
export class ParkedRuns<Run extends ParkedRun> {
  readonly #limits: ParkedLimits;
  /** The oldest first. */
  readonly #runs = new Map<string, { readonly run: Run; readonly chars: number }>();
  #chars = 0;

  constructor(limits: ParkedLimits = PARKED_LIMITS) {
    this.#limits = limits;
  }

  put(runId: string, run: Run): void {
    this.take(runId);
    const chars = run.state?.stateLength ?? 0;
    this.#runs.set(runId, { run, chars });
    this.#chars += chars;
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= this.#limits.mostRuns && this.#chars <= this.#limits.mostChars) return;
      this.take(oldest);
    }
  }

  /** It stays, and no longer than it would have. */
  peek(runId: string): Run | undefined {
    return this.#runs.get(runId)?.run;
  }

  /** It is not here any more. */
  take(runId: string): Run | undefined {
    const parked = this.#runs.get(runId);
    if (parked === undefined) return undefined;
    this.#runs.delete(runId);
    this.#chars -= parked.chars;
    return parked.run;
  }

  clear(): void {
    this.#runs.clear();
    this.#chars = 0;
  }
}
