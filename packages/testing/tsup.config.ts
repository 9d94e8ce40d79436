import { fileURLToPath } from "node:url";
import { defineConfig } from "tsup";
import { notices } from "../tooling/src/notices.ts";
import { published, requireInCommonJs } from "../tooling/src/tsup-base.ts";

// Without the setting only the ES modules are split: what is imported when it is first used is a file of its own.
const { splitting: _, ...split } = published;

export default defineConfig({
  ...split,
  esbuildOptions: requireInCommonJs,
  entry: { index: "src/index.ts", functions: "src/functions.ts" },
  // Types of SDK and gateway stay imports; their sources say what they are, so that nothing has to be built before.
  dts: {
    compilerOptions: {
      ...published.dts.compilerOptions,
      paths: {
        ...published.dts.compilerOptions.paths,
        "holdfast/testing": ["packages/sdk/src/testing.ts"],
        "@holdfast/gateway": ["gateway-mock/src/index.ts"],
      },
    },
  },
  esbuildPlugins: [notices(fileURLToPath(new URL(".", import.meta.url))).plugin],
});
