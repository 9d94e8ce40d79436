import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { limits } from "../../packages/tooling/src/vitest-base.ts";

/**
 * What takes longer than a developer waits: many gateways, kills in a row, thousands of random programs. One file after
 * the other, because each keeps the machine busy by itself; each file stands alone and stays below three minutes.
 */
export default defineConfig({
  test: {
    ...limits,
    globalSetup: fileURLToPath(new URL("../global-setup.ts", import.meta.url)),
    include: ["**/*.e2e.test.ts"],
    maxWorkers: 1,
    testTimeout: 180_000,
  },
});
