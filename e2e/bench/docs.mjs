/**
 * The figures and plots of docs/performance.md, from the raw rows that lie beside them: `npm run bench -- --docs` measures and
 * writes them anew, `node e2e/bench/docs.mjs` writes them from the rows that are there. A test checks that they agree.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isProgram } from "../../packages/tooling/src/workspace.mjs";
import { barPlot } from "./plots.mjs";
import { titleOf } from "./report.mjs";
import { scenarios } from "./scenarios/index.mjs";
import { spread } from "./stats.mjs";

/**
 * @typedef {import("./measure.mjs").RawRow} RawRow
 *
 * @typedef {RawRow & { commit: string }} KeptRow
 *
 * @typedef {object} Machine where the rows were measured
 * @property {number} cpus
 * @property {string | undefined} model
 * @property {string} node
 * @property {number} commitMs
 */

const PAGE = new URL("../../docs/performance.md", import.meta.url);
const PICTURES = new URL("../../docs/performance/", import.meta.url);
const ROWS = new URL("rows.jsonl", PICTURES);
const [BEGIN, END] = ["<!-- figures -->", "<!-- /figures -->"];

/** One line the machine, then a line a row. @returns {{ machine: Machine, rows: KeptRow[] }} */
export function readRows() {
  const [machine, ...rows] = readFileSync(ROWS, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { machine, rows };
}

/**
 * Scenarios that were measured now replace what was known of them; the others stay as they are.
 * @param {Machine} machine
 * @param {string} commit
 * @param {readonly RawRow[]} rows
 */
export function keepRows(machine, commit, rows) {
  const names = new Set(rows.map(({ scenario }) => scenario));
  /** @type {KeptRow[]} */
  let before = [];
  try {
    before = readRows().rows.filter(({ scenario }) => !names.has(scenario));
  } catch {
    // There were none.
  }
  const short = (/** @type {RawRow} */ row) => ({
    ...row,
    commit: commit.slice(0, 8),
    load: Math.round(row.load * 10) / 10,
    values: Object.fromEntries(Object.entries(row.values).map(([name, value]) => [name, Number(value.toPrecision(5))])),
  });
  const order = new Map(scenarios.map(({ name }, index) => [name, index]));
  const all = [...before, ...rows.map(short)].sort(
    (a, b) => (order.get(a.scenario) ?? 0) - (order.get(b.scenario) ?? 0) || a.round - b.round,
  );
  writeFileSync(ROWS, [machine, ...all].map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** Everything that follows from the rows, by file. @returns {Map<string, string>} */
export function documents() {
  const { machine, rows } = readRows();
  const page = readFileSync(PAGE, "utf8");
  const [before, rest = ""] = page.split(BEGIN);
  const after = rest.slice(rest.indexOf(END) + END.length);
  return new Map([
    [fileURLToPath(PAGE), `${before}${BEGIN}\n${figures(machine, rows)}\n${END}${after}`],
    ...Object.entries(plotsOf(rows)).map(
      ([name, plot]) => /** @type {const} */ ([fileURLToPath(new URL(`${name}.svg`, PICTURES)), barPlot(plot)]),
    ),
  ]);
}

export function writeDocuments() {
  for (const [file, text] of documents()) writeFileSync(file, text);
}

/** @param {readonly RawRow[]} rows @param {string} scenario @param {string} value */
const valuesOf = (rows, scenario, value) =>
  spread(rows.filter((row) => row.scenario === scenario).map(({ values }) => values[value] ?? Number.NaN));

const number = (/** @type {number} */ value, /** @type {number} */ digits = 0) =>
  Number.isFinite(value)
    ? value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    : "";

/** @param {Machine} machine @param {readonly KeptRow[]} rows */
function figures(machine, rows) {
  const loads = rows.map(({ load }) => load);
  const days = [...new Set(rows.map(({ at }) => at.slice(0, 10)))].sort();
  const commits = [...new Set(rows.map(({ commit }) => commit))];
  const where = [
    `Measured ${[...new Set([days[0], days.at(-1)])].join(" to ")} at commit ${commits.join(", ")}: ${machine.model},`,
    `${machine.cpus} cores shared with other work (load average ${number(Math.min(...loads), 1)} to`,
    `${number(Math.max(...loads), 1)}), Node ${machine.node.slice(1)}, a commit of one row`,
    `${number(machine.commitMs, 1)} ms. Medians, in brackets the least and the most.`,
  ].join(" ");
  const lines = scenarios
    .filter(({ name }) => rows.some(({ scenario }) => scenario === name))
    .flatMap((scenario) => {
      const size = rows.find((row) => row.scenario === scenario.name)?.size ?? 0;
      const cost = ["appCpuUs", "gatewayCpuUs", "postgresCpuUs", "walBytes"].map((value) =>
        number(valuesOf(rows, scenario.name, value).median),
      );
      return (
        scenario.shown
          .filter(({ value }) => !/CpuUs$|^walBytes$|^commits$/.test(value))
          // A figure that the scenario got since its rows were measured has no line yet.
          .filter(({ value }) => Number.isFinite(valuesOf(rows, scenario.name, value).median))
          .map(({ label, value, digits }, index) => {
            const { median, from, to } = valuesOf(rows, scenario.name, value);
            const [title, costs] =
              index === 0 ? [titleOf(scenario, size), cost[0] === "" ? "" : cost.join(", ")] : ["", ""];
            return `| ${title} | ${label} | ${number(median, digits)} (${number(from, digits)} to ${number(to, digits)}) | ${costs} |`;
          })
      );
    });
  return [
    ...wrapped(where),
    "",
    "| | | | app, gateway, Postgres: µs of CPU a run; WAL bytes |",
    "|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** @param {string} text */
function wrapped(text) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 119) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** @param {readonly RawRow[]} rows @returns {Record<string, import("./plots.mjs").Plot>} */
function plotsOf(rows) {
  const bars = (/** @type {readonly (readonly [string, string, string])[]} */ wanted) =>
    wanted.map(([scenario, value, label]) => {
      const { median, from, to } = valuesOf(rows, scenario, value);
      return { label, parts: [{ label, value: median }], range: { from, to } };
    });
  const perRun = (/** @type {readonly (readonly [string, string])[]} */ wanted) =>
    wanted.map(([scenario, label]) => ({
      label,
      parts: ["app", "gateway", "postgres"].map((process) => ({
        label: process === "postgres" ? "Postgres" : process,
        value: valuesOf(rows, scenario, `${process}CpuUs`).median,
      })),
    }));
  const counts = [1, 2, 4];
  return {
    throughput: {
      title: "What goes through",
      unit: "a second; the line is the range of the measurements",
      bars: bars([
        ["one", "runsPerSecond", "runs of 1 step, in bulk"],
        ["single", "runsPerSecond", "runs of 1 step, one by one"],
        ["sequential", "stepsPerSecond", "steps, 10 in sequence"],
        ["parallel", "stepsPerSecond", "steps, 10 in parallel"],
        ["answers", "answersPerSecond", "events that end a wait"],
        ["lanes", "runsPerSecond", "runs in 100 lanes"],
        ["limit", "runsPerSecond", "runs, 10 at once"],
      ]),
    },
    load: {
      title: "Runs of 1 step when much is there already",
      unit: "runs a second",
      bars: bars([
        ["one", "runsPerSecond", "nothing"],
        ["history", "runsPerSecond", "ended runs"],
        ["backlog", "runsPerSecond", "a backlog"],
        ["backlog-lanes", "runsPerSecond", "a backlog in 100 lanes"],
        ["sleepers", "runsPerSecond", "sleepers, due at once"],
      ]),
    },
    cost: {
      title: "What a run costs",
      unit: "µs of CPU time a run",
      bars: perRun([
        ["one", "1 step, in bulk"],
        ["single", "1 step, one by one"],
        ["answers", "a wait, from its event on"],
        ["sequential", "10 steps in sequence"],
        ["parallel", "10 steps in parallel"],
      ]),
    },
    cores: {
      title: "More processes",
      unit: "runs of 1 step a second",
      bars: bars(
        counts.flatMap((gateways) =>
          counts.map(
            (workers) =>
              /** @type {const} */ ([
                `cores-${gateways}x${workers}`,
                "runsPerSecond",
                `gateways ${gateways}, workers ${workers}`,
              ]),
          ),
        ),
      ),
    },
  };
}

if (isProgram(import.meta.url)) writeDocuments();
