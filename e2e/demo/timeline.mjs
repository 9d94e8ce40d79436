/** A run as a picture: one row a step, time from left to right. */
import { bold, dim, green, magenta, red, sign, yellow } from "./screen.mjs";

const width = 56;

/**
 * @typedef {object} Bar
 * @property {number} from epoch ms
 * @property {number} to epoch ms
 * @property {"done" | "failed" | "killed" | "slept"} how
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {Bar[]} bars in order
 * @property {string} note
 */

/**
 * @param {readonly Row[]} rows
 * @param {{ from: number, to: number, killedAt: number, resumedAt: number }} span
 * @returns {string[]} lines
 */
export function timeline(rows, { from, to, killedAt, resumedAt }) {
  const scale = width / Math.max(1, to - from);
  const column = (/** @type {number} */ at) => Math.min(width - 1, Math.max(0, Math.floor((at - from) * scale)));
  const names = Math.max(...rows.map(({ name }) => name.length)) + 2;
  const lines = [`${" ".repeat(names)}${dim(axis((to - from) / 1000))}`];
  for (const { name, bars, note } of rows) {
    /** @type {string[]} */
    const cells = Array.from({ length: width }, (_, index) =>
      index >= column(killedAt) && index <= column(resumedAt) ? dim("·") : " ",
    );
    for (const bar of bars) draw(cells, column(bar.from), column(bar.to), bar.how);
    lines.push(`${bold(name.padEnd(names))}${cells.join("")} ${dim(note)}`);
  }
  return lines;
}

/**
 * @param {string[]} cells
 * @param {number} first
 * @param {number} last
 * @param {Bar["how"]} how
 */
function draw(cells, first, last, how) {
  const paint = { done: green, failed: yellow, killed: red, slept: magenta }[how];
  const fill = how === "slept" ? sign.light : sign.full;
  for (let index = first; index <= last; index++) cells[index] = paint(fill);
  if (how === "failed" || how === "killed") cells[last] = paint(sign.cut);
}

/** @param {number} seconds */
function axis(seconds) {
  const step = seconds > 24 ? 10 : seconds > 12 ? 5 : 2;
  let text = "";
  for (let at = 0; at <= seconds; at += step) {
    const column = Math.floor((at / seconds) * width);
    if (column + 4 > width) break;
    text = `${text.padEnd(column)}${sign.bar}${at} s`;
  }
  return text;
}

/**
 * The rows of the demo's run: when a service was at work says its diary, when a step slept says the run's log.
 * @param {import("../support/api.mjs").RunView} run
 * @param {readonly import("./diary.mjs").Line[]} diary
 * @param {number} killedAt
 * @returns {Row[]}
 */
export function runRows(run, diary, killedAt) {
  return run.steps.map(({ name, op, openedMs, startedMs, endedMs }) => {
    const lines = diary.filter(({ service }) => service === name);
    if (lines.length === 0) {
      const from = openedMs ?? startedMs ?? run.createdMs;
      const to = endedMs ?? from;
      if (op !== "Sleep") return { name, bars: [{ from, to, how: "done" }], note: took(from, to) };
      return { name, bars: [{ from, to, how: "slept" }], note: `${took(from, to)} asleep` };
    }
    /** @type {Bar[]} */
    const bars = [];
    for (const [index, line] of lines.entries()) {
      if (line.what !== "called") continue;
      const next = lines[index + 1];
      if (next === undefined || next.what === "called") bars.push({ from: line.at, to: killedAt, how: "killed" });
      else bars.push({ from: line.at, to: next.at, how: next.what });
    }
    return { name, bars, note: note(bars) };
  });
}

/** @param {readonly Bar[]} bars */
function note(bars) {
  const last = bars.at(-1);
  const time = last === undefined ? "" : took(last.from, last.to);
  if (bars.some(({ how }) => how === "killed")) return `${time}, begun again after the kill`;
  if (bars.length > 1) return `${time}, try ${bars.length}`;
  return time;
}

/**
 * @param {number} from
 * @param {number} to
 */
const took = (from, to) => `${((to - from) / 1000).toFixed(1)} s`;
