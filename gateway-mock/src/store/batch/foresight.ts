/** How well foreseeing went lately; it is left alone for a while where it goes wrong again and again. */
export interface Foresight {
  /** Names for which somebody waited when they were looked at last. */
  readonly awaited: ReadonlySet<string>;
  /** Whether the next batch is worth a try; asked once for each that could be foreseen. */
  tries(): boolean;
  /** All was as foreseen. */
  held(): void;
  /** Something was not. */
  missed(): void;
  /** Of these names those were awaited. */
  looked(names: readonly string[], awaited: ReadonlySet<string>): void;
}

/** After so many misses in a row 63 batches are not tried. */
const MAX_MISSES = 6;
const MAX_NAMES = 10_000;

export function createForesight(): Foresight {
  const known = new Set<string>();
  let misses = 0;
  let rest = 0;
  return {
    awaited: known,
    tries() {
      if (rest === 0) return true;
      rest -= 1;
      return false;
    },
    held() {
      misses = Math.max(0, misses - 1);
    },
    missed() {
      misses = Math.min(misses + 1, MAX_MISSES);
      rest = 2 ** misses - 1;
    },
    looked(names, awaited) {
      for (const name of names) if (!awaited.has(name)) known.delete(name);
      if (known.size + awaited.size > MAX_NAMES) known.clear();
      for (const name of awaited) known.add(name);
    },
  };
}
