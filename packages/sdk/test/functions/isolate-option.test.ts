import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType } from "../../src/events/event-types.ts";
import { clientDataOf, clientOf } from "../../src/functions/client-data.ts";
import { definitionOf, type HoldfastFunction } from "../../src/functions/define-function.ts";
import type { IsolateOption } from "../../src/functions/isolate-option.ts";
import { isolatedFunctionOf, loadIsolated } from "../../src/functions/load-isolated.ts";
import { appManifest, createRegistry, type RegisteredFunction } from "../../src/functions/registry.ts";
import { FunctionTest } from "../../src/testing.ts";
import { client, silent } from "../execution/support.ts";

const module = new URL("./isolated/report.mjs", import.meta.url);
const coded = (code: string, text: RegExp): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(text) });
const registered = (fn: HoldfastFunction, by: Holdfast = client): RegisteredFunction =>
  createRegistry([{ client: by, functions: [fn] }]).find(by.id, fn.slug) as RegisteredFunction;
const load = (fn: HoldfastFunction): Promise<RegisteredFunction> => {
  const found = registered(fn);
  const isolated = isolatedFunctionOf(found);
  if (isolated === undefined) throw new Error("It is not isolated.");
  // As it would cross to a thread.
  return loadIsolated(structuredClone(isolated), found.client);
};

