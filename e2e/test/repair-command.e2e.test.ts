import { startGateway } from "@holdfast/gateway";
import { waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { CTRL_C, CTRL_D, hasTerminal, openTerminal, shell } from "../support/terminal.ts";

/** The commands that repair and operate: in a pipe, as JSON, in a pseudo-terminal, with the exit codes scripts go by. */

const NO_RUN = "01JZ6Q4WJ2M6W9S0V7K3N8T5YB";
const program = `${process.execPath} ${gatewayBin}`;
const cleanUps: (() => unknown)[] = [];
let url = "";
let isFixed = false;
const app = { current: new Holdfast({ id: "shop", isDev: true }) };

function functionsOf(shop: Holdfast) {
  return {
    order: shop.createFunction({ id: "order", retries: 0 }, async ({ step }) => {
      const item = await step.run("load", () => ({ id: 7 }));
      return step.run("charge", () => {
        if (!isFixed) throw new Error("the bank is down");
        return `charged ${item.id}`;
      });
    }),
    undoes: shop.createFunction({ id: "undoes", retries: 0 }, async ({ step }) => {
      await step.run({ id: "reserve", retries: 0, compensate: undo }, () => 1);
      throw new Error("no");
    }),
    asks: shop.createFunction({ id: "asks" }, async ({ step }) => {
      const answer = await step.waitForSignal("ask", { signal: "order-42-approved", timeout: "1h" });
      return answer?.data;
    }),
    sleeps: shop.createFunction({ id: "sleeps" }, ({ step }) => step.sleep("long", "1h")),
  };
}

function undo(): void {
  if (!isFixed) throw new Error("cannot be undone");
}

let functions: ReturnType<typeof functionsOf>;

beforeAll(async () => {
  const gateway = await startGateway({ port: 0, store: "memory", logRuns: "off" });
  cleanUps.push(() => gateway.close());
  url = gateway.url;
  const shop = new Holdfast({ id: "shop", appVersion: "1.0", isDev: true, baseUrl: url, logLevel: "off" });
  app.current = shop;
  functions = functionsOf(shop);
  const options = { functions: Object.values(functions), instanceId: "web-1", handleShutdownSignals: [] };
  const connection = await shop.connect(options);
  cleanUps.push(() => connection.close());
});

afterAll(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

/** A run that has failed, and the cause of it. */
async function failed(of: "order" | "undoes" = "order"): Promise<string> {
  isFixed = false;
  const run = await app.current.invoke(functions[of]);
  await run.result().catch(() => {});
  isFixed = true;
  return run.id;
}

async function sleeping(): Promise<string> {
  const run = await app.current.invoke(functions.sleeps);
  return run.id;
}

const pipe = (args: string) => shell(`${program} ${args} --url ${url}`);

async function json(args: string): Promise<{ code: number | null; value: unknown }> {
  const { code, stdout } = await pipe(`${args} --json`);
  expect(stdout.trim().split("\n")).toHaveLength(1);
  return { code, value: JSON.parse(stdout) };
}

async function inTerminal(args: string, answer?: { question: string; keys: string }) {
  const terminal = openTerminal(`${program} ${args} --url ${url}`);
  if (answer) {
    await terminal.shows(answer.question);
    terminal.type(answer.keys);
  }
  const code = await terminal.exited;
  return { code, text: terminal.text.replaceAll("\r", "") };
}

describe("In a pipe", () => {
  test("a run is cancelled, once: the second time the command says that it was over", async () => {
    const id = await sleeping();
    expect(await pipe(`cancel ${id}`)).toEqual({ code: 0, stdout: `${id}  cancelled\n`, stderr: "" });
    expect(await pipe(`cancel ${id}`)).toMatchObject({ code: 0, stdout: `${id}  was cancelled already\n` });
    const done = await failed();
    expect(await json(`cancel ${done}`)).toEqual({
      code: 6,
      value: { runs: [{ id: done, cancelled: false, status: "FAILED" }] },
    });
  });

  test("a run is run again from its beginning, and from a step with another result", async () => {
    const id = await failed();
    const { code, value } = await json(`rerun ${id}`);
    const { runs } = value as { runs: { id: string; runId: string }[] };
    expect([code, runs[0]?.id]).toEqual([0, id]);
    expect(await app.current.runs.handle(String(runs[0]?.runId)).result()).toBe("charged 7");
    const { value: forked } = await json(`rerun ${id} --from charge --result '"by hand"'`);
    const [fork] = (forked as { runs: { runId: string }[] }).runs;
    expect(await app.current.runs.handle(String(fork?.runId)).result()).toBe("by hand");
    expect((await pipe(`run ${fork?.runId}`)).stdout).toContain(`forked from  ${id}, at "charge"`);
  });

  test("of several runs, those that were run again before one that cannot be are named all the same", async () => {
    const id = await failed();
    const refused = { code: 3, stderr: expect.stringContaining(`There is no run ${NO_RUN}`) };
    const told = await pipe(`rerun ${id} ${NO_RUN}`);
    expect(told).toMatchObject(refused);
    const [, runId] = /^\S+ {2}new run (\S+)\n$/.exec(told.stdout) ?? [];
    expect(await app.current.runs.handle(String(runId)).result()).toBe("charged 7");
    const asJson = await pipe(`rerun ${id} ${NO_RUN} --json`);
    expect(asJson).toMatchObject(refused);
    expect(JSON.parse(asJson.stdout)).toEqual({ runs: [{ id, runId: expect.any(String) }] });
    expect(await pipe(`rerun ${NO_RUN} ${id} --json`)).toMatchObject({ ...refused, stdout: "" });
  });

  test("a run that failed goes on after the fix, and what could not be undone is tried again", async () => {
    const id = await failed();
    expect(await pipe(`resume ${id} --app-version newest`)).toMatchObject({ code: 0 });
    expect(await app.current.runs.handle(id).result()).toBe("charged 7");
    const undone = await failed("undoes");
    expect(await pipe(`compensate ${undone}`)).toEqual({
      code: 0,
      stdout: `${undone}  undoes what is left\n`,
      stderr: "",
    });
    await app.current.runs
      .handle(undone)
      .result()
      .catch(() => {});
    expect(await json(`compensate ${undone}`)).toEqual({
      code: 0,
      value: { runs: [{ id: undone, retried: false, status: "FAILED" }] },
    });
  });

  test("of a cancelled run it is said that it is not undone", async () => {
    const id = await sleeping();
    await pipe(`cancel ${id}`);
    expect(await pipe(`compensate ${id}`)).toEqual({
      code: 6,
      stdout: `${id}  was cancelled, and cancelled runs are not undone (docs/sagas.md, "What is undone when")\n`,
      stderr: "",
    });
    expect(await json(`compensate ${id}`)).toEqual({
      code: 6,
      value: { runs: [{ id, retried: false, status: "CANCELLED" }] },
    });
  });

  test("a run is kept, released and deleted", async () => {
    const id = await failed();
    expect(await pipe(`hold ${id} --reason audit`)).toMatchObject({ code: 0, stdout: `${id}  on hold\n` });
    expect(await pipe(`delete ${id}`)).toMatchObject({ code: 1, stderr: expect.stringContaining("(RUN_ON_HOLD)") });
    expect(await pipe(`hold ${id} --release`)).toMatchObject({ code: 0, stdout: `${id}  released\n` });
    expect(await json(`delete ${id}`)).toEqual({ code: 0, value: { deleted: [id] } });
    expect(await pipe(`run ${id}`)).toMatchObject({ code: 3, stdout: "" });
  });

  test("functions are listed, paused and resumed, workers drained, versions rolled out", async () => {
    expect(await pipe("pause order --note bank")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^shop-order {2}paused since \S+Z\n$/),
    });
    expect((await pipe("functions")).stdout).toMatch(/\nshop-order +paused: bank +1\.0 +default +1 +only invoked\n/);
    const { value } = await json("functions");
    expect(value).toMatchObject({ functions: expect.arrayContaining([expect.objectContaining({ paused: true })]) });
    expect(await pipe("resume shop-order")).toMatchObject({ code: 0, stdout: "shop-order  resumed\n" });
    expect(await pipe("resume shop-order")).toMatchObject({ code: 0, stdout: "shop-order  was not paused\n" });
    expect(await pipe("workers drain web-1")).toMatchObject({ code: 0, stdout: "web-1  now gets no new work\n" });
    expect((await pipe("workers")).stdout).toMatch(/\nweb-1 +draining /);
    expect(await pipe("workers resume web-1")).toMatchObject({ code: 0, stdout: "web-1  now gets work\n" });
    expect(await pipe("rollout shop 1.0 --percent 10")).toMatchObject({ code: 0 });
    expect(await pipe("rollout shop")).toMatchObject({ code: 0 });
  });

  test("a signal goes to the step that waits for it, and to none where there is none", async () => {
    const signal = 'signal order-42-approved --data \'{"by":"me"}\'';
    expect(await pipe(signal)).toMatchObject({ code: 3, stderr: expect.stringContaining("(NOT_FOUND)") });
    const run = await app.current.invoke(functions.asks);
    const taken = await waitFor(
      async () => {
        const said = await json(signal);
        return said.code === 0 && said;
      },
      { what: "the step that waits for the signal", timeoutMs: 100_000 },
    );
    expect(taken.value).toEqual({ runId: run.id });
    expect(await run.result()).toEqual({ by: "me" });
    expect(await pipe("signal order-42-approved --data {")).toMatchObject({ code: 2 });
  });

  test("many are counted, are not touched without --yes, and are resumed with it", async () => {
    await pipe("delete --all --yes");
    const ids = [await failed(), await failed()];
    const filter = "resume --function order";
    expect(await pipe(`${filter} --dry-run`)).toMatchObject({ code: 0, stdout: "2 runs would be resumed.\n" });
    expect(await pipe(filter)).toEqual({
      code: 2,
      stdout: "",
      stderr: "Nothing was done. --yes does it without asking.\n",
    });
    const { code, value } = await json(`${filter} --yes`);
    expect([code, value]).toEqual([0, expect.objectContaining({ status: "DONE", done: 2, failed: 0 })]);
    for (const id of ids) expect(await app.current.runs.handle(id).result()).toBe("charged 7");
    const { value: jobs } = await json("bulk");
    expect((jobs as { jobs: object[] }).jobs[0]).toMatchObject({ action: "resume", status: "DONE" });
  });

  test.each([
    ["a run that there is not", `cancel ${NO_RUN}`, 3, "NOT_FOUND"],
    ["a function that there is not", "pause ordr", 3, "NOT_FOUND"],
    ["a filter with a function that there is not", "rerun --function ordr --yes", 3, "NOT_FOUND"],
    ["a worker that there is not", "workers drain web-2", 3, "NOT_FOUND"],
    ["no run and no filter", "rerun", 2, "GATEWAY_USAGE"],
    ["both", `rerun ${NO_RUN} --function order`, 2, "GATEWAY_USAGE"],
    ["a result without a step", `rerun ${NO_RUN} --result 1`, 2, "GATEWAY_USAGE"],
    ["a status that cannot be resumed", "resume --status completed --yes", 2, "BODY_INVALID"],
    ["a gateway that is not there", `cancel ${NO_RUN} --url http://127.0.0.1:9`, 4, "GATEWAY_UNREACHABLE"],
  ])("%s is refused in words and by its exit code, also as JSON", async (_what, args, code, name) => {
    const line = args.includes("--url") ? args : `${args} --url ${url}`;
    const said = await shell(`${program} ${line}`);
    expect(said).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(`(${name})`) });
    const asJson = await shell(`${program} ${line} --json`);
    expect(asJson.code).toBe(code);
    expect(JSON.parse(asJson.stderr || asJson.stdout)).toMatchObject({ code: name, error: expect.any(String) });
  });
});

