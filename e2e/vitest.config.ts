import { defineConfig } from "vitest/config";
import { limits } from "../packages/tooling/src/vitest-base.ts";

const shared = { ...limits, globalSetup: "global-setup.ts", testTimeout: 120_000 };
/** These measure intervals, so nothing else may run beside them. */
const measuring = ["test/blocked.e2e.test.ts"];

/** End-to-end tests use the built packages, as an app would: no aliases. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "scenarios",
          include: ["test/**/*.e2e.test.ts"],
          exclude: measuring,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: "intervals",
          include: measuring,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
