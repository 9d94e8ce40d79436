import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import type { FunctionOptions } from "../../src/functions/function-options.ts";
import { NonRetriableError, RetryAfterError } from "../../src/steps/errors.ts";
import type { StepRunOptions } from "../../src/steps/step-types.ts";
import { Engine, type EngineOptions } from "./engine.ts";
import { client, hash, silent } from "./support.ts";

const MODES: [string, Partial<EngineOptions>][] = [
  ["in place", { inPlace: true }],
  ["looking ahead", { inPlace: true, looksAhead: true }],
  ["plain", { inPlace: false }],
];

type Handler = ConstructorParameters<typeof Engine>[0]["fn"];
type Body = Parameters<typeof client.createFunction>[1];

function engineOf(
  options: Omit<Partial<FunctionOptions>, "isolate">,
  handler: Body,
  mode: Partial<EngineOptions>,
): Engine {
  const fn = client.createFunction({ id: "f", ...options, triggers: [] }, handler as never) as Handler;
  return new Engine({ client, fn, inPlace: true, maxAttempts: 5, ...mode });
}

const fails = (): never => {
  throw new Error("no");
};

class Rejected extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

const notClientError = (error: Error): boolean => !(error instanceof Rejected && error.status < 500);

describe.each(MODES)("retries, %s", (_name, mode) => {
  const delays = { base: "2s", factor: 3, max: "15s", jitter: 0 } as const;

  test("a function's steps wait `base`, then `factor` times as long each time, and never longer than `max`", async () => {
    const engine = engineOf({ retries: { attempts: 4, ...delays } }, ({ step }) => step.run("a", fails), mode);
    expect(await engine.run()).toMatchObject({ status: "failed", value: { message: "no" } });
    expect(engine.elapsedMs).toBe(2_000 + 6_000 + 15_000 + 15_000);
  });

  test("what a step says itself counts before what its function says, option by option", async () => {
    const own: StepRunOptions = { retries: { attempts: 2, base: "4s" } };
    const engine = engineOf({ retries: { attempts: 4, ...delays } }, ({ step }) => step.run("a", fails, own), mode);
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(engine.elapsedMs).toBe(4_000 + 12_000);
  });

  test("a step may have more attempts than its function, where the gateway is Holdfast's", async () => {
    let tries = 0;
    const body = (): string => {
      tries += 1;
      return tries < 5 ? fails() : "at last";
    };
    const handler: Body = async ({ step }) => {
      await step.run("other", fails).catch(() => {});
      return step.run("a", body, { retries: 4 });
    };
    const engine = engineOf({ retries: { attempts: 1, ...delays } }, handler, { ...mode, maxAttempts: 2 });
    const isOurs = mode.inPlace === true;
    expect(await engine.run()).toMatchObject(isOurs ? { status: "completed", value: "at last" } : { status: "failed" });
    expect(tries).toBe(isOurs ? 5 : 2);
    expect(engine.elapsedMs).toBe(2_000 + (isOurs ? 2_000 + 6_000 + 15_000 + 15_000 : 2_000));
  });

  test("steps that fail together each keep their own delays", async () => {
    const engine = engineOf(
      { retries: { attempts: 1, ...delays } },
      ({ step }) =>
        Promise.allSettled([
          step.run("a", fails),
          step.run("b", fails, { retries: { base: "9s" } }),
          step.run("c", fails, { retries: 0 }),
        ]).then((ends) => ends.length),
      { ...mode, maxAttempts: 2 },
    );
    expect(await engine.run()).toEqual({ status: "completed", value: 3 });
    expect(engine.elapsedMs).toBe(9_000);
  });

  test("a handler that throws outside of steps is retried by the function's delays", async () => {
    const engine = engineOf({ retries: { attempts: 2, ...delays } }, fails, { ...mode, maxAttempts: 3 });
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(engine.elapsedMs).toBe(2_000 + 6_000);
  });

  test("a RetryAfterError says when in place of the delays", async () => {
    const body = (): never => {
      throw new RetryAfterError("busy", "77s");
    };
    const engine = engineOf({ retries: { attempts: 1, ...delays } }, ({ step }) => step.run("a", body), {
      ...mode,
      maxAttempts: 2,
    });
    await engine.run();
    expect(engine.elapsedMs).toBe(77_000);
  });

  test("an error that `retryIf` turns down is final, of steps and of the handler, and a step's own asks first", async () => {
    const tries = { a: 0, b: 0, handler: 0 };
    const body = (name: keyof typeof tries) => (): never => {
      tries[name] += 1;
      throw new Rejected(404);
    };
    const engine = engineOf(
      { retries: { attempts: 4, ...delays }, retryIf: notClientError },
      async ({ step }) => {
        await step.run("a", body("a")).catch(() => {});
        await step.run("b", body("b"), { retryIf: () => true, retries: 2 }).catch(() => {});
        return body("handler")();
      },
      mode,
    );
    expect(await engine.run()).toMatchObject({ status: "failed", value: { message: "status 404" } });
    expect(tries).toEqual({ a: 1, b: 3, handler: 1 });
  });

  test("`retryIf` is not asked when another attempt is out of the question anyway", async () => {
    const asked: string[] = [];
    const retryIf = (error: Error): boolean => {
      asked.push(error.message);
      return true;
    };
    const engine = engineOf(
      { retries: 1, retryIf },
      async ({ step }) => {
        const final = (): never => {
          throw new NonRetriableError("final");
        };
        await step.run("a", final).catch(() => {});
        await step.run("b", fails).catch(() => {});
      },
      { ...mode, maxAttempts: 2 },
    );
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(asked).toEqual(["no"]);
  });

  test("what is thrown that is no Error reaches `retryIf` as one", async () => {
    const given: unknown[] = [];
    const retryIf = (error: Error): boolean => {
      given.push([error instanceof Error, error.message]);
      return false;
    };
    const body = (): Promise<never> => Promise.reject("text");
    const engine = engineOf({ retryIf }, ({ step }) => step.run("a", body).catch(() => "caught"), mode);
    expect(await engine.run()).toEqual({ status: "completed", value: "caught" });
    expect(given).toEqual([[true, "text"]]);
  });

  test.each<[string, () => unknown, RegExp]>([
    ["throws", fails, /Step "a" of function "app-f" \(run 01RUN\) failed and its retryIf threw: no\. It is retried\./],
    [
      "is asynchronous",
      () => Promise.reject(new Error("late")),
      /its retryIf returned .* where true or false is expected/,
    ],
  ])("a `retryIf` that %s decides nothing, and is warned of", async (_which, retryIf, message) => {
    const warnings: string[] = [];
    const logger = { ...silent, warn: (...args: unknown[]) => void warnings.push(args.map(String).join(" ")) };
    const app = new Holdfast({ id: "app", isDev: true, logger }, {});
    let tries = 0;
    const body = (): string => {
      tries += 1;
      return tries < 2 ? fails() : "done";
    };
    const fn = app.createFunction({ id: "f", triggers: [], retryIf: retryIf as never }, ({ step }) =>
      step.run("a", body),
    );
    const engine = new Engine({ client: app, fn, inPlace: true, ...mode });
    expect(await engine.run()).toEqual({ status: "completed", value: "done" });
    expect(warnings[0]).toMatch(message);
  });
});

