import { accessSync, constants, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const GIB = 2 ** 30;
/** What the largest suites write, several times over. */
const NEEDED_BYTES = 4 * GIB;
const TMPFS_MAGIC = 0x01021994;

/**
 * Where suites keep their temporary files: in memory where Linux offers enough of it. They create and delete databases of
 * a thousand files each, which on a disk takes the kernel longer than Postgres. `TMPDIR` overrules it.
 */
export function temporaryParent(env = process.env, memory = "/dev/shm") {
  if (env.TMPDIR !== undefined || process.platform !== "linux") return tmpdir();
  return isRoomyMemory(memory) ? memory : tmpdir();
}

/**
 * Whether a folder is a file system in memory with room, where programs may lie (tests copy Postgres there).
 * @param {string} folder
 */
function isRoomyMemory(folder) {
  try {
    accessSync(folder, constants.W_OK);
    const { type, bavail, bsize } = statfsSync(folder);
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .find((line) => line.split(" ")[1] === folder);
    const executable = mount !== undefined && !/\bnoexec\b/.test(mount);
    return type === TMPFS_MAGIC && executable && bavail * bsize >= NEEDED_BYTES && availableBytes() >= 2 * NEEDED_BYTES;
  } catch {
    return false;
  }
}

function availableBytes() {
  const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
  return Number(kib ?? 0) * 1024;
}
