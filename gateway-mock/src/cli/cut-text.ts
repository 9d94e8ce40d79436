/** Long values on a terminal: what comes before them would scroll away. Pure. */

/** About what a terminal of 80 columns and 24 lines shows at once. */
const SHOWN_LENGTH = 2_000;
const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** The beginning of a text, and how much of it there is. */
export function cutText(text: string): string {
  if (text.length <= SHOWN_LENGTH) return text;
  // Not in the middle of a character that takes two.
  const begin = text.slice(0, SHOWN_LENGTH).replace(/[\ud800-\udbff]$/, "");
  return `${begin}… ${sizeText(Buffer.byteLength(text))}, --full or --json shows all`;
}

export function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power]}`;
}
