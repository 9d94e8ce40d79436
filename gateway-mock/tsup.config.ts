import { fileURLToPath } from "node:url";
import { defineConfig, type Options } from "tsup";
import { notices } from "../packages/tooling/src/notices.ts";
import { published } from "../packages/tooling/src/tsup-base.ts";

const thirdParty = notices(fileURLToPath(new URL(".", import.meta.url)));

/** `commander` is CommonJS, and an ES module cannot `require` what belongs to Node: it imports that. */
const nodeForCommonJs: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "node-for-commonjs",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, kind, importer }) =>
      kind === "require-call" && importer.includes("commander") ? { path, namespace: "node-for-commonjs" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "node-for-commonjs" }, ({ path }) => ({
      contents: `export * from ${JSON.stringify(path)};`,
    }));
  },
};

const esbuildPlugins = [thirdParty.plugin];

export default defineConfig([
  // Parts that are imported when they are first used are files of their own, and so is what library and command share.
  // The command runs as ESM only; its first line says `#!/usr/bin/env node` in the source.
  {
    ...published,
    entry: { index: "src/index.ts", bin: "src/bin.ts" },
    format: ["esm"],
    splitting: true,
    dts: { ...published.dts, entry: { index: "src/index.ts" } },
    esbuildPlugins: [...esbuildPlugins, nodeForCommonJs],
  },
  { ...published, entry: { index: "src/index.ts" }, format: ["cjs"], clean: false, esbuildPlugins },
]);
