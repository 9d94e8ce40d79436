import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { suites } from "../src/ci.mjs";
import { slowFiles, slowSuites } from "../src/kinds.mjs";
import { colours, run } from "../src/processes.mjs";
import { inRoot, tool, unitSuites, workspaceFolders } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

const base = inRoot("packages/tooling/src/vitest-base.ts");

/** Runs one test file as the pure project of a package would. */
async function pure(body: string): Promise<{ code: number; output: string }> {
  const folder = fixture(
    {
      "vitest.config.ts": `import { testsByKind } from ${JSON.stringify(base)};\nexport default testsByKind({ real: ["test/real.test.ts"] });`,
      "test/a.test.ts": `import { test } from "vitest";\ntest("a", async () => {\n${body}\n});`,
      "test/real.test.ts": `import { test } from "vitest";\ntest("real", async () => {\n${body}\n});`,
    },
    { node_modules: inRoot("node_modules") },
  );
  return run(process.execPath, [tool("vitest/vitest.mjs"), "run", "--root", folder], {
    output: "collect",
    env: colours(),
  });
}

const server = `const { createServer } = await import("node:net");
  await new Promise((resolve) => createServer().listen(0, function () { this.close(resolve); }));`;

test.each([
  ["listens on a port", server, "listened on a port"],
  [
    "opens a connection and overlooks that it cannot",
    `await fetch("http://127.0.0.1:50001").catch(() => {});`,
    "connection",
  ],
  [
    "starts a process",
    `(await import("node:child_process")).spawnSync(process.execPath, ["-v"]);`,
    "started a process",
  ],
  [
    "starts a thread",
    `await new (await import("node:worker_threads")).Worker("", { eval: true }).terminate();`,
    "started a thread",
  ],
])("a pure test that %s fails, a real one passes", async (_, body, message) => {
  const { code, output } = await pure(body);
  expect(code, output).toBe(1);
  expect(output).toContain(message);
  expect(output).toMatch(/Tests +1 failed \| 1 passed/);
});

test("a pure test that computes passes", async () => {
  const { code, output } = await pure("if (1 + 1 !== 2) throw new Error();");
  expect(code, output).toBe(0);
});

test("every package with unit tests is a suite of `npm test`, and its pure tests run at the root", () => {
  const root = readFileSync(inRoot("vitest.config.ts"), "utf8");
  const suites = workspaceFolders().filter(
    (folder) => folder !== "." && existsSync(inRoot(join(folder, "vitest.config.ts"))),
  );
  expect(unitSuites).toEqual(expect.arrayContaining(suites.filter((folder) => folder !== "e2e")));
  const byKind = suites.filter((folder) =>
    readFileSync(inRoot(join(folder, "vitest.config.ts")), "utf8").includes("export const kinds"),
  );
  expect(byKind.length).toBeGreaterThan(4);
  for (const folder of byKind) expect(root).toContain(`"${folder}":`);
});

test("continuous integration runs `npm test` and the slow tests of every suite that has some", () => {
  const configs = [...workspaceFolders(), "e2e/sim"].map((folder) => join(folder, "vitest.config.ts"));
  const slow = configs.filter(
    (path) => existsSync(inRoot(path)) && / slow: \[/.test(readFileSync(inRoot(path), "utf8")),
  );
  expect(slow.map((path) => dirname(path)).sort()).toEqual([...slowSuites].sort());
  for (const suite of slowSuites) {
    expect(slowFiles(suite), suite).not.toEqual([]);
    for (const path of slowFiles(suite)) expect(existsSync(inRoot(join(suite, path))), path).toBe(true);
  }
  const commands = suites.map(({ command, args }) => [command, ...args].join(" "));
  expect(commands[0]).toMatch(/^npm test/);
  expect(commands.filter((each) => each.endsWith("/test-slow.mjs"))).toHaveLength(1);
});
