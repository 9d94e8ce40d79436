import { fileURLToPath } from "node:url";
import type { ViteUserConfig } from "vitest/config";

const root = new URL("../../../", import.meta.url);

/** Workspace packages resolve to their sources: unit tests never need a build. */
const sources: Record<string, string> = {
  "@holdfast/core": "packages/core/src/index.ts",
  "@holdfast/protocol": "packages/protocol/src/index.ts",
  "@holdfast/postgres-server": "packages/postgres-server/src/index.ts",
  "@holdfast/testing": "packages/testing/src/index.ts",
  "@holdfast/testing/functions": "packages/testing/src/functions.ts",
  "@holdfast/gateway-mock": "gateway-mock/src/index.ts",
  "holdfast/connect": "packages/sdk/src/connect.ts",
  "holdfast/testing": "packages/sdk/src/testing.ts",
  holdfast: "packages/sdk/src/index.ts",
};

const exactly = (name: string): RegExp => new RegExp(`^${name.replaceAll("/", "\\/")}$`);

/** The part of a Vitest configuration that every suite shares; timeouts allow for a machine that is busy elsewhere. */
export const limits = {
  environment: "node",
  pool: "forks",
  maxWorkers: 2,
  testTimeout: 120_000,
  hookTimeout: 90_000,
  teardownTimeout: 30_000,
  allowOnly: false,
  passWithNoTests: false,
  dangerouslyIgnoreUnhandledErrors: false,
} as const satisfies ViteUserConfig["test"];

/** Configuration of a unit suite; `test` adds to it or overrides it. */
export function unitTests(test: NonNullable<ViteUserConfig["test"]> = {}): ViteUserConfig {
  return {
    resolve: {
      alias: Object.entries(sources).map(([name, path]) => ({
        find: exactly(name),
        replacement: fileURLToPath(new URL(path, root)),
      })),
    },
    test: { ...limits, include: ["test/**/*.test.ts"], ...test },
  };
}