describe("the delays on the wire", () => {
  const policy = { attempts: 3, base: 300, jitter: 0.5 };
  const retryAfters = async (mode: Partial<EngineOptions>): Promise<unknown[]> => {
    const engine = engineOf({ retries: policy }, ({ step }) => step.run("a", fails), { ...mode, maxAttempts: 4 });
    await engine.run();
    return [
      ...engine.replies.flat().map(({ retryAfter }) => retryAfter),
      ...engine.results.map((one) => one.retryAfter),
    ];
  };

  test("a gateway with our extensions is told the exact delay, which is the same each time it is worked out", async () => {
    const first = (await retryAfters({ inPlace: true })).filter((one) => one !== undefined);
    expect(first).toEqual(await retryAfters({ inPlace: true }).then((all) => all.filter((one) => one !== undefined)));
    expect(first.length).toBeGreaterThan(0);
    for (const text of first) expect(text).toMatch(/^\d\.\d{3}$/);
  });

  test("another gateway is told whole seconds, at least one, as its protocol has it", async () => {
    const engine = engineOf({ retries: { ...policy, jitter: 0 } }, ({ step }) => step.run("a", fails), {
      inPlace: false,
    });
    const result = await engine.request(hash("a"), 0);
    expect(result).toMatchObject({ status: "NOT_COMPLETED", retryAfter: "1" });
    expect((await engine.request(hash("a"), 2)).retryAfter).toBe("2");
  });

  test("without delays of its own nothing is said, and the gateway chooses", async () => {
    const engine = engineOf({ retries: { attempts: 2 } }, ({ step }) => step.run("a", fails), {});
    expect((await engine.request()).retryAfter).toBeUndefined();
  });

  test("an HTTP call that the gateway makes is repeated by the function's delays", async () => {
    const engine = engineOf(
      { retries: { attempts: 2, base: "3s", jitter: 0 } },
      ({ step }) => step.fetch("call", "https://example.test/"),
      { maxAttempts: 3 },
    );
    await engine.request();
    const [op] = engine.results.flatMap(({ body }) => JSON.parse(new TextDecoder().decode(body)) as { opts: object }[]);
    expect(op?.opts).toMatchObject({ url: "https://example.test/", retryAfter: ["3.000", "6.000"] });
  });
});

