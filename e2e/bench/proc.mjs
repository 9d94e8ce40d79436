/** CPU time and memory of other processes, from /proc; elsewhere than on Linux they are unknown (NaN). */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The kernel counts in these, on every platform that Node runs on. */
const ticksPerSecond = 100;

/**
 * @param {number} pid
 * @returns {{ parent: number, us: number, waitedUs: number }} user and system time of the process so far, and that of
 *   children that ended; microseconds
 */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const us = (/** @type {number} */ first) =>
      ((Number(fields[first]) + Number(fields[first + 1])) * 1e6) / ticksPerSecond;
    return { parent: Number(fields[1]), us: us(11), waitedUs: us(13) };
  } catch {
    return { parent: 0, us: Number.NaN, waitedUs: Number.NaN };
  }
}

/** @param {number} pid */
export const cpuUs = (pid) => stat(pid).us;

/**
 * Of a process and those it started, also those that have ended.
 * @param {number} pid
 */
export function familyCpuUs(pid) {
  const own = stat(pid);
  return childrenOf(pid).reduce((sum, child) => sum + (cpuUs(child) || 0), own.us + own.waitedUs);
}

/**
 * Resident memory of a process, MB: now, and the most that it ever was.
 * @param {number} pid
 */
export function memoryMb(pid) {
  const of = (/** @type {string} */ name) => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
    return (Number(kib ?? Number.NaN) * 1024) / 1e6;
  };
  let status = "";
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    // It has ended, or this is not Linux.
  }
  return { now: of("VmRSS"), peak: of("VmHWM") };
}

/**
 * From now on the peak counts anew.
 * @param {number} pid
 */
export function forgetPeak(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // Then it is the peak since the process began.
  }
}

/**
 * Memory of a process and those it started, MB; what they share counts once.
 * @param {number} pid
 */
export function familyMb(pid) {
  const shares = [pid, ...childrenOf(pid)].map((one) => {
    try {
      return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "utf8"))?.[1]);
    } catch {
      return Number.NaN;
    }
  });
  return (shares.reduce((sum, kib) => sum + kib, 0) * 1024) / 1e6;
}

/** @param {number} pid */
export const parentOf = (pid) => stat(pid).parent;

/** @param {number} pid */
function childrenOf(pid) {
  try {
    const all = readdirSync("/proc").map(Number).filter(Number.isInteger);
    return all.filter((one) => stat(one).parent === pid);
  } catch {
    return [];
  }
}
