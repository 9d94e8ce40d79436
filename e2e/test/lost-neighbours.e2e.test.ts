import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDatabase, type NodeProcess, spawnNode, waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { type Outcome, shell } from "../support/terminal.ts";

/** What a gateway says of what it has lost without a word: another gateway with its workers, and its database. */

const RUNS = 30;

const APP = fileURLToPath(new URL("../fixtures/command-app.mjs", import.meta.url));
const run = (args: string, url: string): Promise<Outcome> =>
  shell(`${process.execPath} ${gatewayBin} ${args} --url ${url}`);

async function started(...args: readonly string[]): Promise<{ child: NodeProcess; url: string }> {
  const ports = ["--port", "0", "--connect-port", "0"];
  const child = spawnNode(gatewayBin, { name: "The gateway", args: ["dev", ...args, ...ports] });
  onTestFinished(async () => void (await child.kill()));
  const line = await child.waitForLine((one) => /http:\/\/\S+:\d+/.test(one));
  return { child, url: /http:\/\/[^\s/]+:\d+/.exec(line)?.[0] ?? "" };
}

async function connected(url: string): Promise<NodeProcess> {
  const app = spawnNode(APP, { name: "The app", env: { HOLDFAST_DEV: url } });
  onTestFinished(async () => void (await app.kill()));
  await app.waitForLine((one) => one.includes("connected"));
  return app;
}

test("workers of a gateway that was killed are no longer said to be ready, and a run that waits says where they were", async () => {
  const database = await createDatabase(inject("postgresUrl"));
  onTestFinished(() => database.drop());
  const killed = await started("--database-url", database.url);
  const { url } = await started("--database-url", database.url);
  const app = await connected(killed.url);
  const workers = async (): Promise<string> => (await run("workers", url)).stdout;
  await waitFor(async () => / ready /.test(await workers()), { what: "the other gateway's worker to be listed" });
  await app.kill();
  await waitFor(async () => !/ ready /.test(await workers()), { what: "the worker to have left" });
  const again = await connected(killed.url);
  await waitFor(async () => / ready /.test(await workers()), { what: "the worker to be back" });
  await killed.child.kill();
  await again.kill();
  const { stdout } = await run("send demo/hello --json", url);
  const { runIds } = JSON.parse(stdout) as { runIds: string[] };
  const said = new Set<string>();
  await waitFor(
    async () => {
      const why = /^why +(.*)$/m.exec((await run(`run ${runIds[0]}`, url)).stdout)?.[1] ?? "";
      said.add(why.replace(/\d.*/, ""));
      return why.startsWith("No connected worker has the function");
    },
    { what: "the run to say that no worker is there", timeoutMs: 120_000, context: () => [...said].join("\n") },
  );
  expect([...said].filter((why) => /busy|about to be given/.test(why))).toEqual([]);
  const { stdout: listed } = await run("workers", url);
  expect(listed).not.toMatch(/ ready /);
  if (listed !== "") expect(listed).toMatch(/ gateway silent /);
});

/** Processes of the Postgres server in this directory: each has it as its working directory. */
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

async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-hangs-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** To all processes that the Postgres server in this directory has now. */
function signalToDatabase(folder: string): (signal: NodeJS.Signals) => void {
  const server = Number(readFileSync(join(folder, "postgres/postmaster.pid"), "utf8").split("\n")[0]);
  const pids = [server, ...processesIn(folder).filter((pid) => pid !== server)];
  return (signal) => {
    for (const pid of pids) process.kill(pid, signal);
  };
}

describe.runIf(process.platform === "linux")("A database that hangs", () => {
  test("what reads is answered with a code, and with rows once the database goes on", async () => {
    const folder = await dataFolder();
    const { child, url } = await started("--data-dir", folder);
    expect((await run("runs", url)).code).toBe(0);
    const tell = signalToDatabase(folder);
    tell("SIGSTOP");
    try {
      const paths = ["/v1/runs", "/v1/workers", "/v1/functions", "/v1/events"];
      const answers = await Promise.all(
        paths.map(async (path) => {
          const answer = await fetch(new URL(path, url));
          return [path, answer.status, ((await answer.json()) as { code?: string }).code];
        }),
      );
      expect(answers.filter(([path]) => path !== "/v1/functions")).toEqual([
        ["/v1/runs", 503, "STORE_FAILED"],
        ["/v1/workers", 503, "STORE_FAILED"],
        ["/v1/events", 503, "STORE_FAILED"],
      ]);
    } finally {
      tell("SIGCONT");
    }
    await waitFor(async () => (await run("runs", url)).code === 0, { what: "the list of runs" });
    await child.kill("SIGTERM").catch(() => {});
  });

  test("no step is done again for leases that ended meanwhile: its worker was there all the time", async () => {
    const folder = await dataFolder();
    const { child, url } = await started("--data-dir", folder, "--lease", "6s", "--heartbeat", "1s");
    const app = new Holdfast({ id: "shop", isDev: true, baseUrl: url, logLevel: "off" });
    const done: string[] = [];
    const order = app.createFunction({ id: "order", triggers: [{ event: "shop/order" }] }, async ({ runId, step }) => {
      for (const name of ["one", "two", "three", "four"]) {
        await step.run(name, async () => {
          await sleep(300);
          done.push(`${runId} ${name}`);
        });
      }
    });
    const connection = await app.connect({ functions: [order] });
    const { ids } = await app.send(Array.from({ length: RUNS }, () => ({ name: "shop/order", data: {} })));
    await waitFor(() => done.length > RUNS, { what: "the second steps to begin" });
    const tell = signalToDatabase(folder);
    tell("SIGSTOP");
    // Longer than the lease; all the while the worker and the gateway are there.
    await sleep(10_000).finally(() => tell("SIGCONT"));
    for (const eventId of ids) {
      const ended = async (): Promise<boolean> =>
        (await app.listRuns({ eventId })).runs.some(({ status }) => status === "COMPLETED");
      await waitFor(ended, { what: `the run of ${eventId} to end` });
    }
    expect(done.length - new Set(done).size).toBe(0);
    await connection.close();
    await child.kill("SIGTERM").catch(() => {});
  });
});