describe("FunctionTest", () => {
  test("waits before retries are as long each time, and undoing a step has the function's delays", async () => {
    let undone = 0;
    const fn = client.createFunction(
      { id: "saga", triggers: { event: "app/go" }, retries: { attempts: 2, base: "10s", factor: 1, jitter: 0.5 } },
      async ({ step }) => {
        await step.run("book", () => 1, {
          compensate: () => {
            undone += 1;
            if (undone < 3) throw new Error("busy");
          },
        });
        await step.run("pay", fails, { retries: 1 });
      },
    );
    const run = await new FunctionTest(fn).run();
    expect(run.error).toMatchObject({ message: "no", compensation: { undone: ["book"] } });
    expect(undone).toBe(3);
    expect(run.elapsedMs).toBe(10_000 + 10_000 + 10_000);
  });
});

describe("what cannot be used", () => {
  test.each<[object, RegExp]>([
    [{ retries: { attempts: 21 } }, /Function "f": `retries\.attempts` must be an integer from 0 to 20\./],
    [{ retries: "3" }, /`retries` must be an integer from 0 to 20/],
    [{ retries: null }, /`retries` must be an integer from 0 to 20/],
    [{ retries: [1] }, /`retries` cannot be an array; it is a number, or an object with `attempts`, `base`/],
    [{ retries: { backoff: 1 } }, /`retries` has no option `backoff`; .*`base`, `factor`, `max`, `jitter`/],
    [{ retries: { base: "soon" } }, /`retries\.base` is not a duration: "soon"/],
    [{ retries: { max: "25h" } }, /`retries\.max` must be at most 24 h/],
    [{ retries: { factor: 0.5 } }, /`retries\.factor` must be a number from 1 to 1000/],
    [{ retries: { jitter: 2 } }, /`retries\.jitter` must be a number from 0 to 1/],
    [{ retries: { base: "2m", max: "1m" } }, /`retries\.max` is less than `retries\.base`/],
    [{ retryIf: true }, /`retryIf` must be a function, \(error\) => boolean, not true/],
    [
      { retryIf: () => true, isolate: { module: import.meta.url, export: "x" } },
      /`retryIf` cannot be handed to a thread/,
    ],
  ])("%o of a function is rejected where it is defined", (options, message) => {
    const handler = "isolate" in options ? undefined : () => 1;
    const define = (): unknown =>
      client.createFunction({ id: "f", triggers: [], ...options } as never, handler as never);
    expect(define).toThrow(
      expect.objectContaining({ code: "FUNCTION_INVALID", message: expect.stringMatching(message) }),
    );
  });

  test.each<[object, RegExp]>([
    [{ retries: { base: "soon" }, compensate: () => {} }, /Step "a": `retries\.base` is not a duration: "soon"\./],
    [{ retries: { base: 5, max: 1 } }, /`retries\.max` is less/],
    [{ retryIf: () => true, retries: -1 }, /`retries` must be an integer from 0 to 20/],
  ])("%o of a step fails it with a code", async (options, message) => {
    const engine = engineOf({}, ({ step }) => step.run("a", () => 1, options as never), {});
    expect((await engine.run()).value).toMatchObject({ code: "STEP_INVALID", message: expect.stringMatching(message) });
  });
});
