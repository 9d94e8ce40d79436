import { defineConfig } from "vitest/config";
import { realProjects, unitTests } from "../../packages/tooling/src/vitest-base.ts";

/** One schedule after the other in one process of its own; see `src/cli.ts`. */
export default defineConfig(
  unitTests({
    testTimeout: 1_200_000,
    maxWorkers: 1,
    // A project adds its files to these.
    include: [],
    projects: realProjects({ real: ["test/**/*.test.ts"], slow: ["test/more-schedules.test.ts"] }),
  }),
);
