import { defineConfig } from "vitest/config";
import { limits } from "../packages/tooling/src/vitest-base.ts";

/**
 * End-to-end tests use the built packages, as an app would: no aliases.
 * Files run one after another: each starts processes of its own, and two cores are soon full.
 */
export default defineConfig({
  test: {
    ...limits,
    include: ["**/*.e2e.test.ts"],
    globalSetup: ["global-setup.ts"],
    fileParallelism: false,
    testTimeout: 120_000,
  },
});
