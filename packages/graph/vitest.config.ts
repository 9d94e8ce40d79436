import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "../tooling/src/vitest-base.ts";

export const kinds: Kinds = { real: [] };

export default defineConfig(testsByKind(kinds));
