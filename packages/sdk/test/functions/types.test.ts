import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import {
  type CheckedOutgoings,
  eventType,
  type ReceivedEvent,
  staticSchema,
  type UntypedData,
} from "../../src/events/event-types.ts";
import type { CronEvent, FailureEvent } from "../../src/events/triggers.ts";
import { cron } from "../../src/events/triggers.ts";
import type { RunError } from "../../src/functions/define-function.ts";
import type { StepResult } from "../../src/steps/step-result.ts";
import type { StepTools } from "../../src/steps/step-types.ts";

/** These are checked by the compiler; running them proves that defining works. */
const client = new Holdfast({ id: "app", isDev: true }, {});
const typed = eventType("app/typed", { schema: v.object({ id: v.string(), count: v.optional(v.number(), 0) }) });
const fixed = eventType("app/fixed", { schema: staticSchema<{ readonly kind: "x" | "y" }>() });

describe("Types of the handler's event", () => {
  test("a declared event types the handler's event", () => {
    client.createFunction({ id: "a", triggers: typed }, ({ event, events }) => {
      expectTypeOf(event).toEqualTypeOf<ReceivedEvent<"app/typed", { id: string; count: number }>>();
      expectTypeOf(events).toEqualTypeOf<readonly ReceivedEvent<"app/typed", { id: string; count: number }>[]>();
    });
    client.createFunction({ id: "b", triggers: [{ event: fixed, if: "true" }] }, ({ event }) => {
      expectTypeOf(event.data.kind).toEqualTypeOf<"x" | "y">();
      expectTypeOf(event.name).toEqualTypeOf<"app/fixed">();
    });
  });

  test("several triggers type the event as a union discriminated by name", () => {
    client.createFunction({ id: "a", triggers: [typed, { event: "app/free" }, cron("0 * * * *")] }, ({ event }) => {
      expectTypeOf(event.name).toEqualTypeOf<"app/typed" | "app/free" | "inngest/scheduled.timer">();
      if (event.name === "app/typed") expectTypeOf(event.data.count).toEqualTypeOf<number>();
      if (event.name === "app/free") expectTypeOf(event.data).toEqualTypeOf<UntypedData>();
      if (event.name === "inngest/scheduled.timer") expectTypeOf(event).toEqualTypeOf<CronEvent>();
    });
  });

  test("a wildcard allows any event name, no trigger leaves the event untyped", () => {
    client.createFunction({ id: "a", triggers: { event: "app/*" } }, ({ event }) => {
      expectTypeOf(event.name).toEqualTypeOf<string>();
    });
    client.createFunction({ id: "b", triggers: [] }, ({ event }) => {
      expectTypeOf(event).toEqualTypeOf<ReceivedEvent<string, UntypedData>>();
    });
  });

  test("the event of a failure handler contains the event of the run", () => {
    client.createFunction(
      {
        id: "a",
        triggers: typed,
        onFailure: ({ event, error }) => {
          expectTypeOf(event).toEqualTypeOf<FailureEvent<ReceivedEvent<"app/typed", { id: string; count: number }>>>();
          expectTypeOf(event.data.event.data.id).toEqualTypeOf<string>();
          expectTypeOf(error).toEqualTypeOf<RunError>();
          expectTypeOf(error.compensation?.undone).toEqualTypeOf<readonly string[] | undefined>();
        },
      },
      () => 1,
    );
  });

  test("schemas of the client type the handler's event", () => {
    const withSchemas = new Holdfast({ id: "app", isDev: true, schemas: { "app/x": v.object({ n: v.number() }) } }, {});
    withSchemas.createFunction({ id: "a", triggers: { event: "app/x" } }, ({ event, step }) => {
      expectTypeOf(event.data).toEqualTypeOf<{ n: number }>();
      // @ts-expect-error n is a number
      void (() => step.sendEvent("s", { name: "app/x", data: { n: "1" } }));
      // @ts-expect-error no schema has this name
      void (() => step.sendEvent("s", { name: "app/y", data: { n: 1 } }));
    });
    const calls = [
      () => withSchemas.send({ name: "app/x", data: { n: 1 } }),
      () => withSchemas.send([{ name: "app/x", data: { n: 1 } }]),
      // @ts-expect-error no schema has this name
      () => withSchemas.send({ name: "app/y", data: { n: 1 } }),
      // @ts-expect-error no schema has the second name
      () => withSchemas.send([{ name: "app/x", data: { n: 1 } }, { name: "app/unknown" }]),
      // What is declared on its own, or has a name that is not known here, is free.
      () => withSchemas.send([typed.create({ id: "i" }), { name: "app/x", data: { n: 1 } }]),
      () => withSchemas.send(typed.create({ id: "i" })),
      (name: string) => withSchemas.send({ name, data: {} }),
      (tenant: string) => withSchemas.send({ name: `app/${tenant}`, data: {} }),
      // @ts-expect-error n is a number
      () => withSchemas.send({ name: "app/x", data: { n: "1" } }),
      // @ts-expect-error data is missing
      () => withSchemas.send({ name: "app/x" }),
      // @ts-expect-error n is a number
      () => withSchemas.send([{ name: "app/x", data: { n: "1" } }]),
    ];
    expectTypeOf(calls).toBeArray();
    type Schemas = NonNullable<(typeof withSchemas)["schemas"]>;
    // What a compiler says of wrong data is made of this: "string is not assignable to number", and not "to never".
    type Expected = CheckedOutgoings<{ readonly name: "app/x"; readonly data: { readonly n: string } }, Schemas>;
    expectTypeOf<Expected["data"]["n"]>().toEqualTypeOf<number>();
  });
});

