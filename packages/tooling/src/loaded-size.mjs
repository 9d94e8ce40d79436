/**
 * What an app pays for what it loads: `holdfast/client`, the entry for those who only send, with everything that a
 * bundler takes with it, minified (it has none of the connection, its thread and the steps), and the memory of the whole
 * SDK's source.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { build } from "./build.mjs";
import { endWithChildren } from "./processes.mjs";
import { fail, inRoot, isProgram } from "./workspace.mjs";

const MAX_CLIENT_BYTES = 40_000;

/** @typedef {"esm" | "cjs"} Format */

/** @type {readonly Format[]} */
export const FORMATS = ["esm", "cjs"];

/**
 * What is wrong with the size of a client, or empty.
 * @param {string} entry from where it is imported: a name, or the path of a file
 * @param {Format} format
 * @param {string} folder in which the name is looked up
 */
export function clientSizeProblem(entry, format, folder) {
  const from = JSON.stringify(entry);
  const contents = format === "esm" ? `export * from ${from};` : `module.exports = require(${from});`;
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    minify: true,
    format,
    write: false,
    logLevel: "silent",
  });
  const bytes = outputFiles.reduce((sum, { contents: file }) => sum + file.length, 0);
  return bytes <= MAX_CLIENT_BYTES ? "" : `It has ${bytes} bytes as ${format}; the limit is ${MAX_CLIENT_BYTES}.`;
}

/**
 * V8 keeps a text in one byte a character unless one of them is not Latin-1: a single one in our largest module would
 * cost each app a megabyte. Bundlers escape those of strings, but not those of regular expressions.
 * @param {string} file the built module
 */
export function wideCharacterProblem(file) {
  const wide = readFileSync(file, "utf8").match(/.{0,40}[\u0100-\uffff].{0,20}/)?.[0];
  return wide === undefined ? "" : `Write this as an escape: ${wide}`;
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    await build();
    const dist = inRoot("packages/sdk/dist");
    for (const format of FORMATS) {
      const problem = clientSizeProblem(join(dist, format === "esm" ? "client.js" : "client.cjs"), format, dist);
      if (problem !== "") fail(`holdfast/client is too large. ${problem}`);
    }
    const problem = wideCharacterProblem(join(dist, "sdk.js"));
    if (problem !== "") fail(`sdk.js is not Latin-1. ${problem}`);
  } catch (error) {
    fail(error);
  }
}
