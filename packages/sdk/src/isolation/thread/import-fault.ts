/** What a thread says of a module that it could not import: without the thread's own script, and with what to do. */
import { findNodeModule } from "../../runtime.ts";
import { tsxPreload } from "./tsx-loader.ts";

/** Node names the importing module: here it is the script that a thread begins with, all of it. */
const BOOT = / imported from data:text\/javascript,\S*/g;
const TYPESCRIPT = /\.[cm]?tsx?\b/;
/** Where a loader of TypeScript is missing, or Node's own does less than the code wants. */
const UNREAD: ReadonlySet<unknown> = new Set([
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
]);
const HINT =
  'A thread of the pool reads TypeScript only as Node itself does: start the app with `--import tsx`, as in `NODE_OPTIONS="--import tsx" vite dev`; in Vitest, set `test: { execArgv: ["--import", "tsx"] }`.';
const MISSING =
  'There is no such file: a bundler has probably replaced `import.meta.url`. Put isolated code into a plain module outside of the build, and name its file: isolated(pathToFileURL(resolve("isolated/pages.mjs")), "parse", ...).';

/** What `import()` or `require()` of the module threw, as people are to read it. */
export function importFault(module: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { message, stack } = thrown;
  const said = message.replace(BOOT, "");
  const hint = hintFor(module, thrown);
  const text = hint === undefined || said.includes(hint) ? said : `${said.replace(/\.$/, "")}. ${hint}`;
  if (text === message) return thrown;
  thrown.message = text;
  if (stack !== undefined) thrown.stack = stack.replace(message, () => text).replace(BOOT, "");
  return thrown;
}

function hintFor(module: string, error: Error): string | undefined {
  if (module.startsWith("file:") && !isThere(module)) return MISSING;
  return lacksLoader(module, error) ? HINT : undefined;
}

function lacksLoader(module: string, error: Error): boolean {
  const options = process.env.NODE_OPTIONS?.split(/\s+/) ?? [];
  if (tsxPreload([...process.execArgv, ...options]) !== undefined) return false;
  const { code } = error as { readonly code?: unknown };
  // As JavaScript it is not read further than to its first type.
  if (code === undefined) return isCompileError(error) && TYPESCRIPT.test(module);
  // `./other.js`, which is `other.ts`. A package that is not installed is not found by tsx either, nor is
  // the module itself.
  if (code === "ERR_MODULE_NOT_FOUND") {
    return error.message.startsWith("Cannot find module") && TYPESCRIPT.test(module) && isThere(module);
  }
  return UNREAD.has(code) && (TYPESCRIPT.test(module) || TYPESCRIPT.test(error.message));
}

/** Its stack begins with the place in the source, unlike that of a SyntaxError which code throws. */
function isCompileError({ name, stack = "" }: Error): boolean {
  return name === "SyntaxError" && !stack.startsWith(name);
}

function isThere(module: string): boolean {
  return module.startsWith("file:") && findNodeModule("node:fs")?.existsSync(new URL(module)) === true;
}

/** `require()` does not take the module as it is, whatever is in it. */
export function isRefusedByRequire(thrown: unknown): boolean {
  const { code, message } = (thrown ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === "ERR_REQUIRE_ESM" || /^Cannot require\(\) ES Module/.test(String(message));
}
