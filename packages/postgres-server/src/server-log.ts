/** The server's own log file: where one start begins in it, and its last lines for error messages. */
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { giveToOwner, type Home } from "./home.ts";

const LOG_FILE = "postgres.log";
/** A larger log becomes `postgres.log.1` at the next start. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;
const MAX_TAIL_BYTES = 8 * 1024;
const MAX_TAIL_LINES = 12;

/** The server's log of one start. */
export interface ServerLog {
  readonly path: string;
  readonly fd: number;
  /** What was written since the start, the last 8 KiB. */
  tail(): Promise<string>;
  close(): Promise<void>;
}

export async function openServerLog(home: Home): Promise<ServerLog> {
  const path = join(home.dataDir, LOG_FILE);
  const sizeBefore = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  const rotate = sizeBefore > MAX_LOG_BYTES;
  if (rotate) await rename(path, `${path}.1`);
  const handle: FileHandle = await open(path, "a", 0o600);
  await giveToOwner(home, path);
  const startsAt = rotate ? 0 : sizeBefore;
  return { path, fd: handle.fd, tail: () => readTail(path, startsAt), close: () => handle.close() };
}

async function readTail(path: string, startsAt: number): Promise<string> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    const from = Math.max(startsAt, size - MAX_TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.max(0, size - from)), 0, size - from, from);
    return buffer.toString("utf8", 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}

export const lastLines = (text: string): string => text.split("\n").slice(-MAX_TAIL_LINES).join("\n");
