/**
 * What every Vitest configuration shares: sources instead of builds, limits, and the projects `pure`, `real` and
 * `slow`.
 */
import { fileURLToPath } from "node:url";
import type { TestProjectInlineConfiguration, ViteUserConfig } from "vitest/config";

const root = new URL("../../../", import.meta.url);
const inRoot = (path: string): string => fileURLToPath(new URL(path, root));

/** Workspace packages resolve to their sources: unit tests never need a build. */
const sources: Record<string, string> = {
  "@holdfast/core": "packages/core/src/index.ts",
  "@holdfast/protocol": "packages/protocol/src/index.ts",
  "@holdfast/store": "packages/store/src/index.ts",
  "@holdfast/engine": "packages/engine/src/index.ts",
  "@holdfast/postgres-server": "packages/postgres-server/src/index.ts",
  "@holdfast/testing": "packages/testing/src/index.ts",
  "@holdfast/testing/functions": "packages/testing/src/functions.ts",
  "@holdfast/graph": "packages/graph/src/index.ts",
  "@holdfast/graph/definition": "packages/graph/src/definition.ts",
  "@holdfast/gateway": "gateway-mock/src/index.ts",
  "holdfast/isolate": "packages/sdk/src/isolate.ts",
  "holdfast/connect": "packages/sdk/src/connect.ts",
  "holdfast/operate": "packages/sdk/src/operate.ts",
  "holdfast/testing": "packages/sdk/src/testing.ts",
  holdfast: "packages/sdk/src/index.ts",
};

const exactly = (name: string): RegExp => new RegExp(`^${name.replaceAll("/", "\\/")}$`);

const resolve = {
  alias: Object.entries(sources).map(([name, path]) => ({ find: exactly(name), replacement: inRoot(path) })),
};

const CONDITION_TIMEOUT_MS = 100_000;

/**
 * The part of a Vitest configuration that every suite shares; timeouts allow for a machine that is busy elsewhere. They
 * only end what hangs: a test may wait for many conditions, and long for one of them.
 */
export const limits = {
  environment: "node",
  pool: "forks",
  maxWorkers: 2,
  testTimeout: 300_000,
  hookTimeout: 180_000,
  teardownTimeout: 30_000,
  allowOnly: false,
  passWithNoTests: false,
  dangerouslyIgnoreUnhandledErrors: false,
  // One condition is waited for so long that only what hangs fails, and says what it waited for.
  expect: { poll: { timeout: CONDITION_TIMEOUT_MS } },
  env: { HOLDFAST_TEST_TIMEOUT_MS: String(CONDITION_TIMEOUT_MS) },
} as const satisfies ViteUserConfig["test"];

type TestOptions = NonNullable<ViteUserConfig["test"]>;

/** Configuration of a suite whose tests are all of one kind and run as they are; `test` adds to it or overrides it. */
export function unitTests(test: TestOptions = {}): ViteUserConfig {
  return { resolve, test: { ...limits, include: ["test/**/*.test.ts"], ...test } };
}

/** The tests of a suite, by kind. Together the kinds are all its files. */
export interface Kinds {
  /** Files that open sockets, start processes or threads, or need Postgres; every other file is `pure`. */
  readonly real: readonly string[];
  /** Those of the real files that take so long that `npm run test:slow` runs them, not `npm test`. */
  readonly slow?: readonly string[];
  /** Runs before the `real` tests, and only when some of them run. */
  readonly globalSetup?: string;
  /** Run in each of their processes, before a file of theirs. */
  readonly setupFiles?: readonly string[];
}

/**
 * Configuration of a package with the Vitest projects `pure`, `real` and `slow`. A pure test that opens a socket, starts a
 * process or a thread fails; see `pure-tests.ts`.
 */
export function testsByKind(kinds: Kinds): ViteUserConfig {
  return { resolve, test: { ...limits, projects: [pureProject("pure", kinds.real), ...realProjects(kinds)] } };
}

/**
 * The Vitest projects `real` and `slow`; a suite without pure files needs no other. `SLOW` of `kinds.mjs` is the name of the
 * second for `npm run test:slow`; it is not imported, so that this file type-checks without JavaScript.
 */
export function realProjects({ real, slow = [], globalSetup, setupFiles }: Kinds): TestProjectInlineConfiguration[] {
  const setup = {
    ...(globalSetup === undefined ? {} : { globalSetup }),
    ...(setupFiles === undefined ? {} : { setupFiles: [...setupFiles] }),
  };
  const others = ["**/node_modules/**", ...slow];
  return [
    ...(real.length === 0 ? [] : [project({ name: "real", include: [...real], exclude: others, ...setup })]),
    ...(slow.length === 0 ? [] : [project({ name: "slow", include: [...slow], ...setup })]),
  ];
}

const project = (test: TestProjectInlineConfiguration["test"] & object): TestProjectInlineConfiguration => ({
  extends: true,
  test,
});

/** Configuration of the root: the pure tests of several packages in one run. */
export function pureTests(packages: Readonly<Record<string, Kinds>>): ViteUserConfig {
  const projects = Object.entries(packages).map(([folder, { real }]) =>
    pureProject(folder.replace("packages/", ""), real, inRoot(folder)),
  );
  return { resolve, test: { ...limits, projects } };
}

function pureProject(name: string, real: readonly string[], folder?: string): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      ...(folder === undefined ? {} : { root: folder }),
      include: ["test/**/*.test.ts"],
      exclude: ["**/node_modules/**", ...real],
      setupFiles: [inRoot("packages/tooling/src/pure-tests.ts")],
    },
  };
}
