import type { LoggerLike, LogLevel } from "@holdfast/core";
import { beforeEach, describe, expect, test } from "vitest";
import type { ClientOptions } from "../../src/app/client-options.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import type { HandlerContext } from "../../src/functions/define-function.ts";
import { NonRetriableError, RetryAfterError } from "../../src/steps/errors.ts";
import { Engine, type EngineOptions } from "./engine.ts";

interface Line {
  readonly level: LogLevel;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

type Handler = (context: HandlerContext<unknown>) => unknown;

let lines: Line[];
beforeEach(() => {
  lines = [];
});

const at =
  (level: LogLevel) =>
  (data: unknown, text: unknown): void =>
    void lines.push({ level, text: String(text), data: data as Line["data"] });
const recorder: LoggerLike = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };

function engineOf(handler: Handler, options: Partial<EngineOptions> = {}, client: Partial<ClientOptions> = {}): Engine {
  const app = new Holdfast({ id: "app", isDev: true, logger: recorder, ...client }, {});
  const fn = app.createFunction({ id: "f", triggers: [] }, handler as never);
  const retry = { baseMs: 2_000, factor: 2, maxMs: 60_000 };
  return new Engine({ client: app, fn, inPlace: true, extended: { retry }, ...options });
}

const texts = (): readonly string[] => lines.map(({ level, text }) => `${level} ${text}`);

class PaymentDeclined extends Error {
  override readonly name = "PaymentDeclined";
}

const MODES: [string, Partial<EngineOptions>][] = [
  ["in place", { inPlace: true }],
  ["looking ahead", { inPlace: true, looksAhead: true }],
];

