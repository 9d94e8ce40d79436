import { fileURLToPath } from "node:url";
import { defineConfig } from "tsup";
import { notices } from "../packages/tooling/src/notices.ts";
import { published } from "../packages/tooling/src/tsup-base.ts";

const thirdParty = notices(fileURLToPath(new URL(".", import.meta.url)));

export default defineConfig([
  { ...published, entry: { index: "src/index.ts" }, esbuildPlugins: [thirdParty.plugin] },
  // The command runs as ESM only; its first line says `#!/usr/bin/env node` in the source.
  { ...published, entry: { bin: "src/bin.ts" }, format: ["esm"], dts: false, clean: false },
]);
