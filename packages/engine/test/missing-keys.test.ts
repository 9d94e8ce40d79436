import type { LogLevel } from "@holdfast/core";
import { beforeEach, describe, expect, it } from "vitest";
import { Expressions } from "../src/expressions/expressions.ts";
import { EventReader } from "../src/flow/event-reader.ts";
import { readFunctionSettings } from "../src/flow/function-settings.ts";
import { type Start, type StartStage, singletonKeyOf, startOf } from "../src/flow/triggers.ts";

const TYPO = "event.data.oderId";
const FUNCTION = "shop-order";
const NOW_MS = 1_000_000;

const lines: { readonly level: LogLevel; readonly message: string; readonly data: unknown }[] = [];
let expressions: Expressions;
let ids = 0;

beforeEach(() => {
  lines.splice(0);
  expressions = new Expressions((level, message, data) => void lines.push({ level, message, data }));
});

interface Case {
  readonly event?: object;
  readonly functionId?: string;
  readonly stage?: StartStage;
  readonly nowMs?: number;
}

function start(config: object, how: Case = {}): Start {
  const { event = { name: "shop/placed", data: { orderId: 1 } }, functionId = FUNCTION, stage = "event" } = how;
  const settings = readFunctionSettings(functionId, [], { ...config });
  const reader = new EventReader(() => event, expressions, how.nowMs ?? NOW_MS);
  return startOf(functionId, settings, reader, stage, () => `id${ids++}`);
}

const other = { name: "shop/placed", data: { orderId: 2 } };

describe("A key that has no value in the event", () => {
  it.each([
    ["idempotency", { idempotency: TYPO }],
    ["idempotency", { idempotency: "event.data.orderId > 'text'" }],
    ["idempotency", { idempotency: "event.data.nothing" }],
    ["singleton.key", { singleton: { mode: "skip", key: TYPO } }],
    ["singleton.key", { singleton: { mode: "cancel", key: TYPO } }],
  ])("no rule of %s stops the run: %j", (option, config) => {
    expect(start(config, { event: { name: "shop/placed", data: { orderId: 1, nothing: null } } }).flowRules).toEqual(
      [],
    );
    expect(lines.at(-1)).toMatchObject({
      level: "warn",
      message: expect.stringMatching(
        new RegExp(`^Function "shop-order": \`${option}\` \\(\`event.data.*has no value in`),
      ),
      data: { functionId: "shop-order", option, event: "shop/placed" },
    });
  });

  it("each event is debounced by itself", () => {
    const config = { debounce: { period: "5s", key: TYPO } };
    const [one, two] = [start(config).window, start(config, { event: other }).window];
    expect(one?.key).not.toBe(two?.key);
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining("`debounce.key`")]);
  });

  it.each([
    ["rateLimit.key", { rateLimit: { limit: 1, period: "1h", key: TYPO } }],
    ["concurrency.key", { concurrency: { limit: 1, key: TYPO } }],
    ["throttle.key", { throttle: { limit: 1, period: "1h", key: TYPO } }],
    ["batchEvents.key", { batchEvents: { maxSize: 2, timeout: "5s", key: TYPO } }],
  ])("events without a value for %s are one group, which is said", (option, config) => {
    const [one, two] = [start(config), start(config, { event: other })];
    const groupOf = ({ flowRules, lane, window }: Start) => [flowRules, lane, window?.key];
    expect(groupOf(one)).toEqual(groupOf(two));
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining(`\`${option}\` (\`${TYPO}\`)`)]);
  });

  it("it is said once of a function, an option and an expression, and again after an hour", () => {
    const config = { idempotency: TYPO };
    for (const event of [{ name: "shop/placed", data: {} }, other]) start(config, { event });
    expect(lines).toHaveLength(1);
    start(config, { functionId: "shop-other" });
    start({ idempotency: "event.data.odrId" });
    start({ singleton: { mode: "skip", key: TYPO } });
    expect(lines).toHaveLength(4);
    start(config, { nowMs: NOW_MS + 3_599_999 });
    expect(lines).toHaveLength(4);
    start(config, { nowMs: NOW_MS + 3_600_000 });
    expect(lines).toHaveLength(5);
  });

  it("schedules have no data, which is no mistake; invocations have those of their caller", () => {
    const config = { singleton: { mode: "skip", key: TYPO } };
    start(config, { event: { name: "inngest/scheduled.timer", data: { cron: "* * * * *" } } });
    expect(lines).toEqual([]);
    start(config, { event: { name: "inngest/function.invoked", data: {} } });
    expect(lines).toHaveLength(1);
  });

  it("a chain has no singleton key then", () => {
    const settings = readFunctionSettings(FUNCTION, [], { singleton: { mode: "skip", key: TYPO } });
    const reader = new EventReader(() => other, expressions, NOW_MS);
    expect(singletonKeyOf(FUNCTION, settings, reader)).toBeUndefined();
  });

  it.each([0, false, "", [null]])("%j is a value", (orderId) => {
    const event = { name: "shop/placed", data: { orderId } };
    const rules = start({ idempotency: "event.data.orderId", singleton: { key: "event.data.orderId" } }, { event });
    const shown = `event.data.orderId = ${typeof orderId === "string" ? orderId : JSON.stringify(orderId)}`;
    expect(rules.flowRules).toMatchObject([
      { type: "rate", name: "idempotency", shown },
      { type: "single", shown },
    ]);
    expect(lines).toEqual([]);
  });

  it("an option without a key has one for all", () => {
    const { flowRules } = start({ singleton: { mode: "skip" } });
    expect(flowRules).toMatchObject([{ type: "single", key: "" }]);
    expect(flowRules[0]).not.toHaveProperty("shown");
  });
});

describe("A key with half a character, as texts have that were cut", () => {
  it.each([
    ["idempotency", { idempotency: "event.data.title" }],
    ["rateLimit", { rateLimit: { limit: 1, period: "1h", key: "event.data.title" } }],
    ["singleton", { singleton: { mode: "skip", key: "event.data.title" } }],
  ])("is another than one with another half: %s", (_option, config) => {
    const ruleOf = (title: string) =>
      start(config, { event: { name: "shop/placed", data: { title } } }).flowRules?.[0]?.key;
    expect(ruleOf("a\ud83d")).toBe(ruleOf("a\ud83d"));
    expect(ruleOf("a\ud83d")).not.toBe(ruleOf("a\ud83e"));
  });
});
