import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType, type UntypedData } from "../../src/events/event-types.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { NonRetriableError, RetryAfterError } from "../../src/steps/errors.ts";
import { referenceFunction } from "../../src/steps/references.ts";
import type { StepTools } from "../../src/steps/step-types.ts";
import { silent } from "../execution/support.ts";

const app = new Holdfast({ id: "shop", isDev: true, logger: silent }, {});
const placed = eventType("shop/placed", {
  schema: v.object({ card: v.string(), gift: v.optional(v.boolean(), false) }),
});
const event = placed.create({ card: "4242" });
const child = app.createFunction(
  { id: "child", triggers: { event: "shop/child" } },
  async ({ event: { data }, step }) => {
    const twice = await step.run("double", () => data.n * 2);
    if (twice > 10) throw new NonRetriableError("too much");
    return { twice };
  },
);

const order = app.createFunction({ id: "order", triggers: placed, retries: 3 }, async ({ event: { data }, step }) => {
  const payment = await step.run("charge", (): { id: string } => {
    throw new Error(`the real ${data.card} was charged`);
  });
  await step.sleep("pack", "2d");
  const approval = await step.waitForEvent("approval", { event: "shop/approved", timeout: "7d" });
  await step.sendEvent("tell", { name: "shop/shipped", data: { payment: payment.id } });
  return { payment, by: approval?.data.by ?? "nobody", gift: data.gift };
});

const charge = { id: "charge", handler: () => ({ id: "p1" }) };

