import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FromThread, ThreadData } from "../../src/cli/serve/thread-messages.ts";
import { threadOutput } from "../../src/cli/serve/thread-output.ts";
import { youngGenerationMb } from "../../src/cli/serve/young-generation.ts";

const GB = 2 ** 30;
const MB = 2 ** 20;

test("the more memory there is, the more of it young objects may have; where there is little, Node decides", () => {
  expect([512 * MB, GB - 1, GB, 2 * GB - 1, 2 * GB, 64 * GB].map(youngGenerationMb)).toEqual([
    undefined,
    undefined,
    96,
    96,
    192,
    192,
  ]);
});

describe("What the thread writes", () => {
  function thread() {
    const unwritten = new Int32Array(new SharedArrayBuffer(4));
    const terminals: ThreadData["terminals"] = {
      stdout: { isTTY: false },
      stderr: { isTTY: true, columns: 80, rows: 24 },
    };
    const sent: FromThread[] = [];
    const port = { postMessage: (message: FromThread) => void sent.push(message) };
    return { unwritten, sent, output: threadOutput(port, { script: "bin.js", terminals, unwritten }) };
  }

  test("it goes to the streams of the process, and is counted until it is written", () => {
    const { sent, output, unwritten } = thread();
    output.stdout.write("result\n");
    output.stderr.write("line\n");
    expect(sent).toEqual([
      { type: "write", stream: "stdout", text: "result\n" },
      { type: "write", stream: "stderr", text: "line\n" },
    ]);
    expect(unwritten[0]).toBe("result\nline\n".length);
  });

  test("a terminal says what it is, and calls when it has another size", () => {
    const { output } = thread();
    const { stderr, stdout } = output;
    expect([stdout.isTTY, stdout.columns, stderr.isTTY, stderr.columns, stderr.rows]).toEqual([
      false,
      undefined,
      true,
      80,
      24,
    ]);
    const sizes: unknown[] = [];
    const resized = (): void => void sizes.push([stderr.columns, stderr.rows]);
    stderr.on("resize", resized);
    output.resized("stderr", { isTTY: true, columns: 40, rows: 10 });
    stderr.off("resize", resized);
    output.resized("stderr", { isTTY: true, columns: 20, rows: 5 });
    expect(sizes).toEqual([[40, 10]]);
    expect([stderr.columns, stderr.rows]).toEqual([20, 5]);
  });

  test("where nothing is written for long, it waits, and goes on once there is room", async () => {
    const { sent, output, unwritten } = thread();
    output.stderr.write("x".repeat(4 * MB));
    // Another thread makes room once this one waits.
    const source = `
      const { workerData } = require("node:worker_threads");
      while (Atomics.notify(workerData, 0) === 0) Atomics.wait(workerData, 0, -1, 1);
      Atomics.store(workerData, 0, 0);
      while (Atomics.notify(workerData, 0) === 0) ;`;
    const other = new Worker(source, { eval: true, workerData: unwritten });
    onTestFinished(async () => void (await other.terminate()));
    output.stderr.write("more");
    expect(unwritten[0]).toBe(4);
    expect(sent).toHaveLength(2);
  });
});
