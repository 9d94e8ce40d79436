/**
 * Questions about processes that Node does not answer: does it live, when did it begin, what has it started. Where
 * the system does not tell, the answer says so.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { sleep, systemClock, systemTimers } from "@holdfast/core";
import { runCommand } from "./commands.ts";
import { ownIdentity } from "./identity.ts";

/** Whether a process with this id exists; a zombie, which only waits to be reaped, does not count where we can tell. */
export async function isAlive(pid: number): Promise<boolean> {
  if (process.platform === "linux") {
    const stat = await processStat(pid);
    return stat !== undefined && !/^[ZX]/.test(stat[0] ?? "");
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Tells a process from a later one with the same id: when it began. Undefined when there is no such process, and
 * empty where the system does not tell.
 */
export async function processBirth(pid: number): Promise<string | undefined> {
  if (!(await isAlive(pid))) return undefined;
  if (process.platform === "win32") return "";
  if (process.platform === "linux") {
    const [stat, boot] = await Promise.all([
      processStat(pid),
      readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => ""),
    ]);
    // Field 22 of proc(5), counted from the state, which is the third.
    return stat && `${boot.trim()} ${stat[19]}`;
  }
  const { code, output } = await runCommand("/bin/ps", ["-o", "lstart=", "-p", String(pid)], ownIdentity());
  return code === 0 ? output : undefined;
}

/** Whether this process is the Postgres server of that cluster. */
export async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  if (!(await isAlive(pid))) return false;
  if (process.platform === "linux") {
    // A server's working directory is its data directory.
    return (await readlink(`/proc/${pid}/cwd`).catch(() => "")) === cluster;
  }
  if (process.platform === "win32") return true;
  const { output } = await runCommand("/bin/ps", ["-o", "command=", "-p", String(pid)], ownIdentity());
  return output.includes(cluster);
}

/** The processes that this one has started and which still run; none where the system does not tell. */
export async function childrenOf(pid: number): Promise<number[]> {
  if (process.platform === "win32") return [];
  if (process.platform !== "linux") {
    const { output } = await runCommand("/usr/bin/pgrep", ["-P", String(pid)], ownIdentity());
    return output
      .split("\n")
      .map(Number)
      .filter((id) => id > 0);
  }
  const ids = (await readdir("/proc")).map(Number).filter((id) => id > 0);
  const parents = await Promise.all(ids.map(async (id) => Number((await processStat(id))?.[1])));
  return ids.filter((_, index) => parents[index] === pid);
}

/** Ends a process and those that it started at once, also when they are stopped and hear nothing else. */
export async function killWithChildren(pid: number): Promise<void> {
  const children = await childrenOf(pid);
  for (const each of [pid, ...children]) signalProcess(each, "SIGKILL");
}

/** Polls until `done` holds; false when the time is over first. */
export async function pollUntil(done: () => Promise<boolean>, limitMs: number, intervalMs = 20): Promise<boolean> {
  const endMs = systemClock.monotonicMs() + limitMs;
  while (!(await done())) {
    if (systemClock.monotonicMs() > endMs) return false;
    await sleep(systemTimers, intervalMs);
  }
  return true;
}

/** Sends a signal; a process that is gone already is no error. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function processStat(pid: number): Promise<string[] | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
