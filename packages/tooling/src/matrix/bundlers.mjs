/**
 * Bundles an app into one file, as the documentation of each bundler says for a program that runs on Node.
 *
 *     node bundlers.mjs NAME ENTRY FILE
 *
 * Anything that a bundler warns of is a failure: a user would see it, too.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { fail, isProgram } from "../workspace.mjs";

/** Of packages whose declarations do not fit what they are, or that have none. */
const load = /** @type {(name: string) => any} */ (createRequire(import.meta.url));

/**
 * @callback Bundle
 * @param {string} entry the app's main module
 * @param {string} file the one file to write
 * @returns {Promise<readonly string[]>} warnings
 */

/**
 * @param {import("esbuild").BuildOptions} options
 * @returns {Bundle}
 */
const withEsbuild = (options) => async (entry, file) => {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: "node",
    logLevel: "silent",
    ...options,
  });
  return result.warnings.map(({ text }) => text);
};

/**
 * @param {"es" | "cjs"} format
 * @param {boolean} [several]
 * @returns {Bundle}
 */
const withRollup =
  (format, several = false) =>
  async (entry, file) => {
    const { rollup } = await import("rollup");
    const { nodeResolve } = await import("@rollup/plugin-node-resolve");
    const commonjs = load("@rollup/plugin-commonjs");
    const json = load("@rollup/plugin-json");
    /** @type {string[]} */
    const warnings = [];
    const bundle = await rollup({
      input: several ? entriesBeside(entry) : entry,
      plugins: [nodeResolve({ preferBuiltins: true }), commonjs(), json()],
      onwarn: ({ message }) => void warnings.push(message),
    });
    const entryFileNames = `[name]${extname(file)}`;
    const names = { dir: dirname(file), entryFileNames, chunkFileNames: entryFileNames };
    await bundle.write({ format, ...(several ? names : { file, inlineDynamicImports: true }) });
    await bundle.close();
    return warnings;
  };

/**
 * @param {"commonjs" | "module"} type
 * @returns {Bundle}
 */
const withWebpack = (type) => async (entry, file) => {
  const { default: webpack } = await import("webpack");
  const compiler = webpack({
    mode: "production",
    target: "node20",
    entry,
    output: {
      path: dirname(file),
      filename: basename(file),
      module: type === "module",
      // Isolated handlers are exports of the file.
      library: { type: type === "module" ? "module" : "commonjs2" },
    },
    experiments: { outputModule: type === "module" },
    // Otherwise `import.meta.url` is where the source was.
    module: { parser: { javascript: { importMeta: false } } },
    performance: false,
  });
  const stats = await new Promise((resolve, reject) =>
    compiler.run((error, result) => (error === null ? resolve(result) : reject(error))),
  );
  await new Promise((resolve) => compiler.close(resolve));
  const { errors = [], warnings = [] } = stats.toJson({ all: false, errors: true, warnings: true });
  if (errors.length > 0) throw new Error(errors.map((/** @type {{ message: string }} */ e) => e.message).join("\n"));
  return warnings.map((/** @type {{ message: string }} */ warning) => warning.message);
};

/** The modules that are files of their own in bundles of several: the app's entry, and the one with isolated code. */
const entriesBeside = (/** @type {string} */ entry) => ({
  main: entry,
  compute: join(dirname(entry), `compute${extname(entry)}`),
});

/** @type {Bundle} */
async function withEsbuildSplitting(entry, file) {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: Object.values(entriesBeside(entry)),
    outdir: dirname(file),
    outExtension: { ".js": ".mjs" },
    splitting: true,
    format: "esm",
    bundle: true,
    platform: "node",
    logLevel: "silent",
  });
  return result.warnings.map(({ text }) => text);
}

/**
 * @param {boolean} several
 * @returns {Bundle}
 */
const withVite = (several) => async (entry, file) => {
  const { build, createLogger } = await import("vite");
  /** @type {string[]} */
  const warnings = [];
  const logger = createLogger("warn");
  logger.warn = logger.warnOnce = (text) => void warnings.push(text);
  await build({
    root: dirname(entry),
    configFile: false,
    customLogger: logger,
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: dirname(file),
      emptyOutDir: false,
      rolldownOptions: {
        input: several ? entriesBeside(entry) : { main: entry },
        output: { entryFileNames: `[name]${extname(file)}` },
      },
    },
  });
  return warnings;
};

/** @type {Bundle} */
async function withNcc(entry, file) {
  const ncc = load("@vercel/ncc");
  const { code, assets } = await ncc(entry, { cache: false, quiet: true, target: "es2022" });
  const target = dirname(file);
  mkdirSync(target, { recursive: true });
  writeFileSync(file, code);
  const extra = Object.keys(assets).filter((name) => name !== "package.json");
  return extra.map((name) => `It wanted ${name} beside the bundle.`);
}

/** @type {Record<string, Bundle>} */
export const bundlers = {
  "esbuild-esm": withEsbuild({ format: "esm" }),
  "esbuild-cjs": withEsbuild({
    format: "cjs",
    define: { "import.meta.url": "importMetaUrl" },
    banner: { js: 'const importMetaUrl = require("node:url").pathToFileURL(__filename).href;' },
  }),
  "esbuild-minified": withEsbuild({ format: "esm", minify: true, sourcemap: true }),
  "esbuild-browser": withEsbuild({ format: "iife", platform: "browser" }),
  "rollup-esm": withRollup("es"),
  "rollup-cjs": withRollup("cjs"),
  "webpack-esm": withWebpack("module"),
  "webpack-cjs": withWebpack("commonjs"),
  "vite-ssr": withVite(false),
  "esbuild-several": withEsbuildSplitting,
  "rollup-several": withRollup("es", true),
  "vite-several": withVite(true),
  "esbuild-without-compute": withEsbuild({ format: "esm" }),
  "esbuild-unguarded": withEsbuild({ format: "esm" }),
  "ncc-esm": withNcc,
  "ncc-cjs": withNcc,
};

if (isProgram(import.meta.url)) {
  const [name = "", entry = "", file = ""] = process.argv.slice(2);
  try {
    const bundle = bundlers[name];
    if (bundle === undefined) throw new Error(`There is no bundler ${name}.`);
    mkdirSync(dirname(file), { recursive: true });
    const warnings = await bundle(entry, file);
    if (warnings.length > 0) throw new Error(`It warns:\n${warnings.join("\n")}`);
  } catch (error) {
    fail(error);
  }
}
