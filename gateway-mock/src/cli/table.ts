/** Tables of text: columns as wide as they need, cut where the terminal ends. Pure. */

export type Cell = string;

/** `last` columns give way when a line is too long; a width of 0 has no limit. */
export function tableText(headings: readonly string[], rows: readonly (readonly Cell[])[], columns = 0): string {
  const all = [headings, ...rows.map((row) => row.map(oneLine))];
  const widths = headings.map((_, index) => Math.max(...all.map((row) => width(row[index] ?? ""))));
  return all.map((row) => `${cut(lineOf(row, widths), columns)}\n`).join("");
}

function lineOf(row: readonly Cell[], widths: readonly number[]): string {
  return row
    .map((cell, index) => cell + " ".repeat(Math.max(0, (widths[index] ?? 0) - width(cell))))
    .join("  ")
    .trimEnd();
}

/** Counts characters as people do; two-column ones count as one. */
const width = (text: string): number => [...text].length;

function cut(line: string, columns: number): string {
  const characters = [...line];
  return columns > 0 && characters.length > columns ? `${characters.slice(0, columns - 1).join("")}…` : line;
}

/** Line ends and control characters would break the table, or reach the terminal as commands. */
export function oneLine(text: string): string {
  return visible(text).replaceAll(/\s+/g, " ").trim();
}

/**
 * Without control characters but line ends, nor those that turn the direction of what follows: names and messages come
 * from apps and events.
 */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal.
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;
  return withoutTurns(text).replaceAll(controls, " ");
}

/** Overrides, embeddings, isolates and marks of direction: they would show what follows in another order than it has. */
const withoutTurns = (text: string): string =>
  text.replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
