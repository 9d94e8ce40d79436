/** The environments of the matrix: how an app is written, built and started in each. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../processes.mjs";
import { root } from "../workspace.mjs";
import { appFiles, vitestFile } from "./app-text.mjs";

/**
 * @typedef {object} Environment
 * @property {string} name
 * @property {(node: Node) => Start | undefined} start undefined: there is no such thing on this Node
 * @property {{ bun?: Start, deno?: Start }} [others] how it is started on other runtimes than Node
 * @property {string} [needs] the bundler whose file it runs, too
 * @property {string} [bundler] makes the file `alone/NAME/main.EXTENSION`
 * @property {string} [entry] what is bundled, relative to the project
 * @property {string} [extension] of the bundle
 *
 * @typedef {{ path: string, version: string, major: number }} Node
 *
 * @typedef {object} Start
 * @property {string[]} args of Node
 * @property {string} cwd
 * @property {Record<string, string>} [env]
 * @property {import("./driver.mjs").Expected} expected
 *
 * @typedef {{ project: string, alone: string }} Folders the project with the packages, and one without any
 */

/** @type {import("./driver.mjs").Expected} */
const works = { outcome: "works" };

/**
 * Bun and Deno give every thread a clock that begins with it: the app's threads begin when the process is older than all
 * that is measured between threads.
 */
const late = { MATRIX_LATE_MS: "3000" };

/** @param {Folders} folders */
export function writeApps({ project }) {
  // Threads of the pool evaluate the sources by themselves: Vitest transforms nothing there.
  const config = 'export default { test: { watch: false, execArgv: ["--import", "tsx"] } };\n';
  const vitest = { "app.test.ts": vitestFile, "vitest.config.mjs": config };
  const folders = {
    js: appFiles({ extension: "mjs" }),
    cjs: appFiles({ extension: "cjs" }),
    ts: appFiles({ extension: "ts" }),
    "ts-enums": appFiles({ extension: "ts", enums: true }),
    vitest: { ...appFiles({ extension: "ts", enums: true }), ...vitest },
  };
  for (const [folder, files] of Object.entries(folders)) {
    mkdirSync(join(project, folder), { recursive: true });
    const type = folder === "cjs" ? "commonjs" : "module";
    writeFileSync(join(project, folder, "package.json"), JSON.stringify({ type, dependencies: { holdfast: "*" } }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, folder, name), text);
  }
}

/**
 * Where nothing is bundled: the packages lie in node_modules.
 * @param {Folders} folders
 * @returns {Environment[]}
 */