test("creating a declared event validates its data", () => {
  const event = typed.create({ id: "i" });
  expectTypeOf(event.name).toEqualTypeOf<"app/typed">();
  void (() => client.send(event));
  void (() => client.send([event, fixed.create({ kind: "x" })]));
  // @ts-expect-error id is missing
  typed.create({});
  // @ts-expect-error there is no such kind
  fixed.create({ kind: "z" });
});

test("step results have the type that JSON leaves of them", () => {
  const check = async (step: StepTools): Promise<void> => {
    expectTypeOf(
      await step.run("a", () => ({ at: new Date(), n: 1, f: () => 1, o: undefined as string | undefined })),
    ).toEqualTypeOf<{
      at: string;
      n: number;
      o: string | undefined;
    }>();
    expectTypeOf(await step.run("a", async () => [1, new Date()] as const)).toEqualTypeOf<readonly [1, string]>();
    expectTypeOf(await step.run("a", () => undefined)).toEqualTypeOf<undefined>();
    expectTypeOf(await step.run("a", () => {})).toEqualTypeOf<void>();
    expectTypeOf(await step.run("a", (x: number, y: string) => `${x}${y}`, 1, "b")).toEqualTypeOf<string>();
    expectTypeOf(await step.sleep("a", "1h")).toEqualTypeOf<void>();
    expectTypeOf(await step.sendEvent("a", { name: "x" })).toEqualTypeOf<{ ids: string[] }>();
    // @ts-expect-error the body takes a number
    void (() => step.run("a", (x: number) => x, "1"));
  };
  expectTypeOf(check).toBeFunction();
  expectTypeOf<StepResult<unknown>>().toEqualTypeOf<unknown>();
  expectTypeOf<StepResult<string | null>>().toEqualTypeOf<string | null>();
  expectTypeOf<StepResult<Map<string, number>>>().toEqualTypeOf<Record<string, never>>();
  expectTypeOf<StepResult<{ readonly a?: number }>>().toEqualTypeOf<{ readonly a?: number }>();
  expectTypeOf<StepResult<(number | undefined)[]>>().toEqualTypeOf<(number | null)[]>();
});

