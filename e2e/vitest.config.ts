import { defineConfig } from "vitest/config";
import { limits, realProjects } from "../packages/tooling/src/vitest-base.ts";

/** End-to-end tests use the built packages, as an app would: no aliases. */
export default defineConfig({
  test: {
    ...limits,
    maxWorkers: 2,
    projects: realProjects({
      real: ["test/**/*.e2e.test.ts", "examples/**/*.test.ts", "bench/test/*.test.ts"],
      slow: [
        "test/{doc-blocks,interop,isolated-blocked,local-postgres,restarted-gateway,shutdown,suspended,terminal}.e2e.test.ts",
        "bench/test/{bench,queue-harness}.e2e.test.ts",
      ],
      globalSetup: "global-setup.ts",
    }),
  },
});
