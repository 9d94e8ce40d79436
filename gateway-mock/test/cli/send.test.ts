import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sendEvent } from "../../src/cli/send.ts";

/** What `send` says of an event that started no run. */

const FUNCTIONS = [
  { id: "shop-saga", triggers: [{ pattern: "saga/go" }], cancelOn: [{ event: "saga/stop", expression: null }] },
];
const environments: { readonly name: string }[] = [];
const ANSWERS: Record<string, object> = {
  "/e/cli": { ids: ["01E"] },
  "/v1/events/01E": { runIds: [], collected: [] },
  "/dev": { functions: FUNCTIONS },
  "/v1/functions": { functions: FUNCTIONS },
  "/v1/environments": { environments },
};
/** Paths of which the gateway knows nothing, as one of an earlier version. */
const unknown = new Set<string>();

beforeEach(() => {
  ANSWERS["/e/cli"] = { ids: ["01E"] };
  unknown.clear();
  environments.splice(0);
  vi.stubGlobal("fetch", (url: string, init: RequestInit = {}) => {
    const { pathname } = new URL(url);
    const environment = new Headers(init.headers).get("x-inngest-env");
    if (pathname === "/dev" && environment === "feature/x") {
      return Promise.resolve(Response.json({ functions: [{ id: "shop-new", triggers: [{ pattern: "new/go" }] }] }));
    }
    const answer = unknown.has(pathname) ? undefined : ANSWERS[pathname];
    const body = answer ?? { error: "There is no such path.", code: "NOT_FOUND" };
    return Promise.resolve(Response.json(body, { status: answer ? 200 : 404 }));
  });
});
afterEach(() => vi.unstubAllGlobals());

async function noteOf(name: string): Promise<string> {
  const notes: string[] = [];
  const output = { print: () => {}, note: (text: string) => void notes.push(text) };
  const plain = { isTerminal: false, showsProgress: false, columns: 120, colours: false };
  await sendEvent({ args: [name], flags: {}, env: {}, output: { ...output, ...plain } });
  return notes.join("");
}

test("an event that cancels runs is not taken for a name that was misspelt", async () => {
  expect(await noteOf("saga/stop")).toBe(
    'It started nothing: no function is triggered by "saga/stop"; runs that it cancels, or that wait for it, have it.\n',
  );
});

test("an event that no function knows is answered with the name that comes close", async () => {
  const sentence =
    'It started nothing: no function is triggered by "saga/goo"; runs that wait for it have it. Did you mean "saga/go"?\n';
  expect(await noteOf("saga/goo")).toBe(sentence);
  unknown.add("/v1/functions");
  expect(await noteOf("saga/goo")).toBe(sentence);
});

test("of an event that runs waited for no other name is suggested", async () => {
  ANSWERS["/e/cli"] = { ids: ["01E"], awaited: ["01E"] };
  expect(await noteOf("saga/goo")).toBe(
    'It started nothing: no function is triggered by "saga/goo"; it went to the runs that wait for it, or that it cancels, and those that it fits have it.\n',
  );
});

test("an event that another environment listens to is answered with that environment", async () => {
  const sentence = 'It started nothing: no function is triggered by "new/go"';
  expect(await noteOf("new/go")).toMatch(sentence);
  environments.push({ name: "default" }, { name: "feature/x" });
  expect(await noteOf("new/go")).toBe(
    `${sentence}. The environment feature/x has a function that is: --env feature/x\n`,
  );
});

/** What a command whose gateway is gone once it has the event leaves behind. */
async function sentToGateway(flags: Readonly<Record<string, true>>, answers: () => Response) {
  const [printed, notes]: [string[], string[]] = [[], []];
  const write = { print: (text: string) => void printed.push(text), note: (text: string) => void notes.push(text) };
  const plain = { isTerminal: false, showsProgress: false, columns: 120, colours: false };
  vi.stubGlobal("fetch", async (url: string) =>
    url.includes("/e/")
      ? Response.json({ ids: ["01E"] })
      : url.includes("/dev")
        ? Response.json(ANSWERS["/dev"])
        : answers(),
  );
  const context = { args: ["saga/go"], flags, env: {}, output: { ...write, ...plain } };
  const code = await sendEvent(context).catch((error: unknown) => String(error));
  return { code, printed: printed.join(""), notes: notes.join("") };
}

test("the id of an event that was taken is not lost with the gateway", async () => {
  const away = (): Response => Response.json({ error: "Away.", code: "STORE_FAILED" }, { status: 503 });
  expect(await sentToGateway({}, away)).toEqual({
    code: "HoldfastError: Away.",
    printed: "event  01E\n",
    notes: "The event is stored.\n",
  });
  const asJson = await sentToGateway({ json: true }, away);
  expect([asJson.code, JSON.parse(asJson.printed)]).toEqual(["HoldfastError: Away.", { eventId: "01E", runIds: null }]);
});

test("a gateway that is away for a moment says afterwards what the event has started", async () => {
  let asked = 0;
  const answers = (): Response => {
    asked += 1;
    if (asked < 3) return Response.json({ error: "Away.", code: "STORE_FAILED" }, { status: 503 });
    return Response.json({ runIds: ["01R"], collected: [] });
  };
  expect(await sentToGateway({}, answers)).toEqual({ code: 0, printed: "event  01E\nrun    01R\n", notes: "" });
});

test("--wait does not pass for done where the key shows no runs", async () => {
  const refused = (): Response => Response.json({ error: "A key.", code: "UNAUTHORIZED" }, { status: 401 });
  expect(await sentToGateway({ wait: true }, refused)).toEqual({
    code: "HoldfastError: --wait needs the signing key (HOLDFAST_SIGNING_KEY): the event key does not show which runs an event starts.",
    printed: "event  01E\n",
    notes: "The event is stored.\n",
  });
  expect(await sentToGateway({}, refused)).toMatchObject({ code: 0, printed: "event  01E\n" });
});

describe("When an event happens", () => {
  const sentAt = async (at: string): Promise<unknown> => {
    let sent: unknown;
    vi.stubGlobal("fetch", async (_url: string, { body }: { readonly body: string }) => {
      sent = JSON.parse(body);
      return Response.json({ ids: ["01E"] });
    });
    const output = { print: () => {}, note: () => {} };
    const plain = { isTerminal: false, showsProgress: false, columns: 120, colours: false };
    await sendEvent({ args: ["saga/go"], flags: { at: [at] }, env: {}, output: { ...output, ...plain } });
    return sent;
  };

  test.each([
    ["2100-01-31T09:00:00Z", Date.UTC(2100, 0, 31, 9)],
    ["2100-01-31T09:00+02:00", Date.UTC(2100, 0, 31, 7)],
    ["4105155600000", 4_105_155_600_000],
  ])("is what --at %s says", async (at, ts) => {
    expect(await sentAt(at)).toEqual([{ name: "saga/go", data: {}, ts }]);
  });

  test.each(["2100-02-30T09:00:00Z", "2100-01-31T09:00", "at 9", "1e3", "5m"])(
    "is not guessed from --at %s",
    async (at) => {
      await expect(sentAt(at)).rejects.toMatchObject({
        code: "GATEWAY_USAGE",
        message: expect.stringContaining(`--at must be a time with its zone`),
      });
    },
  );
});