describe("FunctionTest", () => {
  test("an invoked function is given the `v` and the `meta` of the invocation", async () => {
    const seen = app.createFunction({ id: "seen", triggers: { event: "shop/seen" } }, ({ event }) => [
      event.v,
      (event as { meta?: unknown }).meta,
    ]);
    const meta = { tenant: "acme" };
    const calls = app.createFunction({ id: "calls", triggers: { event: "shop/x" } }, ({ step }) =>
      step.invoke("call", { function: seen, data: {}, v: "2", meta } as never),
    );
    expect((await new FunctionTest(calls, { functions: [seen] }).run()).output).toEqual(["2", meta]);
  });

  test("the event of a schedule has what a gateway says of its tick", async () => {
    const fn = app.createFunction({ id: "nightly", triggers: { cron: "0 3 * * *" } }, ({ event }) => event.data);
    const run = await new FunctionTest(fn, { nowMs: Date.parse("2027-01-31T03:00:00Z") }).run();
    const at = "2027-01-31T03:00:00Z";
    expect(run.output).toEqual({ cron: "0 3 * * *", scheduledAt: at, fireAt: at });
  });

  test("a function runs to its end with replaced bodies, skipped sleeps, and waits that time out or are answered", async () => {
    const orders = new FunctionTest(order, { event, steps: [charge] });
    const run = await orders.run();
    expectTypeOf(run.output).toEqualTypeOf<
      { payment: { id: string }; by: UntypedData[string]; gift: boolean } | undefined
    >();
    expect(run).toMatchObject({
      status: "completed",
      output: { payment: { id: "p1" }, by: "nobody", gift: false },
      error: undefined,
      elapsedMs: 9 * 86_400_000,
      sentEvents: [{ name: "shop/shipped", data: { payment: "p1" } }],
    });
    expect(run.state).toMatchObject({ charge: { id: "p1" }, pack: null, approval: null });
    expect(run.steps.map(({ id, kind, status }) => [id, kind, status])).toEqual([
      ["charge", "run", "completed"],
      ["pack", "sleep", "completed"],
      ["approval", "waitForEvent", "completed"],
      ["tell", "sendEvent", "completed"],
    ]);
    const approved = { id: "approval", handler: () => ({ by: "Ann" }), after: "1h" };
    const answered = await orders.run({ steps: [approved] });
    expect(answered.output?.by).toBe("Ann");
    expect(answered.elapsedMs).toBe(49 * 3_600_000);
    const late = await orders.run({ steps: [{ ...approved, after: "8d" }] });
    expect(late.output?.by).toBe("nobody");
  });

  test("a function runs until a given step, whose result or wait is returned", async () => {
    const orders = new FunctionTest(order, { event, steps: [charge] });
    const paid = await orders.runUntil("charge");
    expect(paid).toMatchObject({ status: "stopped", step: { output: { id: "p1" }, attempts: 1 }, elapsedMs: 0 });
    const waiting = await orders.runUntil("approval");
    expect(waiting.step).toMatchObject({ status: "waiting", options: { event: "shop/approved", timeout: "1w" } });
    expect(waiting.steps).toHaveLength(3);
    await expect(orders.runUntil("nothing")).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining('"charge", "pack"'),
    });
  });

  test("steps are retried without delay, and the failure is the original error", async () => {
    const run = await new FunctionTest(order, { event }).run();
    expect(run).toMatchObject({ status: "failed", output: undefined, elapsedMs: 1000 + 2000 + 4000 });
    expect(run.error).toMatchObject({ message: "the real 4242 was charged", name: "Error", stepId: "charge" });
    expect(run.steps).toMatchObject([{ id: "charge", status: "failed", attempts: 4 }]);
    let tries = 0;
    const handler = () => {
      tries += 1;
      if (tries === 1) throw new RetryAfterError("busy", "1h");
      return { id: "p2" };
    };
    const later = await new FunctionTest(order, { event, steps: [{ id: "charge", handler }] }).run();
    expect(later).toMatchObject({ status: "completed", elapsedMs: 3_600_000 + 9 * 86_400_000 });
  });

  test("events are validated by their schema", async () => {
    const run = await new FunctionTest(order, { event: { name: "shop/placed", data: { card: 1 } } }).run();
    expect(run).toMatchObject({ status: "failed", error: { code: "EVENT_INVALID" } });
  });

  test("invoked functions are answered or run in memory, and anything else is a clear error", async () => {
    const parent = app.createFunction({ id: "parent", triggers: [] }, async ({ event: { data }, step }) => {
      const results: unknown[] = [];
      for (const n of data.numbers as number[]) {
        results.push(
          await step.invoke("child", { function: child, data: { n } }).catch((error: Error) => error.message),
        );
      }
      return results;
    });
    const numbers = { name: "x", data: { numbers: [1, 9] } };
    const together = await new FunctionTest(parent, { event: numbers, functions: [child] }).run();
    expect(together.output).toEqual([{ twice: 2 }, "too much"]);
    const answers = [
      { id: "child", handler: () => "first" },
      {
        id: "child:1",
        handler: () => {
          throw new Error("second");
        },
      },
    ];
    expect((await new FunctionTest(parent, { event: numbers, steps: answers }).run()).output).toEqual([
      "first",
      "second",
    ]);
    await expect(new FunctionTest(parent, { event: numbers }).run()).rejects.toMatchObject({
      code: "TEST_STEP_UNANSWERED",
      message: expect.stringContaining('"shop-child"'),
    });
  });

  test("signals, fetch, races and parallel steps work in memory", async () => {
    const mixed = app.createFunction({ id: "mixed", triggers: [] }, async ({ step }) => {
      const winner = await Promise.race([
        step.waitForSignal("signal", { signal: "go", timeout: "1d" }).then((signal) => signal?.data ?? "timeout"),
        step.sleep("limit", "2h").then(() => "limit"),
      ]);
      const [response, sent] = await Promise.all([
        step.fetch("get", "http://api.test/"),
        step.sendSignal("send", { signal: "other" }),
      ]);
      return [winner, response.status, await response.text(), sent];
    });
    const get = { id: "get", handler: () => new Response("hello", { status: 201 }) };
    const limited = await new FunctionTest(mixed, { steps: [get] }).run();
    expect(limited.output).toEqual(["limit", 201, "hello", {}]);
    expect(limited.sentSignals).toEqual([{ signal: "other" }]);
    const signalled = await new FunctionTest(mixed, { steps: [get, { id: "signal", handler: () => [1] }] }).run();
    expect(signalled.output?.[0]).toEqual([1]);
    expect(signalled.elapsedMs).toBe(0);
  });

  test("compensations, onFailure and deadlines work in memory as in an app", async () => {
    const undone: unknown[] = [];
    const saga = app.createFunction(
      {
        id: "saga",
        triggers: [],
        deadline: "1h",
        onFailure: ({ error, event: failed, step }) =>
          step.run("note", () => `${(error as { code?: string }).code} ${failed.data.event.data.n}`),
      },
      async ({ step }) => {
        await step.run("book", () => "B7", { compensate: (result) => void undone.push(result) });
        await step.sleep("too long", "2h");
        await step.run("never", () => undone.push("never"));
      },
    );
    const run = await new FunctionTest(saga, { event: { name: "x", data: { n: 5 } } }).run();
    expect(undone).toEqual(["B7"]);
    expect(run.error).toMatchObject({ code: "RUN_DEADLINE_EXCEEDED", compensation: { undone: ["book"] } });
    expect(run.onFailure).toMatchObject({ status: "completed", output: "RUN_DEADLINE_EXCEEDED 5" });
  });

  test("time passes as on a gateway: to the deadline, to `timeouts.finish`, while an invoked function sleeps", async () => {
    const hours = (run: { readonly elapsedMs: number }): number => run.elapsedMs / 3_600_000;
    const long = ({ step }: { step: StepTools }) => step.sleep("long", "2d");
    const late = app.createFunction({ id: "late", triggers: [], deadline: "3h" }, long);
    const failed = await new FunctionTest(late).run();
    expect([failed.status, failed.error, hours(failed)]).toMatchObject([
      "failed",
      { code: "RUN_DEADLINE_EXCEEDED" },
      3,
    ]);
    const limited = app.createFunction({ id: "limited", triggers: [], timeouts: { finish: "5h" } }, long);
    const cancelled = await new FunctionTest(limited).run();
    expect([cancelled.status, cancelled.error, hours(cancelled)]).toMatchObject([
      "cancelled",
      { code: "RUN_CANCELLED" },
      5,
    ]);
    expect(cancelled.steps).toMatchObject([{ id: "long", status: "waiting" }]);
    const asleep = app.createFunction({ id: "asleep", triggers: [] }, long);
    const parent = app.createFunction({ id: "waits", triggers: [] }, async ({ step }) => {
      await step.invoke("soon", { function: asleep, timeout: "1d" }).catch((error: Error) => error.name);
      return step.invoke("patient", { function: asleep });
    });
    expect(hours(await new FunctionTest(parent, { functions: [asleep] }).run())).toBe(24 + 48);
  });

  test("two steps cannot wait for one signal", async () => {
    const twice = app.createFunction({ id: "twice", triggers: [] }, ({ step }) =>
      Promise.all([
        step.waitForSignal("one", { signal: "go", timeout: "1h" }),
        step.waitForSignal("two", { signal: "go", timeout: "1h" }).catch((error: { code?: string }) => error.code),
      ]),
    );
    const one = { id: "one", handler: () => "came" };
    const run = await new FunctionTest(twice, { steps: [one] }).run();
    expect(run.output).toEqual([{ signal: "go", data: "came" }, "SIGNAL_CONFLICT"]);
  });

  test("a run with more than one request can carry goes on: its state is fetched from memory", async () => {
    const large = app.createFunction({ id: "large", triggers: [] }, async ({ step }) => {
      const texts = [];
      for (const id of ["a", "b", "c"]) texts.push(await step.run(id, () => id.repeat(2_000_000)));
      await step.sleep("nap", "1h");
      return texts.map((text) => text.length);
    });
    expect((await new FunctionTest(large).run()).output).toEqual([2_000_000, 2_000_000, 2_000_000]);
  });

  test("`replay` reveals code that is not deterministic", async () => {
    let started = 0;
    const shaky = app.createFunction({ id: "shaky", triggers: [] }, async ({ step }) => {
      started += 1;
      await step.run(started === 1 ? "a" : "b", () => 1);
      return step.run("c", () => 2);
    });
    expect((await new FunctionTest(shaky).run()).output).toBe(2);
    started = 0;
    const shown = await new FunctionTest(shaky, { replay: true }).run();
    expect(shown.error).toMatchObject({ code: "NON_DETERMINISM" });
    const steady = await new FunctionTest(order, { event, steps: [charge], replay: true }).run();
    expect(steady).toMatchObject({ status: "completed", passes: 5 });
  });

  test("a tool of the package inngest that does not exist fails the run, without a retry", async () => {
    let started = 0;
    const fn = app.createFunction({ id: "ask", triggers: [], retries: 3 }, ({ step }) => {
      started += 1;
      return Reflect.get(step, "ai");
    });
    const { error } = await new FunctionTest(fn).run();
    expect(error).toMatchObject({ code: "STEP_INVALID", message: expect.stringContaining("step.run(") });
    expect(started).toBe(1);
  });

  test.each<[object, RegExp]>([
    [{ stpes: [] }, /no option `stpes`/],
    [{ steps: { id: "a" } }, /`steps`.*array of \{ id, handler \}/],
    [{ steps: [{ id: "a" }] }, /`steps`/],
    [{ steps: [{ id: "a", handler: 5 }] }, /`steps`/],
    [{ event: { data: {} } }, /`event`.*\{ name, data \}/],
    [{ events: [] }, /`events`/],
    [{ functions: [{}] }, /`functions`/],
  ])("the options %j are rejected", async (options, message) => {
    const error = expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringMatching(message) });
    expect(() => new FunctionTest(order, options as never)).toThrow(error);
    await expect(new FunctionTest(order, { event }).run(options as never)).rejects.toThrow(error);
  });

  test("an unanswered reference, and a value that is not a function, are rejected", async () => {
    const far = app.createFunction({ id: "far", triggers: [] }, ({ step }) =>
      step.invoke("call", { function: referenceFunction({ functionId: "x", appId: "y" }) }),
    );
    await expect(new FunctionTest(far).run()).rejects.toMatchObject({ code: "TEST_STEP_UNANSWERED" });
    expect(() => new FunctionTest({} as never)).toThrow("createFunction");
  });
});