describe.runIf(hasTerminal)("In a terminal", () => {
  test("many are done after a yes, with the job's id, and not after anything else", async () => {
    await pipe("delete --all --yes");
    await failed();
    const question = "Run again 1 run? [y/N]";
    const no = await inTerminal("rerun --function order", { question, keys: "n\r" });
    expect(no).toMatchObject({ code: 2, text: expect.stringContaining("Nothing was done.") });
    const left = await inTerminal("rerun --function order", { question, keys: CTRL_C });
    expect(left).toMatchObject({ code: 130, text: expect.stringMatching(/\nNothing was done\. [^\n]*\n$/) });
    const ended = await inTerminal("rerun --function order", { question, keys: CTRL_D });
    expect(ended).toMatchObject({ code: 2, text: expect.stringMatching(/\nNothing was done\. [^\n]*\n$/) });
    const yes = await inTerminal("rerun --function order", { question, keys: "y\r" });
    expect(yes.code).toBe(0);
    expect(yes.text).toMatch(/Job \w+; it goes on without this command/);
    expect(yes.text).toContain("1 done, 0 failed");
  });

  test("one is cancelled, resumed and deleted, and JSON is indented", async () => {
    const id = await sleeping();
    expect(await inTerminal(`cancel ${id}`)).toEqual({ code: 0, text: `${id}  cancelled\n` });
    expect(await inTerminal(`resume ${id}`)).toMatchObject({ code: 0, text: expect.stringMatching(`^${id}  `) });
    await pipe(`cancel ${id}`);
    const { code, text } = await inTerminal(`delete ${id} --json`);
    expect([code, text]).toEqual([0, `{\n  "deleted": [\n    "${id}"\n  ]\n}\n`]);
  });
});
