/** Stops processes for a while as a debugger, a laptop's lid or a hypervisor does: they notice nothing of it. */
import { execFile, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * Resolves when they go on. A process of its own wakes them: they go on also when whoever asked has died meanwhile.
 * @param {readonly number[]} pids
 * @param {number} ms
 * @returns {Promise<void>}
 */
export function standStill(pids, ms) {
  const waker = spawn(process.execPath, [fileURLToPath(import.meta.url), String(ms), ...pids.map(String)], {
    stdio: "ignore",
    detached: true,
  });
  return new Promise((resolve, reject) => {
    waker.once("error", reject);
    waker.once("exit", () => resolve());
  });
}

/**
 * Processes that this one has started.
 * @param {number} pid
 */
export async function childrenOf(pid) {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid="]);
  const rows = stdout.trim().split("\n");
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function tell(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [ms = 0, ...pids] = process.argv.slice(2).map(Number);
  const wake = () => {
    for (const pid of pids) tell(pid, "SIGCONT");
    process.exit();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, wake);
  for (const pid of pids) tell(pid, "SIGSTOP");
  setTimeout(wake, ms);
}
