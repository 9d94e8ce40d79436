/** How well foreseeing went lately; it is left alone for a while where it goes wrong again and again. */
export interface OptimisticBackoff {
  /** Names for which a run waited when they were last read. */
  readonly awaited: ReadonlySet<string>;
  /** Whether the next batch is worth a try; asked once for each whose rows could be expected. */
  shouldTry(): boolean;
  /** All was as expected. */
  succeeded(): void;
  /** Something was not. */
  failed(): void;
  /** Of these names those were awaited. */
  recordAwaited(names: readonly string[], awaited: ReadonlySet<string>): void;
}

/** After so many misses in a row 63 batches are not tried. */
const MAX_MISSES = 6;
const MAX_NAMES = 10_000;

export function createOptimisticBackoff(): OptimisticBackoff {
  const known = new Set<string>();
  let misses = 0;
  let rest = 0;
  return {
    awaited: known,
    shouldTry() {
      if (rest === 0) return true;
      rest -= 1;
      return false;
    },
    succeeded() {
      misses = Math.max(0, misses - 1);
    },
    failed() {
      misses = Math.min(misses + 1, MAX_MISSES);
      rest = 2 ** misses - 1;
    },
    recordAwaited(names, awaited) {
      for (const name of names) if (!awaited.has(name)) known.delete(name);
      if (known.size + awaited.size > MAX_NAMES) known.clear();
      for (const name of awaited) known.add(name);
    },
  };
}
