import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { packageFolder } from "../../packages/tooling/src/notices.ts";

/** Names the folders of installed packages that went into the page: the gateway's notices list their licences. */
const bundledPackages: Plugin = {
  name: "bundled-packages",
  writeBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
    const folders = modules.flatMap((id) => packageFolder(id.replace(/^\0/, "")) ?? []);
    const list = fileURLToPath(new URL("dist/packages.json", import.meta.url));
    writeFileSync(list, JSON.stringify([...new Set(folders)]));
  },
};

const source = (path: string): string => fileURLToPath(new URL(`../../packages/${path}`, import.meta.url));

/** `base` is where the gateway serves it. Nothing is written into the HTML: the gateway's policy forbids it. */
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/ui/",
  publicDir: false,
  resolve: {
    alias: { "@holdfast/core": source("core/src/index.ts"), "@holdfast/graph/render": source("graph/src/render.ts") },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: "dist/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    license: false,
  },
  plugins: [bundledPackages],
});
