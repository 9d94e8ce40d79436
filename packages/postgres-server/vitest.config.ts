import { defineConfig } from "vitest/config";
import { testsByKind } from "../tooling/src/vitest-base.ts";

export default defineConfig(
  testsByKind({
    real: ["test/*.test.ts"],
    slow: ["test/{kept,owner-death,users}.test.ts"],
  }),
);
