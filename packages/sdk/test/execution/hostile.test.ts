import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { deferred } from "@holdfast/core";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import type { StandardSchema } from "../../src/events/standard-schema.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { Engine, type RunEnd } from "./engine.ts";
import { type HostileValue, hostileValue } from "./hostile-values.ts";
import { turn } from "./support.ts";

/** Every place where a value of the author's is looked at. */
type Entry = (context: HandlerContext<unknown>, value: HostileValue) => unknown;

const ENTRIES: Readonly<Record<string, Entry>> = {
  "result of a step": ({ step }, { make }) => step.run("a", () => make()),
  "result of an async step": ({ step }, { make }) => step.run("a", async () => make()),
  "thrown by a step": ({ step }, { make }) =>
    step.run("a", () => {
      throw make();
    }),
  "rejected by a step": ({ step }, { make }) => step.run("a", () => Promise.reject(make())),
  "result of the handler": (_context, { make }) => make(),
  "thrown by the handler": (_context, { make }) => {
    throw make();
  },
  "thrown after a step": async ({ step }, { make }) => {
    await step.run("a", () => 1);
    throw make();
  },
  "argument of a step": ({ step }, { make }) => step.run("a", (given: unknown) => typeof given, make()),
  "argument of a failing step": ({ step }, { make }) =>
    step.run("a", (_given: unknown) => Promise.reject(make()), make()),
  "options of a step": ({ step }, { make }) => (step.run as (...args: unknown[]) => unknown)("a", () => 1, make(), 1),
  "id of a step": ({ step }, { make }) => step.run(make() as never, () => 1),
  "id in an object": ({ step }, { make }) => step.run({ id: make(), name: make() } as never, () => 1),
  "id of an event step": ({ step }, { make }) => step.sendEvent(make() as never, { name: "a" }),
  "a nested step": ({ step }, { make }) => step.run("a", () => step.run(make() as never, () => 1)),
  "compensation's result": async ({ step }, { make }) => {
    await step.run("a", () => 1, { compensate: () => make() });
    throw make();
  },
  "thrown by a compensation": async ({ step }, { make }) => {
    await step.run("a", () => 1, {
      compensate: () => {
        throw make();
      },
    });
    throw make();
  },
  "compensation itself": ({ step }, { make }) => step.run("a", () => 1, { compensate: make() as never }),
  "events sent by a step": ({ step }, { make }) => step.sendEvent("a", make() as never),
  "event data sent by a step": ({ step }, { make }) => step.sendEvent("a", { name: "x", data: make() as never }),
  "fields of an event sent by a step": ({ step }, { make }) =>
    step.sendEvent("a", [
      { name: make() as never },
      { name: "x", id: make(), ts: make(), v: make(), meta: make() } as never,
    ]),
  "events sent": (_context, { make }) => client.send(make() as never),
  "event data sent": (_context, { make }) => client.send({ name: "x", data: make() as never, user: make() }),
  "data of an invocation": ({ step }, { make }) =>
    step.invoke("a", { function: { slug: "app-f" } as never, data: make() as never }),
  "options of an invocation": ({ step }, { make }) => step.invoke("a", make() as never),
  "target of an invocation": ({ step }, { make }) => step.invoke("a", { function: make(), v: make() } as never),
  "signal sent by a step": ({ step }, { make }) => step.sendSignal("a", make() as never),
  "signal's name and data": ({ step }, { make }) => step.sendSignal("a", { signal: make() as never, data: make() }),
  "signal's data": ({ step }, { make }) => step.sendSignal("a", { signal: "s", data: make() }),
  "signal sent": (_context, { make }) => client.sendSignal({ signal: "s", data: make() }),
  "options of a wait": ({ step }, { make }) => step.waitForEvent("a", make() as never),
  "parts of a wait": ({ step }, { make }) =>
    step.waitForEvent("a", { event: make() as never, timeout: make() as never, schema: make() as never }),
  "timeout of a wait": ({ step }, { make }) => step.waitForSignal("a", { signal: "s", timeout: make() as never }),
  "duration of a sleep": ({ step }, { make }) => step.sleep("a", make() as never),
  "end of a sleep": ({ step }, { make }) => step.sleepUntil("a", make() as never),
  "target of a fetch": ({ step }, { make }) => step.fetch(make() as never, make() as never),
  "options of a fetch": ({ step }, { make }) => step.fetch("a", "http://localhost:1", make() as never),
  "steps nobody awaits": async ({ step }, { make }) => {
    void step.run(make() as never, () => 1);
    void step.sendEvent("b", make() as never);
    void step.fetch(make() as never);
    const body = new ReadableStream({ pull: () => Promise.reject(make()) });
    void step.fetch(new Request("http://localhost:1", { method: "POST", body, duplex: "half" } as RequestInit));
    await step.run("last", () => 1);
  },
};

