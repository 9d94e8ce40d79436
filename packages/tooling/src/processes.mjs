/**
 * Child processes that cannot outlive the command that started them.
 *
 * Every child leads a process group and inherits a marker in its environment. On SIGINT, SIGTERM or SIGHUP, on a time
 * limit, and when the command itself is killed with -9 (then by the reaper, see `reaper.mjs`), the group is asked to
 * end; what is left after a grace, in the group or carrying the marker, is killed.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

// Not HOLDFAST_...: tests start apps without the variables that configure Holdfast.
const markerName = "WORKSPACE_TOOLS_RUN";
/** How long a group that was asked to end may take before it is killed. */
const graceMs = Number(process.env.WORKSPACE_TOOLS_GRACE_MS ?? 10_000);
const windows = process.platform === "win32";

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] added to this process's environment
 * @property {"show" | "collect" | "both"} [output] what happens to standard output and error; default "show"
 * @property {number} [timeoutMs] end the child, with failure, after this time
 *
 * @typedef {object} RunResult
 * @property {number} code exit code; 128 + signal number when a signal ended the child
 * @property {string} output standard output and error, in order, when collected
 * @property {boolean} timedOut
 * @property {string[]} left commands of processes that the child left behind; they have been ended (seen on Linux only)
 */

/** @type {Map<string, number>} marker -> process group */
const running = new Map();
/** @type {Set<string>} */
const temporary = new Set();
/** @type {import("node:child_process").ChildProcess | undefined} */
let reaper;
let stopping = false;

/**
 * Runs a program to its end and resolves with its exit code; it never rejects because of a failing program.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<RunResult>}
 */
export async function run(command, args, { cwd, env, output: where = "show", timeoutMs = 2 ** 31 - 1 } = {}) {
  if (stopping) return new Promise(() => {});
  const marker = randomUUID();
  const markers = `${process.env[markerName] ?? ""} ${marker}`.trim();
  const stdio = where === "show" ? "inherit" : "pipe";
  const child = spawn(command, [...args], {
    cwd,
    env: { ...process.env, ...env, [markerName]: markers },
    stdio: ["ignore", stdio, stdio],
    detached: !windows,
    shell: windows,
  });
  const group = child.pid ?? 0;
  if (group !== 0) {
    running.set(marker, group);
    tellReaper(`+ ${marker} ${group}`);
  }
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      output += text;
      if (where === "both") process.stdout.write(text);
    });
  }
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    if (group !== 0) void endGroup(marker, group);
  }, timeoutMs);
  const code = await exitCode(child, command);
  clearTimeout(limit);
  const left = await endLeftOvers(marker, group);
  // A signal has come: the handler ends the process, no result is needed any more.
  if (stopping) await new Promise(() => {});
  running.delete(marker);
  tellReaper(`- ${marker}`);
  return { code, output, timedOut, left };
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {string} command
 * @returns {Promise<number>}
 */
