import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { acquireOwnerLock } from "../src/owner-lock.ts";
import { scratch } from "./support.ts";

const inUse = (who: string) => ({ code: "DATA_DIR_UNUSABLE", message: expect.stringContaining(`in use by ${who}`) });

test("one of many concurrent processes gets the lock, and the next one gets it on release", async () => {
  const dir = await scratch();
  const wanted = await Promise.allSettled(Array.from({ length: 12 }, () => acquireOwnerLock(dir)));
  const got = wanted.filter((each) => each.status === "fulfilled");
  expect(got).toHaveLength(1);
  await got[0]?.value.release();
  expect(await readdir(dir)).toEqual([]);
  await (await acquireOwnerLock(dir)).release();
});

test("one of many concurrent processes takes over the lock of a dead process", async () => {
  const dir = await scratch();
  await writeFile(join(dir, "owner.lock"), JSON.stringify({ nonce: "x", pid: 1, birth: "", host: "elsewhere" }));
  await utimes(join(dir, "owner.lock"), 1, 1);
  const wanted = await Promise.allSettled(Array.from({ length: 12 }, () => acquireOwnerLock(dir)));
  const got = wanted.filter((each) => each.status === "fulfilled");
  expect(got).toHaveLength(1);
  await got[0]?.value.release();
  expect(await readdir(dir)).toEqual([]);
});

test("an owner on another host keeps its lock while it refreshes it", async () => {
  const dir = await scratch();
  const lock = join(dir, "owner.lock");
  await writeFile(lock, JSON.stringify({ nonce: "x", pid: 1, birth: "", host: "elsewhere" }));
  const touching = setInterval(() => void utimes(lock, new Date(), new Date()), 300);
  onTestFinished(() => clearInterval(touching));
  await expect(acquireOwnerLock(dir)).rejects.toMatchObject(inUse("process 1 on elsewhere"));
});

test("an unreadable lock counts only while it is refreshed", async () => {
  const dir = await scratch();
  const lock = join(dir, "owner.lock");
  await writeFile(lock, "{");
  const touching = setInterval(() => void utimes(lock, new Date(), new Date()), 300);
  onTestFinished(() => clearInterval(touching));
  await expect(acquireOwnerLock(dir)).rejects.toMatchObject(inUse("another process"));
  clearInterval(touching);
  await utimes(lock, 1, 1);
  await (await acquireOwnerLock(dir)).release();
});
