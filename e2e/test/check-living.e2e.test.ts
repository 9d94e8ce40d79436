import { fileURLToPath } from "node:url";
import { createDatabase, spawnNode, waitFor } from "@holdfast/testing";
import { expect, inject, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { type Outcome, shell, type Variables } from "../support/terminal.ts";

/** `check` as it is used before a deploy: on a gateway with Postgres and runs that are on their way in every manner. */

const APP = fileURLToPath(new URL("../fixtures/check-app.mjs", import.meta.url));
const built = (build: string): Variables => ({ HOLDFAST_TEST_BUILD: build });
const KINDS = ["sleeper", "waiter", "half", "retrying", "parent", "loop", "undone"] as const;

interface Checked {
  readonly checked: number;
  readonly runs: readonly {
    readonly runId: string;
    readonly functionId: string;
    readonly divergence: { readonly type: string } | null;
    readonly steps: number;
    readonly next: readonly string[];
  }[];
}

interface ListedRun {
  readonly id: string;
  readonly functionId: string;
  readonly status: string;
  readonly waiting?: { readonly reason: string } | null;
  readonly output?: unknown;
}

test("check says of runs that sleep, wait, are retried or half done what the next build does, and it does that", async () => {
  const database = await createDatabase(inject("postgresUrl"));
  onTestFinished(() => database.drop());
  const args = ["dev", "--database-url", database.url, "--port", "0", "--connect-port", "0"];
  const gateway = spawnNode(gatewayBin, { name: "The gateway", args });
  onTestFinished(async () => void (await gateway.kill()));
  const line = await gateway.waitForLine((one) => /http:\/\/\S+:\d+/.test(one));
  const url = /http:\/\/[^\s/]+:\d+/.exec(line)?.[0] ?? "";
  const run = (command: string, env: Variables = {}): Promise<Outcome> =>
    shell(`${process.execPath} ${gatewayBin} ${command} --url ${url}`, { env });
  const start = async (build: string) => {
    const app = spawnNode(APP, { name: `The ${build} build`, env: { HOLDFAST_BASE_URL: url, ...built(build) } });
    onTestFinished(async () => void (await app.kill()));
    await app.waitForLine((one) => one.includes("connected"));
    return app;
  };
  const send = (name: string) =>
    fetch(new URL("/e/test", url), { method: "POST", body: JSON.stringify({ name, data: {} }) });
  const runs = async (): Promise<readonly ListedRun[]> => {
    const answer = await fetch(new URL("/v1/runs?waiting=1&limit=100", url));
    return ((await answer.json()) as { runs: ListedRun[] }).runs;
  };
  const until = (what: string, holds: (all: readonly ListedRun[]) => boolean): Promise<unknown> =>
    waitFor(async () => holds(await runs()), {
      what,
      context: async () => JSON.stringify((await runs()).map((one) => [one.functionId, one.status, one.waiting])),
    });
  const check = async (build: string, expected: number): Promise<Checked> => {
    const { code, stdout, stderr } = await run(`check --app ${APP} --all --json`, built(build));
    expect(code, stderr).toBe(expected);
    return JSON.parse(stdout) as Checked;
  };

  const first = await start("first");
  for (const kind of KINDS) await send(`live/${kind}`);
  const reasons = ["SLEEPING", "EVENT", "AT_WORK", "RETRY", "CHILD_RUN", "SIGNAL"];
  await until("every run to be where it stays", (all) => {
    const found = new Set(all.map(({ waiting }) => waiting?.reason));
    const half = all.find(({ functionId }) => functionId === "live-half");
    return all.length === KINDS.length + 1 && reasons.every((one) => found.has(one)) && half?.status === "RUNNING";
  });
  await halfIsStored(url, await runs());

  // While the build of before is at work.
  expectSame(await check("next", 0), KINDS.length + 1);
  const renamed = await check("renamed", 7);
  expect(renamed.runs.map(({ divergence }) => divergence?.type ?? null)).not.toContain(null);
  const shown = await run(`check --app ${APP}`, built("renamed"));
  expect(shown).toMatchObject({ code: 7, stderr: expect.stringContaining("8 of 8 runs would differ") });
  for (const kind of KINDS) expect(shown.stdout).toMatch(new RegExp(`live-${kind} +first +\\d +\\d +.*prepare`));

  // Between the two: one that has not begun is the same to every build.
  await first.kill();
  // A worker whose socket has not ended yet is given work.
  await waitFor(async () => !/"READY"/.test(await (await fetch(new URL("/v1/workers", url))).text()), {
    what: "the worker to be known as gone",
  });
  await send("live/sleeper");
  await until("a run that no build has begun", (all) => all.some(({ status }) => status === "PENDING"));
  expectSame(await check("next", 0), KINDS.length + 2);
  expect((await check("renamed", 7)).runs.filter(({ divergence }) => divergence === null)).toMatchObject([
    { functionId: "live-sleeper", steps: 0, next: ["prepare the order"] },
  ]);

  // What it said of the next build is so.
  await start("next");
  await send("live/paid");
  await fetch(new URL("/v1/signals", url), { method: "POST", body: JSON.stringify({ signal: "live-approval" }) });
  const over = ["waiter", "half", "loop"].map((kind) => `live-${kind}`);
  await until("the runs that nothing holds up to end", (all) =>
    over.every((id) => all.some(({ functionId, status }) => functionId === id && status === "COMPLETED")),
  );
  expect((await runs()).filter(({ status }) => status === "FAILED")).toEqual([]);
}, 300_000);

/** Of the run in the middle of parallel steps one result is there, and one body goes on. */
async function halfIsStored(url: string, all: readonly ListedRun[]): Promise<void> {
  const { id } = all.find(({ functionId }) => functionId === "live-half") ?? { id: "" };
  await waitFor(
    async () => {
      const detail = (await (await fetch(new URL(`/v1/runs/${id}?log=1`, url))).json()) as {
        log: readonly { kind: string }[];
      };
      return detail.log.filter(({ kind }) => kind === "STEP_COMPLETED").length === 2;
    },
    { what: "half of the parallel steps to be stored" },
  );
}

function expectSame({ checked, runs }: Checked, count: number): void {
  expect(runs.filter(({ divergence }) => divergence !== null)).toEqual([]);
  expect([checked, runs.length]).toEqual([count, count]);
}
