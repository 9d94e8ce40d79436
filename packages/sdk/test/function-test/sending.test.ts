import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { silent } from "../execution/support.ts";

const schemas = { "shop/typed": v.object({ n: v.number() }) };
const app = new Holdfast({ id: "shop", isDev: true, logger: silent, schemas }, {});
const triggers = { event: "shop/x" };

describe("What a function sends in a test", () => {
  test.each([
    ["no name", { name: "", data: {} }],
    ["a BigInt", { name: "shop/y", data: { n: 1n } }],
    ["a list as data", { name: "shop/y", data: [] }],
    ["a reserved name", { name: "inngest/y", data: {} }],
    ["an unknown field", { name: "shop/y", data: {}, datas: 1 }],
    ["data that its schema refuses", { name: "shop/typed", data: { n: "1" } }],
  ])("an event is refused as in an app: %s", async (_, event) => {
    const fn = app.createFunction({ id: "sends", triggers }, ({ step }) => step.sendEvent("send", event as never));
    const run = await new FunctionTest(fn).run();
    expect(run).toMatchObject({ status: "failed", error: { code: "EVENT_INVALID" }, sentEvents: [] });
  });

  test.each([
    ["no name", {}],
    ["an empty name", { signal: "" }],
    ["data that is no JSON", { signal: "go", data: 1n }],
  ])("a signal is refused as in an app: %s", async (_, signal) => {
    const fn = app.createFunction({ id: "sends", triggers }, ({ step }) => step.sendSignal("send", signal as never));
    const run = await new FunctionTest(fn).run();
    expect(run).toMatchObject({ status: "failed", error: { code: "OPTION_INVALID" }, sentSignals: [] });
  });

  test("it is kept as JSON had it when it was sent", async () => {
    const fn = app.createFunction({ id: "sends", triggers }, async ({ step }) => {
      const data: { at: Date; left?: string } = { at: new Date(0) };
      await step.sendEvent("send", { name: "shop/y", data } as never);
      data.left = "later";
    });
    const { sentEvents } = await new FunctionTest(fn).run();
    expect(sentEvents.map(({ data }) => data)).toEqual([{ at: "1970-01-01T00:00:00.000Z" }]);
  });

  test("what code sends by a client is kept too, and does not leave the process", async () => {
    const calls: string[] = [];
    const fetch = async (url: string): Promise<Response> => {
      calls.push(url);
      return Response.json({ ids: ["sent"], status: 200 });
    };
    const options = { id: "shop", isDev: true, logger: silent, fetch } as const;
    const shop = new Holdfast(options, {});
    const web = new HoldfastClient(options, {});
    const child = shop.createFunction({ id: "child", triggers }, () => web.send({ name: "shop/child" }));
    const fn = shop.createFunction({ id: "sends", triggers }, async ({ step }) => {
      await step.run("event", () => shop.send({ name: "shop/y", data: { a: 1 } }));
      await step.run("signal", () => web.sendSignal({ signal: "go" }));
      await shop.send({ name: "shop/z" });
      await step.invoke("child", { function: child, data: {} });
    });
    const [run, other] = await Promise.all([
      new FunctionTest(fn, { functions: [child] }).run(),
      new FunctionTest(child).run(),
    ]);
    expect(calls).toEqual([]);
    expect(run.sentEvents.map(({ name }) => name)).toEqual(expect.arrayContaining(["shop/y", "shop/z", "shop/child"]));
    expect(run.sentSignals).toEqual([{ signal: "go" }]);
    expect(other.sentEvents).toEqual([{ name: "shop/child", data: {} }]);
    await shop.send({ name: "shop/after" });
    expect(calls).toHaveLength(1);
  });
});
