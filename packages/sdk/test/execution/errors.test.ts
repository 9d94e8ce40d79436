import type { EventPayload } from "@holdfast/protocol";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { eventType } from "../../src/events/event-types.ts";
import { NonRetriableError, RetryAfterError, StepError } from "../../src/steps/errors.ts";
import { Engine } from "./engine.ts";
import { client, engineFor, hash, jsonOf, opsOf } from "./support.ts";

class Refused extends Error {
  override readonly name = "Refused";
  readonly status = 402;
  readonly code = 7;
  readonly body = { reason: "no money", data: [1] };
}

describe.each([true, false])("Errors through the store, in place: %s", (inPlace) => {
  test("an error keeps name, message, stack, nested causes and own fields through the store", async () => {
    const caught: StepError[] = [];
    const engine = engineFor(
      async ({ step }) => {
        try {
          await step.run("pay", () => {
            const deep = Object.assign(new RangeError("deep"), { limit: 3 });
            throw new NonRetriableError("outer", { cause: new Refused("refused", { cause: deep }) });
          });
        } catch (error) {
          caught.push(error as StepError);
        }
        await step.sleep("later", "1h");
      },
      { inPlace },
    );
    expect((await engine.run()).status).toBe("completed");
    expect(caught.length).toBeGreaterThan(1);
    for (const error of caught) {
      expect(StepError.is(error) && error instanceof StepError).toBe(true);
      expect(error).toMatchObject({ name: "NonRetriableError", message: "outer", stepId: "pay" });
      expect(error.stack).toContain("errors.test.ts");
      const refused = error.cause as Refused;
      expect(refused).toBeInstanceOf(Error);
      expect(refused).toMatchObject({
        name: "Refused",
        message: "refused",
        status: 402,
        code: 7,
        body: { reason: "no money", data: [1] },
      });
      expect(refused.cause).toMatchObject({ name: "RangeError", message: "deep", limit: 3 });
      expect((refused.cause as Error).stack).toContain("RangeError: deep");
    }
  });

  test("errors of Promise.any, and thrown values that are not errors, survive the store", async () => {
    const engine = engineFor(
      async ({ step }) => {
        const all = await step
          .run("any", () => Promise.any([Promise.reject(new TypeError("one")), Promise.reject(new Refused("two"))]))
          .catch((error: AggregateError) => error);
        const odd = await step.run("odd", () => Promise.reject({ oops: 1 })).catch((error: Error) => error);
        return [
          (all as AggregateError).name,
          (all as AggregateError).errors.map((each: Refused) => [each instanceof Error, each.name, each.status]),
          (odd as Error).message,
        ];
      },
      { inPlace },
    );
    expect((await engine.run()).value).toEqual([
      "AggregateError",
      [
        [true, "TypeError", null],
        [true, "Refused", 402],
      ],
      '{"oops":1}',
    ]);
  });
});

test("RetryAfterError sets the retry time of a step and of the function", async () => {
  const step = engineFor(({ step }) =>
    step.run("a", () => {
      throw new RetryAfterError("busy", new Date(90_000));
    }),
  );
  expect(opsOf(await step.request())).toMatchObject([{ op: "StepError", retryAfter: "1970-01-01T00:01:30.000Z" }]);
  const fn = engineFor(() => {
    throw new RetryAfterError("busy", "90s");
  });
  expect(await fn.request()).toMatchObject({ status: "ERROR", retryAfter: "90" });
});

test("onFailure gets the error with its cause and fields, and the event that started the run", async () => {
  const seen: unknown[] = [];
  const fn = client.createFunction(
    {
      id: "f",
      triggers: { event: "app/a" },
      onFailure: async ({ error, event, step }) => {
        seen.push(error, event.data.event.data);
        await step.run("note", () => 1);
      },
    },
    () => 1,
  );
  const error = {
    name: "Refused",
    message: "no",
    stack: "Refused: no",
    cause: { name: "RangeError", message: "deep" },
    data: { status: 402 },
  };
  const event = {
    id: "r",
    name: "inngest/function.failed",
    data: { function_id: "app-f", run_id: "r", error, event: { id: "e", name: "app/a", data: { n: 1 }, ts: 1 } },
    ts: 1,
  };
  const engine = new Engine({ client, fn, inPlace: true, slug: "app-f-failure", event });
  expect(await engine.run()).toEqual({ status: "completed", value: null });
  expect(seen[0]).toBeInstanceOf(Error);
  expect(seen[0]).toMatchObject({ name: "Refused", message: "no", stack: "Refused: no", status: 402 });
  expect((seen[0] as Error).cause).toMatchObject({ name: "RangeError" });
  expect(seen[1]).toEqual({ n: 1 });
});

test("an invoked function gets its data validated, without the gateway's additions", async () => {
  const declared = eventType("app/d", { schema: v.strictObject({ n: v.number(), on: v.optional(v.boolean(), true) }) });
  const fn = client.createFunction({ id: "f", triggers: declared }, ({ event }) => event.data);
  const invoked = (data: object): EventPayload => ({ id: "i", name: "inngest/function.invoked", data, ts: 1 });
  const good = new Engine({ client, fn, inPlace: true, event: invoked({ n: 1, _inngest: { fn_id: "app-f" } }) });
  expect(await good.run()).toEqual({ status: "completed", value: { n: 1, on: true } });
  const bad = new Engine({ client, fn, inPlace: true, event: invoked({ n: "1" }) });
  expect(await bad.run()).toMatchObject({ status: "failed", value: { code: "EVENT_INVALID" } });
});

test("each step counts its own attempts", async () => {
  const attempts: unknown[] = [];
  const { currentExecution } = await import("../../src/execution/current.ts");
  const engine = engineFor(async ({ step, attempt }) => {
    await step.run("a", () => {
      attempts.push(["a", currentExecution()?.step?.attempt]);
      if (attempts.length < 3) throw new Error("not yet");
    });
    await step.run("b", () => void attempts.push(["b", currentExecution()?.step?.attempt]));
    return attempt;
  });
  // The handler has the attempt of the step that was tried again in this pass.
  expect(await engine.run()).toEqual({ status: "completed", value: 2 });
  expect(attempts).toEqual([
    ["a", 0],
    ["a", 1],
    ["a", 2],
    ["b", 0],
  ]);
});

test("the handler gets the version of the run, and its signal carries the reason for firing", async () => {
  const pinned = engineFor(({ version }) => version, { extended: { appVersion: "v1" } });
  expect(await pinned.run()).toEqual({ status: "completed", value: "v1" });
  let reason: unknown;
  const cancelled = engineFor(({ signal, step }) =>
    step.run("wait", () => {
      queueMicrotask(() => cancelled.signal.abort(new Error("cancelled")));
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          resolve(1);
        }),
      );
    }),
  );
  expect(await cancelled.request()).toMatchObject({ stale: true });
  expect(reason).toMatchObject({ message: "cancelled" });
  expect(jsonOf(await engineFor(() => hash("a")).request())).toBe(hash("a"));
});
