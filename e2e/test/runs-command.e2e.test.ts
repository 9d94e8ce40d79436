import { startGateway } from "@holdfast/gateway";
import { waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { operate } from "holdfast/operate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { hasTerminal, type Outcome, openTerminal, shell } from "../support/terminal.ts";

/** What `runs` finds, as a user asks for it: by what runs wait for, by event, key and error, page by page. */

const program = `${process.execPath} ${gatewayBin}`;
const cleanUps: (() => unknown)[] = [];
const NEVER = new Promise<never>(() => {});
const app = { current: new Holdfast({ id: "shop", isDev: true }) };
let url = "";

function functionsOf(shop: Holdfast) {
  return [
    shop.createFunction({ id: "order", triggers: { event: "shop/order.placed" }, retries: 0 }, ({ event }) => {
      if (event.data.card === "stolen") throw new Error('the card "stolen" was declined');
      return "sent";
    }),
    shop.createFunction({ id: "large", triggers: { event: "shop/large" } }, () => "x".repeat(3_100_000)),
    shop.createFunction({ id: "bill", triggers: { event: "shop/order.placed" } }, () => "billed"),
    shop.createFunction({ id: "sleeps", triggers: { event: "shop/slept" } }, ({ step }) => step.sleep("long", "1h")),
    shop.createFunction({ id: "works", triggers: { event: "shop/worked" } }, ({ step }) =>
      step.run("load", () => NEVER),
    ),
  ];
}

beforeAll(async () => {
  const gateway = await startGateway({ port: 0, store: "memory", logRuns: "off" });
  cleanUps.push(() => gateway.close());
  url = gateway.url;
  const shop = new Holdfast({ id: "shop", isDev: true, baseUrl: url, logLevel: "off" });
  app.current = shop;
  const options = { functions: functionsOf(shop), instanceId: "web-1", handleShutdownSignals: [] };
  const connection = await shop.connect({ ...options, drainTimeout: 0 });
  cleanUps.push(() => connection.close());
});

afterAll(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

interface Listed {
  readonly runs: readonly { readonly id: string; readonly functionId: string; readonly status: string }[];
  readonly nextCursor: string | null;
}

const pipe = (args: string): Promise<Outcome> => shell(`${program} ${args} --url ${url}`);
const list = async (args = ""): Promise<Listed> => JSON.parse((await pipe(`runs --json ${args}`)).stdout) as Listed;
const idsOf = ({ runs }: Listed): string[] => runs.map(({ id }) => id);

/** Sends an event; its id, and the ids of its runs once they are in this state. */
async function sent(name: string, status: string, event: { id?: string; data?: object } = {}) {
  const { ids } = await app.current.send({ name, data: {}, ...event });
  const eventId = ids[0] ?? "";
  const runs = await waitFor(
    async () => {
      const page = await list(`--event-id ${eventId}`);
      return page.runs.length > 0 && page.runs.every((run) => run.status === status) ? page : undefined;
    },
    { what: `the runs of ${name} to be ${status}` },
  );
  return { eventId, runIds: idsOf(runs) };
}

describe("Runs that wait", () => {
  test("are listed alone, with what they wait for; --why says it of all that were asked for", async () => {
    const asleep = await sent("shop/slept", "WAITING");
    const busy = await sent("shop/worked", "RUNNING");
    await waitFor(async () => ((await pipe("runs --why")).stdout.includes("It is at work on") ? true : undefined), {
      what: "the worker to have it",
    });
    await sent("shop/order.placed", "COMPLETED");
    const waiting = await pipe("runs --waiting");
    expect(waiting).toMatchObject({ code: 0, stderr: "" });
    expect(waiting.stdout).toMatch(/^RUN +FUNCTION +STATUS +CREATED +TOOK +WHY\n/);
    expect(waiting.stdout).toMatch(new RegExp(`\n${asleep.runIds[0]} +shop-sleeps +waiting .*sleeps in the step`));
    for (const other of [...busy.runIds, "shop-order"]) expect(waiting.stdout).not.toContain(other);
    expect((await pipe("runs --why")).stdout).toContain(busy.runIds[0]);
    expect(idsOf(await list("--waiting"))).toEqual(asleep.runIds);
    expect(idsOf(await list("--waiting --status running"))).toEqual([]);
    expect(idsOf(await list("--waiting --function sleeps"))).toEqual(asleep.runIds);
    const http = (await (await fetch(`${url}/v1/runs?waiting=only&limit=1`)).json()) as Listed;
    expect(http).toMatchObject({ runs: [], nextCursor: busy.runIds[0] });
    // Of the page that the gateway leaves short the command reads on.
    expect(idsOf(await list("--waiting --limit 1"))).toEqual(asleep.runIds);
    expect(await (await fetch(`${url}/v1/runs?waiting=yes`)).json()).toMatchObject({ code: "BODY_INVALID" });
  });
});

describe("Runs of an event", () => {
  test("are found by its name, its id, the id that its sender gave, and a text in their error", async () => {
    const one = await sent("shop/order.placed", "COMPLETED", { id: "order-1" });
    const event = { name: "shop/order.placed", id: "order-2", data: { card: "stolen" } };
    const { ids } = await app.current.send(event);
    const failed = await waitFor(async () => (await list("--status failed")).runs[0], { what: "a run to fail" });
    const both = idsOf(await list(`--event-id ${ids[0]}`));
    expect(both).toHaveLength(2);
    for (const name of ["--event", "--event-name"]) {
      const named = await list(`${name} shop/order.placed`);
      expect(idsOf(named).slice(0, 4)).toEqual([...both, ...one.runIds]);
    }
    // As `--event` was meant first.
    expect(idsOf(await list(`--event ${ids[0]}`))).toEqual(both);
    expect(idsOf(await list("--key order-1"))).toEqual(one.runIds);
    expect(idsOf(await list("--key order-2 --status failed"))).toEqual([failed.id]);
    expect(idsOf(await list(`--key order-2 --event-id ${one.eventId}`))).toEqual([]);
    expect(idsOf(await list(`--error 'CARD "stolen"'`))).toEqual([failed.id]);
    expect(idsOf(await list("--error nothing"))).toEqual([]);
    const first = await list("--key order-2 --limit 1");
    expect(first).toEqual({ runs: [expect.objectContaining({ id: both[0] })], nextCursor: both[0] });
    expect(await list(`--key order-2 --limit 1 --cursor ${first.nextCursor}`)).toMatchObject({
      runs: [{ id: both[1] }],
    });
    expect((await pipe("rerun --event shop/order.placed --key order-2 --error declined --dry-run")).stdout).toBe(
      "1 run would be run again.\n",
    );
  });
});

test("what is no cursor is refused, with what it should be", async () => {
  const said = await pipe("runs --cursor garbage");
  expect(said).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/nextCursor.*\(BODY_INVALID\)/s) });
  for (const path of ["/v1/runs?cursor=garbage", "/v1/runs?cursor=", "/v1/events?cursor=~", "/v1/graphs?cursor=x"]) {
    const response = await fetch(`${url}${path}`);
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: "BODY_INVALID" })]);
  }
});