async function exitCode(child, command) {
  const closed = new Promise((resolve) => child.once("close", resolve));
  /** @type {number} */
  const code = await new Promise((resolve) => {
    child.once("error", (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve(127);
    });
    child.once("exit", (exit, signal) => resolve(exit ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
  // Output may still be under way; a process left behind may keep its end open for ever.
  await Promise.race([closed, sleep(1000, undefined, { ref: false })]);
  return code;
}

/**
 * What still runs after its parent has ended: a moment's grace, then it is ended and named.
 * @param {string} marker
 * @param {number} group
 */
async function endLeftOvers(marker, group) {
  if (await gone(() => marked(marker), graceMs / 2)) return [];
  const commands = marked(marker).map(commandLine);
  for (const pid of marked(marker)) kill(pid, "SIGTERM");
  await endGroup(marker, group);
  return commands;
}

/**
 * A new temporary folder that goes away with this process, however it ends.
 * @param {string} prefix
 * @param {string} [parent]
 * @returns {{ path: string, remove: () => void }}
 */
export function temporaryFolder(prefix, parent = tmpdir()) {
  const path = mkdtempSync(join(parent, prefix));
  temporary.add(path);
  tellReaper(`> ${path}`);
  const remove = () => {
    removeFolder(path);
    temporary.delete(path);
    tellReaper(`< ${path}`);
  };
  return { path, remove };
}

/** @param {string} path */
export function removeFolder(path) {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Ends everything that was started, then this process, when it is told to end or when the npm that runs it is gone. */
export function endWithChildren() {
  /** @param {NodeJS.Signals} signal */
  const stop = async (signal) => {
    if (stopping) return;
    stopping = true;
    await Promise.all([...running].map(([marker, group]) => endGroup(marker, group, signal)));
    for (const path of temporary) removeFolder(path);
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => void stop(signal));
  }
  if (process.env.npm_lifecycle_event === undefined) return;
  const above = ancestry();
  setInterval(() => {
    if (ancestry() !== above) void stop("SIGTERM");
  }, 1000).unref();
}

/** The processes from here up to npm, which may have a shell between itself and us. */
function ancestry() {
  const parent = process.ppid;
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, "latin1");
    const shell = /\((ba|da|a|z)?sh\)/.test(stat);
    return shell ? `${parent} ${parentOf(stat)}` : `${parent}`;
  } catch {
    return `${parent}`;
  }
}

/** @param {string} stat text of /proc/PID/stat */
const parentOf = (stat) => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);

/**
 * Asks a group to end, waits for it and everything with its marker, kills what is left.
 * @param {string} marker
 * @param {number} group
 * @param {NodeJS.Signals} [signal]
 */
export async function endGroup(marker, group, signal = "SIGTERM") {
  const all = new Set([...descendants(group), ...marked(marker)]);
  const left = () => {
    for (const pid of marked(marker)) all.add(pid);
    return [...all].filter(alive);
  };
  kill(-group, signal);
  if (await gone(left, graceMs)) return;
  // Postgres calls this a fast shutdown.
  for (const pid of left()) kill(pid, "SIGINT");
  if (await gone(left, 3000)) return;
  kill(-group, "SIGKILL");
  for (const pid of left()) kill(pid, "SIGKILL");
  await gone(left, 3000);
}

/**
 * Processes that carry the marker of a run, wherever they were moved to. Linux only; elsewhere none are found.
 * @param {string} marker
 * @returns {number[]}
 */
export function marked(marker) {
  return processIds().filter((pid) => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/environ`, "latin1").includes(marker);
    } catch {
      return false;
    }
  });
}

/** @param {number} pid */
function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 200);
  } catch {
    return `process ${pid}`;
  }
}

/** @param {number} root */
function descendants(root) {
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const pid of processIds()) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const parent = parentOf(stat);
      children.set(parent, [...(children.get(parent) ?? []), pid]);
    } catch {
      // It ended while we looked.
    }
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** @returns {number[]} */
function processIds() {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** @param {number} pid */
function alive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    if (process.platform === "linux") return false;
  }
  return kill(pid, 0);
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals | 0} signal
 */
function kill(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/**
 * @param {() => number[]} left
 * @param {number} limitMs
 */
async function gone(left, limitMs) {
  const end = Date.now() + limitMs;
  while (left().length > 0) {
    if (Date.now() > end) return false;
    await sleep(50);
  }
  return true;
}

/** Starts the reaper before it has anything to do: what looks for new processes afterwards takes it for an old one. */
export function startReaper() {
  if (windows || reaper !== undefined) return;
  reaper = spawn(process.execPath, [fileURLToPath(new URL("./reaper.mjs", import.meta.url))], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  reaper.on("error", () => {});
  reaper.stdin?.on("error", () => {});
  reaper.unref();
  /** @type {import("node:net").Socket} */ (reaper.stdin).unref();
}

/** @param {string} line */
function tellReaper(line) {
  startReaper();
  reaper?.stdin?.write(`${line}\n`);
}

/** Variables that make programs show colours when we show what they print to a person, and plain text otherwise. */
export const colours = () => (process.stdout.isTTY ? { FORCE_COLOR: "1" } : { FORCE_COLOR: undefined, NO_COLOR: "1" });
