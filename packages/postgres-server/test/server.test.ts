import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startPostgres } from "../src/index.ts";
import { childrenOf, isPostmasterOf, signalProcess } from "../src/processes.ts";
import { eventually, exists, isGone, query, scratch, serve } from "./support.ts";

describe("A throwaway server", () => {
  test("a throwaway server keeps its data and address over a restart and a kill, and leaves nothing behind", async () => {
    const server = await serve({ keep: false });
    expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(server.version).toMatch(/^\d+\.\d+/);
    await query(server.url, "create table t as select 7 as n");
    const { url, pid, port } = server;

    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect({ url: server.url, port: server.port }).toEqual({ url, port });
    expect(await query(url, "select n from t")).toEqual([{ n: 7 }]);

    const { closed } = server;
    await server.kill();
    expect(await closed).toEqual({ expected: true, code: 137 });
    await expect(query(url, "select 1")).rejects.toThrow(/ECONNREFUSED/);
    await server.restart();
    expect(await query(url, "select n from t")).toEqual([{ n: 7 }]);

    const last = server.pid;
    await server.stop();
    expect(await isGone(last)).toBe(true);
    expect(await exists(server.dataDir)).toBe(false);
  });

  test.each([true, false])("a server keeps shared memory in its data directory (kept: %s)", async (keep) => {
    const server = await serve(keep ? { keep, dataDir: join(await scratch(), "data") } : { keep });
    expect(await query(server.url, "show dynamic_shared_memory_type")).toEqual([
      { dynamic_shared_memory_type: "mmap" },
    ]);
  });

  test("a throwaway server that was killed is removed as well", async () => {
    const server = await serve({ keep: false });
    await server.kill();
    await server.stop();
    expect(await exists(server.dataDir)).toBe(false);
  });

  test("an unexpected exit of Postgres is logged", async () => {
    const lines: string[] = [];
    const server = await serve({ keep: false, log: (level, message) => lines.push(`${level} ${message}`) });
    signalProcess(server.pid, "SIGQUIT");
    expect(await server.closed).toMatchObject({ expected: false });
    expect(lines).toContain("error Postgres has ended unexpectedly.");
  });

  test("a throwaway server may be stopped twice, and cannot be used afterwards", async () => {
    const server = await serve({ keep: false });
    await Promise.all([server.stop(), server.stop()]);
    await expect(server.restart()).rejects.toMatchObject({ code: "INTERNAL" });
  });

  test("two throwaway servers run side by side with separate ports and data", async () => {
    const [a, b] = await Promise.all([serve({ keep: false }), serve({ keep: false })]);
    expect(a.port).not.toBe(b.port);
    await query(a.url, "create table only_a ()");
    expect(await query(b.url, "select to_regclass('only_a') as t")).toEqual([{ t: null }]);
  });

  test("a throwaway server rejects a connection without the password", async () => {
    const server = await serve({ keep: false });
    await expect(query(server.url.replace(/:[^:@]+@/, ":wrong@"), "select 1")).rejects.toThrow(/password/);
  });

  test("a throwaway server accepts settings, a database name and a port", async () => {
    const probe = await serve({ keep: false });
    await probe.stop();
    const server = await serve({
      keep: false,
      settings: { work_mem: "7MB" },
      database: "other",
      port: probe.port,
    });
    expect(server.port).toBe(probe.port);
    expect(await query(server.url, "show work_mem")).toEqual([{ work_mem: "7MB" }]);
    expect(await query(server.url, "select current_database() as name")).toEqual([{ name: "other" }]);
  });

  test("a throwaway server uses a given empty directory and removes it, but never one with content", async () => {
    const dir = await scratch();
    const server = await serve({ keep: false, dataDir: `${dir}/new` });
    await server.stop();
    expect(await exists(`${dir}/new`)).toBe(false);
    const kept = await serve({ keep: true, dataDir: `${dir}/kept` });
    await kept.stop();
    await expect(startPostgres({ keep: false, dataDir: `${dir}/kept` })).rejects.toMatchObject({
      code: "DATA_DIR_UNUSABLE",
    });
    expect(await exists(`${dir}/kept/postgres/PG_VERSION`)).toBe(true);
  });
});

describe("A server that hangs", () => {
  test.runIf(process.platform === "linux").each([
    ["all of its processes", true, true],
    ["its first process", true, false],
    ["its children", false, true],
  ])("a server with %s stopped ends completely within the limit given to stop()", async (_what, first, others) => {
    const server = await serve({ keep: false });
    const children = await childrenOf(server.pid);
    expect(children.length).toBeGreaterThan(3);
    const hung = [...(first ? [server.pid] : []), ...(others ? children : [])];
    // A worker of autovacuum ends by itself meanwhile.
    for (const pid of hung) signalProcess(pid, "SIGSTOP");
    const all = [server.pid, ...children];
    await server.stop("fast", 200);
    for (const pid of all) expect(await eventually(() => isGone(pid))).toBe(true);
    expect(await exists(server.dataDir)).toBe(false);
  });

  test.runIf(process.platform === "linux")(
    "a server that hangs while it starts is abandoned when it is stopped",
    async () => {
      const server = await serve({ keep: false });
      await server.kill();
      const again = server.restart().catch(() => {});
      let started = 0;
      await eventually(async () => {
        for (const pid of await childrenOf(process.pid)) {
          for (const child of await childrenOf(pid)) {
            if (await isPostmasterOf(child, join(server.dataDir, "postgres"))) started = child;
          }
        }
        return started !== 0;
      });
      process.kill(started, "SIGSTOP");
      await server.stop("fast", 200);
      await again;
      expect(await eventually(() => isGone(started))).toBe(true);
    },
  );
});

describe("A start that fails", () => {
  test("a failed start names the port that is in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    await expect(startPostgres({ keep: false, port })).rejects.toMatchObject({
      code: "PORT_BUSY",
      message: expect.stringContaining(String(port)),
    });
  });

  test("a failed start shows the server's own message and leaves nothing behind", async () => {
    const dir = await scratch();
    const start = startPostgres({ keep: false, dataDir: `${dir}/x`, settings: { work_mem: "nonsense" } });
    await expect(start).rejects.toMatchObject({
      code: "POSTGRES_START_FAILED",
      message: expect.stringMatching(/invalid value for parameter "work_mem": "nonsense"/),
    });
    expect(await exists(`${dir}/x`)).toBe(false);
  });

  test("a start that takes too long is aborted", async () => {
    const dir = await scratch();
    const start = startPostgres({ keep: false, dataDir: `${dir}/x`, startTimeoutMs: 0 });
    await expect(start).rejects.toMatchObject({
      code: "POSTGRES_START_FAILED",
      message: expect.stringContaining("not ready after 0 ms"),
    });
    expect(await exists(`${dir}/x`)).toBe(false);
  });

  test.each([
    ["a wrong database name", { keep: false, database: 'x"; drop' }, "OPTION_INVALID"],
    ["a wrong setting name", { keep: false, settings: { "a b": "1" } }, "OPTION_INVALID"],
    ["the port as a setting", { keep: false, settings: { port: "1" } }, "OPTION_INVALID"],
    ["no directory for what is kept", { keep: true }, "OPTION_MISSING"],
    ["programs that are not there", { keep: false, nativeDir: "/nonexistent" }, "POSTGRES_START_FAILED"],
  ])("a start is rejected with %s", async (_, options, code) => {
    await expect(startPostgres(options)).rejects.toMatchObject({ code });
  });
});
