import type { Op } from "@holdfast/protocol";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType } from "../../src/events/event-types.ts";
import { InvokeError, InvokeTimeoutError, StepError } from "../../src/steps/errors.ts";
import { referenceFunction } from "../../src/steps/references.ts";
import { Engine } from "./engine.ts";
import { client, engineFor, hash, opsOf, silent, unfetched } from "./support.ts";

const allOps = (engine: Engine): Op[] => [...engine.checkpoints, ...engine.replies].flat();

describe.each([true, false])("Waiting and calling, in place: %s", (inPlace) => {
  test("step.waitForEvent sends name, condition and timeout, and returns the event or null", async () => {
    const event = { name: "app/paid", data: { amount: 3 }, id: "e2", ts: 5 };
    const engine = engineFor(
      async ({ step }) => {
        const paid = await step.waitForEvent("paid", { event: "app/paid", timeout: "1h", match: "data.orderId" });
        const late = await step.waitForEvent("late", { event: "app/late", timeout: 1500, if: "async.data.x == 1" });
        return [paid?.data.amount, late];
      },
      { inPlace, resume: (op) => (op.name === "app/paid" ? event : null) },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: [3, null] });
    expect(allOps(engine)).toMatchObject([
      {
        op: "WaitForEvent",
        id: hash("paid"),
        name: "app/paid",
        displayName: "paid",
        opts: { timeout: "1h", if: "event.data.orderId == async.data.orderId" },
        userland: { id: "paid" },
        data: null,
      },
      // The base protocol knows whole seconds only.
      { op: "WaitForEvent", name: "app/late", opts: { timeout: inPlace ? "1s500ms" : "1s", if: "async.data.x == 1" } },
    ]);
  });

  test("an awaited event is validated by its schema", async () => {
    const paid = eventType("app/paid", { schema: v.object({ amount: v.number(), tip: v.optional(v.number(), 0) }) });
    const found: unknown[] = [];
    const engine = engineFor(
      async ({ step }) => {
        found.push((await step.waitForEvent("a", { event: paid, timeout: "1h" }))?.data);
        const error = await step.waitForEvent("b", { event: paid, timeout: "1h" }).catch((thrown: unknown) => thrown);
        return (error as { code?: string }).code;
      },
      { inPlace, resume: (op) => ({ name: "app/paid", data: { amount: op.id === hash("a") ? 1 : "one" } }) },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: "EVENT_INVALID" });
    expect(found.at(-1)).toEqual({ amount: 1, tip: 0 });
  });

  test("step.waitForSignal sends signal, timeout and conflict mode, and returns the signal or null", async () => {
    const engine = engineFor(
      async ({ step }) => [
        await step.waitForSignal("s", { signal: "go", timeout: "2d", onConflict: "replace" }),
        await step.waitForSignal("t", { signal: "stop", timeout: new Date(0) }),
      ],
      { inPlace, resume: (op) => (op.name === "go" ? { data: { signal: "go", data: [1] } } : null) },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: [{ signal: "go", data: [1] }, null] });
    expect(allOps(engine)).toMatchObject([
      { op: "WaitForSignal", name: "go", opts: { signal: "go", timeout: "2d", conflict: "replace" } },
      { op: "WaitForSignal", opts: { signal: "stop", timeout: "1970-01-01T00:00:00.000Z", conflict: "fail" } },
    ]);
  });

  test("step.invoke accepts a function or a reference, and its failure and timeout are typed", async () => {
    const child = client.createFunction({ id: "child", triggers: [] }, () => ({ at: new Date(), n: 1 }));
    const cause = { name: "RangeError", message: "deep" };
    const seen: unknown[] = [];
    const engine = engineFor(
      async ({ step }) => {
        const result = await step.invoke("ok", { function: child, data: { q: 1 }, timeout: "5m" });
        for (const [id, fn] of [
          ["bad", referenceFunction({ functionId: "other" })],
          ["slow", referenceFunction({ functionId: "far", appId: "away" })],
        ] as const) {
          try {
            await step.invoke(id, { function: fn });
          } catch (error) {
            seen.push(error);
          }
        }
        return result;
      },
      {
        inPlace,
        resume: (op) => {
          if (op.id === hash("ok")) return { data: { n: 1 } };
          const error =
            op.id === hash("slow")
              ? { name: "InngestInvokeTimeoutError", message: "too slow", error: "too slow" }
              : { name: "TypeError", message: "no", stack: "TypeError: no\n    at child", cause, data: { orderId: 7 } };
          return { error };
        },
      },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: { n: 1 } });
    expect(allOps(engine)).toMatchObject([
      {
        op: "InvokeFunction",
        displayName: "ok",
        opts: { function_id: "app-child", payload: { data: { q: 1 } }, timeout: "5m" },
      },
      { op: "InvokeFunction", opts: { function_id: "app-other", payload: {} } },
      { op: "InvokeFunction", opts: { function_id: "away-far" } },
    ]);
    expect(allOps(engine)[0]).not.toHaveProperty("name");
    const [failed, slow] = seen.slice(-2) as [InvokeError, InvokeTimeoutError];
    expect(failed).toBeInstanceOf(InvokeError);
    expect(StepError.is(failed) && InvokeError.is(failed) && !InvokeTimeoutError.is(failed)).toBe(true);
    expect(failed).toMatchObject({
      name: "TypeError",
      message: "no",
      stepId: "bad",
      functionId: "app-other",
      orderId: 7,
    });
    expect(failed.stack).toBe("TypeError: no\n    at child");
    expect(failed.cause).toBeInstanceOf(Error);
    expect(failed.cause).toMatchObject(cause);
    expect(InvokeTimeoutError.is(slow) && InvokeError.is(slow)).toBe(true);
    expect(slow).toMatchObject({ name: "InvokeTimeoutError", code: "INVOKE_TIMEOUT", functionId: "away-far" });
  });

  test("the failure of an invoked function fails the run at once when it is not caught", async () => {
    const engine = engineFor(({ step }) => step.invoke("i", { function: referenceFunction({ functionId: "x" }) }), {
      inPlace,
      resume: () => ({ error: { name: "Error", message: "child" } }),
    });
    expect(await engine.run()).toMatchObject({ status: "failed", value: { message: "child" } });
  });

  test("step.fetch sends the text of a Request as it is, and refuses bytes that are no text", async () => {
    const send = (body: string | Uint8Array<ArrayBuffer>) => new Request("http://api.test/x", { method: "POST", body });
    const engine = engineFor(
      async ({ step }) => {
        await step.fetch("text", send("\ufeffé"));
        await step.fetch("bytes", send(new Uint8Array([0x89, 0x50, 0xff])));
      },
      { inPlace, resume: () => ({ data: { url: "http://api.test/x", status_code: 200, headers: {}, body: "" } }) },
    );
    const message = expect.stringContaining('Step "bytes": the body of its Request is not UTF-8 text');
    expect(await engine.run()).toMatchObject({ status: "failed", value: { code: "STEP_INVALID", message } });
    expect(allOps(engine)).toMatchObject([{ op: "Gateway", opts: { body: "\ufeffé" } }]);
  });

  test("step.fetch lets the gateway make the request and returns a Response", async () => {
    const engine = engineFor(
      async ({ step }) => {
        const response = await step.fetch("http://api.test/a?b=1", {
          method: "post",
          headers: { "x-key": "1" },
          body: new URLSearchParams({ q: "é" }),
        });
        const none = await step.fetch("by id", new URL("http://api.test/none"));
        const request = new Request("http://api.test/r", { method: "PUT", body: "text" });
        const third = await step.fetch(request);
        return [
          response.status,
          response.ok,
          response.url,
          response.headers.getSetCookie(),
          await response.json(),
          [none.status, await none.text()],
          third.ok,
        ];
      },
      {
        inPlace,
        resume: (op) => {
          const { url } = op.opts as { url: string };
          const status = url.endsWith("none") ? 204 : url.endsWith("r") ? 500 : 201;
          const headers = {
            "content-type": "application/json",
            "set-cookie": ["a=1", "b=2"],
            "content-encoding": "gzip",
          };
          return { data: { url, status_code: status, headers, body: status === 204 ? "" : '{"n":1}' } };
        },
      },
    );
    expect(await engine.run()).toEqual({
      status: "completed",
      value: [201, true, "http://api.test/a?b=1", ["a=1", "b=2"], { n: 1 }, [204, ""], false],
    });
    expect(allOps(engine)).toMatchObject([
      {
        op: "Gateway",
        userland: { id: "step.fetch: api.test" },
        opts: { url: "http://api.test/a?b=1", method: "POST", body: "q=%C3%A9", headers: { "x-key": "1" } },
      },
      { op: "Gateway", userland: { id: "by id" }, opts: { url: "http://api.test/none", method: "GET" } },
      { op: "Gateway", userland: { id: "step.fetch: api.test", index: 1 }, opts: { method: "PUT", body: "text" } },
    ]);
  });

  test("step.sendSignal and step.sendEvent run in the worker, once", async () => {
    const sent: unknown[] = [];
    const sender = {
      options: client.options,
      schemas: undefined,
      sendEvents: async () => ({ ids: ["e"] }),
      sendSignal: async (signal: unknown) => {
        sent.push(signal);
        return { runId: "r" };
      },
      fetchRunState: unfetched,
    };
    const engine = engineFor(
      async ({ step }) => [
        await step.sendSignal("s", { signal: "go", data: { n: 1 } }),
        await step.sendEvent("e", { name: "a/b" }),
      ],
      { inPlace, client: sender },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: [{ runId: "r" }, { ids: ["e"] }] });
    expect(sent).toEqual([{ signal: "go", data: { n: 1 } }]);
    expect(allOps(engine)).toMatchObject([
      { op: "StepRun", name: "sendSignal", opts: { type: "step.sendSignal", signal: "go" } },
      { op: "StepRun", name: "sendEvent", opts: { type: "step.sendEvent" } },
    ]);
  });

  test("all tools work together in parallel, races, loops and nested functions", async () => {
    const ask = async (step: import("../../src/steps/step-types.ts").StepTools, n: number): Promise<unknown> =>
      (await step.waitForEvent("ask", { event: `app/${n}`, timeout: "1h" }))?.name;
    const engine = engineFor(
      async ({ step }) => {
        const all = await Promise.all([
          step.waitForEvent("a", { event: "app/a", timeout: "1h" }),
          step.run("b", () => 2),
          step.sleep("c", "1m"),
          step.invoke("d", { function: referenceFunction({ functionId: "x" }) }),
        ]);
        const rounds: unknown[] = [];
        for (let n = 0; n < 3; n += 1) rounds.push(await ask(step, n));
        const race = await Promise.race([
          step.waitForSignal("never", { signal: "s", timeout: "1h" }).then(() => "signal"),
          step.run("quick", () => "quick"),
        ]);
        const settled = await Promise.allSettled([
          step.invoke("bad", { function: referenceFunction({ functionId: "bad" }) }),
          step.sleep("nap", 10),
        ]);
        const any = await Promise.any([
          step.invoke("bad too", { function: referenceFunction({ functionId: "bad" }) }),
          step.run("good", () => "good"),
        ]);
        return [all[0]?.name, all[1], all[3], rounds, race, settled.map((each) => each.status), any];
      },
      {
        inPlace,
        resume: (op) => {
          if (op.op === "WaitForEvent") return { name: op.name, data: {}, id: "e", ts: 1 };
          if (op.op !== "InvokeFunction") return null;
          const slug = op.opts?.function_id;
          return slug === "app-bad" ? { error: { name: "Error", message: "bad" } } : { data: "invoked" };
        },
      },
    );
    expect(await engine.run()).toEqual({
      status: "completed",
      value: ["app/a", 2, "invoked", ["app/0", "app/1", "app/2"], "quick", ["rejected", "fulfilled"], "good"],
    });
  });

  test.each([
    ["waitForEvent without a timeout", (s) => s.waitForEvent("x", { event: "e" } as never), "STEP_INVALID"],
    [
      "waitForEvent with if and match",
      (s) => s.waitForEvent("x", { event: "e", timeout: 1, if: "a", match: "b" }),
      "STEP_INVALID",
    ],
    [
      "waitForEvent with a match outside of the event's fields",
      (s) => s.waitForEvent("x", { event: "e", timeout: 1, match: "orderId" }),
      "STEP_INVALID",
    ],
    [
      "waitForEvent with an unknown option",
      (s) => s.waitForEvent("x", { event: "e", timeout: 1, iff: "a" } as never),
      "STEP_INVALID",
    ],
    [
      "waitForEvent with a wrong timeout",
      (s) => s.waitForEvent("x", { event: "e", timeout: "soon" }),
      "DURATION_INVALID",
    ],
    ["waitForSignal without a signal", (s) => s.waitForSignal("x", { timeout: 1 } as never), "STEP_INVALID"],
    [
      "waitForSignal with another conflict",
      (s) => s.waitForSignal("x", { signal: "s", timeout: 1, onConflict: "no" as never }),
      "STEP_INVALID",
    ],
    ["invoke without a function", (s) => s.invoke("x", {} as never), "STEP_INVALID"],
    ["invoke with a circle", (s) => s.invoke("x", { function: circle.fn, data: circle.data }), "STEP_INVALID"],
    ["fetch of no address", (s) => s.fetch("/relative"), "STEP_INVALID"],
    ["fetch with bytes", (s) => s.fetch("http://a.test", { body: new Uint8Array(1) as never }), "STEP_INVALID"],
    ["a reserved id", (s) => s.run("holdfast/failure", () => 1), "STEP_INVALID"],
    ["sleepUntil of a wrong date", (s) => s.sleepUntil("x", new Date(Number.NaN)), "DURATION_INVALID"],
    ["a compensate that is none", (s) => s.run("x", () => 1, { compensate: 1 as never }), "STEP_INVALID"],
  ] as readonly [string, (step: import("../../src/steps/step-types.ts").StepTools) => Promise<unknown>, string][])(
    "%s fails at once with a clear error",
    async (_name, call, code) => {
      const engine = engineFor(({ step }) => call(step), { inPlace });
      expect(await engine.run()).toMatchObject({ status: "failed", value: { code } });
      expect(engine.results).toHaveLength(1);
    },
  );
});

