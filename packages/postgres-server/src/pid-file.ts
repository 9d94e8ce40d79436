import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What a server says about itself in `postmaster.pid`. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  /** Id of its shared memory segment, where it has one. */
  readonly sharedMemoryId: string | undefined;
  readonly ready: boolean;
}

export const pidFilePath = (cluster: string): string => join(cluster, "postmaster.pid");

/** Reads `postmaster.pid`; undefined when there is none, or only its beginning yet. */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(pidFilePath(cluster), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return {
    pid,
    port: Number(lines[3] ?? 0),
    sharedMemoryId: lines[6]?.trim().split(/\s+/)[1],
    ready: lines[7]?.trim() === "ready",
  };
}
