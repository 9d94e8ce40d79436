import { fileURLToPath } from "node:url";
import { createDatabase, spawnNode, waitFor } from "@holdfast/testing";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { hasTerminal, openTerminal, shell } from "../support/terminal.ts";

/** What a gateway says of the work that it does: lines for people in a terminal, JSON elsewhere. */

const APP = fileURLToPath(new URL("../fixtures/command-app.mjs", import.meta.url));
const program = `${process.execPath} ${gatewayBin}`;
const SIGNING_KEY = "0123456789abcdef".repeat(2);
const KEYS = { HOLDFAST_SIGNING_KEY: SIGNING_KEY, HOLDFAST_EVENT_KEY: "the-event-key" };

const CLEARED = Object.fromEntries(
  Object.keys(process.env).flatMap((name) =>
    /^(HOLDFAST_(?!TOOLING)|DATABASE_URL$|npm_)/.test(name) ? [[name, undefined]] : [],
  ),
);

async function app(url: string, env = {}): Promise<void> {
  const child = spawnNode(APP, { name: "The app", env: { ...CLEARED, HOLDFAST_DEV: url, ...env } });
  onTestFinished(async () => void (await child.kill()));
  await child.waitForLine("connected");
}

/** An event that starts a run which completes, one that fails, and one that nothing listens to. */
async function work(url: string, env = {}): Promise<void> {
  for (const args of ["demo/hello", `demo/hello --data '{"fails":true}'`, "demo/helo"]) {
    expect((await shell(`${program} send ${args} --json --url ${url}`, { env })).code).toBe(0);
  }
}

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly runId?: string;
}

interface Gateway {
  readonly url: string;
  /** What it has logged. */
  lines(): Line[];
  logs(what: string): Promise<Line>;
}

/** What it writes in a pipe, each line JSON. */
async function inPipe(args: readonly string[], env = {}): Promise<Gateway> {
  const child = spawnNode(gatewayBin, {
    name: "The gateway",
    args: [...args, "--json", "--port", "0", "--connect-port", "0"],
    env: { ...CLEARED, ...env },
  });
  onTestFinished(async () => void (await child.kill()));
  const { url } = JSON.parse(await child.waitForLine((line) => line.includes('"ready"'))) as { url: string };
  const lines = (): Line[] =>
    child.lines.filter((line) => line.includes('"level"')).map((line) => JSON.parse(line) as Line);
  const logs = (what: string): Promise<Line> =>
    waitFor(() => lines().find(({ msg }) => msg.includes(what)), { what: `the gateway to log ${what}` });
  return { url, lines, logs };
}

describe.runIf(hasTerminal)("dev in a terminal", () => {
  test("says in a line each which runs start, end and fail, and why, and what started nothing", async () => {
    const terminal = openTerminal(`${program} dev --store memory --port 0 --connect-port 0`, { columns: 300 });
    onTestFinished(() => terminal.end());
    await terminal.shows(/HTTP +http:\S+/);
    const [, url = ""] = /HTTP +(http:\S+)/.exec(terminal.text) ?? [];
    await app(url);
    await work(url);
    await terminal.shows(/info .*demo .*ready/);
    await terminal.shows(/info .*Event demo\/hello starts demo-hello/);
    await terminal.shows(/info .*demo-hello completed in /);
    await terminal.shows(
      /error.*demo-hello failed after .*TypeError: It fails as it was told to\. \(at .*command-app\.mjs:/,
    );
    await terminal.shows(/warn .*Event demo\/helo started nothing: .* Did you mean demo\/hello\?/);
    expect(terminal.text).not.toContain('"level"');
  });
});

describe("In a pipe", () => {
  test("dev logs the same as JSON with fields, and nothing of it when that is switched off", async () => {
    const { url, logs } = await inPipe(["dev", "--store", "memory"]);
    await app(url);
    await work(url);
    expect(await logs("Event demo/hello starts")).toMatchObject({ level: "info", runs: 1, event: "demo/hello" });
    expect(await logs("demo-hello completed")).toMatchObject({ level: "info", status: "COMPLETED" });
    expect(await logs("demo-hello failed")).toMatchObject({
      level: "error",
      functionId: "demo-hello",
      error: "TypeError",
      at: expect.stringContaining("command-app.mjs"),
    });
    expect(await logs("Event demo/helo started nothing")).toMatchObject({ level: "warn" });

    const quiet = await inPipe(["dev", "--store", "memory", "--log-runs", "off"]);
    await app(quiet.url);
    await work(quiet.url);
    const failed = await shell(`${program} runs --status failed --json --url ${quiet.url}`);
    expect(failed.stdout).toContain("demo-hello");
    expect(quiet.lines().filter(({ msg }) => /Event|demo-hello/.test(msg))).toEqual([]);
  });

  test("start logs failures, and the rest for debugging", async () => {
    const database = await createDatabase(inject("postgresUrl"));
    onTestFinished(() => database.drop());
    const env = { ...KEYS, HOLDFAST_DATABASE_URL: database.url };
    const { url, logs, lines } = await inPipe(["start"], env);
    await app(url, KEYS);
    await work(url, KEYS);
    expect(await logs("demo-hello failed")).toMatchObject({ level: "error", error: "TypeError" });
    expect(lines().filter(({ msg }) => /^Event|completed/.test(msg))).toEqual([]);

    const debugging = await inPipe(["start", "--log-level", "debug"], env);
    await work(debugging.url, KEYS);
    expect(await debugging.logs("Event demo/helo started nothing")).toMatchObject({ level: "debug" });
  });
});
