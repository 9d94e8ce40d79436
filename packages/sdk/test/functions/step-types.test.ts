import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType, type ReceivedEvent, type UntypedData } from "../../src/events/event-types.ts";
import { referenceFunction } from "../../src/steps/references.ts";
import { stepSignal } from "../../src/steps/step-signal.ts";
import type { StepTools } from "../../src/steps/step-types.ts";

/** These are checked by the compiler; running them proves that defining works. */
const client = new Holdfast({ id: "app", isDev: true }, {});
const paid = eventType("app/paid", { schema: v.object({ id: v.string(), tip: v.optional(v.number(), 0) }) });
const typed = new Holdfast({ id: "app", isDev: true, schemas: { "app/x": v.object({ n: v.number() }) } }, {});

test("results of waits are typed by their event", () => {
  const check = async (step: StepTools): Promise<void> => {
    const declared = await step.waitForEvent("a", { event: paid, timeout: "1h" });
    expectTypeOf(declared).toEqualTypeOf<ReceivedEvent<"app/paid", { id: string; tip: number }> | null>();
    const free = await step.waitForEvent("b", { event: "app/free", timeout: 5, match: "data.id" });
    expectTypeOf(free).toEqualTypeOf<ReceivedEvent<"app/free", UntypedData> | null>();
    const schema = await step.waitForEvent("c", { event: "app/s", timeout: 5, schema: v.object({ on: v.boolean() }) });
    expectTypeOf(schema).toEqualTypeOf<ReceivedEvent<"app/s", { on: boolean }> | null>();
    const signal = await step.waitForSignal<{ at: Date }>("d", { signal: "s", timeout: new Date() });
    expectTypeOf(signal).toEqualTypeOf<{ signal: string; data: { at: string } } | null>();
    expectTypeOf(await step.sendSignal("e", { signal: "s" })).toEqualTypeOf<{ runId?: string }>();
    expectTypeOf(await step.fetch("http://a.test")).toEqualTypeOf<Response>();
    // @ts-expect-error a wait has an end
    void (() => step.waitForEvent("x", { event: "e" }));
    // @ts-expect-error it may be null
    void (() => declared.data);
    // @ts-expect-error not a way to resolve a conflict
    void (() => step.waitForSignal("x", { signal: "s", timeout: 1, onConflict: "ignore" }));
    // @ts-expect-error the body is text
    void (() => step.fetch("http://a.test", { body: new Uint8Array(1) }));
  };
  expectTypeOf(check).toBeFunction();
});

test("waits use the schemas of the client", () => {
  typed.createFunction({ id: "w", triggers: [] }, async ({ step }) => {
    expectTypeOf(await step.waitForEvent("a", { event: "app/x", timeout: 1 })).toEqualTypeOf<ReceivedEvent<
      "app/x",
      { n: number }
    > | null>();
  });
});

test("invoke types its data and result by the function", () => {
  const declared = client.createFunction({ id: "a", triggers: paid }, async () => ({ at: new Date(), n: 1 }));
  const nothing = client.createFunction({ id: "b", triggers: [] }, () => {});
  const several = client.createFunction({ id: "c", triggers: [paid, { event: "app/free" }] }, () => "c" as const);
  const withSchemas = typed.createFunction({ id: "d", triggers: { event: "app/x" } }, ({ event }) => event.data.n);
  const check = async (step: StepTools): Promise<void> => {
    expectTypeOf(await step.invoke("a", { function: declared, data: { id: "1" } })).toEqualTypeOf<{
      at: string;
      n: number;
    }>();
    expectTypeOf(await step.invoke("b", { function: nothing })).toEqualTypeOf(null);
    expectTypeOf(await step.invoke("c", { function: several, data: { id: "1" }, timeout: "1h" })).toEqualTypeOf<"c">();
    expectTypeOf(await step.invoke("d", { function: withSchemas, data: { n: 1 } })).toEqualTypeOf<number>();
    const reference = referenceFunction<typeof declared>({ functionId: "a", appId: "app" });
    expectTypeOf(await step.invoke("e", { function: reference, data: { id: "1" } })).toEqualTypeOf<{
      at: string;
      n: number;
    }>();
    const untyped = referenceFunction({ functionId: "z" });
    expectTypeOf(await step.invoke("f", { function: untyped, data: { any: 1 } })).toEqualTypeOf<unknown>();
    // @ts-expect-error the data lacks an id
    void (() => step.invoke("x", { function: declared, data: {} }));
    // @ts-expect-error the data is missing
    void (() => step.invoke("x", { function: declared }));
    // @ts-expect-error n is a number
    void (() => step.invoke("x", { function: withSchemas, data: { n: "1" } }));
    // @ts-expect-error the reference has the same types
    void (() => step.invoke("x", { function: reference, data: { id: 1 } }));
    // @ts-expect-error a slug alone could be anything
    void (() => step.invoke("x", { function: "app-a" }));
  };
  expectTypeOf(check).toBeFunction();
});

test("a compensation gets the step's result as JSON, and the error", () => {
  const check = async (step: StepTools): Promise<void> => {
    const booked = await step.run("a", () => ({ at: new Date(), n: 1 }), {
      compensate: (result, error) => {
        expectTypeOf(result).toEqualTypeOf<{ at: string; n: number }>();
        expectTypeOf(error).toEqualTypeOf<Error>();
      },
      retries: 1,
    });
    expectTypeOf(booked).toEqualTypeOf<{ at: string; n: number }>();
    expectTypeOf(
      await step.run("b", (x: number) => `${x}`, { compensate: (result) => expectTypeOf(result).toBeString() }, 1),
    ).toEqualTypeOf<string>();
    // @ts-expect-error there is no such option
    void (() => step.run("x", () => 1, { compensation: () => {} }));
    // @ts-expect-error the body needs its argument
    void (() => step.run("x", (n: number) => n, { compensate: () => {} }));
  };
  expectTypeOf(check).toBeFunction();
});

test("a timeout is a duration, beside the other options and before the arguments", () => {
  const check = async (step: StepTools): Promise<void> => {
    expectTypeOf(await step.run("a", () => 1, { timeout: "30s" })).toEqualTypeOf<number>();
    expectTypeOf(
      await step.run({ id: "a", timeout: "30s", compensate: (n) => expectTypeOf(n).toBeNumber() }, () => 1),
    ).toEqualTypeOf<number>();
    expectTypeOf(await step.run({ id: "a", retries: 1 }, (x: number) => `${x}`, 1)).toBeString();
    expectTypeOf(
      await step.run("b", (x: number) => `${x}`, { timeout: 30_000, retries: 1 }, 1),
    ).toEqualTypeOf<string>();
    // @ts-expect-error a point in time is no duration
    void (() => step.run("c", () => 1, { timeout: new Date() }));
    expectTypeOf(stepSignal()).toEqualTypeOf<AbortSignal>();
  };
  expectTypeOf(check).toBeFunction();
});

test("connect() accepts functions of any types", () => {
  const functions: readonly import("../../src/functions/define-function.ts").HoldfastFunction[] = [
    client.createFunction({ id: "a", triggers: paid, deadline: "1h" }, ({ event }) => event.data.tip),
    client.createFunction({ id: "b", triggers: [] }, ({ version }) => version),
    client.createFunction({ id: "only-invoked" }, ({ event }) => expectTypeOf(event.data).toEqualTypeOf<UntypedData>()),
  ];
  expectTypeOf(functions).items.toBeObject();
  // @ts-expect-error a duration is text or milliseconds
  void (() => client.createFunction({ id: "c", triggers: [], deadline: true }, () => 1));
});
