import { defineConfig } from "vitest/config";
import { unitTests } from "../packages/tooling/src/vitest-base.ts";

/** One Postgres server for the whole suite; each test file creates its own database on it: `inject("postgresUrl")`. */
export default defineConfig(unitTests({ globalSetup: ["test/global-setup.ts"] }));
