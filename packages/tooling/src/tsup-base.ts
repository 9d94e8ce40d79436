/**
 * How the published packages are built, once for all of them: their `tsup.config.ts` begin with what is here. What comes
 * out is tested by `npm run pack:check` and `npm run test:bundles`.
 */
import { fileURLToPath } from "node:url";
import type { Options } from "tsup";

/**
 * In CommonJS `import()` becomes `require`: modules that Jest evaluates have no `import()` without
 * --experimental-vm-modules. Not for packages that import modules of the user's, which may be ES modules alone.
 */
export const requireInCommonJs: NonNullable<Options["esbuildOptions"]> = (options, { format }) => {
  if (format === "cjs") options.supported = { ...options.supported, "dynamic-import": false };
};

/** What the published packages have in common: ESM and CommonJS for Node 20, types beside each, private packages inside. */
export const published = {
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  shims: true,
  removeNodeProtocol: false,
  // Shared chunks would make `import.meta.url` name the chunk in CommonJS.
  splitting: false,
  clean: true,
  // Modules inside that can also be AMD would make webpack take the whole CommonJS file for one of AMD, with their exports.
  define: { define: "undefined" },
  noExternal: [/^@holdfast\/(core|protocol|store|engine|postgres-server|graph\/definition)$/],
  dts: {
    // `Symbol.asyncDispose` also where neither the target nor @types/node brings it.
    banner: '/// <reference lib="esnext.disposable" />',
    compilerOptions: {
      // Found by path, private packages are sources like any other, and their types end up in the declarations; found in
      // node_modules they would stay imports that no user can resolve.
      baseUrl: fileURLToPath(new URL("../../../", import.meta.url)),
      paths: {
        "@holdfast/core": ["packages/core/src/index.ts"],
        "@holdfast/protocol": ["packages/protocol/src/index.ts"],
        "@holdfast/store": ["packages/store/src/index.ts"],
        "@holdfast/engine": ["packages/engine/src/index.ts"],
        "@holdfast/postgres-server": ["packages/postgres-server/src/index.ts"],
        "@holdfast/graph/definition": ["packages/graph/src/definition.ts"],
      },
    },
  },
} satisfies Options;