const data: Record<string, unknown> = {};
data.data = data;
const circle = { fn: referenceFunction({ functionId: "x" }), data };

test.each([true, false])("a step raced with a wait does not wait for it, in place: %s", async (inPlace) => {
  const engine = engineFor(
    async ({ step }) => {
      const first = await Promise.race([
        step.waitForEvent("event", { event: "app/x", timeout: "1h" }),
        step.run("quick", () => "quick"),
        step.sleep("long", "30d"),
      ]);
      const both = await Promise.all([step.run("a", () => 1), step.run("b", () => 2)]);
      return [first, await step.run("after", () => 3), ...both];
    },
    { inPlace },
  );
  expect(await engine.run()).toEqual({ status: "completed", value: ["quick", 3, 1, 2] });
  expect(engine.elapsedMs).toBe(0);
  // Where it costs passes, and only beside waits.
  const raced = engine.replies.flat().filter((op) => op.opts?.parallelMode === "race");
  expect([...new Set(raced.map(({ id }) => id))]).toEqual(
    inPlace ? [] : ["event", "quick", "long", "a", "b", "after"].map(hash),
  );
});

test("Temporal durations and instants are accepted without Temporal itself", async () => {
  const instant = { [Symbol.toStringTag]: "Temporal.Instant" as const, epochMilliseconds: 1000 };
  const zoned = { [Symbol.toStringTag]: "Temporal.ZonedDateTime" as const, epochMilliseconds: 2000 };
  const duration = { [Symbol.toStringTag]: "Temporal.Duration" as const, total: () => 90_000 };
  const calendar = {
    [Symbol.toStringTag]: "Temporal.Duration" as const,
    total: () => {
      throw new RangeError("a starting point is required");
    },
  };
  const engine = engineFor(({ step }) =>
    Promise.all([
      step.sleepUntil("a", instant),
      step.sleepUntil("b", zoned),
      step.sleep("c", duration),
      step.waitForEvent("d", { event: "e", timeout: duration }),
      step.sleepUntil("e", 3000),
      step.sleepUntil("f", "2027-01-02"),
      step.sleep("g", calendar).catch((error: { code: string }) => error.code),
    ]),
  );
  expect(opsOf(await engine.request()).map((op) => (op.op === "Sleep" ? op.name : op.opts?.timeout))).toEqual([
    "1970-01-01T00:00:01.000Z",
    "1970-01-01T00:00:02.000Z",
    "1m30s",
    "1m30s",
    "1970-01-01T00:00:03.000Z",
    "2027-01-02T00:00:00.000Z",
  ]);
});