export function installed({ project }) {
  const cwd = (/** @type {string} */ folder) => join(project, folder);
  return [
    {
      name: "ESM",
      start: () => ({ args: ["main.mjs"], cwd: cwd("js"), expected: works }),
      others: {
        bun: { args: ["main.mjs"], cwd: cwd("js"), env: late, expected: works },
        deno: {
          args: ["run", "-A", "--node-modules-dir=manual", "main.mjs"],
          cwd: cwd("js"),
          env: late,
          expected: works,
        },
      },
    },
    { name: "CommonJS", start: () => ({ args: ["main.cjs"], cwd: cwd("cjs"), expected: works }) },
    {
      name: "TypeScript with tsx",
      start: () => ({
        args: ["--import", "tsx", "main.ts"],
        cwd: cwd("ts-enums"),
        expected: { outcome: "works", stack: "orders\\.ts:\\d+" },
      }),
    },
    {
      name: "TypeScript, types stripped by Node",
      start: ({ major }) =>
        major < 22
          ? undefined
          : {
              args: ["--experimental-strip-types", "--no-warnings", "main.ts"],
              cwd: cwd("ts"),
              expected: { outcome: "works", stack: "orders\\.ts:\\d+" },
            },
    },
    {
      name: "Vitest",
      start: () => ({
        args: [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", cwd("vitest")],
        cwd: cwd("vitest"),
        expected: { outcome: "works", stack: "orders\\.ts:\\d+" },
      }),
    },
  ];
}

/**
 * Bundled into one file, which runs where there is no node_modules.
 * @param {Folders} folders
 * @returns {Environment[]}
 */
export function bundled({ alone }) {
  /** @type {[name: string, bundler: string, entry: string, extension: string][]} */
  const bundles = [
    ["esbuild, ESM", "esbuild-esm", "ts-enums/one-file.ts", "mjs"],
    ["esbuild, CommonJS", "esbuild-cjs", "ts-enums/one-file.ts", "cjs"],
    ["esbuild, minified, source map", "esbuild-minified", "ts-enums/one-file.ts", "mjs"],
    ["Rollup, ESM", "rollup-esm", "js/one-file.mjs", "mjs"],
    ["Rollup, CommonJS", "rollup-cjs", "js/one-file.mjs", "cjs"],
    ["webpack, ESM", "webpack-esm", "js/one-file.mjs", "mjs"],
    ["webpack, CommonJS", "webpack-cjs", "cjs/one-file.cjs", "cjs"],
    ["Vite SSR", "vite-ssr", "ts-enums/one-file.ts", "mjs"],
    ["ncc, ESM", "ncc-esm", "js/one-file.mjs", "mjs"],
    ["ncc, CommonJS", "ncc-cjs", "cjs/one-file.cjs", "cjs"],
  ];
  return bundles.map(([name, bundler, entry, extension]) => {
    const minified = bundler === "esbuild-minified";
    // Minifiers shorten the functions' names: what is left is the file, and with a source map the original one.
    const stack = minified
      ? "orders\\.ts:\\d+"
      : /webpack|ncc/.test(bundler)
        ? `main\\.${extension}:\\d+`
        : "refuseOrder";
    return {
      name,
      bundler,
      entry,
      extension,
      start: () => ({
        args: [...(minified ? ["--enable-source-maps"] : []), `main.${extension}`],
        cwd: join(alone, bundler),
        expected: { outcome: "works", stack },
      }),
    };
  });
}

/**
 * Bundled into several files, one of which has the isolated code, and bundles that cannot work.
 * @param {Folders} folders
 * @returns {Environment[]}
 */
export function bundledApart({ alone }) {
  /** @type {[name: string, bundler: string, entry: string, expected?: import("./driver.mjs").Expected][]} */
  const bundles = [
    ["esbuild, two entries", "esbuild-several", "js/main.mjs"],
    ["Rollup, two entries", "rollup-several", "js/main.mjs"],
    ["Vite SSR, two entries", "vite-several", "js/main.mjs"],
    [
      "One file without the module of the handler: refused",
      "esbuild-without-compute",
      "js/main.mjs",
      { outcome: "refused", code: "ISOLATE_MODULE_INVALID", names: "A bundler must emit it as a file of its own" },
    ],
    [
      "One file that connects in every thread: refused",
      "esbuild-unguarded",
      "js/unguarded.mjs",
      { outcome: "refused", code: "ISOLATE_CONNECT", names: "connect() was called in a thread of the pool" },
    ],
  ];
  return bundles.map(([name, bundler, entry, expected = works]) => {
    const extension = bundler.endsWith("cjs") ? "cjs" : "mjs";
    const start = () => ({ args: [`main.${extension}`], cwd: join(alone, bundler), expected });
    return { name, bundler, entry, extension, start };
  });
}

/**
 * @param {Folders} folders
 * @param {Environment} environment
 * @returns {Promise<string>} what is wrong
 */
export async function makeBundle({ project, alone }, { bundler = "", entry = "", extension }) {
  const program = fileURLToPath(new URL("./bundlers.mjs", import.meta.url));
  const file = join(alone, bundler, `main.${extension}`);
  const args = [program, bundler, join(project, entry), file];
  const { code, output } = await run(process.execPath, args, { output: "collect", timeoutMs: 120_000, cwd: project });
  // Sources are not there where a bundle runs.
  return code === 0 ? "" : output;
}
