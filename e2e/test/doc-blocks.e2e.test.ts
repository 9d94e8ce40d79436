import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startTestGateway } from "@holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import { exampleModules, javaScript } from "../../packages/tooling/src/example-modules.mjs";
import { pagesOf, SHAPES } from "../../packages/tooling/src/examples.mjs";
import { tool } from "../../packages/tooling/src/workspace.mjs";

/** The TypeScript blocks of the READMEs and of docs/ do what they say, each in a process and at a gateway of its own. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const runner = fileURLToPath(new URL("../support/doc-block.mjs", import.meta.url));
const vitest = tool("vitest/vitest.mjs");
const nestShapes = javaScript(readFileSync(join(root, "packages/tooling/src/example-givens/nestjs-common.ts"), "utf8"));
/** A block that is a setup file. */
const SETUP = "packages/testing/README.md block-7.test.js";
const LIMIT_MS = 100_000;

/** Blocks that are not run here, and why. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "docs/getting-started.md app.js": "getting-started.e2e.test.ts runs it as a reader does",
  "docs/getting-started.md broken.js": "as above",
  "docs/getting-started.md buy.js": "as above",
  "packages/testing/README.md block-4.js": "it needs a worker behind its proxy; the tests of proxies are like it",
};
/** Programs that blocks start. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "packages/testing/README.md": 'console.log("listening on 0");\nsetInterval(() => {}, 1_000);\n',
};

const pages = pagesOf(root).filter((page) => !SHAPES.includes(page));
const withModules = pages
  .map((page) => ({ page, ...exampleModules(root, page) }))
  .filter(({ modules }) => modules.length > 0);

/** What it prints; it fails with that where its exit code is another than 0. */
function ran(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, env, timeout: LIMIT_MS, killSignal: "SIGKILL" }, (error, out, err) => {
      resolve(error === null ? null : `${error.killed ? "It does not end." : error.code}\n${out}${err}`);
    });
  });
}

const vitestAt = (folder: string): readonly string[] => [vitest, "run", "--root", folder, `--testTimeout=${LIMIT_MS}`];

test.each(withModules)(
  "the blocks of $page run",
  async ({ page, modules, given }) => {
    const base = await mkdtemp(join(tmpdir(), "holdfast-blocks-"));
    onTestFinished(() => rm(base, { recursive: true, force: true }));
    const folder = join(base, "e2e", "page");
    await mkdir(folder, { recursive: true });
    await symlink(join(root, "node_modules"), join(base, "node_modules"));
    await symlink(join(root, "e2e/node_modules"), join(base, "e2e/node_modules"));
    const setupFiles = modules.filter(({ name }) => `${page} ${name}` === SETUP).map(({ name }) => `./${name}`);
    const files: Record<string, string> = {
      "package.json": '{ "type": "module" }',
      "app.js": PROGRAMS[page] ?? "",
      "nestjs-common.js": nestShapes,
      ...(given === null ? {} : { "given.js": given }),
      ...Object.fromEntries(modules.map(({ name, code }) => [name, code])),
      "vitest.config.js": `export default { test: { setupFiles: ${JSON.stringify(setupFiles)} } };`,
      "a.test.js": 'import { test } from "vitest";\ntest("is there", () => {});\n',
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const problems: string[] = [];
    for (const { name, line, kind, isPrepared } of modules) {
      if (`${page} ${name}` in ELSEWHERE) continue;
      await using gateway = await startTestGateway({ store: "memory" });
      const env = { ...process.env, HOLDFAST_DEV: gateway.url, VITEST: undefined };
      const args =
        kind === "test"
          ? [...vitestAt(folder), `${page} ${name}` === SETUP ? "a.test.js" : name]
          : [runner, join(folder, name), ...(isPrepared ? [join(folder, "given.js")] : [])];
      const problem = await ran(args, folder, env);
      if (problem !== null) problems.push(`${page}:${line}: ${problem}`);
    }
    expect(problems).toEqual([]);
  },
  20 * LIMIT_MS,
);

test("what is said to run elsewhere is there", () => {
  const all = withModules.flatMap(({ page, modules }) => modules.map(({ name }) => `${page} ${name}`));
  expect(all).toEqual(expect.arrayContaining(Object.keys(ELSEWHERE)));
  expect(all.length - Object.keys(ELSEWHERE).length).toBeGreaterThan(30);
});
