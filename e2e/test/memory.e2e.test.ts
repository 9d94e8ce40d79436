import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawnNode, startTestGateway } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { expect, onTestFinished, test } from "vitest";
import { Child } from "../support/child.mjs";
import { gatewayBin } from "../support/gateway.mjs";

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-memory-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** The command with the memory store, in a folder of its own, as a user starts it. */
async function startInMemory(folder: string) {
  const args = ["dev", "--json", "--port", "0", "--connect-port", "0"];
  const env = { HOLDFAST_STORE: "memory", DATABASE_URL: undefined, HOLDFAST_DATABASE_URL: undefined };
  const child = spawnNode(gatewayBin, { name: "The gateway", args, env, cwd: folder });
  onTestFinished(async () => void (await child.kill()));
  const ready = JSON.parse(await child.waitForLine(/"ready"/)) as { url: string };
  return { child, url: ready.url };
}

async function childrenOf(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "ppid="]);
  return stdout.split("\n").filter((line) => Number(line) === pid).length;
}

test("the command with the memory store starts no process, writes no file, and forgets everything when it ends", async () => {
  const folder = await emptyFolder();
  const first = await startInMemory(folder);
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: first.url });
  const greet = app.createFunction({ id: "greet", triggers: { event: "shop/greet" } }, async ({ event, step }) => {
    const name = await step.run("name", () => String(event.data.name));
    await step.sleep("a while", "50ms");
    return `Hello, ${name}`;
  });
  const connection = await app.connect({ functions: [greet] });
  const { ids } = await app.send({ name: "shop/greet", data: { name: "Ann" } });
  const get = async (path: string): Promise<unknown> => (await fetch(new URL(path, first.url))).json();
  const { runIds } = (await get(`/v1/events/${ids[0]}`)) as { runIds: string[] };
  await expect.poll(() => get(`/v1/runs/${runIds[0]}`)).toMatchObject({ status: "COMPLETED", output: "Hello, Ann" });
  expect(await childrenOf(first.child.pid)).toBe(0);
  expect(await readdir(folder)).toEqual([]);
  await connection.close();
  await first.child.kill();
  const second = await startInMemory(folder);
  expect((await fetch(new URL(`/v1/runs/${runIds[0]}`, second.url))).status).toBe(404);
});

test("the command with the memory store and a database URL ends with a code instead of ignoring one of the two", async () => {
  const args = ["dev", "--store", "memory", "--database-url", "postgres://absent@127.0.0.1:1/none"];
  const child = new Child(gatewayBin, { name: "The gateway", args });
  expect(await child.exited).toMatchObject({ code: 2 });
  expect(child.tail()).toMatch(/--database-url.*\(GATEWAY_USAGE\)/);
});

test("the built packages run a function on a test gateway in memory", async () => {
  await using gateway = await startTestGateway({ store: "memory" });
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url });
  const later = app.createFunction({ id: "later", triggers: { event: "shop/later" } }, async ({ step }) => {
    await step.sleep("a month", "30d");
    return "later";
  });
  await using _connection = await app.connect({ functions: [later] });
  const { ids } = await app.send({ name: "shop/later" });
  await gateway.waitForRun(ids[0] ?? "", ({ status }) => status === "WAITING");
  await gateway.skipTime("30d");
  expect(await gateway.waitForRun(ids[0] ?? "")).toMatchObject({ status: "COMPLETED", output: "later" });
});
