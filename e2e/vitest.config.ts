import { defineConfig } from "vitest/config";
import { limits } from "../packages/tooling/src/vitest-base.ts";

/** End-to-end tests use the built packages, as an app would: no aliases. */
export default defineConfig({
  test: {
    ...limits,
    globalSetup: "global-setup.ts",
    testTimeout: 120_000,
    include: ["test/**/*.e2e.test.ts"],
    maxWorkers: 2,
  },
});
