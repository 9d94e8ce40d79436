/** Name of the Vitest projects that `npm run test:slow` runs instead of `npm test`. */
export const SLOW = "slow";

/** Suites that have slow tests. */
export const slowSuites = ["packages/sdk", "packages/postgres-server", "e2e/sim", "e2e"];
