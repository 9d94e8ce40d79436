/** What the demo writes: lines with a clock, colours on a terminal that has them, plain signs where Unicode may not show. */

const out = process.stdout;
const coloured = out.isTTY === true && process.env.NO_COLOR === undefined && process.env.TERM !== "dumb";
const locale = process.env.LC_ALL || process.env.LC_CTYPE || process.env.LANG || "";
const unicode = out.isTTY === true ? process.platform !== "linux" || /utf-?8/i.test(locale) : true;

const paint = (/** @type {number} */ open, /** @type {number} */ close) => (/** @type {string} */ text) =>
  coloured ? `\u001b[${open}m${text}\u001b[${close}m` : text;

export const bold = paint(1, 22);
export const dim = paint(2, 22);
export const red = paint(31, 39);
export const green = paint(32, 39);
export const yellow = paint(33, 39);
export const magenta = paint(35, 39);
export const cyan = paint(36, 39);

export const sign = unicode
  ? { ok: "✔", bad: "✘", beat: "♥", renew: "↻", go: "▶", zz: "☾", full: "█", light: "░", cut: "✘", line: "─", bar: "│" }
  : {
      ok: "+",
      bad: "x",
      beat: "*",
      renew: "~",
      go: ">",
      zz: "z",
      full: "#",
      light: ".",
      cut: "x",
      line: "-",
      bar: "|",
    };

const start = performance.now();

/** Seconds since the demo began. */
export const seconds = () => (performance.now() - start) / 1000;

/** True while a line is open to which marks are added as they come. */
let open = false;

/** @param {string} [text] */
export function print(text = "") {
  endMarks();
  out.write(`${text}\n`);
}

/**
 * One thing that happened.
 * @param {string} who
 * @param {string} what
 */
export function say(who, what) {
  print(`  ${dim(`${seconds().toFixed(1).padStart(4)} s`)}  ${cyan(who.padEnd(9))} ${what}`);
}

/** @param {string} what more about the line above */
export function more(what) {
  print(`  ${" ".repeat(6)}  ${" ".repeat(9)} ${what}`);
}

/** @param {string} title */
export function chapter(title) {
  print();
  print(`  ${bold(title)}`);
}

/**
 * Opens a line to which `mark` adds.
 * @param {string} label
 */
export function beginMarks(label) {
  endMarks();
  out.write(`  ${" ".repeat(6)}  ${cyan(label.padEnd(9))} `);
  open = true;
}

/** @param {string} text added to the open line; nothing when there is none */
export function mark(text) {
  if (open) out.write(`${text} `);
}

export function endMarks() {
  if (open) out.write("\n");
  open = false;
}
