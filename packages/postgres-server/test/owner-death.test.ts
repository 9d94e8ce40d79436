import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { signalProcess } from "../src/processes.ts";
import { eventually, exists, isGone, killed, query, scratch, serve, spawnOwner, startOwner } from "./support.ts";

describe("A server whose owner is killed with -9", () => {
  test("a throwaway server ends and its directory is removed when its owner is killed", async () => {
    const owner = await startOwner({ keep: false });
    expect(await query(owner.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await killed(owner);
    expect(await eventually(() => isGone(owner.pid))).toBe(true);
    expect(await eventually(async () => !(await exists(owner.dataDir)))).toBe(true);
  });

  test("a throwaway server killed together with its owner leaves nothing behind", async () => {
    const owner = await startOwner({ keep: false });
    signalProcess(owner.pid, "SIGKILL");
    expect(await eventually(() => isGone(owner.pid))).toBe(true);
    await killed(owner);
    expect(await eventually(async () => !(await exists(owner.dataDir)))).toBe(true);
  });

  test.each([
    ["its directory is made", () => true],
    ["its cluster is made", (dir: string) => existsSync(join(dir, "postgres"))],
    ["it begins", (dir: string) => existsSync(join(dir, "postgres", "postmaster.pid"))],
  ])("a throwaway server whose owner is killed as soon as %s leaves nothing behind", async (_when, isNow) => {
    const parent = await scratch(0o777);
    const owner = spawnOwner({ keep: false }, { env: { TMPDIR: parent } });
    const made = () => readdirSync(parent).filter((name) => name.startsWith("holdfast-pg-"));
    // Timers come too late to see the first moments.
    while (!made().some((name) => isNow(join(parent, name)))) await setImmediate();
    await killed({ process: owner });
    expect(await eventually(async () => made().length === 0)).toBe(true);
  });

  test("a kept server shuts down as for stop() when its owner is killed", async () => {
    const dataDir = join(await scratch(), "data");
    const owner = await startOwner({ keep: true, dataDir });
    await killed(owner);
    expect(await eventually(() => isGone(owner.pid))).toBe(true);
    expect(await readFile(join(dataDir, "postgres.log"), "utf8")).toMatch(/database system is shut down/);
  });

  test("the next owner takes over a kept server at once, with all committed data", async () => {
    const dataDir = join(await scratch(), "data");
    const owner = await startOwner({ keep: true, dataDir });
    await query(owner.url, "create table t as select 'kept' as v");
    await killed(owner);
    const server = await serve({ keep: true, dataDir });
    expect(server.pid).not.toBe(owner.pid);
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
  });

  test("a server whose watcher is gone is found and stopped at the next start", async () => {
    const dataDir = join(await scratch(), "data");
    const owner = await startOwner({ keep: true, dataDir });
    await query(owner.url, "create table t as select 'kept' as v");
    const watchers = await supervisorsOf(owner.pid);
    expect(watchers.length).toBeGreaterThan(0);
    for (const pid of watchers) signalProcess(pid, "SIGKILL");
    await killed(owner);
    const lines: string[] = [];
    const server = await serve({ keep: true, dataDir, log: (_, message) => lines.push(message) });
    expect(lines.join()).toMatch(/left behind/);
    expect(await isGone(owner.pid)).toBe(true);
    expect(await query(server.url, "select v from t")).toEqual([{ v: "kept" }]);
  });
});

/** The shells in the server's process group. */
async function supervisorsOf(server: number): Promise<number[]> {
  const { execFile } = await import("node:child_process");
  const table = await new Promise<string>((resolve) => {
    execFile("ps", ["-A", "-o", "pid=,pgid=,args="], (_, text) => resolve(text));
  });
  const rows = table.split("\n").map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line));
  const group = rows.find((row) => Number(row?.[1]) === server)?.[2];
  return rows.filter((row) => row?.[2] === group && row?.[3]?.includes("/bin/sh")).map((row) => Number(row?.[1]));
}