describe.each(MODES)("what fails, %s", (_name, mode) => {
  test("each failed attempt of a step is a warning, the run's end an error, and nothing comes twice", async () => {
    const engine = engineOf(async ({ step }) => {
      await step.run("before", () => 1);
      await step.run("charge", () => Promise.reject(new PaymentDeclined("503 Service Unavailable")));
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()).toEqual([
      'warn Step "charge" of app-f failed, attempt 1 of 3: PaymentDeclined: 503 Service Unavailable. Next attempt in 2 s.',
      'warn Step "charge" of app-f failed, attempt 2 of 3: PaymentDeclined: 503 Service Unavailable. Next attempt in 4 s.',
      'warn Step "charge" of app-f failed, attempt 3 of 3: PaymentDeclined: 503 Service Unavailable. No attempts are left.',
      'error Run 01RUN of app-f failed: step "charge" failed: PaymentDeclined: 503 Service Unavailable.',
    ]);
    const [first] = lines;
    expect(first?.data).toMatchObject({
      ...{ code: "ATTEMPT_FAILED", runId: "01RUN", functionSlug: "app-f", stepId: "charge" },
      ...{ attempt: 0, maxAttempts: 3, nextAttemptInMs: 2_000 },
      err: { name: "PaymentDeclined", message: "503 Service Unavailable" },
    });
    expect(JSON.stringify(first?.data.err)).toContain("failure-log.test.ts:");
    expect(lines.at(-1)?.data).toMatchObject({ code: "RUN_FAILED", stepId: "charge" });
  });

  test("attempts of a handler, its last one with the run's failure", async () => {
    const engine = engineOf(
      async ({ step }) => {
        await step.run("a", () => 1);
        throw new Error("no such order");
      },
      { ...mode, maxAttempts: 2 },
    );
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()).toEqual([
      "warn The handler of app-f failed, attempt 1 of 2: no such order. Next attempt in 2 s.",
      "error Run 01RUN of app-f failed: no such order. No attempts are left.",
    ]);
  });

  test("an error that the handler catches fails the step only", async () => {
    const engine = engineOf(async ({ step }) => {
      await step.run("a", () => Promise.reject(new Error("gone")), { retries: 0 }).catch(() => {});
      await step.run("b", () => 1);
    }, mode);
    expect(await engine.run()).toMatchObject({ status: "completed" });
    expect(texts()).toEqual(['warn Step "a" of app-f failed, attempt 1 of 1: gone. No attempts are left.']);
  });

  test("the author's own word on retries is said", async () => {
    const errors = [new RetryAfterError("busy", "30s"), new NonRetriableError("no such card")];
    const engine = engineOf(({ step }) => step.run("a", () => Promise.reject(errors.shift())), mode);
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()).toEqual([
      'warn Step "a" of app-f failed, attempt 1 of 3: RetryAfterError: busy. Next attempt in 30 s.',
      'warn Step "a" of app-f failed, attempt 2 of 3: NonRetriableError: no such card. It is not tried again: its error is a NonRetriableError.',
      'error Run 01RUN of app-f failed: step "a" failed: NonRetriableError: no such card.',
    ]);
  });

  test("`retries` and `retryIf` of a step show in what is said of the next attempt", async () => {
    const errors = [new Error("busy"), new Error("gone")];
    const retries = { base: "500ms", jitter: 0 } as const;
    const retryIf = ({ message }: Error): boolean => message === "busy";
    const engine = engineOf(
      ({ step }) => step.run("a", () => Promise.reject(errors.shift()), { retries, retryIf }),
      mode,
    );
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts().slice(0, 2)).toEqual([
      'warn Step "a" of app-f failed, attempt 1 of 3: busy. Next attempt in 500 ms.',
      'warn Step "a" of app-f failed, attempt 2 of 3: gone. It is not tried again: `retryIf` said so.',
    ]);
  });

  test("a `retryIf` that no author wrote says itself why", async () => {
    const why = ({ code }: { readonly code?: string }): string => `${code} stays`;
    const retryIf = Object.assign(() => false, { [Symbol.for("holdfast.whyNotRetried")]: why });
    const app = new Holdfast({ id: "app", isDev: true, logger: recorder }, {});
    const fn = app.createFunction({ id: "f", triggers: [], retryIf }, ({ step }) =>
      step.run("a", () => Promise.reject(Object.assign(new Error("gone"), { code: "GONE" }))),
    );
    await new Engine({ client: app, fn, inPlace: true, ...mode }).run();
    expect(texts()[0]).toBe('warn Step "a" of app-f failed, attempt 1 of 3: gone. It is not tried again: GONE stays.');
  });

  test("a mistake in the code says so by its code", async () => {
    const engine = engineOf(({ step }) => step.run("a", () => 1n as never), mode);
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()[0]).toMatch(/attempt 1 of 3: .*STEP_RESULT_INVALID would come up in each attempt\.$/);
    // Thrown inside of Holdfast, where no line of the app's is.
    expect(lines[0]?.data.err).toMatchObject({ stack: expect.stringMatching(/^HoldfastError: [^\n]*$/) });
  });

  test("what is thrown and no error is shown without Holdfast's own stack", async () => {
    const engine = engineOf(({ step }) => step.run("a", () => Promise.reject("gone"), { retries: 0 }), mode);
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(lines.at(-1)?.text).toBe('Run 01RUN of app-f failed: step "a" failed: gone.');
    expect(JSON.stringify(lines)).not.toContain("    at ");
  });

  test("a timeout is said to be one", async () => {
    const never = (): Promise<never> => new Promise(() => {});
    const engine = engineOf(({ step }) => step.run("slow", never, { timeout: "30s", retries: 0 }), {
      ...mode,
      haste: 1_000,
    });
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()[0]).toMatch(/^warn Step "slow" of app-f failed, attempt 1 of 1: StepTimeoutError: .*after 30s/);
    expect(lines[0]?.data.err).toMatchObject({ code: "STEP_TIMEOUT" });
  });

  test("steps that are undone, and a compensation that fails", async () => {
    const engine = engineOf(
      async ({ step }) => {
        await step.run("reserve", () => 1, { compensate: () => {} });
        await step.run("charge", () => 2, { compensate: () => Promise.reject(new Error("bank closed")) });
        throw new NonRetriableError("out of stock");
      },
      { ...mode, maxAttempts: 1 },
    );
    expect(await engine.run()).toMatchObject({ status: "failed" });
    expect(texts()).toEqual([
      "error Run 01RUN of app-f failed: NonRetriableError: out of stock. It is not tried again: its error is a NonRetriableError. 2 finished steps are undone now.",
      'warn The compensation of step "charge" of app-f failed, attempt 1 of 1: bank closed. No attempts are left.',
      'error Run 01RUN of app-f has undone "reserve", but not "charge": the compensation failed.',
    ]);
  });

  test.each([
    ["error", ["error"]],
    ["off", []],
  ] as const)("with `logLevel` %s only that is logged", async (logLevel, levels) => {
    const engine = engineOf(() => Promise.reject(new Error("no")), { ...mode, maxAttempts: 2 }, { logLevel });
    await engine.run();
    expect(lines.map(({ level }) => level)).toEqual(levels);
  });

  test("a body that ends with an error after its work was withdrawn is not logged", async () => {
    const engine: Engine = engineOf(({ step }) => {
      const body = (): Promise<never> => {
        engine.signal.abort(new Error("the lease is lost"));
        return Promise.reject(new Error("aborted"));
      };
      return step.run("a", body);
    }, mode);
    await engine.request();
    expect(texts()).toEqual([]);
  });
});

test("on the plain protocol each attempt is logged once, without a time that only the gateway has", async () => {
  const engine = engineOf(({ step }) => step.run("charge", () => Promise.reject(new Error("503"))), {
    inPlace: false,
    maxAttempts: 2,
  });
  expect(await engine.run()).toMatchObject({ status: "failed" });
  expect(texts()).toEqual([
    'warn Step "charge" of app-f failed, attempt 1 of 2: 503. It is tried again.',
    'warn Step "charge" of app-f failed, attempt 2 of 2: 503. No attempts are left.',
    'error Run 01RUN of app-f failed: step "charge" failed: 503.',
  ]);
});
