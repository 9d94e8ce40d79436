import { readFileSync } from "node:fs";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType } from "../../src/events/event-types.ts";
import { cron } from "../../src/events/triggers.ts";
import type { FunctionOptions } from "../../src/functions/function-options.ts";
import { appManifest, createRegistry } from "../../src/functions/registry.ts";
import { referenceFunction } from "../../src/steps/references.ts";
import { SDK_VERSION } from "../../src/version.ts";

const client = new Holdfast({ id: "my-app", appVersion: "7", isDev: true }, {});
const manifest = (...options: (FunctionOptions & { onFailure?: () => unknown })[]): Record<string, unknown>[] => {
  const functions = options.map((each) => client.createFunction(each as never, () => 1));
  return JSON.parse(new TextDecoder().decode(appManifest(client, functions).functions));
};
const step = (slug: string, attempts: number) => ({
  step: {
    id: "step",
    name: "step",
    runtime: { type: "ws", url: `wss://connect/?fnId=${slug}&stepId=step` },
    retries: { attempts },
  },
});

describe("Registered configuration", () => {
  test("the configuration of the smallest function always states its retries", () => {
    expect(manifest({ id: "f", triggers: [] })).toEqual([
      { id: "my-app-f", name: "f", triggers: [], steps: step("my-app-f", 2) },
    ]);
    expect(appManifest(client, []).appName).toBe("my-app");
    expect(appManifest(client, []).appVersion).toBe("7");
  });

  test("every option is registered in the form of the wire", () => {
    const schema = v.object({ x: v.number() });
    const [config] = manifest({
      id: "hello",
      name: "Hello",
      retries: 20,
      description: "not sent",
      triggers: [
        { event: "app/hello", if: "event.data.x > 1" },
        { cron: "TZ=Europe/Berlin 0 * * * *", jitter: "30s" },
        cron("0 0 * * *"),
        cron("TZ=Europe/Berlin */30 0 0 * * *"),
        eventType("app/typed", { schema }),
        { event: eventType("app/typed-if", { schema }), if: "true" },
      ],
      idempotency: "event.data.id",
      rateLimit: { limit: 1, period: 3_600_000, key: "event.data.k" },
      throttle: { limit: 2, period: "90s", burst: 3, key: "k" },
      concurrency: [{ limit: 5, key: "event.data.u", scope: "fn" }, { limit: 10 }],
      debounce: { period: "1m", timeout: "1h", key: "k" },
      priority: { run: "event.data.p" },
      timeouts: { start: "1d", finish: "36h" },
      singleton: { mode: "skip", key: "k" },
      cancelOn: [
        { event: "app/cancel", timeout: "60m", match: "data.id" },
        { event: "app/stop", if: "true", timeout: new Date("2030-01-01T00:00:00Z") },
      ],
    });
    expect(config).toEqual({
      id: "my-app-hello",
      name: "Hello",
      triggers: [
        { event: "app/hello", expression: "event.data.x > 1" },
        { cron: "TZ=Europe/Berlin 0 * * * *", jitter: "30s" },
        { cron: "0 0 * * *" },
        { cron: "TZ=Europe/Berlin */30 0 0 * * *" },
        { event: "app/typed" },
        { event: "app/typed-if", expression: "true" },
      ],
      steps: step("my-app-hello", 20),
      idempotency: "event.data.id",
      rateLimit: { limit: 1, period: "1h", key: "event.data.k" },
      throttle: { limit: 2, period: "1m30s", burst: 3, key: "k" },
      concurrency: [{ limit: 5, key: "event.data.u", scope: "fn" }, { limit: 10 }],
      debounce: { period: "1m", timeout: "1h", key: "k" },
      priority: { run: "event.data.p" },
      timeouts: { start: "1d", finish: "1d12h" },
      singleton: { mode: "skip", key: "k" },
      cancel: [
        { event: "app/cancel", timeout: "1h", if: "event.data.id == async.data.id" },
        { event: "app/stop", timeout: "2030-01-01T00:00:00.000Z", if: "true" },
      ],
    });
    expect(Object.keys(config ?? {}).slice(0, 4)).toEqual(["id", "name", "triggers", "steps"]);
    expect(
      manifest({
        id: "b",
        triggers: [],
        batchEvents: { maxSize: 10, timeout: "5s", key: "k", if: "true" },
        concurrency: 3,
      })[0],
    ).toMatchObject({
      batchEvents: { maxSize: 10, timeout: "5s", key: "k", if: "true" },
      concurrency: 3,
    });
  });

  test("a failure handler is registered as a separate function, right after its own", () => {
    expect(manifest({ id: "f", name: "F", triggers: [], onFailure: () => 1 }, { id: "g", triggers: [] })).toMatchObject(
      [
        { id: "my-app-f" },
        {
          id: "my-app-f-failure",
          name: "F (failure)",
          triggers: [{ event: "inngest/function.failed", expression: "event.data.function_id == 'my-app-f'" }],
          steps: step("my-app-f-failure", 1),
        },
        { id: "my-app-g" },
      ],
    );
  });
});

