import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ownIdentity } from "../src/identity.ts";
import { isAlive } from "../src/processes.ts";
import { spawnSupervised } from "../src/supervisor.ts";

const windows = process.platform === "win32";

test.skipIf(windows)(
  "a server that ends before its watcher starts is reported as ended, with its exit code",
  async () => {
    const log = await open("/dev/null", "a");
    const endOfOne = (): Promise<number | null> =>
      new Promise((resolve) => {
        const child = spawnSupervised({
          command: "/bin/sh",
          args: ["-c", "exit 3"],
          identity: ownIdentity(),
          logFd: log.fd,
          directoryFd: undefined,
          orphanSignal: "QUIT",
        });
        // It would end as well once this pipe ends, so the pipe stays open until then.
        child.once("exit", (code) => {
          child.stdio[3]?.destroy();
          resolve(code);
        });
      });
    // Many at once, so that a watcher mostly has to wait for its turn on a processor.
    const codes: (number | null)[] = [];
    for (let round = 0; round < 5; round += 1) {
      codes.push(...(await Promise.all(Array.from({ length: 60 }, endOfOne))));
    }
    await log.close();
    expect(new Set(codes)).toEqual(new Set([3]));
  },
);

test.runIf(process.platform === "linux")(
  "a server that hangs is killed with its children once its owner is gone, also with those that are stopped",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-supervisor-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pidFile = join(folder, "child");
    const log = await open("/dev/null", "a");
    const supervised = spawnSupervised({
      command: "/bin/sh",
      args: ["-c", `trap "" INT QUIT; sleep 1000 & echo $! >${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait; wait`],
      identity: ownIdentity(),
      logFd: log.fd,
      directoryFd: undefined,
      orphanSignal: "QUIT",
    });
    const ended = once(supervised, "exit");
    await log.close();
    await expect.poll(() => readFile(pidFile, "utf8").catch(() => "")).not.toBe("");
    const child = Number(await readFile(pidFile, "utf8"));
    process.kill(child, "SIGSTOP");
    supervised.stdio[3]?.destroy();
    await ended;
    await expect.poll(() => isAlive(child)).toBe(false);
  },
);