describe("createFunction with isolate", () => {
  test("an isolated function is registered like any other, and knows its module, export and budget", () => {
    const fn = client.createFunction({ id: "a", triggers: [], isolate: { module, export: "report", budget: "20s" } });
    expect(definitionOf(fn)?.isolate).toEqual({ module: module.href, exportName: "report", budgetMs: 20_000 });
    expect(new TextDecoder().decode(appManifest(client, [fn]).functions)).not.toContain("report");
    const other = client.createFunction({ id: "b", triggers: [], isolate: { module: module.href, export: "report" } });
    expect(definitionOf(other)?.isolate?.budgetMs).toBe(300_000);
  });

  test.each<[string, unknown, RegExp]>([
    ["no object", "report.js", /`isolate` must be an object/],
    ["an unknown option", { module, export: "report", threads: 2 }, /has no option `threads`/],
    ["no module", { export: "report" }, /must be the file URL or the absolute path of a module/],
    ["a path instead of a URL", { module: "./report.js", export: "report" }, /as in new URL\("\.\/report\.js"/],
    ["another scheme", { module: new URL("https://example.test/a.js"), export: "report" }, /not "https:/],
    ["no export", { module }, /`isolate\.export` must be a non-empty string/],
    [
      "a budget of 0",
      { module, export: "report", budget: 0 },
      /`isolate\.budget` must be between 10 ms and 86400000 ms/,
    ],
    ["a budget that is no duration", { module, export: "report", budget: "soon" }, /`isolate\.budget`/],
  ])("%s is refused where the function is defined", (_what, isolate, text) => {
    const define = (): unknown => client.createFunction({ id: "bad", triggers: [], isolate: isolate as IsolateOption });
    expect(define).toThrow(coded("FUNCTION_INVALID", text));
    expect(define).toThrow(/Function "bad"/);
  });

  test("a module that does not exist is refused where the function is defined", () => {
    const missing = new URL("./isolated/missing.js", import.meta.url);
    const define = (): unknown =>
      client.createFunction({ id: "bad", triggers: [], isolate: { module: missing, export: "report" } });
    expect(define).toThrow(coded("ISOLATE_MODULE_INVALID", /Function "bad": there is no file .*missing\.js/));
  });

  test("the file of TypeScript sources is found by the name that it is compiled to", () => {
    const compiled = new URL("./isolate-option.test.js", import.meta.url);
    expect(() =>
      client.createFunction({ id: "ts", triggers: [], isolate: { module: compiled, export: "report" } }),
    ).not.toThrow();
  });

  test("a handler beside isolate is refused, and a function without either, too", () => {
    const isolate = { module, export: "report" };
    // @ts-expect-error there is no handler argument
    const both = (): unknown => client.createFunction({ id: "bad", triggers: [], isolate }, () => 1);
    expect(both).toThrow(coded("FUNCTION_INVALID", /remove the second argument/));
    // @ts-expect-error the handler is missing
    const neither = (): unknown => client.createFunction({ id: "bad", triggers: [] });
    expect(neither).toThrow(coded("FUNCTION_INVALID", /the second argument must be the handler/));
  });

  test("the data of its triggers types how it is invoked", () => {
    const typed = eventType("app/typed", { schema: v.object({ id: v.string() }) });
    const fn = client.createFunction({ id: "typed", triggers: typed, isolate: { module, export: "report" } });
    expectTypeOf(fn).toExtend<HoldfastFunction<{ id: string }>>();
  });
});

describe("The module of an isolated function", () => {
  const isolated = (exportName: string, file = module) =>
    client.createFunction({ id: "a", triggers: [], isolate: { module: file, export: exportName } });

  test("a plain handler is found by its export, also in what a CommonJS module exports", async () => {
    const { definition } = await load(isolated("report"));
    expect(definition.handler({ event: { data: { text: "x" } } } as never)).toBe("plain x");
    const common = isolated("inside", new URL("./isolated/common.cjs", import.meta.url));
    expect((await load(common)).definition.handler({} as never)).toBe("inside");
  });

  test.each([
    ["is missing", "nothing", /its export `nothing` is missing/],
    ["is no function", "text", /its export `text` is no function but "no function"/],
  ])("an export that %s is reported with the function and the module", async (_what, name, text) => {
    await expect(load(isolated(name))).rejects.toThrow(coded("ISOLATE_MODULE_INVALID", text));
    await expect(load(isolated(name))).rejects.toThrow(/report\.mjs of the isolated function "app-a"/);
  });

  test("a module that throws is reported with what it threw", async () => {
    const broken = isolated("report", new URL("./isolated/broken.mjs", import.meta.url));
    await expect(load(broken)).rejects.toThrow(coded("ISOLATE_MODULE_INVALID", /this module is broken/));
  });

  test("a schema cannot be handed to a plain handler: the error says what to export instead", async () => {
    const schema = v.object({ n: v.number() });
    const fn = client.createFunction({
      ...{ id: "a", triggers: { event: "app/x", schema } },
      isolate: { module, export: "report" },
    });
    await expect(load(fn)).rejects.toThrow(coded("ISOLATE_MODULE_INVALID", /"app\/x" has a schema.*createFunction/));
  });

  test("a function made in the module brings its handler, schemas and client along", async () => {
    const there = new Holdfast({ id: "app", isDev: true, logger: silent }, {});
    const own = there.createFunction(
      { id: "own", triggers: { event: "app/x", schema: v.object({ n: v.number() }) } },
      ({ event }) => event.data.n + 1,
    );
    const other = there.createFunction({ id: "other", triggers: [] }, () => 1);
    Object.assign(globalThis, {
      [Symbol.for("holdfast.test.own")]: own,
      [Symbol.for("holdfast.test.ownOther")]: other,
    });
    const ownModule = new URL("./isolated/own.mjs", import.meta.url);
    const triggers = { event: "app/x", schema: v.object({ n: v.number() }) };
    const fn = client.createFunction({ id: "own", triggers, isolate: { module: ownModule, export: "own" } });
    const loaded = await load(fn);
    expect(loaded.client).toBe(there);
    expect([...loaded.definition.schemas.keys()]).toEqual(["app/x"]);
    const wrong = client.createFunction({
      id: "own",
      triggers,
      isolate: { module: ownModule, export: "ownOther" },
    });
    await expect(load(wrong)).rejects.toThrow(coded("ISOLATE_MODULE_INVALID", /is the function "app-other"/));
  });

  test("its retries are those of the function that names it; `retryIf` is the module's", async () => {
    const there = new Holdfast({ id: "app", isDev: true, logger: silent }, {});
    const retryIf = (): boolean => false;
    const own = there.createFunction({ id: "own", triggers: [], retries: 7, retryIf }, () => 1);
    Object.assign(globalThis, { [Symbol.for("holdfast.test.retried")]: own });
    const isolate = { module: new URL("./isolated/retried.mjs", import.meta.url), export: "retried" };
    const retries = { attempts: 4, base: "5s", max: "1h" };
    const { definition } = await load(client.createFunction({ id: "own", triggers: [], retries, isolate }));
    expect(definition).toMatchObject({ retryPolicy: { attempts: 4, baseMs: 5_000, maxMs: 3_600_000 }, retryIf });
    const plain = await load(
      client.createFunction({ id: "a", triggers: [], retries, isolate: { module, export: "report" } }),
    );
    expect(plain.definition.retryPolicy).toEqual(definition.retryPolicy);
  });

  test("FunctionTest runs the handler of the module in this thread", async () => {
    const event = { name: "app/x", data: { text: "tested" } };
    const { output } = await new FunctionTest(isolated("report"), { event }).run();
    expect(output).toBe("plain tested");
  });
});

describe("The client of plain handlers", () => {
  test("crosses to a thread as plain data, with the keys that main has", () => {
    const signingKey = "signkey-test-0123456789abcdef0123456789abcdef";
    const options = { id: "shop", appVersion: "2", eventKey: "events", signingKey, baseUrl: "http://gateway.test" };
    const app = new Holdfast(options, {});
    const data = structuredClone(clientDataOf(app));
    const there = clientOf(data, silent);
    const { logger: _here, ...before } = app.options;
    const { logger: _there, ...after } = there.options;
    expect(JSON.parse(JSON.stringify(after))).toEqual(JSON.parse(JSON.stringify(before)));
    expect(after.signingKey?.reveal()).toBe(before.signingKey?.reveal());
    expect(after.eventKey?.reveal()).toBe("events");
    expect(String(after.eventKey), "it stays out of logs").toBe("[secret]");
  });
});
