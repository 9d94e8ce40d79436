import { describe, expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import type { ClientOptions } from "../../src/app/client-options.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import { resolveClientOptions } from "../../src/app/resolve-client-options.ts";
import { connect } from "../../src/connection/main/connect.ts";
import { operate } from "../../src/operate.ts";

const asked: string[] = [];
const fetch = async (url: string): Promise<Response> => {
  asked.push(url);
  return new Response("{}", { status: 400 });
};
const keys = { signingKey: "ab".repeat(16), eventKey: "k" };
const make = (options: Partial<ClientOptions> = {}, env: Record<string, string> = {}) =>
  new HoldfastClient({ id: "shop", fetch, ...keys, ...options }, env);
const addresses = (options: Partial<ClientOptions>, env: Record<string, string> = {}) => {
  const { apiBaseUrl, eventBaseUrl } = resolveClientOptions({ id: "app", ...options }, env);
  return [apiBaseUrl, eventBaseUrl];
};

const calls: Readonly<Record<string, (client: HoldfastClient) => Promise<unknown>>> = {
  send: (client) => client.send({ name: "a/b" }),
  sendSignal: (client) => client.sendSignal({ signal: "x" }),
  invoke: (client) => client.invoke("shop-order"),
  call: (client) => client.call("v1/graphs"),
  getRun: (client) => client.getRun("1"),
  listRuns: (client) => client.listRuns(),
  "runs.list": (client) => client.runs.list(),
  "runs.cancel": (client) => client.runs.cancel("1"),
  "runs.rerun": (client) => client.runs.rerun("1"),
  "runs.delete": (client) => client.runs.delete("1"),
  "runs.handle().status": (client) => client.runs.handle("1").status(),
  "runs.handle().result": (client) => client.runs.handle("1").result(),
  "runs.follow": (client) => client.runs.follow("1").next(),
  "operate().functions.pause": (client) => operate(client).functions.pause("shop-order"),
  fetchRunState: () =>
    new Holdfast({ id: "shop", fetch, ...keys }, {}).fetchRunState("1", new AbortController().signal),
};

describe("Without an address of a gateway", () => {
  test.each(Object.keys(calls))("%s says what to set, and sends nothing to anyone", async (name) => {
    asked.length = 0;
    for (const [options, env] of [
      [{}, {}],
      [{ isDev: false }, { HOLDFAST_DEV: "http://localhost:8288" }],
      [{}, { INNGEST_DEV: "0", INNGEST_EVENT_KEY: "k" }],
    ] as const) {
      await expect(calls[name]?.(make(options, env))).rejects.toMatchObject({
        code: "OPTION_MISSING",
        message: expect.stringMatching(/`baseUrl`.*HOLDFAST_BASE_URL.*HOLDFAST_DEV=1/s),
      });
    }
    expect(asked).toEqual([]);
  });

  test("connect says what to set before anything else, also before the key that is missing", async () => {
    for (const options of [keys, {}]) {
      const client = new Holdfast({ id: "shop", ...options }, {});
      const missing = { code: "OPTION_MISSING", message: expect.stringContaining("HOLDFAST_BASE_URL") };
      await expect(connect({ apps: [{ client, functions: [] }] })).rejects.toMatchObject(missing);
      await expect(client.connect({ functions: [], gatewayUrl: "ws://localhost:1" })).rejects.toMatchObject(missing);
    }
  });

  test("an app can be made, printed and tested", () => {
    expect(addresses({})).toEqual([undefined, undefined]);
    expect(JSON.stringify(make())).not.toContain("inngest.com");
  });

  test("an address of the API alone is none of events, and the other way round", async () => {
    asked.length = 0;
    const api = make({}, { HOLDFAST_API_BASE_URL: "http://gw" });
    await expect(api.send({ name: "a/b" })).rejects.toMatchObject({
      code: "OPTION_MISSING",
      message: expect.stringContaining("HOLDFAST_EVENT_API_BASE_URL"),
    });
    const events = make({}, { INNGEST_EVENT_API_BASE_URL: "http://gw" });
    await expect(events.getRun("1")).rejects.toMatchObject({
      code: "OPTION_MISSING",
      message: expect.stringContaining("HOLDFAST_API_BASE_URL"),
    });
    expect(asked).toEqual([]);
  });
});

describe("Inngest's service", () => {
  const both = ["https://api.inngest.com/", "https://inn.gs/"];

  test.each<[string, Partial<ClientOptions>, Record<string, string>]>([
    ["the option", { baseUrl: "https://api.inngest.com" }, {}],
    ["the option with its address for events", { baseUrl: "https://inn.gs/" }, {}],
    ["the variable of both", {}, { INNGEST_BASE_URL: "https://api.inngest.com" }],
    ["our variable", {}, { HOLDFAST_BASE_URL: "api.inngest.com" }],
    [
      "a variable for each",
      {},
      { INNGEST_API_BASE_URL: "https://api.inngest.com", INNGEST_EVENT_API_BASE_URL: "https://inn.gs" },
    ],
  ])("is used when it is named by %s, each of its two addresses for what it takes", (_, options, env) => {
    expect(addresses(options, env)).toEqual(both);
  });

  test("is asked with the keys of INNGEST_ variables once it is named", async () => {
    asked.length = 0;
    const named = { INNGEST_EVENT_KEY: "mine", INNGEST_BASE_URL: "https://api.inngest.com" };
    const client = new HoldfastClient({ id: "shop", fetch }, named);
    await expect(client.send({ name: "a/b" })).rejects.toMatchObject({ code: "EVENT_SEND_FAILED" });
    await expect(client.runs.get("1")).rejects.toMatchObject({ code: "RUNS_UNAVAILABLE" });
    expect(asked).toEqual(["https://inn.gs/e/mine", "https://api.inngest.com/v1/runs/1"]);
  });
});
