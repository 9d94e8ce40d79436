/** Plots as SVG text: horizontal bars, readable on light and on dark pages, without a library to draw them. Pure. */

/**
 * @typedef {object} Part of a bar
 * @property {string} label for the legend
 * @property {number} value
 *
 * @typedef {object} Bar
 * @property {string} label
 * @property {readonly Part[]} parts one, or several that lie one after the other
 * @property {{ from: number, to: number }} [range] the least and the most that was measured
 *
 * @typedef {object} Plot
 * @property {string} title
 * @property {string} unit
 * @property {readonly Bar[]} bars
 */

const [WIDTH, LABEL_WIDTH, ROW, BAR, TOP, VALUE_WIDTH] = [760, 300, 30, 18, 64, 90];
/** Of equal weight on white and on black. */
const COLOURS = ["#4a7fc1", "#c1763a", "#4f9a68", "#9a6bb0"];

const escaped = (/** @type {string} */ text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

const shown = (/** @type {number} */ value) =>
  value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 });

const sum = (/** @type {Bar} */ { parts }) => parts.reduce((total, { value }) => total + value, 0);

/**
 * @param {Plot} plot
 * @returns {string} an SVG document
 */
export function barPlot({ title, unit, bars }) {
  const known = bars.filter((bar) => Number.isFinite(sum(bar)));
  const most = Math.max(...known.map((bar) => Math.max(sum(bar), bar.range?.to ?? 0)), Number.MIN_VALUE);
  const scale = (/** @type {number} */ value) => (value / most) * (WIDTH - LABEL_WIDTH - VALUE_WIDTH);
  const legend = known[0] !== undefined && known[0].parts.length > 1 ? known[0].parts.map(({ label }) => label) : [];
  const top = TOP + (legend.length > 0 ? 22 : 0);
  const height = top + known.length * ROW + 12;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    "<style>",
    "text { font: 13px system-ui, sans-serif; fill: #24292f } .quiet { fill: #57606a } .title { font-weight: 600; font-size: 15px }",
    "path { stroke: #24292f; stroke-width: 1.5; fill: none }",
    "@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9da7b3 } path { stroke: #e6edf3 } }",
    "</style>",
    `<text class="title" x="12" y="26">${escaped(title)}</text>`,
    `<text class="quiet" x="12" y="46">${escaped(unit)}</text>`,
    ...legend.flatMap((label, index) => [
      `<rect x="${12 + index * 120}" y="58" width="12" height="12" rx="2" fill="${COLOURS[index % COLOURS.length]}"/>`,
      `<text x="${30 + index * 120}" y="69">${escaped(label)}</text>`,
    ]),
    ...known.flatMap((bar, index) => barLines(bar, top + index * ROW, scale)),
    "</svg>",
  ].join("\n")}\n`;
}

/**
 * @param {Bar} bar
 * @param {number} y
 * @param {(value: number) => number} scale
 */
function barLines(bar, y, scale) {
  const middle = y + BAR / 2;
  let x = LABEL_WIDTH;
  const rectangles = bar.parts.map(({ value }, index) => {
    const width = scale(value);
    const rectangle = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${COLOURS[index % COLOURS.length]}"/>`;
    x += width;
    return rectangle;
  });
  const { from, to } = bar.range ?? { from: sum(bar), to: sum(bar) };
  const [left, right] = [LABEL_WIDTH + scale(from), LABEL_WIDTH + scale(to)];
  const whisker =
    right - left < 1
      ? []
      : [
          `<path d="M${left.toFixed(1)} ${middle}H${right.toFixed(1)}M${left.toFixed(1)} ${middle - 4}v8M${right.toFixed(1)} ${middle - 4}v8"/>`,
        ];
  return [
    `<text x="${LABEL_WIDTH - 10}" y="${middle + 4.5}" text-anchor="end">${escaped(bar.label)}</text>`,
    ...rectangles,
    ...whisker,
    `<text x="${(Math.max(x, right) + 8).toFixed(1)}" y="${middle + 4.5}">${shown(sum(bar))}</text>`,
  ];
}
