import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listedTests } from "./named.mjs";
import { inRoot } from "./workspace.mjs";

/** Name of the Vitest projects (`vitest-base.ts`) that `npm run test:slow` runs instead of `npm test`. */
export const SLOW = "slow";

/** Suites that have slow tests. */
export const slowSuites = ["packages/sdk", "packages/postgres-server", "gateway-mock", "e2e/sim", "e2e"];

/**
 * The slow test files of a suite, as its Vitest configuration lists them.
 * @param {string} suite
 */
export function slowFiles(suite) {
  const text = readFileSync(inRoot(join(suite, "vitest.config.ts")), "utf8");
  return listedTests(/\bslow: \[([^\]]*)\]/.exec(text)?.[1] ?? "");
}
