import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType } from "../../src/events/event-types.ts";
import { appManifest, registrationHints } from "../../src/functions/registry.ts";

const schema = v.object({ id: v.number() });
const schemas = { "shop/order.placed": schema, "shop/order.paid": schema };
const client = new Holdfast({ id: "shop", isDev: true, schemas }, {});
const free = new Holdfast({ id: "shop", isDev: true }, {});

const hintsFor = (of: Holdfast<never>, options: object): readonly string[] => {
  const fn = of.createFunction({ id: "f", ...options } as never, () => 1);
  const hints = registrationHints([{ client: of as never, functions: [fn as never] }]);
  const [config] = JSON.parse(new TextDecoder().decode(appManifest(of as never, [fn as never]).functions));
  // The gateway is told the same.
  expect((config.holdfast?.hints ?? []).map((hint: string) => `Function "shop-f": ${hint}`)).toEqual(hints);
  return hints;
};

describe("Names of events that an app has not declared", () => {
  test.each([
    ["a trigger", { triggers: [{ event: "shop/order.placd" }] }, "`triggers[0]`", "shop/order.placed"],
    ["one trigger, without a list", { triggers: { event: "Shop/order.paid" } }, "`triggers[0]`", "shop/order.paid"],
    [
      "what cancels a run",
      { triggers: [{ event: "shop/order.placed" }], cancelOn: [{ event: "shop/order.piad" }] },
      "`cancelOn[0]`",
      "shop/order.paid",
    ],
  ])("%s: the declared name that comes close is said", (_what, options, place, near) => {
    const [hint, ...more] = hintsFor(client as never, options);
    expect(more).toEqual([]);
    expect(hint).toContain(`Function "shop-f": ${place} names the event "`);
    expect(hint).toContain(`Did you mean "${near}"?`);
  });

  test.each([
    ["a declared one", { triggers: [{ event: "shop/order.placed" }] }],
    ["another app's, which is like none", { triggers: [{ event: "billing/invoice.sent" }] }],
    ["one that differs by more than letters", { triggers: [{ event: "shop/order.delayed" }] }],
    ["a pattern", { triggers: [{ event: "shop/order.*" }] }],
    ["one with a schema of its own", { triggers: [{ event: "shop/order.pait", schema }] }],
    ["one of eventType()", { triggers: [eventType("shop/order.pait"), { event: eventType("shop/order.pai") }] }],
    ["a schedule, and the gateway's own", { triggers: [{ cron: "0 9 * * *" }, { event: "inngest/function.failed" }] }],
    ["none", {}],
  ])("nothing is said of %s", (_what, options) => {
    expect(hintsFor(client as never, options)).toEqual([]);
  });

  test("nothing is said where the app declares no events", () => {
    expect(hintsFor(free as never, { triggers: [{ event: "shop/order.placd" }] })).toEqual([]);
  });
});