describe("Names that are not known", () => {
  test.each([
    ["a function", "runs --function ordr", 3, 'There is no function "ordr". Did you mean "shop-order"?'],
    ["a function of what is followed", "tail --function ordr", 3, 'Did you mean "shop-order"?'],
    ["a function in an environment that has none", "runs --function order --env prod", 3, 'in the environment "prod"'],
    ["an event", "runs --event shop/order.palced", 0, 'Did you mean "shop/order.placed"?'],
    ["an event of many runs", "rerun --event shop/order.palced --dry-run", 0, 'Did you mean "shop/order.placed"?'],
    ["an environment", "runs --env defualt", 0, 'in the environment "defualt". Did you mean "default"?'],
    ["an environment of functions", "functions --env prod", 0, 'in the environment "prod". Known: default.'],
    ["an environment of workers", "workers --env prod", 0, 'in the environment "prod". Known: default.'],
  ])("%s that is not known is said to be so, with the nearest one", async (_what, args, code, text) => {
    expect(await pipe(args)).toMatchObject({ code, stderr: expect.stringContaining(text) });
  });

  test("of names that are known nothing is said, and JSON is as it was", async () => {
    const stderr = "There are no such runs.\n";
    expect(await pipe("runs --event shop/large --error none --env default")).toEqual({ code: 0, stdout: "", stderr });
    expect(await pipe("runs --env prod --json")).toMatchObject({
      stdout: '{"runs":[],"nextCursor":null}\n',
      stderr: "",
    });
    expect(await (await fetch(`${url}/v1/environments`)).json()).toEqual({
      environments: [{ name: "default", functions: 5 }],
    });
    const schemas = await fetch(`${url}/v1/event-schemas?function=ordr`);
    expect([schemas.status, await schemas.json()]).toEqual([404, expect.objectContaining({ code: "NOT_FOUND" })]);
  });
});

