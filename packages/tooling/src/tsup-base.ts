import type { Options } from "tsup";

/** What the published packages have in common: ESM and CommonJS for Node 20, types beside each, private packages inside. */
export const published = {
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  shims: true,
  // Shared chunks would make `import.meta.url` name the chunk in CommonJS.
  splitting: false,
  clean: true,
  noExternal: [/^@holdfast\/(core|protocol|postgres-server)$/],
  dts: true,
} as const satisfies Options;
