import { defineConfig } from "vitest/config";
import { type Kinds, testsByKind } from "../packages/tooling/src/vitest-base.ts";

/** One Postgres server for the whole suite; each test file creates its own database on it: `inject("postgresUrl")`. */
export const kinds: Kinds = {
  real: [
    "test/cli/{gateway-thread,replay}.test.ts",
    "test/{http,interleavings,outgoing,server}/*.test.ts",
    "test/store-postgres/!(availability|due-bounds|log-rows|long-statements|pg-errors|queue-depth|url-passwords|wake-messages).test.ts",
  ],
  slow: [
    "test/http/connection-limit.test.ts",
    "test/server/crowded-polls.test.ts",
    "test/store-postgres/backlog.test.ts",
    "test/store-postgres/backlog-of-lanes.test.ts",
    "test/store-postgres/hung-commits.test.ts",
    "test/store-postgres/new-connections.test.ts",
    "test/store-postgres/retention-kills.test.ts",
    "test/store-postgres/soak.test.ts",
  ],
  globalSetup: "test/global-setup.ts",
  setupFiles: ["test/check-answers.ts"],
};

export default defineConfig(testsByKind(kinds));