describe("One run", () => {
  test("what is at work is shown with the time since when", async () => {
    const { runIds } = await sent("shop/worked", "RUNNING");
    const shown = await waitFor(
      async () => {
        const { stdout } = await pipe(`run ${runIds[0]}`);
        return stdout.includes("running since") ? stdout : undefined;
      },
      { what: "the step to be shown" },
    );
    expect(shown).toMatch(/\nSTEP +KIND +STATUS .*\nload +run +running since \d{4}-\S+Z\n/);
    const run = (await (await fetch(`${url}/v1/runs/${runIds[0]}`)).json()) as { running: { sinceMs: number }[] };
    expect(run).toMatchObject({ steps: [], running: [{ name: "load", sinceAt: expect.any(String) }] });
    await pipe(`cancel ${runIds[0]}`);
    expect(await (await fetch(`${url}/v1/runs/${runIds[0]}`)).json()).toMatchObject({ running: [] });
  });

  test.runIf(hasTerminal)("a long result is cut on a terminal, and whole in a pipe and with --full", async () => {
    const { runIds } = await sent("shop/large", "COMPLETED");
    const line = `run ${runIds[0]}`;
    const inTerminal = async (args: string): Promise<string> => {
      const terminal = openTerminal(`${program} ${args} --url ${url}`);
      expect(await terminal.exited).toBe(0);
      return terminal.text;
    };
    const cut = await inTerminal(line);
    expect(cut).toMatch(/x… 3\.1 MB, --full or --json shows all/);
    expect(cut.length).toBeLessThan(10_000);
    for (const whole of [(await pipe(line)).stdout, await inTerminal(`${line} --full`)]) {
      expect(whole.length).toBeGreaterThan(3_100_000);
    }
  });
});

test("a function without a connected worker is said to have none", async () => {
  const other = new Holdfast({ id: "away", isDev: true, baseUrl: url, logLevel: "off" });
  const functions = [other.createFunction({ id: "gone" }, () => 1)];
  const connection = await other.connect({ functions, handleShutdownSignals: [] });
  expect((await pipe("functions")).stdout).toMatch(/\naway-gone +active +\S+ +default +1 +only invoked\n/);
  await connection.close();
  const said = await waitFor(
    async () => {
      const outcome = await pipe("functions");
      return outcome.stderr === "" ? undefined : outcome;
    },
    { what: "the worker to be gone" },
  );
  expect(said.stdout).toMatch(/\naway-gone +active +\S+ +default +0 +only invoked\n/);
  expect(said.stdout).toMatch(/\nshop-order +active +\S+ +default +1 +shop\/order\.placed\n/);
  expect(said.stderr).toBe("No worker is connected for away-gone: runs of these wait until one is.\n");
});

describe("ids of functions that need care in addresses and in shells", () => {
  const ids = ["bad id!", "a/b", "../x", "..", "100%?#x&y=z", "a,b", "a:b", "%2F", "ünï 😀", 'x"<b>', "*"];

  test("run, are found by name, paused, followed and shown as any others", async () => {
    const odd = new Holdfast({ id: "odd app/1", isDev: true, baseUrl: url, logLevel: "off" });
    const functions = ids.map((id) => odd.createFunction({ id, triggers: [] }, () => id));
    const connection = await odd.connect({ functions, handleShutdownSignals: [], drainTimeout: 0 });
    cleanUps.push(() => connection.close());
    for (const fn of functions) {
      const run = await odd.invoke(fn);
      expect(await run.result()).toBe(fn.id);
      expect((await odd.runs.list({ functionId: fn.slug })).runs.map(({ id }) => id)).toEqual([run.id]);
      expect((await odd.runs.list({ functionId: fn.id })).runs.map(({ id }) => id)).toEqual([run.id]);
      await operate(odd).functions.pause(fn);
      expect((await operate(odd).functions.get(fn))?.paused).toBe(true);
      await operate(odd).functions.resume(fn);
      for (const path of ["/ui/functions/", "/v1/functions/"]) {
        expect((await fetch(`${url}${path}${encodeURIComponent(fn.slug)}`)).status).toBe(200);
      }
      const quoted = `'${fn.slug}'`;
      expect(idsOf(await list(`--function ${quoted}`))).toEqual([run.id]);
      expect(await pipe(`pause ${quoted}`)).toMatchObject({ code: 0 });
      expect(await pipe(`resume ${quoted}`)).toMatchObject({ code: 0 });
    }
  });
});
