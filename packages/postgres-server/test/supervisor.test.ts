import { open } from "node:fs/promises";
import { expect, test } from "vitest";
import { ownIdentity } from "../src/identity.ts";
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
