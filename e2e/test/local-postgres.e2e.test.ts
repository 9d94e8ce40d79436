import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { inWorld, modes, type World } from "./world.ts";

const serverPid = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, "postgres/postmaster.pid"), "utf8").split("\n")[0]);

/** Processes of the Postgres server in this directory: each has it as its working directory. */
function processesIn(dataDir: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readlinkSync(`/proc/${pid}/cwd`).startsWith(dataDir);
      } catch {
        return false;
      }
    });
}

async function held(world: World) {
  const app = await world.startApp();
  const runId = await world.trigger("gated");
  await world.noted(runId, "at long");
  return { app, runId };
}

describe.each(modes)("$name", (mode) => {
  test("the gateway's own Postgres is restarted after being killed with -9 twice, and the run continues", async () => {
    await inWorld({ ...mode, embedded: true }, async (world) => {
      const { app, runId } = await held(world);
      for (let times = 0; times < 2; times += 1) {
        const killed = serverPid(world.dataDir);
        process.kill(killed, "SIGKILL");
        await world.until("another server", async () => {
          return (await world.api.isReady()) && serverPid(world.dataDir) !== killed;
        });
      }
      world.journal.open("long");
      expect((await world.ended(runId)).output).toBe("bl");
      expect(world.journal.counts(runId)).toEqual({ before: 1, long: 1, "at long": 1, "long ended": 1 });
      await app.close();
    });
  });
});

test("a gateway whose own Postgres cannot be restarted reports it and exits with 1", async () => {
  await inWorld({ name: "lost", extensions: true, embedded: true }, async (world) => {
    const cluster = join(world.dataDir, "postgres");
    const pid = serverPid(world.dataDir);
    await rename(cluster, `${cluster}.away`);
    process.kill(pid, "SIGKILL");
    expect(await world.gateway.exited).toMatchObject({ code: 1, signal: null });
    expect(world.gateway.tail(5)).toContain("POSTGRES_LOST");
  });
});

describe.runIf(process.platform === "linux")("A gateway whose own Postgres hangs", () => {
  const mode = { name: "hangs", extensions: true, embedded: true, drain: "500ms" };
  const server = (dataDir: string): number[] => [serverPid(dataDir)];

  test.each([
    ["all of its processes", processesIn],
    ["its first process", server],
    ["all but the first", (dataDir: string) => processesIn(dataDir).filter((pid) => pid !== serverPid(dataDir))],
  ])(
    "a gateway told to stop ends and leaves no process behind when these processes of Postgres hang: %s",
    async (_what, stopped) => {
      await inWorld(mode, async (world) => {
        const { app } = await held(world);
        for (const pid of stopped(world.dataDir)) process.kill(pid, "SIGSTOP");
        world.gateway.signal("SIGTERM");
        expect(await world.gateway.exited).toMatchObject({ code: 0, signal: null });
        await world.until("no process of Postgres to be left", () => processesIn(world.dataDir).length === 0);
        await app.kill();
      });
    },
  );
});

describe("An unusable data directory", () => {
  test.each([
    ["a file", "file"],
    ["below a file", "file/data"],
    ...(process.platform === "linux"
      ? [
          ["where there can be none", "/proc/x"],
          ["below that", "/proc/x/y"],
        ]
      : []),
  ])("an unusable data directory (%s) ends the gateway with one sentence and a code", async (_what, path = "") => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-e2e-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "file"), "");
    const dataDir = path.startsWith("/") ? path : join(folder, path);
    const args = [gatewayBin, "dev", "--port", "0", "--data-dir", dataDir];
    const failed = await promisify(execFile)(process.execPath, args).catch(
      (error: { stderr: string; code: number }) => error,
    );
    expect(failed).toMatchObject({ code: 1 });
    expect(failed.stderr.trim().split("\n")).toEqual([
      expect.stringContaining(`Starting Postgres in ${dataDir} …`),
      expect.stringMatching(/^holdfast-gateway: .*\(DATA_DIR_UNUSABLE\)$/),
    ]);
  });
});
