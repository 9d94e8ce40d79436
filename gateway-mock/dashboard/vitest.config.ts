import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "../../packages/tooling/src/vitest-base.ts";

/** What the page computes is tested here; the page itself in a browser, in `e2e/test`. */
export const kinds: Kinds = { real: [] };

export default defineConfig(testsByKind(kinds));