test("what JSON empties has no type that code could use by mistake", () => {
  type Empty = Record<string, never>;
  class Declined extends Error {
    readonly reason = "limit" as "limit" | "fraud";
    readonly at = new Date();
  }
  expectTypeOf<StepResult<Uint8Array>>().toEqualTypeOf<Record<number, number>>();
  expectTypeOf<StepResult<Float64Array>>().toEqualTypeOf<Record<number, number>>();
  type NotJson<T> = { readonly "is not JSON": T };
  expectTypeOf<StepResult<BigInt64Array>>().toEqualTypeOf<NotJson<BigInt64Array>>();
  // With `never` it would fit everywhere.
  expectTypeOf<StepResult<bigint>>().toEqualTypeOf<NotJson<bigint>>();
  expectTypeOf<StepResult<{ n: bigint | string }>["n"]>().toEqualTypeOf<NotJson<bigint> | string>();
  expectTypeOf<StepResult<() => number>>().toEqualTypeOf<NotJson<() => number>>();
  expectTypeOf<StepResult<{ f(): number; n: 1 }>>().toEqualTypeOf<{ n: 1 }>();
  expectTypeOf<StepResult<{ f: (() => number) | string }>>().toEqualTypeOf<{ f: string }>();
  expectTypeOf<StepResult<Buffer>>().toEqualTypeOf<{ type: "Buffer"; data: number[] }>();
  expectTypeOf<StepResult<Error>>().toEqualTypeOf<Empty>();
  expectTypeOf<StepResult<TypeError>>().toEqualTypeOf<Empty>();
  expectTypeOf<StepResult<Declined>>().toEqualTypeOf<{ readonly reason: "limit" | "fraud"; readonly at: string }>();
  expectTypeOf<StepResult<{ bytes: Uint8Array; error: Error | null; signal?: AbortSignal }>>().toEqualTypeOf<{
    bytes: Record<number, number>;
    error: Empty | null;
    signal?: Empty;
  }>();
  for (const empty of [
    expectTypeOf<StepResult<AbortSignal>>(),
    expectTypeOf<StepResult<AbortController>>(),
    expectTypeOf<StepResult<ArrayBuffer>>(),
    expectTypeOf<StepResult<SharedArrayBuffer>>(),
    expectTypeOf<StepResult<DataView>>(),
    expectTypeOf<StepResult<RegExp>>(),
    expectTypeOf<StepResult<Response>>(),
    expectTypeOf<StepResult<Request>>(),
    expectTypeOf<StepResult<Headers>>(),
    expectTypeOf<StepResult<FormData>>(),
    expectTypeOf<StepResult<URLSearchParams>>(),
    expectTypeOf<StepResult<Blob>>(),
    expectTypeOf<StepResult<ReadableStream>>(),
    expectTypeOf<StepResult<WeakMap<object, number>>>(),
    expectTypeOf<StepResult<Generator<number>>>(),
  ]) {
    empty.toEqualTypeOf<Empty>();
  }
  expectTypeOf<StepResult<{ user: Promise<number> }>>().toEqualTypeOf<{ user: Empty }>();
});

test("data that looks like one of these stays what it is", () => {
  interface Letter {
    name: string;
    message: string;
  }
  interface StoredError {
    readonly name: string;
    readonly message: string;
    readonly stack?: string;
    readonly cause?: unknown;
  }
  interface Bytes {
    byteLength: number;
    locked: boolean;
    aborted: boolean;
    signal: string;
  }
  const read = (error: Error) => ({ name: error.name, message: error.message, stack: error.stack, cause: error.cause });
  expectTypeOf<StepResult<Letter>>().toEqualTypeOf<Letter>();
  expectTypeOf<StepResult<StoredError>>().toEqualTypeOf<StoredError>();
  expectTypeOf<StepResult<ReturnType<typeof read>>>().toEqualTypeOf<ReturnType<typeof read>>();
  expectTypeOf<StepResult<Bytes>>().toEqualTypeOf<Bytes>();
  expectTypeOf<StepResult<Record<number, number>>>().toEqualTypeOf<Record<number, number>>();
  expectTypeOf<StepResult<URL>>().toEqualTypeOf<string>();
});
