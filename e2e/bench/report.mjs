/** The tables of the benchmark: one build by itself, or two beside each other. Pure. */
import { ratios, spread } from "./stats.mjs";

/**
 * @typedef {import("./scenarios/scenario.mjs").Scenario} Scenario
 * @typedef {import("./scenarios/scenario.mjs").Shown} Shown
 * @typedef {import("./scenarios/scenario.mjs").Row} Row
 *
 * @typedef {object} Measured
 * @property {Scenario} scenario
 * @property {number} size
 * @property {readonly (readonly Row[])[]} rows of each build, in rounds
 */

const number = (/** @type {number} */ value, /** @type {number} */ digits) =>
  Number.isFinite(value)
    ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : "?";

/** @param {Scenario} scenario @param {number} size */
export const titleOf = ({ title }, size) => title.replace("{n}", number(size, 0));

/**
 * Medians, the spread of the measurements, and where an aim stands how far it is.
 * @param {readonly Measured[]} measured
 */
export function table(measured) {
  const lines = [["", "median", "from", "to", "aim", ""]];
  for (const { scenario, size, rows } of measured) {
    const [own = []] = rows;
    lines.push([`${titleOf(scenario, size)} (${own.length} times)`, "", "", "", "", ""]);
    for (const { label, value, digits, better, aim } of scenario.shown) {
      const { median, from, to } = spread(valuesOf(own, value));
      lines.push([
        `  ${label}`,
        ...[median, from, to].map((one) => number(one, digits)),
        aim === undefined ? "" : `${better === "higher" ? ">=" : "<="} ${number(aim, aim < 10 ? 2 : 0)}`,
        aim === undefined ? "" : verdict(median, aim, better),
      ]);
    }
  }
  return aligned(lines);
}

/**
 * Medians of both builds, and the ratio of the first to the second: its median over the rounds, and its spread.
 * @param {readonly Measured[]} measured
 * @param {readonly [string, string]} labels
 */
export function comparison(measured, labels) {
  const lines = [["", ...labels, "ratio", "from", "to", ""]];
  for (const { scenario, size, rows } of measured) {
    const [own = [], other = []] = rows;
    lines.push([`${titleOf(scenario, size)} (${Math.min(own.length, other.length)} rounds)`, "", "", "", "", "", ""]);
    for (const { label, value, digits, better } of scenario.shown) {
      const [values, others] = [valuesOf(own, value), valuesOf(other, value)];
      const ratio = ratios(values, others);
      lines.push([
        `  ${label}`,
        number(spread(values).median, digits),
        number(spread(others).median, digits),
        ...[ratio.median, ratio.from, ratio.to].map((one) => number(one, 3)),
        clearly(ratio, better),
      ]);
    }
  }
  return aligned(lines);
}

/** @param {readonly Row[]} rows @param {string} value */
const valuesOf = (rows, value) => rows.map((row) => row[value] ?? Number.NaN);

/**
 * Only where all rounds agree.
 * @param {import("./stats.mjs").Spread} ratio
 * @param {"higher" | "lower"} better
 */
function clearly({ from, to }, better) {
  if (from > 1) return better === "higher" ? "better" : "worse";
  if (to < 1) return better === "higher" ? "worse" : "better";
  return "";
}

/** @param {readonly (readonly string[])[]} lines */
function aligned(lines) {
  const columns = Math.max(...lines.map((line) => line.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
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
 * @param {number} aim
 * @param {"higher" | "lower"} better
 */
function verdict(value, aim, better) {
  const factor = better === "higher" ? value / aim : aim / value;
  if (factor >= 1) return "reached";
  return `missed: ${Math.round(factor * 100)} %`;
}
