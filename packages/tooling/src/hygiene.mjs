/**
 * What must not get into the repository: hosts of package registries in the lockfile and the configuration (they differ
 * from place to place), paths of a developer's machine anywhere, and in product code casts by way of `unknown`, which make
 * the compiler believe anything. And Markdown lines that are too long to review, and source files that do not begin with
 * what they are for.
 *
 *     node hygiene.mjs registry|paths|casts|wrap|stopwatches|headers [folder]
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fail, filesBelow, isProgram, root } from "./workspace.mjs";

const configuration =
  /(^|\/)(pnpm-lock\.yaml|pnpm-workspace\.yaml|package\.json|package-lock\.json|\.(np|pnp|yarn)mrc(\.yml)?|[^/]+\.config\.[cm]?[jt]s)$/;
const registry =
  /\btarball:|\bregistry\s*[=:]|_auth|https?:\/\/[^\s"'/]*(registry|npmjs|npm\.pkg|yarnpkg|artifactory|nexus|verdaccio)/i;
const binary = /\.(png|jpe?g|gif|ico|woff2?|wasm|tgz|gz)$/;
// Written so that this file does not match itself.
const machinePath = new RegExp(
  `(?<![\\w.~-])/(?:${["work", "root", "home/\\w+", "Users/\\w+"].join("|")})(?:/[\\w.-]|\\b(?=["'\`\\s]))`,
);

const productCode = /(^|\/)src\/.*\.[cm]?tsx?$/;
const castOfAnything = /\bas\s+(?:unknown|any|never)\s*\)*\s*as\b/g;

/** @typedef {{ path: string, text: string }} File */

/** @param {readonly File[]} files */
export const registryHosts = (files) =>
  matches(
    files.filter(({ path }) => configuration.test(path)),
    registry,
  );

/** @param {readonly File[]} files */
export const machinePaths = (files) =>
  matches(
    files.filter(({ path }) => !binary.test(path)),
    machinePath,
  );

/**
 * Lines break where the formatter wants them to, also within a cast.
 * @param {readonly File[]} files
 */
export const blindCasts = (files) =>
  files
    .filter(({ path }) => productCode.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(castOfAnything)].map(({ index }) => `${path}:${text.slice(0, index).split("\n").length}`),
    );

const MAX_LINE = 120;
const prose = /\.md$/;
const notProse = /(^|\/)etc\/[^/]+\.api\.md$/;
/** Tables, and definitions of links, cannot be wrapped. */
const unwrappable = /^\s*\||^\[[^\]]+\]: /;

/**
 * Lines of Markdown over 120 characters; code between fences, tables and link definitions may be longer.
 * @param {readonly File[]} files
 */
export const longLines = (files) =>
  files
    .filter(({ path }) => prose.test(path) && !notProse.test(path))
    .flatMap(({ path, text }) => {
      let inCode = false;
      return text.split("\n").flatMap((line, index) => {
        if (/^\s*```/.test(line)) inCode = !inCode;
        return inCode || unwrappable.test(line) || line.length <= MAX_LINE ? [] : [`${path}:${index + 1}`];
      });
    });

/** Tests, whose upper limits of time would judge the machine that they run on. */
const tests = /(^|\/)(test|sim|long)\/.*\.ts$|\.test\.ts$/;
const stopwatch = /expect\([^;]*\b(performance\.now\(\)|Date\.now\(\)|elapsed\w*|took\w*)[^;]*\)\s*\.toBeLessThan/;

/**
 * Expectations that something took less than so long. A lower limit is none: a sleep that is too short is wrong anywhere.
 * @param {readonly File[]} files
 */
export const stopwatches = (files) =>
  matches(
    files.filter(({ path }) => tests.test(path)),
    stopwatch,
  );

/** Up to so many lines a file is seen at a glance. */
const GLANCE_LINES = 40;
const declarations = /(^|\/)generated\/|\.d\.[cm]?ts$/;
const code = /^(?:export )?(?:default )?(?:async )?(?:abstract )?(?:function|class|const|let)\b/m;

/**
 * Source files with code of more than a few lines that do not begin with a comment: what the file owns, why it is there,
 * what it relates to. Files of types alone need none.
 * @param {readonly File[]} files
 */
export const missingHeaders = (files) =>
  files
    .filter(({ path }) => productCode.test(path) && !declarations.test(path))
    .filter(({ text }) => text.split("\n").length > GLANCE_LINES && code.test(text))
    .filter(({ text }) => !/^(?:#!.*\n)?\s*\/[*/]/.test(text))
    .map(({ path }) => `${path}:1`);

/**
 * @param {readonly File[]} files
 * @param {RegExp} pattern
 */
function matches(files, pattern) {
  return files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line.trim().slice(0, 120)}`] : [])),
  );
}

/**
 * The files that belong to the project: what git knows or would add; all files where there is no git.
 * @param {string} base
 * @returns {File[]}
 */
export function projectFiles(base) {
  return listFiles(base).flatMap((path) => {
    try {
      return [{ path, text: readFileSync(resolve(base, path), "utf8") }];
    } catch {
      return []; // Deleted, but still in git's index.
    }
  });
}

/** @param {string} base */
function listFiles(base) {
  try {
    const args = ["-C", base, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const list = execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return [...new Set(list.split("\0"))].filter((path) => path !== "");
  } catch {
    return filesBelow(["."], base);
  }
}

if (isProgram(import.meta.url)) {
  const files = projectFiles(resolve(process.argv[3] ?? root));
  if (files.length === 0) fail("No files were found.");
  const checks = {
    registry: { find: registryHosts, rule: "No package registry is named in the lockfile or in configuration" },
    paths: { find: machinePaths, rule: "No path of a particular machine is written down" },
    casts: { find: blindCasts, rule: "Nothing in product code is cast by way of `unknown`: narrow it, or check it" },
    stopwatches: { find: stopwatches, rule: "No test asks how long something took: count, or compare with a control" },
    headers: {
      find: missingHeaders,
      rule: "A source file begins with two or three lines: what it owns, why it is here, what it relates to",
    },
    wrap: { find: longLines, rule: `Markdown wraps at ${MAX_LINE} characters` },
  };
  const name = /** @type {keyof typeof checks} */ (process.argv[2] ?? "");
  if (!Object.hasOwn(checks, name)) fail(`There is no check "${name}"; there are ${Object.keys(checks).join(", ")}.`);
  else {
    const { find, rule } = checks[name];
    const found = find(files);
    if (found.length > 0) fail(`${rule}. These lines break the rule:\n  ${found.join("\n  ")}`);
  }
}
