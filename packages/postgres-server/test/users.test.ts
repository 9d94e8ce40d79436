import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../src/index.ts";
import { findNativeFolder } from "../src/native.ts";
import { eventually, exists, isGone, isRoot, killed, NOBODY, query, scratch, serve, startOwner } from "./support.ts";

/** Where a checkout may be that only root can enter. */
const secretPlace = async (): Promise<string> => join(await scratch(0o700), "checkout");

const ORDINARY = 65_534;
let programs = "";

describe.runIf(isRoot)("A server started by root", () => {
  beforeAll(async () => {
    programs = await mkdtemp(join(tmpdir(), "holdfast-test-"));
    await chmod(programs, 0o755);
    await cp((await findNativeFolder()).dir, join(programs, "native"), { recursive: true, verbatimSymlinks: true });
  });
  afterAll(() => rm(programs, { recursive: true, force: true }));

  test("the server runs as an unprivileged user, on a data directory that this user can enter", async () => {
    const dataDir = join(await scratch(), "data");
    const server = await serve({ keep: true, dataDir });
    expect((await stat(join(dataDir, "postgres"))).uid).toBe(NOBODY);
    expect((await stat(join(dataDir, "postgres-password"))).mode & 0o077).toBe(0);
    if (process.platform === "linux") {
      expect(await readFile(`/proc/${server.pid}/status`, "utf8")).toMatch(new RegExp(`^Uid:\\s+${NOBODY}\\s`, "m"));
      expect(await readFile(`/proc/${server.pid}/environ`, "utf8")).not.toMatch(/VITEST/);
    }
  });

  test("a data directory below one that only root can enter works like any other", async () => {
    const checkout = await secretPlace();
    const dataDir = join(checkout, ".holdfast");
    const first = await serve({ keep: true, dataDir });
    await query(first.url, "create table t as select 'kept' as v");
    await first.restart();
    await first.kill();
    await first.restart();
    expect(await query(first.url, "select v from t")).toEqual([{ v: "kept" }]);
    // Everything that a session does by path: configuration, files of its own, other sessions, a checkpoint.
    await query(first.url, "alter system set work_mem = '9MB'");
    await query(first.url, "select pg_reload_conf()");
    await query(first.url, "create temp table big as select g, repeat('x', 100) from generate_series(1, 50000) g");
    await query(
      first.url,
      "set work_mem = '64kB'; select count(*) from (select generate_series(1, 90000) g order by g desc) s",
    );
    for (const text of ["checkpoint", "vacuum analyze t", "create database another"]) await query(first.url, text);
    expect(await query(first.url, "show work_mem")).toEqual([{ work_mem: "9MB" }]);
    await first.stop();
    expect(await exists(join(dataDir, "postgres/PG_VERSION"))).toBe(true);

    await rename(checkout, `${checkout}-moved`);
    const moved = join(`${checkout}-moved`, ".holdfast");
    const second = await serve({ keep: true, dataDir: moved });
    expect(await query(second.url, "select v from t")).toEqual([{ v: "kept" }]);
    await expect(startPostgres({ keep: true, dataDir: moved })).rejects.toThrow(/in use/);
  });

  test("a server below a directory that only root can enter is taken over when its owner is killed with -9", async () => {
    const dataDir = join(await secretPlace(), ".holdfast");
    const owner = await startOwner({ keep: true, dataDir });
    await query(owner.url, "create table t as select 'kept' as v");
    await killed(owner);
    const server = await serve({ keep: true, dataDir });
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
  });

  test("a throwaway server below a directory that only root can enter is removed after kill -9", async () => {
    const dataDir = join(await secretPlace(), "x");
    const owner = await startOwner({ keep: false, dataDir });
    await killed(owner);
    expect(await eventually(() => isGone(owner.pid))).toBe(true);
    expect(await eventually(async () => !(await exists(dataDir)))).toBe(true);
  });

  test("programs that only root can reach run from a copy, which is repaired when files are missing", async () => {
    const checkout = await secretPlace();
    await cp((await findNativeFolder()).dir, join(checkout, "native"), { recursive: true });
    // Without the links that the package's install script makes.
    await rm(join(checkout, "native/lib/libpq.so.5"), { force: true });
    const temporary = await scratch(0o755);
    const tmpBefore = process.env.TMPDIR;
    process.env.TMPDIR = temporary;
    onTestFinished(() => {
      if (tmpBefore === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = tmpBefore;
    });
    const options = { keep: false, nativeDir: join(checkout, "native") };
    const owners = await Promise.all([startOwner(options), startOwner(options)]);
    for (const owner of owners) expect(await query(owner.url, "select 1 as one")).toEqual([{ one: 1 }]);
    const copy = (await readdir(temporary)).filter((name) => name.startsWith("holdfast-postgres-"));
    expect(copy).toHaveLength(1);
    const dir = join(temporary, copy[0] ?? "");
    await rm(join(dir, "share/postgresql/postgres.bki"));
    const again = await startOwner(options);
    expect(await query(again.url, "select 1 as one")).toEqual([{ one: 1 }]);

    // A copy that others can change is not trusted.
    await chmod(dir, 0o777);
    process.env.TMPDIR = temporary;
    const other = await startOwner(options);
    expect(await query(other.url, "select 1 as one")).toEqual([{ one: 1 }]);
    const elsewhere = (await readdir("/tmp")).find((name) => name === copy[0]);
    expect(elsewhere).toBe(copy[0]);
    await Promise.all([...owners, again, other].map(killed));
    await rm(join("/tmp", copy[0] ?? ""), { recursive: true });
  });

  test("root runs an ordinary user's cluster as that user", async () => {
    const dataDir = join(await scratch(0o777), "data");
    const owner = await asOrdinaryUser({ keep: true, dataDir });
    await query(owner.url, "create table t as select 'kept' as v");
    await killed(owner);
    const server = await serve({ keep: true, dataDir });
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
    await server.stop();
    expect((await stat(join(dataDir, "postgres.log"))).uid).toBe(ORDINARY);
    const again = await asOrdinaryUser({ keep: true, dataDir });
    expect(await query(again.url, "select v from t")).toEqual([{ v: "kept" }]);
  });

  test("an ordinary user can start a server, which leaves nothing behind when killed", async () => {
    const owner = await asOrdinaryUser({ keep: false });
    expect(await query(owner.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect((await stat(owner.dataDir)).uid).toBe(ORDINARY);
    await killed(owner);
    expect(await eventually(() => isGone(owner.pid))).toBe(true);
    expect(await eventually(async () => !(await exists(owner.dataDir)))).toBe(true);
  });

  test("an ordinary user gets an error for a directory that another user owns", async () => {
    const dir = await scratch(0o755);
    expect(await asOrdinaryUser({ keep: true, dataDir: join(dir, "data") })).toMatchObject({
      code: "DATA_DIR_UNUSABLE",
      message: expect.stringMatching(/may not read and write/),
    });
    const server = await serve({ keep: true, dataDir: join(dir, "roots") });
    await server.stop();
    expect(await asOrdinaryUser({ keep: true, dataDir: join(dir, "roots") })).toMatchObject({
      code: "DATA_DIR_UNUSABLE",
    });
  });
});

/** The checkout may be out of that user's reach, so the programs are given to them. */
async function asOrdinaryUser(options: { keep: boolean; dataDir?: string }): ReturnType<typeof startOwner> {
  return startOwner({ ...options, nativeDir: join(programs, "native") }, ORDINARY);
}
