import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Graph, graphs, nodeType, takeHandle } from "@holdfast/graph";
import { startTestGateway, type TestGateway, waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import * as v from "valibot";
import { expect, onTestFinished, test } from "vitest";
import { tool } from "../../packages/tooling/src/workspace.mjs";
import { closePage, useDashboard } from "./dashboard.ts";

/** What the dashboard writes as a test of a graph's run compiles, and passes, with nothing of the app's. */

const dashboard = useDashboard();
const root = fileURLToPath(new URL("../..", import.meta.url));
const LIMIT_MS = 100_000;

const find = nodeType({
  type: "find",
  config: v.object({ id: v.number() }),
  handles: ["missing"],
  run: ({ config: { id } }) => (id > 1 ? takeHandle("missing", { id }) : { id, name: "Ann" }),
});
const fails = nodeType({
  type: "fails",
  config: v.object({}),
  run: () => {
    throw Object.assign(new TypeError("no such card"), { code: "CARD_UNKNOWN" });
  },
});

const graphOf = (url: string): Graph => ({
  id: "tour",
  title: "A tour",
  nodes: [
    { id: "start", type: "start" },
    { id: "each", type: "loop", config: { items: "{{ctx.input.ids}}", collect: "{{ctx.none ?? ctx.found}}" } },
    { id: "found", type: "find", title: "Find it", config: { id: "{{ctx.item}}" } },
    { id: "none", type: "javascript", config: { code: "return 'none'" } },
    { id: "twice", type: "javascript", config: { code: "console.log('x'); return ctx.each.length * 2" } },
    { id: "health", type: "http", title: "How is it?", config: { url: `${url}/health` } },
    { id: "nap", type: "delay", config: { duration: 1 } },
    { id: "pay", type: "fails", retries: 0 },
    { id: "ask", type: "approval", title: "A gift?", config: { timeout: "2d" } },
    { id: "event", type: "waitForEvent", config: { event: "shop/never", timeout: 1 } },
    {
      id: "end",
      type: "end",
      config: {
        outputParameters: {
          found: "{{ctx.each}}",
          ...{ twice: "{{ctx.twice}}", status: "{{ctx.health.status}}", why: "{{ctx.pay.code}}", by: "{{ctx.ask.by}}" },
        },
      },
    },
  ],
  edges: [
    { from: "start", to: "each" },
    { from: "each", handle: "loop", to: "found" },
    { from: "found", handle: "missing", to: "none" },
    { from: "each", handle: "done", to: "twice" },
    { from: "twice", to: "health" },
    { from: "health", to: "nap" },
    { from: "nap", to: "pay" },
    { from: "pay", handle: "error", to: "ask" },
    { from: "ask", handle: "approved", to: "event" },
    { from: "event", handle: "timeout", to: "end" },
  ],
});

interface Written {
  readonly text: string;
  readonly status: string;
  readonly output: unknown;
}

/** How a run has ended, and the test that its page writes. */
async function written({ url }: TestGateway, runId: string): Promise<Written> {
  const { status, output } = (await (await fetch(new URL(`/v1/runs/${runId}`, url))).json()) as Written;
  const page = await dashboard.open(String(new URL(`/ui/runs/${runId}`, url)));
  await page.getByRole("button", { name: "As test" }).click();
  const text = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
  await closePage(page);
  return { status, output, text };
}

/** What it prints; it fails with that where its exit code is another than 0. */
function ran(args: readonly string[], cwd: string): Promise<string | null> {
  return new Promise((resolve) => {
    const env = { ...process.env, VITEST: undefined };
    execFile(process.execPath, args, { cwd, env, timeout: LIMIT_MS, killSignal: "SIGKILL" }, (error, out, err) => {
      resolve(error === null ? null : `${error.killed ? "It does not end." : error.code}\n${out}${err}`);
    });
  });
}

async function folderWith(texts: Readonly<Record<string, string>>): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), "holdfast-as-test-"));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const folder = join(base, "e2e", "page");
  await mkdir(folder, { recursive: true });
  await symlink(join(root, "node_modules"), join(base, "node_modules"));
  await symlink(join(root, "e2e/node_modules"), join(base, "e2e/node_modules"));
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
  return folder;
}

test("the tests of a run that has completed and of one that has failed compile and pass", async () => {
  await using gateway = await startTestGateway({ store: "memory" });
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logLevel: "off" });
  const flows = graphs(app, { id: "tours", nodeTypes: [find, fails] });
  await using _connection = await app.connect({ functions: [flows.runner] });
  const graph = graphOf(String(gateway.url));
  expect((await flows.put(graph)).problems).toEqual([]);
  await flows.publish("tour");
  const run = await flows.execute("tour", { ids: [1, 2] });
  // The node is at work a moment before its wait is stored, and nothing takes a signal until then.
  const answer = { signal: `graph:${run.id}:ask`, data: { approved: true, by: "the boss" } };
  await waitFor(async () => (await app.sendSignal(answer)).runId !== undefined, { what: "the approval" });
  await run.result();
  const passing = await written(gateway, run.id);
  const nodes = [
    { id: "start", type: "start" },
    { id: "pay", type: "fails", retries: 0 },
  ];
  const failed = await flows.test({ id: "f", title: "f", nodes, edges: [{ from: "start", to: "pay" }] });
  await failed.result().catch(() => {});
  const failing = await written(gateway, failed.id);

  expect(passing).toMatchObject({
    status: "COMPLETED",
    output: { found: [{ id: 1, name: "Ann" }, "none"], twice: 4, status: 200, why: "CARD_UNKNOWN", by: "the boss" },
  });
  expect(failing.status).toBe("FAILED");
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, target: "es2023", module: "nodenext", types: ["node"] },
    typeRoots: [join(root, "node_modules/@types")],
  };
  const folder = await folderWith({
    "package.json": '{ "type": "module" }',
    "tsconfig.json": JSON.stringify({ compilerOptions, include: ["*.test.ts"] }),
    "passing.test.ts": passing.text,
    "failing.test.ts": failing.text,
  });
  expect(await ran([tool("typescript/bin/tsc"), "-p", folder], folder), passing.text).toBeNull();
  const vitest = [tool("vitest/vitest.mjs"), "run", "--root", folder, `--testTimeout=${LIMIT_MS}`];
  expect(await ran(vitest, folder), passing.text).toBeNull();
});
