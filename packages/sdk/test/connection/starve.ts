/** Takes the processor away from a thread, for real: it may run on one core only, where others compute and go first. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const HOGS = 8;

/** Whether this machine has what it takes. */
export function canStarve(): boolean {
  if (process.platform !== "linux") return false;
  try {
    for (const tool of ["taskset", "chrt"]) execFileSync(tool, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** `task`: a thread, for the main thread of a process its process id. One that has nothing to do notices little of it. */
export function starve(task: number): { end(): void } {
  const allowed = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  const hogs: ChildProcess[] = [];
  const end = (): void => {
    for (const hog of hogs) hog.kill("SIGKILL");
    execFileSync("chrt", ["--other", "-p", "0", String(task)], { stdio: "ignore" });
  };
  try {
    execFileSync("taskset", ["-pc", allowed, String(task)], { stdio: "ignore" });
    execFileSync("chrt", ["--idle", "-p", "0", String(task)], { stdio: "ignore" });
    for (let count = 0; count < HOGS; count += 1) {
      hogs.push(spawn("taskset", ["-c", allowed, process.execPath, "-e", "for (;;);"], { stdio: "ignore" }));
    }
  } catch (error) {
    end();
    throw error;
  }
  return { end };
}
