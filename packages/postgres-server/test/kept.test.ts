import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPostgres } from "../src/index.ts";
import { pollUntil } from "../src/processes.ts";
import { exists, query, scratch, serve, startOwner } from "./support.ts";

let original = "";

beforeAll(async () => {
  original = await mkdtemp(join(tmpdir(), "holdfast-test-"));
  await chmod(original, 0o755);
  const server = await startPostgres({ keep: true, durable: false, dataDir: join(original, "data") });
  await query(server.url, "create table t as select 'kept' as v");
  await server.stop();
});
afterAll(() => rm(original, { recursive: true, force: true }));

/** A data directory that was used: a copy of one, owners and all. */
async function usedDataDir(): Promise<string> {
  const dataDir = join(await scratch(), "data");
  await promisify(execFile)("cp", ["-a", join(original, "data"), dataDir]);
  return dataDir;
}

const start = (dataDir: string) => startPostgres({ keep: true, durable: false, dataDir });
const unusable = (message: RegExp) => ({ code: "DATA_DIR_UNUSABLE", message: expect.stringMatching(message) });

describe("A kept server", () => {
  test("a kept server keeps its data for the next start, without leftover locks or files in between", async () => {
    const dataDir = await usedDataDir();
    expect((await readdir(dataDir)).sort()).toEqual([".gitignore", "postgres", "postgres-password", "postgres.log"]);
    const server = await serve({ keep: true, dataDir });
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
    expect(server.url).toMatch(/\/holdfast$/);
  });

  test("a start that is given up while the cluster is made leaves nothing behind, and the next start makes one", async () => {
    const dataDir = join(await scratch(), "data");
    const given = new AbortController();
    const starting = startPostgres({ keep: true, durable: false, dataDir, signal: given.signal });
    const isMaking = async (): Promise<boolean> =>
      (await readdir(dataDir).catch(() => [])).some((name) => name.startsWith("postgres.init-"));
    expect(await pollUntil(isMaking, 100_000)).toBe(true);
    given.abort(new Error("given up"));
    await expect(starting).rejects.toThrow("given up");
    expect((await readdir(dataDir)).sort()).toEqual([".gitignore", "postgres-password"]);
    const server = await serve({ keep: true, durable: false, dataDir });
    expect(await query(server.url, "select 1 as v")).toEqual([{ v: 1 }]);
  });

  test("a kept server is durable unless configured otherwise", async () => {
    const dataDir = join(await scratch(), "data");
    const server = await serve({ keep: true, dataDir, durable: true });
    expect(await query(server.url, "show fsync")).toEqual([{ fsync: "on" }]);
    expect(await query(server.url, "show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
  });

  test("a kept server rejects a directory that this or another process uses", async () => {
    const dataDir = await usedDataDir();
    const server = await serve({ keep: true, dataDir });
    await expect(start(dataDir)).rejects.toMatchObject(unusable(new RegExp(`in use by process ${process.pid}`)));
    const other = await startOwner({ keep: true, dataDir });
    expect(other).toMatchObject(unusable(/in use by process/));
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
  });

  test("a kept server ignores the lock of a dead process, even when its id has been reused", async () => {
    const dataDir = await usedDataDir();
    const dead = { nonce: "x", pid: process.pid, birth: "another boot 1", host: hostname() };
    await writeFile(join(dataDir, "owner.lock"), JSON.stringify(dead));
    await serve({ keep: true, dataDir });
  });

  test("a kept server ignores the lock of another host that is no longer refreshed", async () => {
    const dataDir = await usedDataDir();
    const lock = join(dataDir, "owner.lock");
    await writeFile(lock, JSON.stringify({ nonce: "x", pid: 1, birth: "", host: "elsewhere" }));
    await utimes(lock, 1_000_000, 1_000_000);
    await serve({ keep: true, dataDir });
  });

  test("a kept server creates a cluster completely or not at all, and removes the remains of an interrupted start", async () => {
    const dataDir = join(await scratch(), "data");
    await mkdir(join(dataDir, "postgres.init-left/cluster/base"), { recursive: true });
    await mkdir(join(dataDir, "postgres"));
    const server = await serve({ keep: true, dataDir });
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(await exists(join(dataDir, "postgres.init-left"))).toBe(false);
  });

  test("a kept server rejects data of another Postgres version", async () => {
    const dataDir = await usedDataDir();
    await writeFile(join(dataDir, "postgres/PG_VERSION"), "12\n");
    await expect(start(dataDir)).rejects.toMatchObject(unusable(/holds data of Postgres 12; this is Postgres \d+/));
    expect(await exists(join(dataDir, "owner.lock"))).toBe(false);
  });

  test.each([
    ["a missing control file", (dir: string) => rm(join(dir, "postgres/global/pg_control")), /pg_control is missing/],
    ["a missing version", (dir: string) => rm(join(dir, "postgres/PG_VERSION")), /PG_VERSION is missing/],
    ["a missing password", (dir: string) => rm(join(dir, "postgres-password")), /postgres-password is missing/],
    [
      "a foreign folder in the cluster's place",
      async (dir: string) => {
        await rm(join(dir, "postgres"), { recursive: true });
        await mkdir(join(dir, "postgres"));
        await writeFile(join(dir, "postgres/notes.txt"), "mine");
      },
      /PG_VERSION is missing/,
    ],
    [
      "a damaged control file",
      (dir: string) => writeFile(join(dir, "postgres/global/pg_control"), Buffer.alloc(8192, 7)),
      /corrupt: Postgres says/,
    ],
    [
      "a missing write-ahead log",
      async (dir: string) => {
        const wal = join(dir, "postgres/pg_wal");
        for (const name of await readdir(wal)) await rm(join(wal, name), { recursive: true });
      },
      /corrupt: Postgres says.*checkpoint record/s,
    ],
  ])("a data directory that has %s is reported as corrupt", async (_, damage, message) => {
    const dataDir = await usedDataDir();
    await damage(dataDir);
    await expect(start(dataDir)).rejects.toMatchObject(unusable(message));
  });

  test("a kept server rejects a file in place of its directory, or above it", async () => {
    const dir = await scratch();
    await writeFile(join(dir, "file"), "");
    await expect(start(join(dir, "file"))).rejects.toMatchObject(unusable(/it is a file/));
    await expect(start(join(dir, "file/data"))).rejects.toMatchObject(unusable(/inside one/));
    await expect(start(join(dir, "file/data/deep"))).rejects.toMatchObject(unusable(/inside one/));
  });

  test.runIf(process.platform === "linux").each(["/proc/x", "/proc/x/y/z", "/sys/x"])(
    "a kept server rejects %s, where no directory can be created",
    async (dir) => {
      await expect(start(dir)).rejects.toMatchObject(unusable(/cannot be used/));
    },
  );

  test("a kept server creates missing parent directories", async () => {
    const dir = join(await scratch(), "a/b/data");
    await serve({ keep: true, dataDir: dir });
    expect(await exists(join(dir, ".gitignore"))).toBe(true);
  });

  test("a kept data directory may be moved, or used through a symbolic link", async () => {
    const dataDir = await usedDataDir();
    await rename(dataDir, `${dataDir}-moved`);
    await symlink(`${dataDir}-moved`, dataDir);
    const server = await serve({ keep: true, dataDir });
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
  });
});
