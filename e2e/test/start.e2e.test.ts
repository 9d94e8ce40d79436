import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnNode, waitFor } from "@holdfast/testing";
import { expect, inject, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";

/** What a gateway has loaded when it is ready. It is what its start takes, whatever machine it runs on. */

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const DEV = ["dev", "--json", "--port", "0", "--connect-port", "0"];

interface Loaded {
  /** Installed packages. */
  readonly packages: readonly string[];
  /** Files of our own packages. */
  readonly files: readonly string[];
}

/** The thread that a gateway runs in, where it is the command's. */
const GATEWAY_THREAD = 1;

async function loadedWhenReady(file: string, args: readonly string[], thread = 0): Promise<Loaded> {
  const env = { HOLDFAST_STORE: undefined, DATABASE_URL: undefined, HOLDFAST_DATABASE_URL: undefined };
  const execArgv = ["--import", fixture("list-modules.mjs")];
  const child = spawnNode(file, { name: "The gateway", args, env, execArgv });
  onTestFinished(async () => void (await child.kill("SIGTERM")));
  const mark = `LOADED ${thread} `;
  const line = await child.waitForLine(new RegExp(`^${mark}`));
  const urls = JSON.parse(line.replace(mark, "")) as string[];
  const packages = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []);
  const files = urls.flatMap((url) => /\/(?:gateway-mock|testing)\/dist\/(.*)$/.exec(url)?.[1] ?? []);
  return { packages: [...new Set(packages)].sort(), files };
}

const ofPostgres = (name: string): boolean => /^(store-postgres|postgres|src)-/.test(name);

test("the command with the memory store loads no database driver, HTTP client or other package before it is ready", async () => {
  const { packages, files } = await loadedWhenReady(gatewayBin, [...DEV, "--store", "memory"], GATEWAY_THREAD);
  expect(packages).toEqual([]);
  expect(files).toContain("gateway-thread.js");
  expect(files.filter(ofPostgres)).toEqual([]);
});

test("the command's own thread loads next to nothing: the gateway is in another one", async () => {
  const { packages, files } = await loadedWhenReady(gatewayBin, [...DEV, "--store", "memory"]);
  expect(packages).toEqual([]);
  expect(files).toContain("bin.js");
  expect(files.length).toBeLessThan(10);
});

test("a test's gateway on the memory store loads no database driver, HTTP client or other package", async () => {
  const { packages, files } = await loadedWhenReady(fixture("test-gateway.mjs"), []);
  expect(packages).toEqual([]);
  expect(files).toContain("index.js");
  expect(files.filter(ofPostgres)).toEqual([]);
});

test("a gateway in memory that a CommonJS program starts loads no other package", async () => {
  const { packages, files } = await loadedWhenReady(fixture("commonjs-gateway.cjs"), []);
  expect({ packages, files }).toEqual({ packages: [], files: ["index.cjs"] });
});

test("a gateway on a database loads its driver, and neither an HTTP client nor a server of its own", async () => {
  const { packages, files } = await loadedWhenReady(fixture("test-gateway.mjs"), [inject("postgresUrl")]);
  expect(packages).toEqual(["postgres"]);
  expect(files.filter(ofPostgres)).toEqual([
    expect.stringMatching(/^postgres-/),
    expect.stringMatching(/^store-postgres-/),
  ]);
});

test("a gateway that is told to end while it makes its first database leaves nothing half-made behind", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-first-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const env = { HOLDFAST_STORE: undefined, DATABASE_URL: undefined, HOLDFAST_DATABASE_URL: undefined };
  const dataDir = join(folder, "data");
  const child = spawnNode(gatewayBin, { name: "The gateway", args: [...DEV, "--data-dir", dataDir], env });
  onTestFinished(async () => void (await child.kill()));
  const names = (): Promise<readonly string[]> => readdir(dataDir).catch(() => []);
  await waitFor(async () => (await names()).some((name) => name.startsWith("postgres.init-")), {
    what: "the database to be made",
  });
  // As a terminal does: to all that was started, too.
  process.kill(-child.pid, "SIGINT");
  expect(await child.exited).toMatchObject({ code: 0, signal: null });
  expect((await names()).filter((name) => /^(postgres\.init-|owner\.lock)/.test(name))).toEqual([]);
});
