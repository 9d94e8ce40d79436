/** What JSON is, before it is read: a record, how deep its text nests. Apart, for clients that only send. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;

export const isOpener = (code: number): boolean => code === 0x5b || code === 0x7b;
export const isCloser = (code: number): boolean => code === 0x5d || code === 0x7d;

// One walk over text and one over bytes: shared by way of an interface it would take several times as long.

/**
 * Whether JSON that is known to be right nests deeper. Most is too short for that. Brackets inside strings do not count,
 * and most of a large text is strings, which are jumped over.
 */
export function jsonNestsDeeperThan(text: string, maxDepth: number): boolean {
  if (text.length <= 2 * maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at + 1);
    else if (isOpener(code)) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (isCloser(code)) depth -= 1;
  }
  return false;
}

/** Where the quote is that ends the string whose content begins at `from`; the end of all when it has none. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (before >= from && text.charCodeAt(before) === BACKSLASH) before -= 1;
    // An even number of backslashes are characters themselves.
    if ((at - before) % 2 === 1) return at;
  }
  return text.length;
}
