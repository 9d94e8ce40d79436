/**
 * Runs the cells of the matrix, two at a time, against one gateway on a throwaway Postgres, and writes down how each went.
 *
 *     node driver.mjs PROJECT CELLS_FILE RESULTS_FILE
 *
 * The gateway is the packed one of the project.
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { RESULT_MARK } from "./app-text.mjs";

/**
 * @typedef {{ outcome: "works", stack?: string } | { outcome: "refused", code: string, names: string }} Expected
 *
 * @typedef {object} Cell
 * @property {string} row
 * @property {string} column
 * @property {string} command
 * @property {string[]} args
 * @property {string} cwd
 * @property {Record<string, string>} [env]
 * @property {Expected} expected
 *
 * @typedef {{ row: string, column: string, problem: string, ms: number }} CellResult
 *
 * @typedef {{ text: string, function?: string, run?: string, step?: string }} Line
 * @typedef {{ area: number, threadId: number, main: number, stack: string, lines: Line[] }} InThread
 * @typedef {{ runs: string[], calls: Record<string, number>, inThread: InThread, error?: { code?: string, message: string } }} Told
 */

const gatewayOptions = { port: 0, connectPort: 0, keepData: false, heartbeatMs: 500, leaseMs: 2_000 };
/** The app blocks its main thread for longer than its lease and several heartbeats. */
const blockMs = 2_500;
const limitMs = 60_000;

const [project = "", cellsFile = "", resultsFile = ""] = process.argv.slice(2);
const entry = join(project, "node_modules/@holdfast/gateway/dist/index.js");
const { startGateway } = await import(pathToFileURL(entry).href);
/** @type {Cell[]} */
const cells = JSON.parse(readFileSync(cellsFile, "utf8"));
const gateway = await startGateway(gatewayOptions);
/** @type {CellResult[]} */
const results = [];
const waiting = [...cells];
const lanes = [1, 2].map(async () => {
  for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
    const { row, column } = cell;
    const start = Date.now();
    const problem = await runCell(cell);
    results.push({ row, column, problem, ms: Date.now() - start });
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    console.log(`${problem === "" ? "ok    " : "FAILED"} ${row}, ${column} (${seconds} s)${problem && `\n${problem}`}`);
  }
});
await Promise.all(lanes);
await gateway.close();
writeFileSync(resultsFile, JSON.stringify(results));

/**
 * @param {Cell} cell
 * @returns {Promise<string>} what is wrong
 */
async function runCell(cell) {
  const { output, ended } = await runProgram(cell);
  const line = output.split("\n").find((text) => text.includes(RESULT_MARK));
  const problem = (/** @type {string} */ text) => `${text}\n${output.trimEnd()}`;
  if (line === undefined) return problem(`It said nothing, and ended with ${ended}.`);
  /** @type {Told} */
  const told = JSON.parse(line.slice(line.indexOf(RESULT_MARK) + RESULT_MARK.length));
  const { expected } = cell;
  if (expected.outcome === "refused") {
    const { code = "no code", message = "" } = told.error ?? {};
    const right = code === expected.code && message.includes(expected.names);
    return right ? "" : problem(`It should be refused with ${expected.code} naming ${expected.names}.`);
  }
  if (ended !== 0) return problem(`It ended with ${ended}.`);
  if (told.error !== undefined) return problem("It failed.");
  const wrong = await whatTheGatewaySaw(told, expected.stack);
  return wrong && problem(wrong);
}

/**
 * @param {Cell} cell
 * @returns {Promise<{ output: string, ended: number | string }>}
 */