describe("Invalid function definitions", () => {
  test.each<[Record<string, unknown>, RegExp]>([
    [{ id: "" }, /`id`/],
    [{ id: "f", retries: 21 }, /"f".*`retries`.*0 to 20/],
    [{ id: "f", retries: -1 }, /`retries`/],
    [{ id: "f", triggers: {} }, /triggers\[0\]/],
    [{ id: "f", triggers: [{ event: "" }] }, /triggers\[0\]\.event/],
    [{ id: "f", triggers: [{ event: "x".repeat(256) }] }, /255/],
    [{ id: "f", triggers: [{ event: "a" }, { event: "a" }] }, /twice/],
    [{ id: "f", triggers: Array.from({ length: 11 }, (_, i) => ({ event: `e${i}` })) }, /10 triggers/],
    [{ id: "f", triggers: { cron: "* * * * *", jitter: "10m" } }, /jitter/],
    [{ id: "f", middleware: [] }, /"f": `options` has no option `middleware`: delete it\. .* wrap them: /],
    [{ id: "f", checkpointing: false }, /no option `checkpointing`: delete it, /],
    [{ id: "f", optimizeParallelism: true }, /no option `optimizeParallelism`: delete it, parallel steps /],
    [{ id: "f", concurrency: { limit: 1, middleware: 1 } }, /no option `middleware`; valid options: /],
    [{}, /^A function without an id: `id` must be a non-empty string/],
    [{ id: "" }, /^A function without an id: /],
    [{ id: 5 }, /^A function with the id 5: `id` must be a non-empty string/],
    [{ id: "f", concurrency: [] }, /`concurrency` takes 1 to 2 entries, not 0/],
    [
      { id: "f", concurrency: "3" },
      /`concurrency` must be an integer ≥ 1 or an object such as \{ limit: 2 \}, not "3"\./,
    ],
    [{ id: "f", concurrency: ["3"] }, /`concurrency\[0\]` must be an integer ≥ 1 or an object/],
    [{ id: "f", concurrency: { limit: 0 } }, /concurrency\.limit/],
    [{ id: "f", concurrency: { limit: 1, scope: "planet" } }, /concurrency\.scope.*"account"/],
    [{ id: "f", batchEvents: { maxSize: 1, timeout: "5s" } }, /maxSize/],
    [{ id: "f", batchEvents: { maxSize: 2, timeout: "5s" }, priority: { run: "1" } }, /`batchEvents`.*`priority`/],
    [{ id: "f", rateLimit: { limit: 1, period: "25h" } }, /rateLimit\.period/],
    [{ id: "f", debounce: { period: "8d" } }, /debounce\.period/],
    [
      { id: "f", debounce: { period: "1m", timeout: "30s" } },
      /`debounce\.timeout` \(30000 ms\) is shorter than `debounce\.period` \(60000 ms\), which would then have no effect/,
    ],
    [{ id: "f", singleton: { mode: "wait" } }, /singleton\.mode/],
    [{ id: "f", cancelOn: [{ event: "a", if: "x", match: "y" }] }, /cancelOn\[0\]/],
    [
      { id: "f", cancelOn: [{ event: "a", match: "orderId" }] },
      /`cancelOn\[0\]\.match` is "orderId": an event has no field `orderId`, only `data`.*Write "data\.orderId"/,
    ],
    [
      { id: "f", cancelOn: [{ event: "a", match: "async.data.orderId" }] },
      /without the variable\. Write "data\.orderId"/,
    ],
    [{ id: "f", cancelOn: [{ event: "a", match: "event.orderId" }] }, /without the variable\. Write "data\.orderId"/],
    [{ id: "f", cancelOn: Array.from({ length: 6 }, () => ({ event: "a" })) }, /at most 5/],
    [
      { id: "f", throttle: { limit: 1, period: "1m", brust: 2 } },
      /no option `brust` \(did you mean `burst`\?\); valid options: /,
    ],
    [{ id: "f", onFailure: "x" }, /onFailure/],
    [{ id: "f", triggers: null }, /triggers\[0\]/],
    [{ id: "f", triggers: { event: "a/b", iff: "true" } }, /triggers\[0\].*no option `iff`/],
    [{ id: "f", triggers: { event: "a/*/b" } }, /"a\/\*\/b".*last character/],
    [{ id: "f", triggers: { event: "ab*" } }, /"ab\*".*last character, after a "\/" or "\."/],
    [{ id: "f", triggers: { event: "a/b", schema: {} } }, /triggers\[0\]\.schema.*Standard Schema/],
    [{ id: "f", throttle: { limit: 1 } }, /`throttle\.period` is missing/],
    [{ id: "a\nb" }, /`id` contains a control character/],
    [{ id: "a\0b" }, /`id` contains a control character/],
    [{ id: "x".repeat(10_000) }, /`id` must have at most 200 characters/],
    [{ id: { toString: 1 } }, /`id` must be a non-empty string/],
    [{ id: "f", name: "a\u001bb" }, /`name` contains a control character/],
    [
      { id: "f", triggers: { cron: "rubbish" } },
      /"f".*`triggers\[0\]\.cron` is "rubbish": it has 1 field instead of five: .*\(or six: seconds in front of these\)/,
    ],
    [
      { id: "f", triggers: [{ event: "a" }, { cron: "61 * * * *" }] },
      /`triggers\[1\]\.cron`.*"61" is not a valid minute \(0 to 59\)/,
    ],
    [{ id: "f", triggers: { cron: "* * * * * * *" } }, /it has 7 fields instead of five/],
    [{ id: "f", triggers: { cron: "60 * * * * *" } }, /"60" is not a valid second \(0 to 59\)/],
    [{ id: "f", triggers: { cron: "* * * * 9" } }, /day of the week/],
    [{ id: "f", triggers: { cron: "* * * FOO *" } }, /month/],
    [{ id: "f", triggers: { cron: "TZ=Mars/Olympus 0 0 * * *" } }, /unknown time zone "Mars\/Olympus"/],
    [
      { id: "f", triggers: { event: "a", if: "event.data.a = 1" } },
      /`triggers\[0\]\.if` is not a valid CEL expression: write "==" to compare/,
    ],
    [{ id: "f", triggers: { event: "a", if: "event.data.a === 1" } }, /write "=="/],
    [{ id: "f", triggers: { event: "a", if: "event.data.a == 'x" } }, /a string is not terminated/],
    [{ id: "f", triggers: { event: "a", if: "(event.data.a == 1" } }, /a "\)" is missing/],
    [{ id: "f", triggers: { event: "a", if: "event.data.a] == 1" } }, /"\]" closes nothing/],
    [{ id: "f", concurrency: { limit: 1, key: "event.data.a & 1" } }, /concurrency\.key.*"&&"/],
    [{ id: "f", cancelOn: [{ event: "a", if: "event.a = async.a" }] }, /cancelOn\[0\]\.if.*"=="/],
    [{ id: "f", idempotency: "event.data.id;" }, /idempotency.*a single expression/],
    [{ id: "f", deadline: new Date(0) }, /`deadline` is not a duration: a Date/],
    [{ id: "f", queue: "" }, /`queue` must be a name of 1 to 64/],
    [{ id: "f", retention: "7d" }, /`retention` must be an object/],
    [{ id: "f", retention: {} }, /`retention` needs `completed`, `failed` or both/],
    [{ id: "f", retention: { completed: "soon" } }, /`retention.completed` is not a duration/],
    [{ id: "f", queue: "*" }, /`queue` must be a name/],
    [{ id: "f", queue: ["gpu"] }, /`queue` must be a name/],
  ])("the error for an invalid definition names function and option: %j", (options, message) => {
    expect(() => client.createFunction({ triggers: [], ...options } as never, () => 1)).toThrow(
      expect.objectContaining({ code: "FUNCTION_INVALID", message: expect.stringMatching(message) }),
    );
  });

  test("a debounce may end after as long as it has to be quiet", () => {
    const debounce = { period: "1m", timeout: "60s" };
    expect(manifest({ id: "f", triggers: [], debounce })[0]).toMatchObject({
      debounce: { period: "1m", timeout: "1m" },
    });
  });

  test("how long runs of a function are kept is registered, as far as it says so", () => {
    const [fn] = manifest({ id: "f", triggers: [], retention: { completed: "2d", failed: "off" } });
    expect(fn?.holdfast).toEqual({ retention: { completed: "2d", failed: "off" } });
    expect(manifest({ id: "f", triggers: [], retention: { failed: 60_000 } })).toMatchObject([
      { holdfast: { retention: { failed: "1m" } } },
    ]);
  });

  test("the queue of a function is registered, and its failure handler is in the same one", () => {
    const onFailure = (): void => {};
    const inGpu = { holdfast: { queue: "gpu" } };
    expect(manifest({ id: "f", triggers: [], queue: "gpu", onFailure })).toMatchObject([inGpu, inGpu]);
    const [plain, failure] = manifest({ id: "g", triggers: [], onFailure });
    expect([plain?.holdfast, failure?.holdfast]).toEqual([undefined, undefined]);
    const [late] = manifest({ id: "h", triggers: [], queue: "gpu", deadline: "5s" });
    expect(late?.holdfast).toEqual({ queue: "gpu", deadline: "5s" });
  });

  test("every form of trigger is accepted", () => {
    const declared = eventType("app/declared", { schema: v.object({}), version: "2" });
    const triggers = [{ event: "*" }, { event: "a/*" }, { event: "a.b.*", if: "true" }, declared, { event: declared }];
    const [config] = manifest({ id: "f", triggers: triggers.slice(0, 4) });
    expect(config?.triggers).toEqual([
      { event: "*" },
      { event: "a/*" },
      { event: "a.b.*", expression: "true" },
      { event: "app/declared" },
    ]);
    expect(manifest({ id: "g", triggers: { event: declared, if: "1 == 1" } })[0]?.triggers).toEqual([
      { event: "app/declared", expression: "1 == 1" },
    ]);
  });

  test("a reference to no function is rejected", () => {
    const refer = referenceFunction as (options?: unknown) => unknown;
    for (const wrong of [undefined, null, {}, { functionId: 1 }, { functionId: "a", appId: 5 }]) {
      expect(() => refer(wrong)).toThrow(expect.objectContaining({ code: "FUNCTION_INVALID" }));
    }
  });

  test("the old form with three arguments is rejected with an explanation", () => {
    const create = client.createFunction as (...args: unknown[]) => unknown;
    expect(() => create.call(client, { id: "f" }, { event: "a" }, () => 1)).toThrow(/triggers belong in the first/);
  });
});

