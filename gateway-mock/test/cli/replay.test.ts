import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { waitFor } from "@holdfast/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/** `replay` and `check` of apps that end their process, or never end loading. The command and the SDK are the sources. */

const BIN = fileURLToPath(new URL("../../src/bin.ts", import.meta.url));
const SDK = new URL("../../../packages/sdk/src/", import.meta.url);
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

const sha1 = (id: string): string => createHash("sha1").update(id).digest("hex");
const fact = (kind: string, key: string, data: object) => ({ kind, key, attempt: 0, iteration: 0, atMs: 1, data });
const runOf = (id: string, n: number) => ({
  ...{ id, functionId: "shop-order", appId: "shop", appVersion: "1", status: "RUNNING" },
  log: [
    fact("RUN_CREATED", "", { run: { maxAttempts: 3 }, event: { id: "e", name: "shop/order", data: { n } } }),
    fact("STEP_COMPLETED", sha1("a"), { step: { op: "StepRun", name: "a", ordinal: 0 }, data: 1 }),
  ],
});
const RUNS = [runOf("R1", 1), runOf("R2", 2)];

/** It sleeps until runs that are at work have been listed, and is at work from then on. */
let isAwake = false;
function wokenRun(statuses: readonly string[]): readonly object[] {
  const isListed = statuses.includes(isAwake ? "RUNNING" : "WAITING");
  isAwake ||= statuses.includes("RUNNING");
  return isListed ? RUNS.slice(0, 1) : [];
}

let folder = "";
let url = "";
const gateway = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://gateway");
  const named = RUNS.find(({ id }) => pathname === `/v1/runs/${id}`);
  const statuses = searchParams.get("status")?.split(",") ?? [];
  const runs =
    searchParams.get("function") === "shop-woken" ? wokenRun(statuses) : statuses.includes("RUNNING") ? RUNS : [];
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(named ?? { runs, nextCursor: null }));
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-replay-"));
  const sdk = join(folder, "node_modules", "holdfast");
  await mkdir(sdk, { recursive: true });
  const entries = { ".": "index", "./testing": "testing", "./connect": "connect" };
  const exports = Object.fromEntries(Object.entries(entries).map(([path, name]) => [path, `./${name}.mjs`]));
  await writeFile(join(sdk, "package.json"), JSON.stringify({ name: "holdfast", exports }));
  for (const name of Object.values(entries)) {
    await writeFile(join(sdk, `${name}.mjs`), `export * from ${JSON.stringify(new URL(`${name}.ts`, SDK).href)};`);
  }
  await writeFile(join(folder, "runs.ndjson"), lines(RUNS));
  await writeFile(join(folder, "one.ndjson"), lines(RUNS.slice(0, 1)));
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(async () => {
  gateway.close();
  await rm(folder, { recursive: true });
});

const lines = (runs: readonly object[]): string =>
  runs.map((run) => `${JSON.stringify({ format: "holdfast-run/1", run })}\n`).join("");

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function command(args: readonly string[]): Promise<Outcome> {
  const env = { ...process.env, NODE_OPTIONS: `--import ${TSX}` };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

let apps = 0;

/** `handler` may use `n`, which is 1 in the first of the runs and 2 in the second. */
async function appOf({ handler = "", after = "" }: { handler?: string; after?: string }): Promise<string> {
  apps += 1;
  const file = `app-${apps}.mjs`;
  await writeFile(
    join(folder, file),
    `import { once } from "node:events";
     import { createServer } from "node:http";
     import { setTimeout as sleep } from "node:timers/promises";
     import { Holdfast } from "holdfast";
     const app = new Holdfast({ id: "shop", isDev: true, appVersion: "2", logger: { debug() {}, info() {}, warn() {}, error() {} } });
     const order = app.createFunction({ id: "order", triggers: [{ event: "shop/order" }] }, async ({ event, step }) => {
       const { n } = event.data;
       await step.run("a", () => 1);
       ${handler}
       await step.run("b", () => 1);
     });
     ${after}`,
  );
  return file;
}

const check = async (app: string, ...more: string[]): Promise<Outcome> =>
  command(["check", "--app", app, "--url", url, ...more]);
const CONNECTED = "const connection = await app.connect({ functions: [order] });";

describe.concurrent("An app that has connected is checked, whatever its module waits for then", () => {
  test.each([
    ["the end of its connection", "await connection.closed;"],
    ["a signal", 'await once(process, "SIGTERM");'],
    ["a promise that never settles", "await new Promise(() => {});"],
    ["a promise that never settles, while it listens", "createServer().listen(0); await new Promise(() => {});"],
  ])("%s", async (_what, wait) => {
    const app = await appOf({ after: `${CONNECTED} ${wait}` });
    const { code, stdout, stderr } = await check(app, "--json");
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ functions: ["shop-order"], checked: 2, runs: [] });
  });

  test("a run that wakes up while the others are read is checked, too", async () => {
    const checked = await check(await appOf({ after: CONNECTED }), "--json", "--function", "shop-woken");
    expect(JSON.parse(checked.stdout)).toMatchObject({ checked: 1 });
  });

  test("a module that connects after it was evaluated is checked as well", async () => {
    const app = await appOf({ after: `sleep(20).then(async () => { ${CONNECTED} await connection.closed; });` });
    expect(await check(app)).toMatchObject({ code: 0, stdout: expect.stringContaining("shop-order") });
  });
});