describe("A step that is never awaited", () => {
  const warned: string[] = [];
  const logging = new Holdfast(
    { id: "app", isDev: true, logger: { ...silent, warn: (message: unknown) => void warned.push(String(message)) } },
    {},
  );

  test.each([true, false])(
    "a step that is never awaited finishes before its run, with a warning; in place: %s",
    async (inPlace) => {
      warned.length = 0;
      let ran = 0;
      const fn = logging.createFunction({ id: "f", triggers: [] }, async ({ step }) => {
        await step.run("first", () => 1);
        void step.run("forgotten", async () => {
          await new Promise((resolve) => setTimeout(resolve, 5));
          ran += 1;
          if (ran === 1) throw new Error("once");
        });
        void step.sleep("nap", "1h");
        return "value";
      });
      const engine = new Engine({ client: logging, fn, inPlace });
      expect(await engine.run()).toEqual({ status: "completed", value: "value" });
      expect(ran).toBe(2);
      expect(engine.memo.has(hash("forgotten"))).toBe(true);
      if (inPlace) expect(engine.memo.has(hash("nap"))).toBe(true);
      expect(warned.join("\n")).toMatch(/Step "forgotten" of function "app-f" has not finished.*await/);
    },
  );

  test("a step that lost a race counts as awaited: the run does not wait for it", async () => {
    warned.length = 0;
    const fn = logging.createFunction({ id: "f", triggers: [] }, ({ step }) =>
      Promise.race([step.sleep("long", "30d").then(() => "long"), step.run("quick", () => "quick")]),
    );
    const engine = new Engine({ client: logging, fn, inPlace: true });
    expect(await engine.run()).toEqual({ status: "completed", value: "quick" });
    expect(engine.results).toHaveLength(1);
    expect(warned).toEqual([]);
  });
});

test("data of step.invoke of which JSON keeps less than it may seem is named once", async () => {
  const warned: string[] = [];
  const logger = { ...silent, warn: (message: unknown) => void warned.push(String(message)) };
  const logging = new Holdfast({ id: "app", isDev: true, logger }, {});
  const child = referenceFunction({ functionId: "child" });
  const data = { by: new Map([["a", 1]]) };
  const fn = logging.createFunction({ id: "parent", triggers: [] }, ({ step }) =>
    Promise.all([step.invoke("lossy", { function: child, data }), step.invoke("lossy", { function: child, data })]),
  );
  const engine = new Engine({ client: logging, fn, inPlace: true, resume: () => ({ data: 1 }) });
  expect(await engine.run()).toEqual({ status: "completed", value: [1, 1] });
  expect(warned).toEqual([
    expect.stringContaining('The data of step "lossy" of function "app-parent" has at `by` a Map'),
  ]);
});