const server = createServer((request, response) => {
  request.resume().on("end", () => response.end('{"ids":["e"],"status":200}'));
});
const throwing = (): never => {
  throw new Error("no log");
};
const rejecting = async (): Promise<never> => throwing();
const hostileLogger = { debug: throwing, info: throwing, warn: rejecting, error: rejecting };
let client: Holdfast;
/** Rejects with what would have ended the process. */
let escaped = deferred<never>();
const onEscape = (error: unknown): void => escaped.reject(new Error("The process would have ended.", { cause: error }));
const EVENTS = ["uncaughtException", "unhandledRejection"] as const;
let others: (readonly [string, (...args: never[]) => void])[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new Holdfast({ id: "app", isDev: true, baseUrl, logger: hostileLogger }, {});
});
afterAll(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));

beforeEach(() => {
  escaped = deferred();
  escaped.promise.catch(() => {});
  others = EVENTS.flatMap((name) => process.listeners(name as never).map((each) => [name, each as never] as const));
  for (const name of EVENTS) process.removeAllListeners(name).on(name, onEscape);
});
afterEach(() => {
  for (const name of EVENTS) process.removeListener(name, onEscape);
  for (const [name, listener] of others) process.on(name, listener as never);
});

/** The run ends, nothing escapes, and the next run works. */
async function survives(
  name: string,
  entry: Entry,
  value: HostileValue,
  inPlace: boolean,
  schema?: StandardSchema,
): Promise<void> {
  const run = (handler: (context: HandlerContext<unknown>) => unknown, triggers: unknown): Promise<RunEnd> => {
    const fn = client.createFunction({ id: "f", triggers: triggers as never }, handler as never);
    const engine = new Engine({ client, fn, inPlace, maxAttempts: 2, maxPasses: 50, haste: 1000 });
    return Promise.race([engine.run(), escaped.promise]);
  };
  const end = await run(
    (context) => entry(context, value),
    schema === undefined ? [] : { event: "test/event", schema },
  );
  await Promise.race([turn(), escaped.promise]);
  if (end.status === "failed") {
    expect(end.value).toMatchObject({ name: expect.any(String), message: expect.any(String) });
    // What the author throws is told as it is; everything else is a mistake that has a code.
    const isAuthors = /result|thrown|rejected|failing|nobody|compensation/.test(name);
    if (!isAuthors) expect(end.value).toMatchObject({ code: expect.any(String) });
  }
  expect(await run(({ step }) => step.run("next", () => 1), [])).toEqual({ status: "completed", value: 1 });
}

describe.each([true, false])("Hostile values, in place: %s", (inPlace) => {
  test.each(Object.entries(ENTRIES))(
    "hostile values in %s neither end the process nor affect the next run",
    async (name, entry) => {
      await fc.assert(
        fc.asyncProperty(hostileValue, (value) => survives(name, entry, value, inPlace)),
        { numRuns: runs(60) },
      );
    },
  );

  test("schemas that throw or return hostile values neither end the process nor affect the next run", async () => {
    const schemaOf = (validate: () => unknown): StandardSchema =>
      ({ "~standard": { version: 1, vendor: "test", validate } }) as never;
    const nothing: Entry = () => 1;
    await fc.assert(
      fc.asyncProperty(hostileValue, async (value) => {
        const throws = schemaOf(() => {
          throw value.make();
        });
        await survives("thrown", nothing, value, inPlace, throws);
        await survives("result", nothing, value, inPlace, schemaOf(value.make));
        const issues = schemaOf(() => ({ issues: [value.make(), { message: value.make(), path: [value.make()] }] }));
        await survives("result", nothing, value, inPlace, issues);
      }),
      { numRuns: runs(60) },
    );
  });
});