describe.concurrent("Where an app connects, only the functions that it gives there count", () => {
  const order = "export { order };";
  const other = 'const other = app.createFunction({ id: "other", triggers: [{ event: "shop/x" }] }, () => {});';
  const connectsOther = `${other} ${order} await app.connect({ functions: [other] });`;

  test.each([
    ["while it is loaded", connectsOther],
    ["and waits", `${connectsOther} await new Promise(() => {});`],
    ["once it is loaded", `${other} ${order} sleep(20).then(() => app.connect({ functions: [other] }));`],
  ])("a function that it only exports is missing in a build that connects %s", async (_when, after) => {
    const app = await appOf({ after });
    const checked = await check(app, "--json");
    expect(checked.code, checked.stderr).toBe(7);
    const missing = { divergence: { type: "function-missing" } };
    expect(JSON.parse(checked.stdout)).toMatchObject({ functions: ["shop-other"], runs: [missing, missing] });
    expect((await command(["replay", "one.ndjson", "--app", app])).code).toBe(7);
  });

  test.each([
    ["nothing else", order],
    ["other values, while it listens", `${order} export const port = createServer().listen(0);`],
  ])("of a module that connects nothing those count that it exports, beside %s", async (_what, after) => {
    const { code, stdout, stderr } = await check(await appOf({ after }), "--json");
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ functions: ["shop-order"], checked: 2, runs: [] });
  });
});

describe.concurrent("An app that cannot be loaded ends the command with exit code 2 and the reason", () => {
  test.each([
    ["waits before it connects", 'await once(process, "SIGTERM");', /never ends loading/],
    [
      "keeps the process busy meanwhile",
      "setInterval(() => {}, 1000); await new Promise(() => {});",
      /within 4s: it waits .*Timeout/,
    ],
    ["never comes to an end", "while (true);", /within 4s .*without a pause/],
    ["ends the process", "process.exit(0);", /ends its process while it is loaded \(exit code 0\)/],
    ["ends the process when it has connected", `${CONNECTED} process.exit(0);`, /while it is loaded \(exit code 0\)/],
    ["kills the process", 'process.kill(process.pid, "SIGKILL");', /while it is loaded \(signal SIGKILL\)/],
    ["throws where nothing catches it", 'setTimeout(() => { throw new Error("oops"); }); await sleep(1000);', /oops/],
    ["throws", 'throw new Error("oops");', /cannot be loaded: oops/],
    ["has no functions", "", /has no functions/],
  ])("%s", async (_what, after, said) => {
    const app = await appOf({ after });
    const more = String(said).includes("4s") ? ["--load-timeout", "4s"] : [];
    const replay = [...(after === "process.exit(0);" ? [["replay", "runs.ndjson"]] : [])];
    for (const args of [["check", "--url", url, "--json"], ...replay]) {
      const { code, stdout, stderr } = await command([...args, "--app", app, ...more]);
      expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(said);
      expect(stderr).toContain("REPLAY_APP_INVALID");
    }
  });
});

describe.concurrent("Of what a handler does to its process the run is named", () => {
  const ends = "ends the process \\(exit code 0\\)";
  test.each([
    ["ends it", "if (n === 1) process.exit(0);", `code ${ends}`],
    [
      "throws in a timer while it waits",
      'if (n === 1) { setTimeout(() => { throw new Error("oops"); }, 5); await sleep(100); }',
      "throws: oops",
    ],
    [
      "throws in a timer that it leaves behind",
      'if (n === 1) setTimeout(() => { throw new Error("oops"); }, 20);',
      "throws: oops",
    ],
    ["ends it in a timer that it leaves behind", "if (n === 1) setTimeout(() => process.exit(0), 20);", `code ${ends}`],
  ])("%s", async (_what, handler, said) => {
    const app = await appOf({ handler, after: CONNECTED });
    const replayed = await command(["replay", "runs.ndjson", "--app", app]);
    expect(replayed.code, replayed.stderr).toBe(7);
    expect(replayed.stdout).toMatch(
      new RegExp(`^R1  shop-order  differs: .*${said}\nR2  shop-order  the same, 1 step`),
    );
    if (!handler.includes("20")) return;
    expect((await command(["replay", "one.ndjson", "--app", app])).code).toBe(7);
    const checked = await check(app, "--json");
    expect(checked.code, checked.stderr).toBe(7);
    expect(JSON.parse(checked.stdout)).toMatchObject({ checked: 2, runs: [{ runId: "R1", steps: 1 }] });
  });
});

test("a process that an app blocks does not outlive the command, however that ends", async () => {
  const file = "spinning.mjs";
  await writeFile(join(folder, file), "console.error('app', process.pid); for (;;);");
  const env = { ...process.env, NODE_OPTIONS: `--import ${TSX}` };
  const check = spawn(process.execPath, [BIN, "check", "--url", url, "--app", `./${file}`], { cwd: folder, env });
  let said = "";
  check.stderr.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  const pid = await waitFor(() => Number(/app (\d+)/.exec(said)?.[1] ?? 0), { what: "the app to be loaded" });
  check.kill("SIGKILL");
  const isGone = (): boolean => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  };
  await waitFor(isGone, { what: "the app to be gone" });
});

test("a step is named on one line, and without what a terminal would take as a command", async () => {
  const [run = runOf("R1", 1)] = RUNS;
  const [created = fact("RUN_CREATED", "", {})] = run.log;
  const name = "a\u001b[31m\nb\u009b2J";
  const step = fact("STEP_COMPLETED", sha1(name), { step: { op: "StepRun", name, ordinal: 0 }, data: 1 });
  await writeFile(join(folder, "named.ndjson"), lines([{ ...run, log: [created, step] }]));
  const replayed = await command(["replay", "named.ndjson", "--app", await appOf({ after: CONNECTED })]);
  expect(replayed.code, replayed.stderr).toBe(7);
  expect(replayed.stdout.trimEnd()).toMatch(/^R1 {2}shop-order {2}differs: .*a \[31m b 2J[^\p{Cc}]*$/u);
});
