/** Finds the names that a mistyped one was probably meant to be. Pure. */

/** Undefined when none is close: by `mostEdits` letters at most, default a third of them. */
export function nearestName(
  given: string,
  names: readonly string[],
  mostEdits = Number.POSITIVE_INFINITY,
): string | undefined {
  const limit = Math.min(mostEdits, Math.max(1, Math.floor(given.length / 3)));
  const best = ranked(given, names)[0];
  return best !== undefined && best.edits <= limit ? best.name : undefined;
}

/** The `count` names that come closest, the closest first, however far they are. */
export function nearestNames(given: string, names: readonly string[], count: number): string[] {
  return ranked(given, names)
    .slice(0, count)
    .map(({ name }) => name);
}

function ranked(given: string, names: readonly string[]): { readonly name: string; readonly edits: number }[] {
  return names
    .map((name) => ({ name, edits: editsBetween(given.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
}

/** How many letters must be added, left out, replaced, or swapped with the one beside them. */
function editsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : replaced;
      row.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
