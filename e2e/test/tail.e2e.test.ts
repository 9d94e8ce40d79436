import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { createDatabase, type NodeProcess, spawnNode, waitFor } from "@holdfast/testing";
import { HoldfastClient, type RunEvent } from "holdfast/client";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { CTRL_C, hasTerminal, openTerminal, shell } from "../support/terminal.ts";

/** Runs that are followed from a shell and from code, in a terminal and in a pipe, while the gateway goes and comes. */

const APP = fileURLToPath(new URL("../fixtures/command-app.mjs", import.meta.url));
const program = `${process.execPath} ${gatewayBin}`;

const CLEARED = Object.fromEntries(
  Object.keys(process.env).flatMap((name) =>
    /^(HOLDFAST_(?!TOOLING)|DATABASE_URL$|npm_)/.test(name) ? [[name, undefined]] : [],
  ),
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** It takes calls and answers none of them. */
async function silentServer(): Promise<{ readonly url: string; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const server = createHttpServer((request) => void asked.push(request.url ?? "")).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`, asked };
}

async function gateway(args: readonly string[]): Promise<{ readonly child: NodeProcess; readonly url: string }> {
  const all = ["dev", "--json", "--connect-port", "0", ...args];
  const child = spawnNode(gatewayBin, { name: "The gateway", args: all, env: CLEARED });
  onTestFinished(async () => void (await child.kill()));
  const { url } = JSON.parse(await child.waitForLine((line) => line.includes('"ready"'))) as { url: string };
  return { child, url };
}

async function app(url: string): Promise<void> {
  const child = spawnNode(APP, { name: "The app", env: { ...CLEARED, HOLDFAST_DEV: url } });
  onTestFinished(async () => void (await child.kill()));
  await child.waitForLine("connected");
}

interface Tail {
  readonly child: ChildProcess;
  readonly out: string;
  readonly err: string;
  readonly exited: Promise<number | null>;
}

/** In a pipe. */
function tail(args: string, url: string): Tail {
  const child = spawn("sh", ["-c", `exec ${program} tail ${args} --url ${url}`], {
    env: { ...process.env, ...CLEARED },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const shown = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    shown.err += text;
  });
  const exited = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return {
    child,
    exited,
    get out() {
      return shown.out;
    },
    get err() {
      return shown.err;
    },
  };
}

const hello = (url: string, data: object): Promise<{ readonly stdout: string }> =>
  shell(`${program} send demo/hello --json --url ${url} --data '${JSON.stringify(data)}'`);

async function sent(url: string, data: object): Promise<string> {
  const { runIds } = JSON.parse((await hello(url, data)).stdout) as { runIds: string[] };
  return runIds[0] ?? "";
}

/** Sends until something of it is shown: a watcher that has just begun sees only what comes later. */
async function sentUntil(url: string, holds: () => boolean): Promise<void> {
  await waitFor(
    async () => {
      if (!holds()) await hello(url, { name: "Ada" });
      return holds() || undefined;
    },
    { what: "what was sent to be followed", timeoutMs: 100_000 },
  );
}

describe.runIf(hasTerminal)("In a terminal", () => {
  test("tail shows runs in lines with colours as they go, and Ctrl-C ends it with 130", async () => {
    const { url } = await gateway(["--store", "memory", "--port", "0"]);
    await app(url);
    const terminal = openTerminal(`${program} tail --url ${url}`);
    onTestFinished(() => terminal.end());
    await sentUntil(url, () => terminal.text.includes("greet completed"));
    await hello(url, { fails: true });
    await terminal.shows(/\d\d:\d\d:\d\d.* \S{26} {2}demo-hello {2}.*failed: TypeError: It fails as it was told to\./);
    expect(terminal.text).toContain("\u001b[31mfailed");
    expect(terminal.text).not.toContain("dispatched");
    terminal.type(CTRL_C);
    expect(await terminal.exited).toBe(130);
  });
});

describe("In a pipe", () => {
  test("tail of a run shows all of it, and its end is the exit code", async () => {
    const { url } = await gateway(["--store", "memory", "--port", "0"]);
    await app(url);
    const good = tail(await sent(url, { name: "Ada" }), url);
    expect(await good.exited).toBe(0);
    expect(good.out).toMatch(
      /demo-hello {2}created\n.*demo-hello {2}greet completed in .*\n.*demo-hello {2}completed\n$/,
    );
    expect(good.out).not.toContain("\u001b");
    const bad = tail(`${await sent(url, { fails: true })} --json`, url);
    expect(await bad.exited).toBe(6);
    const lines = bad.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-1)).toMatchObject({ kind: "RUN_FAILED", status: "FAILED", error: { name: "TypeError" } });
    expect(lines.map(({ kind }) => kind)).toContain("DISPATCHED");
    const none = tail("01J00000000000000000000000", url);
    expect([await none.exited, none.err]).toEqual([3, expect.stringContaining("There is no run")]);
    const unknown = tail("--function nothing", url);
    expect([await unknown.exited, unknown.err]).toEqual([3, expect.stringContaining("nothing")]);
    const away = tail("", "http://127.0.0.1:1");
    expect([await away.exited, away.err]).toEqual([4, expect.stringContaining("No gateway answers")]);
  });

  test("tail and runs.follow go on when the gateway comes back, without a gap or a repeat", async () => {
    const database = await createDatabase(inject("postgresUrl"));
    onTestFinished(() => database.drop());
    const port = await freePort();
    const args = ["--port", String(port), "--database-url", database.url];
    const first = await gateway(args);
    await app(first.url);
    const all = tail("--json", first.url);
    const events: RunEvent[] = [];
    const end = new AbortController();
    const client = new HoldfastClient({ id: "watcher", isDev: true, baseUrl: first.url });
    const following = (async () => {
      for await (const event of client.runs.follow({}, { signal: end.signal })) events.push(event);
    })();
    const completed = (): number => all.out.split("\n").filter((line) => line.includes('"RUN_COMPLETED"')).length;
    const facts = () => events.flatMap((event) => ("runId" in event ? [event] : []));
    await sentUntil(first.url, () => completed() > 0 && facts().some(({ kind }) => kind === "RUN_COMPLETED"));
    await first.child.kill("SIGKILL");
    await waitFor(() => all.err.includes("The gateway is gone") || undefined, { what: "tail to notice" });
    const second = await gateway(args);
    const before = completed();
    await sentUntil(second.url, () => completed() > before);
    const runId = await sent(second.url, { fails: true });
    const failed = (text: string): boolean => text.includes(runId) && text.includes('"RUN_FAILED"');
    await waitFor(() => all.out.split("\n").some(failed) || undefined, { what: "the failure in tail" });
    await waitFor(() => facts().some((one) => one.kind === "RUN_FAILED" && one.runId === runId) || undefined, {
      what: "the failure in the app",
    });
    expect(all.err).toContain("The gateway is back.");
    expect(events.filter(({ kind }) => kind === "SNAPSHOT" || kind === "RESET")).toHaveLength(1);
    const rows = all.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { runId: string; seq: number; kind: string; step?: { id: string } })
      .map(({ runId: id, seq, kind, step }) => `${id} ${seq} ${kind} ${step?.id ?? ""}`);
    const seen = facts().map((one) => `${one.runId} ${one.seq} ${one.kind} ${"step" in one ? one.step.id : ""}`);
    expect(new Set(rows).size).toBe(rows.length);
    expect(new Set(seen).size).toBe(seen.length);
    end.abort();
    await following;
    all.child.kill("SIGINT");
    expect(await all.exited).toBe(130);
    // Whole runs: nothing is missing between the first fact and the last.
    for (const list of [rows, seen]) {
      const runs = new Set(list.map((line) => line.split(" ")[0]));
      for (const id of [...runs].slice(1, -1)) {
        const kinds = list.filter((line) => line.startsWith(id ?? "")).map((line) => line.split(" ")[2]);
        expect(kinds[0]).toBe("RUN_CREATED");
        expect(["RUN_COMPLETED", "RUN_FAILED"]).toContain(kinds.at(-1));
      }
    }
  });
});

test.each([
  ["", "SIGINT", 130],
  ["--env staging", "SIGTERM", 143],
] as const)(
  "tail %s that waits for an answer ends with %s, not with what it waits for",
  async (args, signal, code) => {
    const { url, asked } = await silentServer();
    const waiting = tail(args, url);
    await waitFor(() => asked.length > 0 || undefined, { what: "tail to ask" });
    waiting.child.kill(signal);
    expect(await waiting.exited).toBe(code);
    // It asks for this once a call has taken too long.
    expect(asked).not.toContain("/health");
  },
  60_000,
);
