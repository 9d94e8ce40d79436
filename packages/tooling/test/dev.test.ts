import { spawn } from "node:child_process";
import { expect, test, vi } from "vitest";
import { marked } from "../src/processes.mjs";
import { inRoot } from "../src/workspace.mjs";

/** It type-checks the whole workspace, which takes minutes where other things run as well. */
const timeout = 600_000;

test("`npm run dev` watches types and pure tests until it is interrupted, and leaves nothing behind", {
  timeout,
}, async () => {
  const marker = `dev-test-${process.pid}`;
  const child = spawn(process.execPath, [inRoot("packages/tooling/src/dev.mjs"), "packages/tooling/test/runs"], {
    env: { ...process.env, CI: "", DEV_TEST: marker },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    await vi.waitFor(
      () => {
        expect(output).toContain("Watching for file changes");
        expect(output).toContain("Waiting for file changes");
      },
      { timeout, interval: 100 },
    );
    expect(output).toContain("Found 0 errors");
    expect(output).toMatch(/Tests +\d+ passed/);
  } finally {
    child.kill("SIGINT");
    await ended;
  }
  expect(child.exitCode, output).toBe(130);
  // What ends it all when `npm run dev` is killed ends by itself, a little later.
  await vi.waitFor(() => expect(marked(marker)).toEqual([]), { timeout: 90_000 });
});
