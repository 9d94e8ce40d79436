import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { defineConfig } from "tsup";
import { type Notices, notices } from "../tooling/src/notices.ts";
import { published } from "../tooling/src/tsup-base.ts";
import { bundleThreadScript, SCRIPT_ENTRIES, type ThreadBundle } from "./src/thread-script.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Puts the threads' scripts into the bundle as strings, and the connection thread's beside it as a file for `workerUrl`. */
function inlineThreadScript(addNotices: Notices): Plugin {
  let bundles: Promise<[connection: ThreadBundle, pool: ThreadBundle]> | undefined;
  return {
    name: "inline-thread-script",
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]thread-script\.ts$/ }, async () => {
        bundles ??= Promise.all([
          bundleThreadScript(here(`src/${SCRIPT_ENTRIES.connection}`)),
          bundleThreadScript(here(`src/${SCRIPT_ENTRIES.pool}`)),
        ]);
        const [connection, pool] = await bundles;
        addNotices.collect(connection.metafile);
        addNotices.collect(pool.metafile);
        await mkdir(here("dist"), { recursive: true });
        await writeFile(here("dist/connect-thread.cjs"), connection.script);
        const loader = (name: string, text: string): string =>
          `const ${name}Script = ${JSON.stringify(text)};\nexport const load${name}Script = () => Promise.resolve(${name}Script);\n`;
        return { contents: loader("Thread", connection.script) + loader("Pool", pool.script), loader: "js" };
      });
    },
  };
}

/** Which sources may be in which file of `dist/`; tsup's shims may be in all. */
const CONTENTS = {
  index: /^src\/index\.ts$/,
  client:
    /^src\/(client|options|runtime|version|app\/[^/]+|events\/[^/]+|runs\/[^/]+|telemetry\/tracing|steps\/(revive-error|points-in-time|references|wire-duration))\.ts$|^\.\.\/(core|protocol\/src\/(event-fields|index|json-text|limits)\.ts)/,
  connect: /^src\/connect\.ts$/,
  opentelemetry: /^src\/(opentelemetry|telemetry\/tracing)\.ts$/,
  isolate: /^src\/(isolate|runtime|steps\/(isolated|pool-thread|step-signal))\.ts$|^\.\.\/core/,
  operate:
    /^src\/(operate|version|operate\/[^/]+|events\/(gateway-access|send-http|silent-gateway)|runs\/function-name|steps\/(points-in-time|wire-duration))\.ts$|^\.\.\/(core|protocol\/src\/(index|json-text|limits)\.ts)/,
  testing: /^src\/(testing|function-test\/[^/]+)\.ts$|^\.\.\/(core|engine|protocol|store)\/|(^|\/)node_modules\/ulid\//,
  sdk: /^(?!\.\.\/(engine|store)\/|src\/function-test\/)/,
} as const satisfies Record<string, RegExp>;

/**
 * One copy of the SDK in a process, whichever entry an app imports: every entry takes it from `dist/sdk.js` at run time.
 * `holdfast/testing` has a gateway's decisions besides, and no other file has them.
 */
const shareSdk: Plugin = {
  name: "share-sdk",
  setup(build) {
    const suffix = build.initialOptions.format === "cjs" ? "cjs" : "js";
    build.onResolve({ filter: /^\.{1,2}\/(sdk|index)\.ts$/ }, ({ path }) => ({
      path: `./${path.includes("sdk") ? "sdk" : "index"}.${suffix}`,
      external: true,
    }));
    build.onEnd((result) => {
      const outputs = Object.entries(result.metafile?.outputs ?? {});
      const errors = Object.entries(CONTENTS).flatMap(([name, allowed]) => {
        const output = outputs.find(([path]) => path.endsWith(`dist/${name}.${suffix}`))?.[1];
        if (output === undefined) return [{ text: `dist/${name}.${suffix} was not built.` }];
        const inputs = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
        const wrong = inputs
          .map(([input]) => input)
          .filter((one) => !allowed.test(one) && !one.includes("/tsup/assets/"));
        return wrong.map((input) => ({ text: `${input} does not belong into dist/${name}.${suffix}.` }));
      });
      return errors.length === 0 ? undefined : { errors };
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
  entry: {
    index: "src/index.ts",
    client: "src/client.ts",
    connect: "src/connect.ts",
    isolate: "src/isolate.ts",
    operate: "src/operate.ts",
    opentelemetry: "src/opentelemetry.ts",
    testing: "src/testing.ts",
    sdk: "src/sdk.ts",
  },
  dts: {
    ...published.dts,
    entry: {
      index: "src/index.ts",
      client: "src/client.ts",
      connect: "src/connect.ts",
      isolate: "src/isolate.ts",
      operate: "src/operate.ts",
      opentelemetry: "src/opentelemetry.ts",
      testing: "src/testing.ts",
    },
  },
  esbuildPlugins: [portableUlid, inlineThreadScript(thirdParty), shareSdk, thirdParty.plugin],
});
