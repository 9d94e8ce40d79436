import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { describe, expect, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { CTRL_C, hasTerminal, openTerminal, shell, type Terminal } from "../support/terminal.ts";

/** The program in a pseudo-terminal (`script` of util-linux): what it shows there, and what Ctrl-C leaves behind. */

const program = `${process.execPath} ${gatewayBin}`;

async function dataFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-terminal-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

function opened(line: string, options: Parameters<typeof openTerminal>[1] = {}): Terminal {
  const terminal = openTerminal(line, options);
  onTestFinished(() => terminal.end());
  return terminal;
}

/** Processes with their working directory in this folder: those of a Postgres that has its data there. */
function processesIn(folder: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
      } catch {
        return false;
      }
    });
}

const dev = (dataDir: string): string => `${program} dev --port 0 --connect-port 0 --data-dir ${dataDir}/data`;

async function nothingIsLeft(folder: string): Promise<void> {
  await waitFor(() => processesIn(folder).length === 0, { what: "no process of Postgres to be left" });
  expect(existsSync(join(folder, "data/postgres/postmaster.pid"))).toBe(false);
}

describe.runIf(hasTerminal)("In a terminal", () => {
  test("dev says that it starts Postgres, greets, logs for people, and Ctrl-C ends it with 0", async () => {
    const folder = await dataFolder();
    const terminal = opened(dev(folder));
    await terminal.shows(`Starting Postgres in ${folder}/data …`);
    await terminal.shows("List the runs:");
    expect(terminal.text.indexOf("Starting Postgres")).toBeLessThan(terminal.text.indexOf("HTTP "));
    terminal.type(CTRL_C);
    expect(await terminal.exited).toBe(0);
    expect(terminal.text).toMatch(/\d\d:\d\d:\d\d.*info .*Shutting down/);
    expect(terminal.text).not.toContain('"level"');
    await nothingIsLeft(folder);
  });

  test.each([
    ["as soon as Postgres starts", 1],
    ["as soon as Postgres starts, three times", 3],
  ])("Ctrl-C %s leaves no process behind, and the next start works", async (_when, times) => {
    const folder = await dataFolder();
    const terminal = opened(dev(folder));
    await terminal.shows("Starting Postgres");
    for (let n = 0; n < times; n += 1) terminal.type(CTRL_C);
    await terminal.exited;
    await nothingIsLeft(folder);
    const again = opened(dev(folder));
    await again.shows("List the runs:");
    again.type(CTRL_C);
    expect(await again.exited).toBe(0);
    await nothingIsLeft(folder);
  });

  test("Ctrl-C while it shuts down ends it without delay, and nothing is left", async () => {
    const folder = await dataFolder();
    const terminal = opened(dev(folder));
    await terminal.shows("List the runs:");
    terminal.type(CTRL_C);
    await terminal.shows("Shutting down");
    terminal.type(CTRL_C);
    expect(await terminal.exited).toBe(0);
    await nothingIsLeft(folder);
  });

  test("Ctrl-C while doctor starts a Postgres, and while that runs, leaves neither process nor folder behind", async () => {
    for (const moment of ["skipped  database", "ok       gateway"]) {
      const folder = await dataFolder();
      const terminal = opened(`${program} doctor --port 0`, { env: { TMPDIR: folder } });
      await terminal.shows(moment);
      terminal.type(CTRL_C);
      await terminal.exited;
      await waitFor(() => processesIn(folder).length === 0, { what: "no process of Postgres to be left" });
      await waitFor(() => readdirSync(folder).filter((name) => name.startsWith("holdfast-pg-")).length === 0, {
        what: "the folder of its data to be gone",
      });
    }
  });

  test("a terminal that is closed ends the gateway, and nothing is left", async () => {
    const folder = await dataFolder();
    const terminal = opened(dev(folder));
    await terminal.shows("List the runs:");
    await terminal.end();
    await nothingIsLeft(folder);
  });

  test("dev shows below its lines who is connected and what runs wait for, and takes that away at its end", async () => {
    const gateway = opened(`${program} dev --store memory --port 0 --connect-port 0`, { columns: 60 });
    await gateway.shows("no app is connected · 0 running · 0 waiting");
    const url = /HTTP +(\S+)/.exec(gateway.text)?.[1] ?? "";
    const app = new Holdfast({ id: "shop", isDev: true, baseUrl: url, logLevel: "off" });
    const sleeps = app.createFunction({ id: "sleeps" }, ({ step }) => step.sleep("nap", "1h"));
    const fails = app.createFunction({ id: "fails", retries: 0 }, () => Promise.reject(new Error("no")));
    const connection = await app.connect({ functions: [sleeps, fails], handleShutdownSignals: [] });
    await app.invoke(sleeps);
    await app.invoke(fails);
    await gateway.shows("shop · 0 running · 1 waiting · 0 completed");
    await gateway.shows("1 failed");
    // The terminal has 60 columns.
    await gateway.shows(/ {2}shop-sleeps for \d+ s: It sleeps in the step `nap` [^\r\n]{1,20}…/);
    expect(gateway.text).toMatch(/shop-fails failed after/);
    await connection.close();
    await gateway.shows(/no app is connected · 0 running · 1 waiting/);
    gateway.type(CTRL_C);
    expect(await gateway.exited).toBe(0);
    const end = gateway.text.slice(gateway.text.lastIndexOf("\u001b[J"));
    expect(end).toMatch(/info .*Shutting down/);
    expect(end).not.toContain("waiting");
  });

  test.each([
    ["--no-live", "--no-live", {}],
    ["NO_COLOR", "", { NO_COLOR: "1" }],
    ["CI", "", { CI: "true" }],
  ])("with %s dev shows lines only", async (_what, flag, env: Readonly<Record<string, string>>) => {
    const gateway = opened(`${program} dev --store memory --port 0 --connect-port 0 ${flag}`, { env });
    await gateway.shows("List the runs:");
    const url = /HTTP +(\S+)/.exec(gateway.text)?.[1] ?? "";
    await shell(`${program} send demo/nothing --url ${url}`);
    await gateway.shows("started nothing");
    gateway.type(CTRL_C);
    expect(await gateway.exited).toBe(0);
    for (const part of ["0 running", "\u001b[J"]) expect(gateway.text).not.toContain(part);
    if (env.NO_COLOR) expect(gateway.text).not.toContain("\u001b[");
  });

  test("progress is shown in a terminal after a second and wiped away, and never in a pipe", async () => {
    const gateway = opened(`${program} dev --store memory --port 0 --connect-port 0`);
    await gateway.shows(/http:\/\/127\.0\.0\.1:\d+ /);
    const url = /HTTP +(\S+)/.exec(gateway.text)?.[1] ?? "";
    const at = new Date(Date.now() + 30 * 86_400_000).toISOString();
    const send = `${program} send demo/later --at ${at} --url ${url}`;
    expect((await shell(send)).stderr).toBe("Its runs start at that time.\n");
    // A port that takes connections and never answers.
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await new Promise((resolve) => silent.once("listening", resolve));
    const address = silent.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const waiting = opened(`${program} runs --url http://127.0.0.1:${port}`);
    await waiting.shows(/Reading runs … \(\d+ s\)/);
    waiting.type(CTRL_C);
    expect(await waiting.exited).toBe(130);
  });

  test("a table fits the terminal, and JSON is indented for people", async () => {
    const gateway = opened(`${program} dev --store memory --port 0 --connect-port 0`);
    await gateway.shows("List the runs:");
    const url = /HTTP +(\S+)/.exec(gateway.text)?.[1] ?? "";
    const help = opened(`${program} dev --help`, { columns: 100 });
    await help.exited;
    const lines = help.text.split(/\r?\n/);
    expect(lines.filter((line) => line.length > 100 && !line.includes("$ "))).toEqual([]);
    const json = opened(`${program} runs --json --url ${url}`);
    await json.exited;
    expect(json.text.replaceAll("\r", "")).toContain('{\n  "runs": [],');
    expect((await shell(`${program} runs --json --url ${url}`)).stdout).toBe('{"runs":[],"nextCursor":null}\n');
  });
});
