import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "./src/vitest-base.ts";

export const kinds: Kinds = {
  real: [
    "test/{check,counting,dev,entries,examples,glossary,hygiene,imports,invariants,kinds,lint,mutations,nameable,processes,purity,release,setup,subjects}.test.ts",
  ],
};

export default defineConfig(testsByKind(kinds));
