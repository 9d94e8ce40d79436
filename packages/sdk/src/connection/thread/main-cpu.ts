/**
 * Reads how long the main thread has waited for a processor, from Linux' files about its task. Elsewhere no thread can
 * ask that of another one; then the stall machine goes by how late this thread is itself.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "@holdfast/core";
import { type CpuReading, type CpuWait, firstCpuWait, nextCpuWait } from "../machines/cpu-wait.ts";

export interface MainCpu {
  /** Main has moved: the next reading is the first one. */
  restart(): void;
  /** Since the first reading; null: it cannot be known. */
  readWaitedMs(): number | null;
}

const NANOS_PER_MS = 1e6;
/** What `stat` counts in, on every Linux that Node runs on. */
const TICK_MS = 10;

/** `task`: the id that the kernel has for main's thread; undefined: it has none that is known. */
export function createMainCpu(task: string | undefined, clock: Pick<Clock, "monotonicMs">): MainCpu {
  let wait: CpuWait | undefined;
  return {
    restart: () => {
      wait = undefined;
    },
    readWaitedMs: () => {
      const now = task === undefined ? null : readTask(task, clock.monotonicMs());
      if (now === null) return null;
      wait = wait === undefined ? firstCpuWait(now) : nextCpuWait(wait, now);
      return wait.waitedMs;
    },
  };
}

function readTask(task: string, atMs: number): CpuReading | null {
  try {
    const folder = `/proc/self/task/${task}`;
    // The name before it may contain anything.
    const [state, ...numbers] = readFileSync(`${folder}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
    const isRunnable = state === "R";
    const ticksMs = (Number(numbers[10]) + Number(numbers[11])) * TICK_MS;
    const [runNs, waitNs] = scheduled(folder);
    if (runNs !== undefined && waitNs !== undefined) {
      return { atMs, runMs: runNs / NANOS_PER_MS, waitMs: waitNs / NANOS_PER_MS, isRunnable };
    }
    return Number.isFinite(ticksMs) ? { atMs, runMs: ticksMs, waitMs: null, isRunnable } : null;
  } catch {
    return null;
  }
}

/** Some kernels are built without these counts. */
function scheduled(folder: string): readonly number[] {
  try {
    return readFileSync(`${folder}/schedstat`, "latin1").split(" ").slice(0, 2).map(Number);
  } catch {
    return [];
  }
}
