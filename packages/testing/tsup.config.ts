import { fileURLToPath } from "node:url";
import { defineConfig } from "tsup";
import { notices } from "../tooling/src/notices.ts";
import { published } from "../tooling/src/tsup-base.ts";

export default defineConfig({
  ...published,
  entry: { index: "src/index.ts" },
  esbuildPlugins: [notices(fileURLToPath(new URL(".", import.meta.url))).plugin],
});
