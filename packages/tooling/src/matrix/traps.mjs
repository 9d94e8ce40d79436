/** Places where libraries that start threads tend to fail: each works, or is refused with an error that says why. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RESULT_MARK } from "./app-text.mjs";

/** @typedef {import("./environments.mjs").Environment} Environment */
/** @typedef {import("./driver.mjs").Expected} Expected */

/** @type {Expected} */
const works = { outcome: "works", stack: "" };

/**
 * @param {string} names
 * @returns {Expected}
 */
const refused = (names) => ({ outcome: "refused", code: "RUNTIME_UNSUPPORTED", names });

/** Breaks every thread that runs it but those of the pool, which are meant to, as preloaded tools that are made for main threads do, now and later. */
const breakThreads = `import { isMainThread, workerData } from "node:worker_threads";
if (!isMainThread && workerData?.slot === undefined) throw new Error("This preload must not reach the connection thread.");
process.env.NODE_OPTIONS = "--import ./not-there.mjs";
`;

const inThread = `import { Worker } from "node:worker_threads";
const worker = new Worker(new URL("./main.mjs", import.meta.url));
worker.on("error", (error) => console.error(error));
worker.on("exit", (code) => (process.exitCode = code));
`;

/** What test runners such as Jest do: the app's code has its own Error, Array, Uint8Array ... and Node's modules do not. */
const inContext = `const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const vm = require("node:vm");
const file = process.argv[2];
const own = new Set(vm.runInNewContext("Object.getOwnPropertyNames(globalThis)"));
const shared = Object.getOwnPropertyNames(globalThis).filter((name) => name === "console" || !own.has(name));
const context = vm.createContext(Object.fromEntries(shared.map((name) => [name, globalThis[name]])));
vm.runInContext("globalThis.global = globalThis", context);
const wrapped = "(function (exports, require, module, __filename) {" + readFileSync(file, "utf8") + "\\n})";
const module_ = { exports: {} };
vm.runInContext(wrapped, context, { filename: file })(module_.exports, createRequire(file), module_, file);
`;

/** A page: no process, no modules. It cannot connect, but can send events. */
const page = `import { Holdfast } from "holdfast";
const client = new Holdfast({ id: "page", isDev: true, baseUrl: globalThis.gatewayUrl });
const noop = client.createFunction({ id: "noop", triggers: { event: "noop" } }, () => {});
client.connect({ functions: [noop] }).catch(async (error) => {
  const { ids } = await client.send({ name: "page/loaded", data: {} });
  if (ids.length === 1) console.log("${RESULT_MARK}" + JSON.stringify({ error: { code: error.code, message: error.message } }));
});
`;

const inPage = `const { readFileSync } = require("node:fs");
const vm = require("node:vm");
const { fetch, console, URL, TextDecoder, TextEncoder, AbortController, setTimeout, clearTimeout, btoa, performance } = globalThis;
const gatewayUrl = process.env.HOLDFAST_DEV;
const globals = { fetch, console, URL, TextDecoder, TextEncoder, AbortController, setTimeout, clearTimeout, btoa };
const context = vm.createContext({ ...globals, performance, queueMicrotask, gatewayUrl });
vm.runInContext("globalThis.window = globalThis", context);
vm.runInContext(readFileSync(process.argv[2], "utf8"), context);
`;

/** From this Node on the permission model forbids network access, too, without `--allow-net`. */
const ALLOW_NET_SINCE = 25;

/** @param {import("./environments.mjs").Folders} folders */
export function writeTraps({ project }) {
  const files = {
    "js/break-threads.mjs": breakThreads,
    "js/in-thread.mjs": inThread,
    "page/in-context.cjs": inContext,
    "page/in-page.cjs": inPage,
    "page/main.mjs": page,
  };
  mkdirSync(join(project, "page"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
}

/**
 * @param {import("./environments.mjs").Folders} folders
 * @returns {Environment[]}
 */
export function traps({ project, alone }) {
  const js = join(project, "js");
  const permission = (/** @type {number} */ major) =>
    major === 20 ? ["--experimental-permission", "--allow-fs-read=*"] : ["--permission", "--allow-fs-read=*"];
  const inModule = (/** @type {string[]} */ ...args) => ({ args: [...args, "main.mjs"], cwd: js, expected: works });
  return [
    {
      name: "Permission model without --allow-worker: refused",
      start: ({ major }) => ({ ...inModule(...permission(major)), expected: refused("--allow-worker") }),
    },
    {
      name: "Permission model without --allow-net: refused",
      start: ({ major }) =>
        major < ALLOW_NET_SINCE
          ? undefined
          : { ...inModule(...permission(major), "--allow-worker"), expected: refused("--allow-net") },
    },
    {
      name: "Permission model with what it needs",
      start: ({ major }) =>
        inModule(...permission(major), "--allow-worker", ...(major < ALLOW_NET_SINCE ? [] : ["--allow-net"])),
    },
    {
      name: "NODE_OPTIONS that break threads",
      start: () => ({ ...inModule(), env: { NODE_OPTIONS: "--import ./break-threads.mjs" } }),
    },
    { name: "No code from strings", start: () => inModule("--disallow-code-generation-from-strings") },
    {
      name: "In a worker thread of the app",
      start: () => ({ args: ["in-thread.mjs"], cwd: js, expected: works }),
    },
    {
      name: "In a vm context with globals of its own",
      needs: "esbuild-cjs",
      start: () => ({
        args: ["in-context.cjs", join(alone, "esbuild-cjs/main.cjs")],
        cwd: join(project, "page"),
        expected: works,
      }),
    },
    {
      name: "Browser: refused, sends events",
      bundler: "esbuild-browser",
      entry: "page/main.mjs",
      extension: "js",
      start: () => ({
        args: ["in-page.cjs", join(alone, "esbuild-browser/main.js")],
        cwd: join(project, "page"),
        expected: refused("from a browser. It needs threads (node:worker_threads)"),
      }),
    },
  ];
}

/**
 * What a Node that is too old gets.
 * @param {import("./environments.mjs").Folders} folders
 * @returns {{ name: string, args: string[], cwd: string, expected: Expected }[]}
 */
export function tooOld({ project, alone }) {
  const expected = refused("Use Node 20.19, 22.3 or newer");
  return [
    { name: "ESM: refused", args: ["main.mjs"], cwd: join(project, "js"), expected },
    { name: "CommonJS: refused", args: ["main.cjs"], cwd: join(project, "cjs"), expected },
    { name: "esbuild, ESM: refused", args: ["main.mjs"], cwd: join(alone, "esbuild-esm"), expected },
  ];
}