describe("Function registry", () => {
  const fn = client.createFunction({ id: "f", triggers: [], onFailure: () => 1 }, () => 1);

  test("the registry finds functions and failure handlers by app and slug", () => {
    const registry = createRegistry([{ client, functions: [fn] }]);
    expect(registry.find("my-app", "my-app-f")).toMatchObject({ isFailureHandler: false });
    expect(registry.find("my-app", "my-app-f-failure")).toMatchObject({ isFailureHandler: true });
    expect(registry.find("other", "my-app-f")).toBeUndefined();
    expect(registry.slugs("my-app")).toEqual(["my-app-f", "my-app-f-failure"]);
  });

  test("the registry rejects duplicates, functions of other clients and values that are not functions", () => {
    const twin = client.createFunction({ id: "f-failure", triggers: [] }, () => 1);
    const stranger = new Holdfast({ id: "other", isDev: true }, {}).createFunction({ id: "f", triggers: [] }, () => 1);
    expect(() => createRegistry([{ client, functions: [fn, twin] }])).toThrow(
      expect.objectContaining({ code: "FUNCTION_DUPLICATE" }),
    );
    const other = client.createFunction({ id: "other", triggers: [] }, () => 1);
    expect(() => appManifest(client, [other, fn, fn])).toThrow(
      expect.objectContaining({
        code: "FUNCTION_DUPLICATE",
        message: 'functions[1] and functions[2] are the same function "my-app-f": list it once.',
      }),
    );
    expect(() => appManifest(client, [stranger])).toThrow(expect.objectContaining({ code: "FUNCTION_INVALID" }));
    expect(() => appManifest(client, [{} as never])).toThrow(expect.objectContaining({ code: "FUNCTION_INVALID" }));
    const twice = [
      { client, functions: [] },
      { client, functions: [] },
    ];
    expect(() => createRegistry(twice)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

test("the reported SDK version is that of the package", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  expect(SDK_VERSION).toBe(version);
});
