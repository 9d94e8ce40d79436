import { StoreError } from "@holdfast/store";
import { afterEach, describe, expect, test, vi } from "vitest";
import { showBulk } from "../../src/cli/bulk.ts";
import type { CommandContext } from "../../src/cli/context.ts";
import { liveMessages } from "../../src/cli/live-messages.ts";
import { inWordsOfDoctor } from "../../src/cli/read-only-database.ts";
import { cancelRuns } from "../../src/cli/repair.ts";
import { listRuns, showRun } from "../../src/cli/runs.ts";
import { sendEvent } from "../../src/cli/send.ts";
import { listWorkers } from "../../src/cli/workers.ts";
import { readGatewayFile } from "../../src/config/config-file.ts";

/** What commands say of an address where something else answers than a gateway. */

const contextOf = (args: readonly string[], flags: CommandContext["flags"] = {}): CommandContext => ({
  args,
  flags,
  env: {},
  output: {
    print: () => {},
    note: () => {},
    isTerminal: false,
    showsProgress: false,
    columns: 120,
    colours: false,
  },
});

afterEach(() => vi.unstubAllGlobals());
const answering = (make: () => Response): void => void vi.stubGlobal("fetch", async () => make());

describe("A command that is answered with an empty object", () => {
  test.each([
    ["runs", () => listRuns(contextOf([])), "/v1/runs gave 200 and no `runs`"],
    ["runs --json", () => listRuns(contextOf([], { json: true })), "no `runs`"],
    ["run", () => showRun(contextOf(["01J"])), "no `id`"],
    ["workers --json", () => listWorkers(contextOf([], { json: true })), "no `workers`"],
    ["cancel --all --yes", () => cancelRuns(contextOf([], { all: true, yes: true })), "no `count`"],
    ["cancel <run>", () => cancelRuns(contextOf(["01J"])), "no `run`"],
    ["send", () => sendEvent(contextOf(["demo/hello"])), "/e/… gave 200 and no `ids`"],
    ["bulk", () => showBulk(contextOf([])), "no `jobs`"],
  ])("%s says that no gateway answers there", async (_, command, words) => {
    answering(() => Response.json({}));
    await expect(command()).rejects.toMatchObject({
      code: "GATEWAY_UNREACHABLE",
      message: expect.stringContaining(`What answers at http://localhost:8288 is not a Holdfast gateway: `),
    });
    await expect(command()).rejects.toMatchObject({ message: expect.stringContaining(words) });
  });
});

test.each([
  () => new Response("<html>Bad Gateway</html>", { status: 502 }),
  () => Response.json({ message: "upstream" }, { status: 502 }),
])("a proxy that does not reach the gateway is called a proxy", async (make) => {
  answering(make);
  await expect(listRuns(contextOf([]))).rejects.toMatchObject({
    code: "GATEWAY_UNREACHABLE",
    message: expect.stringContaining("The proxy in front of the gateway at http://localhost:8288 answered 502"),
  });
});

test("a gateway that says itself that it cannot answer is not taken for a proxy", async () => {
  answering(() => Response.json({ error: "The database is away.", code: "STORE_FAILED" }, { status: 503 }));
  await expect(listRuns(contextOf([]))).rejects.toMatchObject({ code: "STORE_FAILED" });
});

test("an option that is given once is refused when it is given twice, and so is --stop without a job", async () => {
  await expect(sendEvent(contextOf(["demo/hello"], { id: ["a", "b"] }))).rejects.toMatchObject({
    code: "GATEWAY_USAGE",
    message: "--id was given 2 times; it takes one value.",
  });
  await expect(showBulk(contextOf([], { stop: true }))).rejects.toMatchObject({
    code: "GATEWAY_USAGE",
    message: expect.stringContaining("Which job?"),
  });
});

test("an environment that no header can carry is a mistake, not a gateway that does not answer", async () => {
  for (const env of ["préprod", "a\nb"]) {
    await expect(listRuns(contextOf([], { env: [env] }))).rejects.toMatchObject({
      code: "ENVIRONMENT_INVALID",
      message: expect.stringContaining(`--env names the environment ${JSON.stringify(env)}; a name has`),
    });
  }
});

test("files that the command line names and that cannot be read are wrong usage", () => {
  expect(() => readGatewayFile("/nowhere/gateway.json")).toThrow(expect.objectContaining({ code: "GATEWAY_USAGE" }));
});

test("a database that takes no writes is named so, whichever statement met it", () => {
  const met = new StoreError("other", "The schema: cannot execute CREATE SCHEMA in a read-only transaction (25006).");
  expect(inWordsOfDoctor(met)).toMatchObject({ code: met.code, message: expect.stringContaining("a standby") });
  expect(inWordsOfDoctor(new StoreError("other", "Something else (42501)."))).toBeNull();
});

describe("A live stream", () => {
  const client = { url: "http://127.0.0.1:1", headers: () => Promise.resolve({}) };

  test("is refused where what answers is no stream", async () => {
    answering(() => Response.json({}));
    const options = { signal: new AbortController().signal, onGone: () => {}, onBack: () => {} };
    await expect(liveMessages(client, "/v1/runs/stream", options).next()).rejects.toMatchObject({
      code: "GATEWAY_UNREACHABLE",
      message: expect.stringContaining("is not a Holdfast gateway"),
    });
  });

  test("that is closed as often as it is opened is said to be gone once, and tried more and more rarely", async () => {
    const stop = new AbortController();
    const said: string[] = [];
    let opened = 0;
    answering(() => {
      opened += 1;
      if (opened === 5) stop.abort();
      return new Response("", { headers: { "Content-Type": "text/event-stream" } });
    });
    const options = { signal: stop.signal, onGone: () => void said.push("gone"), onBack: () => void said.push("back") };
    for await (const _ of liveMessages(client, "/v1/runs/stream", options)) throw new Error("Nothing comes.");
    expect(said).toEqual(["gone"]);
  });
});
