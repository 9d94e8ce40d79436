import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { waitFor } from "@holdfast/testing";
import { expect, onTestFinished, test } from "vitest";
import { openBrowser } from "../support/browser.mjs";
import { gatewayBin } from "../support/gateway.mjs";
import { LIMIT_MS } from "../support/limits.mjs";
import { shell } from "../support/terminal.ts";

/** docs/getting-started.md, as a reader types it. Only ports, and how long the warehouse packs, are others. */

const page = readFileSync(new URL("../../docs/getting-started.md", import.meta.url), "utf8");
const lines = new Set([...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, code = ""]) => code.trim().split("\n")));
const require = createRequire(import.meta.url);

/** A line that the page has; each is used once at least. */
const used = new Set<string>();
function line(start: string): string {
  const found = [...lines].find((one) => one.startsWith(start));
  if (found === undefined) throw new Error(`The page has no line that starts with "${start}".`);
  used.add(found);
  return found;
}

function fileOf(name: string): string {
  const [, code] = new RegExp(`\`\`\`ts\\n(// ${name}\\n[\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (code === undefined) throw new Error(`The page has no file ${name}.`);
  return code;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** What \`npm install\` leaves behind: the packages, and their commands. */
function installed(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  mkdirSync(join(modules, "@holdfast"));
  const folderOf = (name: string): string => dirname(require.resolve(`${name}/package.json`));
  symlinkSync(folderOf("holdfast"), join(modules, "holdfast"));
  symlinkSync(folderOf("@holdfast/gateway"), join(modules, "@holdfast/gateway"));
  symlinkSync(gatewayBin, join(modules, ".bin/holdfast-gateway"));
  const tsx = dirname(createRequire(join(folderOf("holdfast"), "../../package.json")).resolve("tsx/package.json"));
  symlinkSync(tsx, join(modules, "tsx"));
  symlinkSync(join(tsx, "dist/cli.mjs"), join(modules, ".bin/tsx"));
  writeFileSync(join(folder, "package.json"), '{ "name": "shop", "private": true, "type": "module" }');
}

interface Running {
  text(): string;
  shows(part: string | RegExp): Promise<void>;
  /** With everything that it has started. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

function running(command: string, cwd: string, env: NodeJS.ProcessEnv): Running {
  const child = spawn("sh", ["-c", command], { cwd, env, detached: true });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  }
  const closed = once(child, "close");
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    try {
      process.kill(-(child.pid ?? 0), signal);
    } catch {
      // It has ended.
    }
    await closed;
  };
  onTestFinished(() => kill("SIGKILL"));
  const has = (part: string | RegExp): boolean => (typeof part === "string" ? text.includes(part) : part.test(text));
  const shows = (part: string | RegExp): Promise<void> =>
    waitFor(() => has(part) || undefined, {
      what: `${command} to show ${part}`,
      timeoutMs: 100_000,
      context: () => text,
    }).then(() => {});
  return { text: () => text, shows, kill };
}

const count = (text: string, part: string): number => text.split(part).length - 1;

test("the page leads from an empty folder to a run that is seen, killed, resumed and asked for", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-getting-started-"));
  // The Postgres of a gateway that was killed is stopped a moment later.
  onTestFinished(() => rm(folder, { recursive: true, maxRetries: 50, retryDelay: 100 }));
  for (const start of ["mkdir", "npm init", "npm install holdfast", "npm install --save-dev"]) line(start);
  installed(folder);
  const [port, connectPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    HOLDFAST_GATEWAY_PORT: String(port),
    HOLDFAST_GATEWAY_CONNECT_PORT: String(connectPort),
    HOLDFAST_GATEWAY_URL: url,
    HOLDFAST_BASE_URL: url,
  };
  const env = { ...process.env, ...settings };
  const sh = (command: string) => shell(command, { cwd: folder, env: settings });

  const gateway = running(line("npx holdfast-gateway dev"), folder, env);
  await gateway.shows("List the runs:");
  const write = (text: string, sleep = "3s"): void =>
    writeFileSync(join(folder, "app.ts"), text.replace('"30s"', `"${sleep}"`));
  // So long that a command can be started and see it asleep.
  write(fileOf("app.ts"), "20s");
  const start = (): Running => running(line("HOLDFAST_DEV=1 npx tsx app.ts"), folder, env);
  let app = start();
  await app.shows("Connected to");

  const send = line("npx holdfast-gateway send");
  const sent = await sh(send);
  expect(sent.code, sent.stderr).toBe(0);
  const runId = /^run +(\S+)/m.exec(sent.stdout)?.[1] ?? "";
  await app.shows("charging 4242");
  await waitFor(async () => /sleeps in the step/.test((await sh(line("npx holdfast-gateway runs --waiting"))).stdout), {
    what: "the list to say why the run waits",
  });
  const { browser, close } = await openBrowser();
  onTestFinished(close);
  const shown = await browser.newPage();
  shown.setDefaultTimeout(LIMIT_MS);
  await shown.goto(url);
  await shown.getByRole("link", { name: "Runs", exact: true }).first().click();
  await shown.locator(`main a[href$="/runs/${runId}"]`).first().click();
  await shown.getByText("let the warehouse pack").first().waitFor();
  // What Ctrl-\ sends.
  await app.kill("SIGQUIT");
  await gateway.shows("disconnected");
  app = start();
  const ended = await sh(`npx holdfast-gateway run ${runId} --wait`);
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("pear is on its way") });
  expect(app.text()).not.toContain("charging");
  await shown.locator("main").getByText("Completed").first().waitFor();

  await app.kill("SIGKILL");
  writeFileSync(join(folder, "broken.ts"), fileOf("broken.ts"));
  const uses = fileOf("app.ts").replace(/\(\) => `.*?is on its way`/, "() => ship(item)");
  write(uses.replace('from "holdfast";', 'from "holdfast";\nimport { ship } from "./broken.js";'));
  app = start();
  await app.shows("Connected to");
  const second = /^run +(\S+)/m.exec((await sh(send)).stdout)?.[1] ?? "";
  expect(await sh(`npx holdfast-gateway run ${second} --wait`)).toMatchObject({ code: 6 });
  await app.shows(/there are no pears left[\s\S]*broken\.ts/);
  const list = await sh(line("npx holdfast-gateway runs --status failed"));
  expect(list.stdout).toMatch(new RegExp(`^${second} .*there are no pears left`, "m"));
  const charged = count(app.text(), "charging");
  await app.kill("SIGKILL");
  writeFileSync(join(folder, "broken.ts"), fileOf("broken.ts").replace(/.*no pears left.*\n/, ""));
  app = start();
  await app.shows("Connected to");
  const resumed = await sh(line("npx holdfast-gateway resume").replace("<run>", second));
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await sh(`npx holdfast-gateway run ${second} --wait`)).toMatchObject({ code: 0 });
  expect([charged, app.text()]).toEqual([1, expect.not.stringContaining("charging")]);

  writeFileSync(join(folder, "buy.ts"), fileOf("buy.ts"));
  const bought = await sh(line("HOLDFAST_DEV=1 npx tsx buy.ts"));
  expect(bought).toMatchObject({ code: 0, stdout: "apple is on its way\n" });
  expect(used).toEqual(lines);
});
