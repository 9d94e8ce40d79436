/**
 * The steps whose bodies have not returned, of one connection, in this thread: for main to say of those that take long.
 * Bodies that return at once never come here; one that blocks the thread is a stall, which is reported elsewhere.
 */

export interface RunningStepEntry {
  readonly requestId: string;
  readonly runId: string;
  /** As the author wrote it. */
  readonly stepId: string;
  /** Monotonic, which all threads of a process share. */
  readonly fromMs: number;
}

export class RunningSteps {
  /** In the order in which they began. */
  readonly #entries = new Set<RunningStepEntry>();

  add(entry: RunningStepEntry): void {
    this.#entries.add(entry);
  }

  remove(entry: RunningStepEntry): void {
    this.#entries.delete(entry);
  }

  all(): Iterable<RunningStepEntry> {
    return this.#entries;
  }

  /** Those that began before this time, oldest first, by their requests. Costs as much as there are of them. */
  begunBefore(timeMs: number): Map<string, RunningStepEntry[]> {
    const found = new Map<string, RunningStepEntry[]>();
    for (const entry of this.#entries) {
      if (entry.fromMs >= timeMs) break;
      const others = found.get(entry.requestId);
      if (others) others.push(entry);
      else found.set(entry.requestId, [entry]);
    }
    return found;
  }
}
