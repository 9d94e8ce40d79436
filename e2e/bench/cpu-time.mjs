/** CPU time of other processes, from /proc; elsewhere than on Linux it is unknown (NaN). */
import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts in these, on every platform that Node runs on. */
const ticksPerSecond = 100;

/**
 * @param {number} pid
 * @returns {{ parent: number, us: number }} user and system time of the process so far, microseconds
 */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { parent: Number(fields[1]), us: (ticks * 1e6) / ticksPerSecond };
  } catch {
    return { parent: 0, us: Number.NaN };
  }
}

/** @param {number} pid */
export const cpuUs = (pid) => stat(pid).us;

/**
 * Of a process and those it started.
 * @param {number} pid
 */
export function familyCpuUs(pid) {
  try {
    const children = readdirSync("/proc").map(Number).filter(Number.isInteger).map(stat);
    return children.filter(({ parent }) => parent === pid).reduce((sum, { us }) => sum + (us || 0), cpuUs(pid));
  } catch {
    return Number.NaN;
  }
}

/** @param {number} pid */
export const parentOf = (pid) => stat(pid).parent;
