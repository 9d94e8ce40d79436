import { describe, expect, test, vi } from "vitest";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

// Read when the module is loaded.
vi.stubEnv("WORKSPACE_TOOLS_GRACE_MS", "1000");
const { failuresIn, flakyIn, sumUp } = await import("../src/ci.mjs");
const { countResults, runSuite } = await import("../src/suite.mjs");

const report = (
  passed: number,
  failed: number,
  files: { status: string; assertionResults: unknown[] }[] = [],
): string =>
  JSON.stringify({
    numPassedTests: passed,
    numFailedTests: failed,
    testResults: files.map((file, index) => ({ name: `file-${index}`, ...file })),
  });

test("passed and failed tests are counted", () => {
  expect(countResults(report(7, 0), 0)).toMatchObject({ passed: 7, failed: 0 });
  expect(countResults(report(7, 2), 1)).toMatchObject({ passed: 7, failed: 2 });
});

test("failures outside of a test are counted too", () => {
  expect(countResults(undefined, 1)).toMatchObject({ passed: 0, failed: 1 });
  expect(countResults(report(7, 0), 1)).toMatchObject({ passed: 7, failed: 1 });
  expect(countResults(report(0, 0), 0)).toMatchObject({ passed: 0, failed: 1 });
  const unloaded = { status: "failed", assertionResults: [] };
  expect(countResults(report(7, 1, [unloaded]), 1)).toMatchObject({ passed: 7, failed: 2 });
});

test("the summary line that counts is the last one", () => {
  expect(sumUp("3 passed, 0 failed\nmore\n12 passed, 1 failed\n", 1)).toEqual({ passed: 12, failed: 1 });
  expect(sumUp("12 passed, 0 failed\r\n", 0)).toEqual({ passed: 12, failed: 0 });
  expect(sumUp("12 passed, 0 failed\n", 1)).toEqual({ passed: 12, failed: 1 });
  expect(sumUp("it crashed", 0)).toEqual({ passed: 0, failed: 1 });
  expect(sumUp("  12 passed, 0 failed, 1 skipped", 0)).toEqual({ passed: 0, failed: 1 });
});

test("each failed test is named, with the first lines of its message", () => {
  const failed = {
    status: "failed",
    fullName: "lists keep > what was written",
    failureMessages: ["Error: expected 1\n    at list.test.ts:3\n".repeat(9)],
  };
  const file = { status: "failed", assertionResults: [failed, { ...failed, status: "passed" }] };
  const [first, ...others] = countResults(report(7, 1, [file]), 1).failures;
  expect(others).toEqual([]);
  expect(first?.split("\n")).toHaveLength(7);
  expect(first).toMatch(/^file-0: lists keep > what was written\n {4}Error: expected 1\n {4}at list.test.ts:3\n/);
  expect(failuresIn(`ok\nFAILED store: ${first}\nok\nFAILED e2e: It has no tests.\n1 passed, 2 failed`)).toEqual([
    `FAILED store: ${first}`,
    "FAILED e2e: It has no tests.",
  ]);
});

test("a suite that leaves a temporary file or a process behind fails", async () => {
  const folder = fixture(
    {
      "a.test.ts": `import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "vitest";
test("leaks", () => {
  writeFileSync(tmpdir() + "/leak.txt", "");
  spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" }).unref();
});`,
    },
    { node_modules: inRoot("node_modules") },
  );
  const shown = vi.spyOn(console, "log").mockImplementation(() => {});
  const counts = await runSuite(folder, { timeoutMs: 60_000, quiet: true });
  expect(shown.mock.calls.flat().join("\n")).toContain("1 passed");
  shown.mockRestore();
  expect(counts.passed).toBe(1);
  expect(counts.problems.join("\n")).toContain("leak.txt");
  expect(counts.failed).toBe(counts.problems.length);
  if (process.platform === "linux") expect(counts.problems).toHaveLength(2);
});

describe("a second try", () => {
  /** A suite with the projects `pure` and `real`, whose tests fail until a file of theirs is there. */
  const suite = (files: Record<string, string>): string =>
    fixture(
      {
        "vitest.config.mjs": `export default { test: { projects: [
  { test: { name: "pure", include: ["pure/*.test.ts"] } },
  { test: { name: "real", include: ["real/*.test.ts"] } },
] } };`,
        ...files,
      },
      { node_modules: inRoot("node_modules") },
    );
  const failsOnce = `import { existsSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
test("one", () => {});
test("fails at first", () => {
  const mark = import.meta.filename + ".mark";
  const isFirst = !existsSync(mark);
  writeFileSync(mark, "");
  expect(isFirst).toBe(false);
});`;
  const alwaysFails = `import { expect, test } from "vitest";
test("fails", () => expect(1).toBe(2));`;

  async function counted(folder: string): Promise<{ passed: number; failed: number; said: string }> {
    const shown = vi.spyOn(console, "log").mockImplementation(() => {});
    const { passed, failed } = await runSuite(folder, { timeoutMs: 60_000, quiet: true });
    const said = shown.mock.calls.flat().join("\n");
    shown.mockRestore();
    return { passed, failed, said };
  }

  test("is given to real tests, and said at the end", async () => {
    const { said, ...counts } = await counted(suite({ "real/a.test.ts": failsOnce }));
    expect(counts).toEqual({ passed: 2, failed: 0 });
    expect(flakyIn(said)).toEqual([expect.stringMatching(/a\.test\.ts: fails at first\n {4}AssertionError/)]);
    expect(failuresIn(said)).toEqual([]);
  });

  test("is not given to pure tests, or where it was said that there is none", async () => {
    const both = { "real/a.test.ts": failsOnce, "pure/b.test.ts": failsOnce };
    expect(await counted(suite(both))).toMatchObject({ passed: 2, failed: 2 });
    vi.stubEnv("HOLDFAST_SECOND_TRY", "no");
    expect(await counted(suite({ "real/a.test.ts": failsOnce }))).toMatchObject({ passed: 1, failed: 1 });
    vi.stubEnv("HOLDFAST_SECOND_TRY", undefined);
  });

  test("changes nothing for what fails again, or for many files", async () => {
    const { said, ...counts } = await counted(suite({ "real/a.test.ts": alwaysFails }));
    expect(counts).toEqual({ passed: 0, failed: 1 });
    expect([failuresIn(said).length, flakyIn(said).length]).toEqual([1, 0]);
    const many = Object.fromEntries(["a", "b", "c", "d"].map((name) => [`real/${name}.test.ts`, failsOnce]));
    expect(await counted(suite(many))).toMatchObject({ passed: 4, failed: 4 });
  });
});
