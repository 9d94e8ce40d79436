import { median } from "./stats.mjs";

/**
 * @typedef {import("./figures.mjs").Figure} Figure
 * @typedef {import("./figures.mjs").Row} Row
 */

const number = (/** @type {number} */ value, /** @type {number} */ digits) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/**
 * The table of all figures: medians, the spread of the measurements, and where an aim stands how far it is.
 * @param {readonly { figure: Figure, rows: readonly Row[] }[]} measured
 * @returns {string}
 */
export function table(measured) {
  const lines = [["", "median", "from", "to", "aim", ""]];
  for (const { figure, rows } of measured) {
    lines.push([`${figure.title} (${rows.length} times)`, "", "", "", "", ""]);
    for (const { label, value, digits, aim } of figure.shown) {
      const values = rows.map((row) => row[value] ?? Number.NaN);
      const middle = median(values);
      lines.push([
        `  ${label}`,
        number(middle, digits),
        number(Math.min(...values), digits),
        number(Math.max(...values), digits),
        aim === undefined ? "" : `${aim.better === "higher" ? ">=" : "<="} ${number(aim.at, aim.at < 10 ? 1 : 0)}`,
        aim === undefined ? "" : verdict(middle, aim),
      ]);
    }
  }
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  // A title may run over the columns beside it.
  widths[0] = Math.max(...lines.filter((line) => line[1] !== "").map((line) => (line[0] ?? "").length));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/**
 * @param {number} value
 * @param {{ at: number, better: "higher" | "lower" }} aim
 */
function verdict(value, { at, better }) {
  const factor = better === "higher" ? value / at : at / value;
  if (factor >= 1) return "reached";
  return `missed: ${Math.round(factor * 100)} %`;
}
