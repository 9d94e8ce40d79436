/**
 * `pnpm simulate`: bundles the simulation in `e2e/sim` from the sources and runs it. Arguments go to it; see
 * `e2e/sim/src/cli.ts`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { endWithChildren, run, temporaryFolder } from "./processes.mjs";
import { fail, inRoot, isProgram, root } from "./workspace.mjs";

/**
 * A guard that is switched off in a bundle: `find` must be in `file` exactly once.
 * @typedef {{ file: string, find: string, replace: string }} Mutation
 */

/** @type {import("esbuild").BuildOptions} */
const BUNDLE = {
  absWorkingDir: root,
  entryPoints: [inRoot("e2e/sim/src/cli.ts")],
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  sourcesContent: false,
  logLevel: "warning",
  legalComments: "none",
  // Packages of the workspace come as sources; what they use of npm that is not pure JavaScript modules stays outside.
  alias: {
    "@holdfast/core": inRoot("packages/core/src/index.ts"),
    "@holdfast/protocol": inRoot("packages/protocol/src/index.ts"),
    "@holdfast/store": inRoot("packages/store/src/index.ts"),
    "@holdfast/engine": inRoot("packages/engine/src/index.ts"),
  },
  banner: {
    js: 'import { createRequire as toRequire } from "node:module"; const require = toRequire(import.meta.url);',
  },
};

/** The files that the simulation is made of. */
export async function simulationSources() {
  const { metafile } = await build({ ...BUNDLE, outfile: "simulation.mjs", write: false, metafile: true });
  return Object.keys(metafile.inputs).map((path) => inRoot(path));
}

/**
 * Writes the simulation as one file that Node runs.
 * @param {string} outfile
 * @param {readonly Mutation[]} [mutations]
 */
export async function bundleSimulation(outfile, mutations = []) {
  const missing = new Set(mutations);
  const files = [...new Set(mutations.map(({ file }) => inRoot(file)))];
  await build({
    ...BUNDLE,
    outfile,
    plugins: [
      {
        name: "mutations",
        setup: ({ onLoad }) => {
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            if (!files.includes(path)) return undefined;
            let contents = readFileSync(path, "utf8");
            for (const mutation of mutations) {
              if (inRoot(mutation.file) !== path) continue;
              const parts = contents.split(mutation.find);
              if (parts.length !== 2)
                throw new Error(`${mutation.file} has ${parts.length - 1} times: ${mutation.find}`);
              contents = parts.join(mutation.replace);
              missing.delete(mutation);
            }
            return { contents, loader: "ts" };
          });
        },
      },
    ],
  });
  if (missing.size > 0) throw new Error(`Not in the bundle: ${[...missing].map(({ file }) => file).join(", ")}.`);
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  const folder = temporaryFolder("holdfast-simulate-");
  try {
    const bundle = join(folder.path, "simulation.mjs");
    await bundleSimulation(bundle);
    const { code } = await run(process.execPath, ["--enable-source-maps", bundle, ...process.argv.slice(2)], {
      cwd: root,
    });
    process.exitCode = code;
  } catch (error) {
    fail(error);
  } finally {
    folder.remove();
  }
}