async function runProgram({ command, args, cwd, env, row, column }) {
  const foreign = Object.keys(process.env).filter((key) =>
    /^(HOLDFAST_|INNGEST_|NODE_OPTIONS$|NODE_PATH$|CI$)/.test(key),
  );
  const child = spawn(command, args, {
    cwd,
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([key]) => !foreign.includes(key))),
      HOLDFAST_DEV: gateway.url,
      MATRIX_CELL: `${row}.${column}`.replaceAll(/[^\w.-]+/g, "-"),
      MATRIX_BLOCK_MS: String(blockMs),
      NO_COLOR: "1",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (output += text));
  const limit = setTimeout(() => child.kill("SIGKILL"), limitMs);
  const [code, signal] = await new Promise((resolve) => {
    child.on("error", (error) => resolve([`${error.message}`, null]));
    child.on("close", (...args) => resolve(args));
  });
  clearTimeout(limit);
  return { output, ended: signal === "SIGKILL" ? `no end within ${limitMs / 1000} s` : (code ?? signal) };
}

/**
 * What counts is what the gateway has stored.
 * @param {Told} told
 * @param {string} stack what the failed run's stack must match
 * @returns {Promise<string>} what is wrong
 */
async function whatTheGatewaySaw({ runs, calls, inThread }, stack = "refuseOrder") {
  const [squared, thinks, done] = inThread.lines.toSorted((one, other) => (one.text < other.text ? 1 : -1));
  const [work, fail, think] = await Promise.all([...runs, done?.run ?? ""].map((id) => endedRun(id)));
  const dispatches = work.log.filter((/** @type {{ kind: string }} */ row) => row.kind === "DISPATCHED").length;
  const wrong = [
    work.status === "COMPLETED" && work.output === 3 ? "" : `The run is ${work.status} with ${work.output}.`,
    work.leasesLost === 0 ? "" : `${work.leasesLost} leases were lost.`,
    dispatches === 1 ? "" : `The run was dispatched ${dispatches} times.`,
    Object.values(calls).every((count) => count === 1) ? "" : `Steps were called ${JSON.stringify(calls)} times.`,
    fail.status === "FAILED" ? "" : `The failing run is ${fail.status}.`,
    fail.error?.name === "OrderError" ? "" : `The error's name is ${fail.error?.name}.`,
    fail.error?.message === "Order o-1 is refused." ? "" : `The error's message is ${fail.error?.message}.`,
    new RegExp(stack).test(fail.error?.stack) ? "" : `The error's stack is not from ${stack}: ${fail.error?.stack}`,
    new RegExp(stack).test(inThread.stack) ? "" : `The stack of the thread is not from ${stack}: ${inThread.stack}`,
    inThread.area === 9 ? "" : `The isolated step's result is ${inThread.area}.`,
    inThread.threadId !== inThread.main ? "" : "The isolated step ran on the app's thread.",
    think.status === "COMPLETED" ? "" : `The run of the isolated handler is ${think.status}.`,
    Number.isInteger(think.output) && think.output !== inThread.main ? "" : `It ran in thread ${think.output}.`,
    isLine(squared, "work", runs[0], "square") ? "" : `The isolated step logged ${JSON.stringify(squared)}.`,
    isLine(thinks, "think", think.id, "think") ? "" : `The isolated handler's step logged ${JSON.stringify(thinks)}.`,
    isLine(done, "think", think.id) ? "" : `The isolated handler logged ${JSON.stringify(done)}.`,
  ];
  return wrong.filter((text) => text !== "").join("\n");
}

/**
 * Whether what isolated code printed says whose it is.
 * @param {Line | undefined} line
 * @param {string} functionId
 * @param {string | undefined} run
 * @param {string} [step]
 */
function isLine(line, functionId, run, step) {
  return line?.function?.endsWith(functionId) === true && line.run === run && line.step === step;
}

/**
 * The app has closed, so its replies were acknowledged; the commit may be a moment behind.
 * @param {string} id
 * @returns {Promise<any>}
 */
async function endedRun(id) {
  for (const end = Date.now() + 10_000; ; ) {
    const answer = await fetch(`${gateway.url}/v1/runs/${id}?log=1`);
    const run = /** @type {any} */ (await answer.json());
    if (["COMPLETED", "FAILED", "CANCELLED"].includes(run.status) || Date.now() > end) return run;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
