import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnNode } from "@holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { nodeOf } from "../support/node-versions.mjs";
import { type Outcome, shell, type Variables } from "../support/terminal.ts";

/** Runs that were made by one build of an app, replayed on others, by the commands that a user types. */

const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const TYPED_APP = fileURLToPath(new URL("../fixtures/replay-typed-app.ts", import.meta.url));
const APP = fileURLToPath(new URL("../fixtures/replay-app.mjs", import.meta.url));
const program = `${process.execPath} ${gatewayBin}`;
const run = (args: string, env: Variables = {}): Promise<Outcome> => shell(`${program} ${args}`, { env });
const built = (build: string): Variables => ({ HOLDFAST_TEST_BUILD: build });

interface Replayed {
  readonly runs: readonly { readonly runId: string; readonly divergence: object | null; readonly steps: number }[];
}

const PRINTED_BY_APP = ["connected", "by a stream", "by a kept stream", "by a descriptor", "of a handler"];

const jsonOf = ({ stdout }: Outcome): Replayed => JSON.parse(stdout) as Replayed;

test("a build is told from the one that made the runs, before it is deployed, and no body runs", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-replay-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const ports = ["--port", "0", "--connect-port", "0"];
  const gateway = spawnNode(gatewayBin, { name: "The gateway", args: ["dev", "--store", "memory", ...ports] });
  onTestFinished(async () => void (await gateway.kill()));
  const line = await gateway.waitForLine((one) => /http:\/\/\S+:\d+/.test(one));
  const url = /http:\/\/[^\s/]+:\d+/.exec(line)?.[0] ?? "";
  const app = spawnNode(APP, { name: "The app", env: { HOLDFAST_BASE_URL: url, ...built("first") } });
  onTestFinished(async () => void (await app.kill()));
  await app.waitForLine((one) => one.includes("connected"));
  const at = `--url ${url}`;
  expect(await run(`send demo/order ${at} --wait --data '{}'`)).toMatchObject({ code: 0 });
  const { stdout: sent } = await run(`send demo/order ${at} --json --data '{"waits":true}'`);
  const living = /"runs":\s*\[\s*(?:\{[^}]*?"id":\s*)?"(\w{26})"/.exec(sent)?.[1] ?? "";
  const waits = async (): Promise<boolean> => (await run(`runs ${at} --status waiting`)).stdout.includes("demo-order");
  while (!(await waits()));
  await app.kill();

  const exported = await run(`export ${at}`);
  expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining("2 runs") });
  const lines = exported.stdout
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one) as { format: string });
  expect(lines.map(({ format }) => format)).toEqual(["holdfast-run/1", "holdfast-run/1"]);
  const file = join(folder, "runs.ndjson");
  await writeFile(file, exported.stdout);
  if (living !== "") expect((await run(`export ${at} ${living}`)).stdout).toContain(living);

  const same = await run(`replay ${file} --app ${APP} --json`, built("first"));
  expect(same.code).toBe(0);
  // The app prints in every manner while it is loaded: stdout has the results alone.
  expect(jsonOf(same).runs.map(({ divergence }) => divergence)).toEqual([null, null]);
  for (const said of PRINTED_BY_APP) expect(same.stderr).toContain(said);
  expect(same.stderr).not.toContain("a body of reserve");
  const toFile = join(folder, "replayed.json");
  expect(await run(`replay ${file} --app ${APP} --json > ${toFile}`, built("first"))).toMatchObject({ code: 0 });
  expect(jsonOf({ ...same, stdout: await readFile(toFile, "utf8") }).runs).toHaveLength(2);
  const renamed = await run(`replay ${file} --app ${APP}`, built("renamed"));
  expect(renamed).toMatchObject({
    code: 7,
    stdout: expect.stringMatching(/differs: .*"charge" \(step\.run\).*"charge the card" \(step\.run\)/),
  });
  const shorter = await run(`replay ${file} --app ${APP}`, built("shorter"));
  expect(shorter).toMatchObject({ code: 7 });
  expect(shorter.stdout.match(/differs:/g)).toHaveLength(2);
  expect(await run(`replay ${file} --app ${APP}`, built("empty"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("REPLAY_APP_INVALID"),
  });
  expect(await run(`replay ${file} --app ${APP}`, built("outside"))).toMatchObject({
    code: 7,
    stdout: expect.stringMatching(/demo-order {2}differs/),
  });

  expect(await run(`check ${at} --app ${APP}`, built("first"))).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/demo-order +first +1 +0/),
    stderr: expect.stringContaining("goes on with all of them"),
  });
  expect(await run(`check ${at} --app ${APP}`, built("renamed"))).toMatchObject({
    code: 7,
    stdout: expect.stringMatching(/demo-order +first +1 +1 +.*charge the card/),
    stderr: expect.stringContaining("1 of 1 runs would differ"),
  });
  expect(await run(`check ${at} --app ./missing.js`)).toMatchObject({ code: 2 });
  const asJson = await run(`check ${at} --app ${APP} --json`, built("first"));
  expect(JSON.parse(asJson.stdout)).toMatchObject({ functions: ["demo-order"], checked: 1 });
  await typedAppsAreReplayed(file);
});

/** An app in TypeScript, as it stands: with a loader, and on a Node that strips types. */
async function typedAppsAreReplayed(file: string): Promise<void> {
  const nodes = { here: process.execPath, stripping: await nodeOf(22) };
  const replay = (node: string, env: Variables): Promise<Outcome> =>
    shell(`${node} ${gatewayBin} replay ${file} --app ${TYPED_APP}`, { env, cwd: FOLDER });
  for (const [node, env] of [
    [nodes.here, { NODE_OPTIONS: "--import tsx" }],
    [nodes.stripping, {}],
  ] as const) {
    const same = await replay(node, env);
    expect(same, same.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining("demo-order") });
    expect(same.stdout + same.stderr).not.toContain("a body of reserve");
    expect(await replay(node, { ...env, ...built("renamed") })).toMatchObject({
      code: 7,
      stdout: expect.stringMatching(/differs: .*"charge" \(step\.run\).*"charge the card" \(step\.run\)/),
    });
  }
  if ("typescript" in process.features && process.features.typescript) return;
  // Node 20 reads no TypeScript: that is said, with what to do.
  const refused = await replay(nodes.here, {});
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("does not read TypeScript by itself: give it a loader, NODE_OPTIONS='--import tsx'");
  expect(refused.stderr).toContain("(REPLAY_APP_INVALID)");
}
