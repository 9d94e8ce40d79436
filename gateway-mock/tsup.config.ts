import { readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { defineConfig, type Options } from "tsup";
import { notices } from "../packages/tooling/src/notices.ts";
import { published, requireInCommonJs } from "../packages/tooling/src/tsup-base.ts";

const thirdParty = notices(fileURLToPath(new URL(".", import.meta.url)));

/** The page, as its own build left it: `dashboard/vite.config.ts`. */
const page = (path: string): string => fileURLToPath(new URL(`dashboard/dist/${path}`, import.meta.url));
thirdParty.add(JSON.parse(readFileSync(page("packages.json"), "utf8")));

/** These are CommonJS, and an ES module cannot `require` what belongs to Node: it asks the process for it. */
const COMMON_JS = /[/\\]node_modules[/\\](commander|ws)[/\\]/;

const nodeForCommonJs: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "node-for-commonjs",
  setup(build) {
    build.onResolve({ filter: /^[a-z_:]+$/ }, ({ path, kind, importer }) =>
      kind === "require-call" && isBuiltin(path) && COMMON_JS.test(importer)
        ? { path, namespace: "node-for-commonjs" }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "node-for-commonjs" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** `ws` is inside, so that it masks and unmasks four bytes at a time. */
const bundled = {
  ...published,
  noExternal: [...published.noExternal, "ws"],
  define: { ...published.define, "process.env.WS_NO_BUFFER_UTIL": '""', "process.env.WS_NO_UTF_8_VALIDATE": '"1"' },
} satisfies Options;

const wordMask: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "word-mask",
  setup(build) {
    build.onResolve({ filter: /^bufferutil$/ }, () => ({
      path: fileURLToPath(new URL("../packages/protocol/src/word-mask.ts", import.meta.url)),
    }));
  },
};

const esbuildPlugins = [thirdParty.plugin, wordMask];

export default defineConfig([
  // Parts that are imported when they are first used are files of their own, and so is what library and command share.
  // The command runs as ESM only; its first line says `#!/usr/bin/env node` in the source.
  {
    ...bundled,
    entry: {
      index: "src/index.ts",
      bin: "src/bin.ts",
      "gateway-thread": "src/cli/serve/gateway-thread.ts",
      "replay-process": "src/cli/replay/replay-process.ts",
    },
    format: ["esm"],
    splitting: true,
    dts: { ...bundled.dts, entry: { index: "src/index.ts" } },
    esbuildPlugins: [...esbuildPlugins, nodeForCommonJs],
    onSuccess: () => cp(page("page"), fileURLToPath(new URL("dist/dashboard", import.meta.url)), { recursive: true }),
  },
  {
    ...bundled,
    entry: { index: "src/index.ts" },
    format: ["cjs"],
    clean: false,
    esbuildOptions: requireInCommonJs,
    esbuildPlugins,
  },
]);
