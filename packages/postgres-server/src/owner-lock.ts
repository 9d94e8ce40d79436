/**
 * One owner per data directory: the lock file, and how one whose owner died is replaced. `postgres-server.ts` holds
 * it as long as the server lives.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { link, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { HoldfastError, sleep, systemClock, systemTimers, type TimerHandle } from "@holdfast/core";
import { processBirth } from "./processes.ts";

const LOCK_FILE = "owner.lock";
/** How often the owner touches its lock: how another machine or container can tell that it lives. */
const TOUCH_INTERVAL_MS = 3_000;
const UNTOUCHED_LIMIT_MS = 12_000;
const POLL_MS = 500;
/** While another process removes a dead owner's lock. */
const RIGHT_POLL_MS = 20;
const MAX_TRIES = 100;

interface LockRecord {
  readonly nonce: string;
  readonly pid: number;
  /** When the process began: a later process with the same id is another one. */
  readonly birth: string;
  readonly host: string;
}

export interface OwnerLock {
  /** At the end of a process that has started nothing in the directory yet. */
  releaseNow(): void;
  release(): Promise<void>;
}

/**
 * One owner per directory. A lock whose owner is dead does not count: for an owner on this host that is looked up, for
 * one on another host (a container that shared the directory) it is dead when it has not touched its lock for 12 s.
 * @throws HoldfastError `DATA_DIR_UNUSABLE` when the owner lives
 */
export async function acquireOwnerLock(dataDir: string): Promise<OwnerLock> {
  const path = join(dataDir, LOCK_FILE);
  const mine: LockRecord = {
    nonce: randomUUID(),
    pid: process.pid,
    birth: (await processBirth(process.pid)) ?? "",
    host: hostname(),
  };
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (await createLock(path, mine)) return heldLock(path, mine);
    const other = await readLock(path);
    if (other === "gone") continue;
    if (await ownerLives(path, other)) {
      const who = other === "unreadable" ? "another process" : `process ${other.pid} on ${other.host}`;
      throw new HoldfastError(
        "DATA_DIR_UNUSABLE",
        `The data directory ${dataDir} is in use by ${who}. Stop it, or choose another directory with \`--data-dir\`.`,
      );
    }
    await removeStale(path, other, mine);
  }
  throw new HoldfastError("DATA_DIR_UNUSABLE", `The lock ${path} could not be taken: others keep taking it.`);
}

/** The record appears whole or not at all: it is written aside and then linked to its name. */
async function createLock(path: string, record: LockRecord): Promise<boolean> {
  const aside = `${path}.${record.nonce}`;
  await writeFile(aside, JSON.stringify(record), { mode: 0o644 });
  try {
    await link(aside, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    await rm(aside, { force: true });
  }
}

type Found = LockRecord | "gone" | "unreadable";

async function readLock(path: string): Promise<Found> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "gone" : "unreadable";
  }
  try {
    const record: LockRecord = JSON.parse(text);
    return Number.isInteger(record.pid) && record.pid > 0 && typeof record.nonce === "string" ? record : "unreadable";
  } catch {
    return "unreadable";
  }
}

async function ownerLives(path: string, owner: Exclude<Found, "gone">): Promise<boolean> {
  if (owner === "unreadable") return isTouched(path);
  if (owner.host !== hostname()) return isTouched(path);
  const birth = await processBirth(owner.pid);
  return birth !== undefined && (birth === owner.birth || birth === "" || owner.birth === "");
}

/** Watches the lock as long as its owner could be silent: the clocks of two machines need not agree. */
async function isTouched(path: string): Promise<boolean> {
  const seen = await touchedAtMs(path);
  if (seen === undefined) return false;
  if (systemClock.nowMs() - seen > 10 * UNTOUCHED_LIMIT_MS) return false;
  const endMs = systemClock.monotonicMs() + UNTOUCHED_LIMIT_MS;
  while (systemClock.monotonicMs() < endMs) {
    await sleep(systemTimers, POLL_MS);
    const now = await touchedAtMs(path);
    if (now !== seen) return now !== undefined;
  }
  return false;
}

async function touchedAtMs(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
}

/**
 * Only who holds the right to remove this very lock may do so: then it cannot be replaced by a living owner's between the
 * look at it and its removal. The right is a lock itself, so one whose holder died is removed in the same way.
 */
async function removeStale(path: string, judged: Exclude<Found, "gone">, mine: LockRecord): Promise<void> {
  const right = `${path}.${typeof judged === "object" ? judged.nonce : "unreadable"}.stale`;
  if (!(await createLock(right, mine))) {
    const holder = await readLock(right);
    if (holder === "gone") return;
    if (await ownerLives(right, holder)) return sleep(systemTimers, RIGHT_POLL_MS);
    return removeStale(right, holder, mine);
  }
  try {
    const now = await readLock(path);
    const isSame = typeof now === "object" ? typeof judged === "object" && now.nonce === judged.nonce : now === judged;
    if (isSame) await rm(path, { force: true });
  } finally {
    await rm(right, { force: true });
  }
}

function heldLock(path: string, mine: LockRecord): OwnerLock {
  let timer: TimerHandle;
  const touch = async (): Promise<void> => {
    const now = new Date(systemClock.nowMs());
    await utimes(path, now, now).catch(() => {});
  };
  let released = false;
  const arm = (): void => {
    timer = systemTimers.set(TOUCH_INTERVAL_MS, () => void touch().then(() => released || arm()), { unref: true });
  };
  arm();
  return {
    releaseNow: () => rmSync(path, { force: true }),
    async release() {
      released = true;
      timer.cancel();
      const held = await readLock(path);
      if (typeof held === "object" && held.nonce === mine.nonce) await rm(path, { force: true });
    },
  };
}
