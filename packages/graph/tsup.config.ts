import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineConfig } from "tsup";
import { notices } from "../tooling/src/notices.ts";
import { published } from "../tooling/src/tsup-base.ts";
import { GRAPH_JSON_SCHEMA } from "./src/definition/graph-schema.ts";

const thirdParty = notices(fileURLToPath(new URL(".", import.meta.url)));

export default defineConfig({
  ...published,
  entry: {
    index: "src/index.ts",
    definition: "src/definition.ts",
    sandbox: "src/sandbox.ts",
    render: "src/render.ts",
    "react-flow": "src/react-flow.ts",
  },
  // For editors that check files by their schema.
  onSuccess: () =>
    writeFile(new URL("dist/graph.schema.json", import.meta.url), `${JSON.stringify(GRAPH_JSON_SCHEMA, null, 2)}\n`),
  // Types of the SDK stay imports; its sources say what they are, so that nothing has to be built before.
  dts: {
    compilerOptions: {
      ...published.dts.compilerOptions,
      paths: {
        ...published.dts.compilerOptions.paths,
        holdfast: ["packages/sdk/src/index.ts"],
        "holdfast/client": ["packages/sdk/src/client.ts"],
        "holdfast/isolate": ["packages/sdk/src/isolate.ts"],
      },
    },
  },
  esbuildPlugins: [thirdParty.plugin],
});
