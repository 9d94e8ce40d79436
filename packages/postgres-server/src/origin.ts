import { readFile, realpath, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const ORIGIN_FILE = "origin.json";

/** Which data directory a stand-in belongs to, and where that was. */
export interface Origin {
  readonly dataDir: string;
  /** File system of the data directory. */
  readonly device: number;
  /** The directories above it, nearest first. */
  readonly above: readonly { readonly path: string; readonly device: number; readonly inode: number }[];
}

export async function rememberOrigin(dir: string, dataDir: string): Promise<void> {
  const above: { path: string; device: number; inode: number }[] = [];
  for (let path = dirname(dataDir); ; path = dirname(path)) {
    const { dev, ino } = await stat(path);
    above.push({ path, device: dev, inode: ino });
    if (path === dirname(path)) break;
  }
  const origin: Origin = { dataDir, device: (await stat(dataDir)).dev, above };
  await writeFile(join(dir, ORIGIN_FILE), `${JSON.stringify(origin, null, 2)}\n`, { mode: 0o600 });
}

export async function readOrigin(dir: string): Promise<Origin | undefined> {
  try {
    const origin: Origin = JSON.parse(await readFile(join(dir, ORIGIN_FILE), "utf8"));
    return typeof origin.dataDir === "string" && Array.isArray(origin.above) ? origin : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a data directory was removed, and is not merely out of sight (a disk that is not mounted): what is left of
 * its path leads to the same directory as before, on the file system that the data directory was on.
 */
export async function isDeliberatelyGone(origin: Origin): Promise<boolean> {
  for (const { path, device, inode } of origin.above) {
    const now = await stat(path).catch(() => undefined);
    if (!now) continue;
    const same = now.dev === device && now.ino === inode && (await realpath(path)) === path;
    return same && device === origin.device;
  }
  return false;
}
