import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { defineConfig } from "tsup";
import { type Notices, notices } from "../tooling/src/notices.ts";
import { published } from "../tooling/src/tsup-base.ts";
import { bundleThreadScript } from "./src/thread-script.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Puts the connection thread's script into the bundle as a string, and beside it as a file for `workerUrl`. */
function inlineThreadScript(addNotices: Notices): Plugin {
  let bundle: ReturnType<typeof bundleThreadScript> | undefined;
  return {
    name: "inline-thread-script",
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]thread-script\.ts$/ }, async () => {
        bundle ??= bundleThreadScript();
        const { script, metafile } = await bundle;
        addNotices.collect(metafile);
        await mkdir(here("dist"), { recursive: true });
        await writeFile(here("dist/connect-thread.cjs"), script);
        const text = JSON.stringify(script);
        return {
          contents: `const script = ${text};\nexport const loadThreadScript = () => Promise.resolve(script);\n`,
          loader: "js",
        };
      });
    },
  };
}

/**
 * `holdfast/connect` and `holdfast/testing` re-export from the main entry at run time: one copy of the SDK in a process,
 * whichever of them an app imports.
 */
const fronts = ["connect", "testing"];

const shareIndex: Plugin = {
  name: "share-index",
  setup(build) {
    const suffix = build.initialOptions.format === "cjs" ? "cjs" : "js";
    build.onResolve({ filter: /^\.\/index\.ts$/ }, ({ importer }) =>
      fronts.some((front) => importer === here(`src/${front}.ts`))
        ? { path: `./index.${suffix}`, external: true }
        : undefined,
    );
    build.onEnd((result) => {
      for (const [path, output] of Object.entries(result.metafile?.outputs ?? {})) {
        if (
          /(connect|testing)\.c?js$/.test(path) &&
          Object.keys(output.inputs).some((input) => !/src\/(connect|testing)\.ts$/.test(input))
        ) {
          return {
            errors: [
              {
                text: "src/connect.ts and src/testing.ts may only re-export from ./index.ts: anything else would be a second copy of the SDK.",
              },
            ],
          };
        }
      }
      return undefined;
    });
  },
};

/** ulid's build for Node imports `node:crypto`, which the package must not do to load everywhere; we bring our own random numbers. */
const portableUlid: Plugin = {
  name: "portable-ulid",
  setup(build) {
    build.onResolve({ filter: /^ulid$/ }, () => ({
      path: here("node_modules/ulid/dist/browser/index.js"),
      sideEffects: false,
    }));
  },
};

const thirdParty = notices(here("."));

export default defineConfig({
  ...published,
  entry: { index: "src/index.ts", connect: "src/connect.ts", testing: "src/testing.ts" },
  esbuildPlugins: [portableUlid, inlineThreadScript(thirdParty), shareIndex, thirdParty.plugin],
});
