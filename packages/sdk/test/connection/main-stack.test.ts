import { fileURLToPath } from "node:url";
import { spawnNode } from "@holdfast/testing";
import { build } from "esbuild";
import { expect, it } from "vitest";

const THREAD = `
  import { writeSync } from "node:fs";
  import { parentPort } from "node:worker_threads";
  import { systemTimers } from "@holdfast/core";
  import { captureMainStack } from "./src/connection/thread/main-stack.ts";
  const capture = () => new Promise((resolve) => {
    const onSnapshot = ({ frames, execution }) => resolve([frames[0]?.functionName, execution]);
    captureMainStack(systemTimers, { onSnapshot, onFailed: (why) => resolve([why]), onDisconnected: () => {} });
  });
  const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  void (async () => {
    parentPort.postMessage("up");
    const isBusy = async () => (await capture())[0] === "compute";
    while (!(await isBusy()));
    const seen = new Set();
    for (let round = 0; round < 100; round++) {
      const both = await Promise.all([capture(), later(round % 5).then(capture)]);
      for (const one of both) seen.add(JSON.stringify(one));
    }
    writeSync(1, "seen: " + [...seen].join(" ") + "\\n");
    process.kill(process.pid, "SIGKILL");
  })();
`;

it("two threads that look at main at once both learn what it executes", async () => {
  const resolveDir = fileURLToPath(new URL("../..", import.meta.url));
  const [format, platform] = ["cjs", "node"] as const;
  const bundle = await build({ stdin: { contents: THREAD, resolveDir }, bundle: true, write: false, format, platform });
  const main = `
    const { Worker } = require("node:worker_threads");
    globalThis[Symbol.for("holdfast.currentExecution")] = () => ({ requestId: "one" });
    new Worker(${JSON.stringify(bundle.outputFiles[0]?.text)}, { eval: true }).once("message", function compute() {
      for (;;);
    });
  `;
  await using app = spawnNode(main, { name: "busy", execArgv: ["-e"] });
  const line = await app.waitForLine(/^seen: /, { timeoutMs: 100_000 });
  expect(line).toBe('seen: ["compute",{"requestId":"one"}]');
});
