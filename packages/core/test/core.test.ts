import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  backoffDelayMs,
  type Clock,
  createDriver,
  createUlidFactory,
  describeValue,
  ERROR_CATALOGUE,
  formatSingleUnit,
  HoldfastError,
  isUlid,
  LOG_LEVELS,
  type LoggerLike,
  logTo,
  messageOf,
  parseDurationMs,
  parseGoDurationMs,
  type Step,
  seededRandom,
  sleep,
  systemTimers,
  toPlainError,
  ulidFromSeed,
  ulidTimeMs,
  whenAborted,
  withTimeout,
} from "../src/index.ts";

describe("Backoff", () => {
  const policy = { baseMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.2 };

  test("backoff without jitter grows from 1 s by doubling, up to the cap", () => {
    const plain = { ...policy, jitter: 0 };
    expect([1, 2, 3, 20, 5000].map((attempt) => backoffDelayMs(plain, attempt, () => 0.5))).toEqual([
      1000, 2000, 4000, 30_000, 30_000,
    ]);
  });

  test("backoff stays within the jitter and never exceeds the cap", () => {
    fc.assert(
      fc.property(fc.integer({ min: -5, max: 200 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, r) => {
        const delay = backoffDelayMs(policy, attempt, () => r);
        const plain = Math.min(1000 * 2 ** (Math.max(attempt, 1) - 1), 30_000);
        expect(delay).toBeGreaterThanOrEqual(Math.floor(plain * 0.8));
        expect(delay).toBeLessThanOrEqual(Math.min(Math.ceil(plain * 1.2), 30_000));
      }),
    );
  });
});

describe("Durations", () => {
  test.each([
    ["5s", 5000],
    ["1.5s", 1500],
    ["2 hours", 7_200_000],
    ["7d", 604_800_000],
    ["1m0s", 60_000],
    ["1h30m", 5_400_000],
    [250, 250],
    ["0s", 0],
    ["10", 10],
    [" .5 SECS ", 500],
    ["3 milliseconds", 3],
    ["3msec", 3],
    ["2 Min", 120_000],
    ["1 minute", 60_000],
    ["2hrs", 7_200_000],
    ["1 week", 604_800_000],
    ["1.5us", 0],
    ["1w2d", 777_600_000],
  ])("the duration %s is %d ms", (input, expected) => expect(parseDurationMs(input)).toBe(expected));

  test.each([
    ["soon"],
    [""],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [-1],
    ["-5s"],
    ["9000d"],
    ["2 years"],
    ["1m zwei"],
    ["mi"],
    ["1. s"],
    ["5sex"],
  ])("the duration %s is rejected with a code", (input) => {
    expect(() => parseDurationMs(input, "timeout")).toThrowError(
      expect.objectContaining({ code: "DURATION_INVALID", message: expect.stringContaining("timeout") }),
    );
  });

  test.each([
    [undefined, "is missing"],
    [null, "not a duration: null"],
    [new Date(0), "not a duration: a Date"],
    [{}, "a value of type object"],
    [Number.NaN, "not a duration: NaN"],
    ["soon", 'not a duration: "soon"'],
  ])("the duration %s, which an untyped caller may pass, is rejected with an explanation", (input, problem) => {
    expect(() => parseDurationMs(input as never, "timeout")).toThrowError(
      expect.objectContaining({ code: "DURATION_INVALID", message: expect.stringContaining(problem) }),
    );
  });

  test("durations are formatted in Go syntax", () => {
    expect(parseGoDurationMs("1m0s")).toBe(60_000);
    expect(parseGoDurationMs("2h45m30.5s")).toBe(9_930_500);
    expect(parseGoDurationMs("10")).toBeUndefined();
    expect(parseGoDurationMs("1m,2s")).toBeUndefined();
  });

  test("a formatted duration uses one unit only, and every peer can parse it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000 }), (durationMs) => {
        const text = formatSingleUnit(durationMs);
        expect(text).toMatch(/^\d+(ms|s)$/);
        expect(parseDurationMs(text)).toBe(durationMs);
      }),
    );
  });
});

describe("Ids", () => {
  const clockAt = (times: number[]): Clock => ({ nowMs: () => times.shift() ?? 0, monotonicMs: () => 0 });

  test("ids increase, also within one millisecond and when the clock is set back", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { minLength: 2 }), fc.integer(), (times, seed) => {
        const make = createUlidFactory(clockAt([...times]), seededRandom(seed));
        const ids = times.map(() => make());
        for (const id of ids) expect(isUlid(id)).toBe(true);
        expect([...ids].sort()).toEqual(ids);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  test("ids contain their creation time", () => {
    expect(ulidTimeMs("01JZ0000000000000000000000")).toBe(1751272914944);
    const make = createUlidFactory(clockAt([]), seededRandom(1));
    expect(ulidTimeMs(make(1700000120000))).toBe(1700000120000);
    expect(make(1700000120000).startsWith("01HF7YEF60")).toBe(true);
  });

  test("ids generated from a client's seed are deterministic", () => {
    const entropy = new Uint8Array(Buffer.from("eii2YKXRVTJPuA==", "base64"));
    expect([0, 1, 2].map((offset) => ulidFromSeed(1743130137367, entropy, offset))).toEqual([
      "01JQDAE4RQF8MBCR55T5AK4KXR",
      "01JQDAE4RQF8MBCR55T5AK4KXS",
      "01JQDAE4RQF8MBCR55T5AK4KXT",
    ]);
  });
});

test("an id of a seed is its time and its bits, five a sign", () => {
  const random = seededRandom(3);
  const inBase32 = (bits: bigint, signs: number): string =>
    Array.from(
      bits
        .toString(2)
        .padStart(5 * signs, "0")
        .match(/.{5}/g) ?? [],
      (five) => "0123456789ABCDEFGHJKMNPQRSTVWXYZ".charAt(Number.parseInt(five, 2)),
    ).join("");
  for (let time = 0; time < 500; time += 1) {
    const entropy = Uint8Array.from({ length: 10 }, () => Math.floor(random() * 256));
    const atMs = Math.floor(random() * 2 ** (time % 49));
    const offset = Math.floor(random() * 2 ** (time % 32));
    const bits = BigInt(`0x${Buffer.from(entropy).toString("hex")}`);
    const last = BigInt.asUintN(32, bits + BigInt(offset));
    const moved = bits - BigInt.asUintN(32, bits) + last;
    expect(ulidFromSeed(atMs, entropy, offset)).toBe(inBase32(BigInt(atMs), 10) + inBase32(moved, 16));
  }
});

describe("Errors", () => {
  test("every error code says what happened and how to fix it", () => {
    for (const [code, { summary, fix }] of Object.entries(ERROR_CATALOGUE)) {
      expect(code).toMatch(/^[A-Z][A-Z_]+$/);
      expect(summary).toMatch(/\.$/);
      expect(fix.length).toBeGreaterThan(5);
    }
  });

  test("errors are recognised across copies of the package", () => {
    const fromOtherCopy = Object.assign(new Error("x"), { code: "LEASE_LOST" });
    Object.defineProperty(fromOtherCopy, Symbol.for("holdfast.error"), { value: true });
    expect(HoldfastError.is(fromOtherCopy)).toBe(true);
    expect(HoldfastError.is(new Error("x"))).toBe(false);
    expect(HoldfastError.is(null)).toBe(false);
  });

  test("an error of ours has a cause only where there is one", () => {
    expect("cause" in new HoldfastError("INTERNAL", "none", { cause: undefined })).toBe(false);
    expect(new HoldfastError("INTERNAL", "one", { cause: null })).toMatchObject({ cause: null });
  });

  test("errors become plain data with their cause and own fields", () => {
    const error = Object.assign(new TypeError("outer", { cause: new Error("inner", { cause: "text" }) }), {
      code: "E_X",
      order: { id: 7 },
      skip: 10n,
    });
    expect(toPlainError(error)).toMatchObject({
      name: "TypeError",
      message: "outer",
      code: "E_X",
      data: { order: { id: 7 } },
      cause: { name: "Error", message: "inner", cause: "text" },
    });
    expect(() => JSON.stringify(toPlainError(error))).not.toThrow();
  });

  test("an error with unreadable properties does not make the conversion throw", () => {
    const fail = (): never => {
      throw new Error("trap");
    };
    const proxy = new Proxy({}, { get: fail, has: fail, getPrototypeOf: fail, ownKeys: fail });
    const cannot = "A value was thrown that could not be read.";
    expect(toPlainError(proxy)).toEqual({ name: "Error", message: cannot });
    expect(messageOf(proxy)).toBe(cannot);
    const halfRead = Object.defineProperty(Object.assign(new TypeError("x"), { a: 1 }), "b", {
      enumerable: true,
      get: fail,
    });
    expect(toPlainError(halfRead)).toMatchObject({ name: "TypeError", message: "x", data: { a: 1 } });
    expect(toPlainError(Object.assign(new Error("outer"), { cause: proxy }))).toMatchObject({
      message: "outer",
      cause: cannot,
    });
  });

  test("an aggregate error that contains itself is converted within bounds", () => {
    const cyclic = new AggregateError([], "loop");
    cyclic.errors = Array.from({ length: 30 }, () => cyclic);
    cyclic.cause = cyclic;
    const count = (error: { cause?: unknown; data?: { errors?: unknown } }): number =>
      1 +
      (error.cause ? count(error.cause as never) : 0) +
      ((error.data?.errors ?? []) as never[]).reduce((sum, each) => sum + count(each), 0);
    expect(count(toPlainError(cyclic))).toBeLessThanOrEqual(51);
  });

  test("any value can be formatted, truncated to a length", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect([
      describeValue(proxy),
      describeValue(1n),
      describeValue({ a: 1 }),
      describeValue(undefined),
      describeValue(Object.create(null)),
    ]).toEqual(["a value of type object", "1n", '{"a":1}', "undefined", "{}"]);
    expect(describeValue("x".repeat(1000)).length).toBeLessThan(210);
  });

  test("any thrown value can be converted, including cyclic ones", () => {
    const cyclic = new Error("loop");
    cyclic.cause = cyclic;
    expect(JSON.stringify(toPlainError(cyclic)).length).toBeLessThan(100_000);
    const weird = { toString: () => "weird" };
    Object.assign(weird, { self: weird });
    for (const thrown of [undefined, null, 0, "text", Symbol("s"), 10n, { a: 1 }, weird]) {
      expect(toPlainError(thrown)).toMatchObject({ name: "Error", message: expect.any(String) });
    }
  });
});

describe("Machine driver", () => {
  type State = { readonly phase: "count"; readonly seen: readonly number[] };
  type Event = { readonly type: "add"; readonly n: number };
  type Effect = { readonly do: "again"; readonly n: number };
  const step: Step<State, Event, Effect> = (state, event) => [
    { phase: "count", seen: [...state.seen, event.n] },
    event.n > 0 ? [{ do: "again", n: event.n - 1 }] : [],
  ];
  const make = (run: (effect: Effect) => void, onError?: () => void) =>
    createDriver<State, Event, Effect>({
      initial: { phase: "count", seen: [] },
      step,
      run,
      nowMs: () => 7,
      traceSize: 3,
      ...(onError ? { onError } : {}),
    });

  test("an event raised by an effect is handled after the current event", () => {
    const depths: number[] = [];
    let depth = 0;
    const driver = make((effect) => {
      depth += 1;
      depths.push(depth);
      driver.send({ type: "add", n: effect.n });
      depth -= 1;
    });
    driver.send({ type: "add", n: 5 });
    expect(driver.state.seen).toEqual([5, 4, 3, 2, 1, 0]);
    expect(Math.max(...depths)).toBe(1);
    expect(driver.trace()).toHaveLength(3);
    expect(driver.trace()[0]).toEqual({ atMs: 7, event: "add", from: "count", to: "count", effects: ["again"] });
  });

  test("without room for a trace the clock is not read and nothing is labelled", () => {
    const driver = createDriver<State, Event, Effect>({
      initial: { phase: "count", seen: [] },
      step,
      run: () => {},
      nowMs: () => {
        throw new Error("not read");
      },
      traceSize: 0,
    });
    driver.send({ type: "add", n: 1 });
    expect(driver.state.seen).toEqual([1]);
    expect(driver.trace()).toEqual([]);
  });

  test("the machine driver continues after an effect that threw", () => {
    let errors = 0;
    const driver = make(
      () => {
        throw new Error("broken effect");
      },
      () => {
        errors += 1;
      },
    );
    driver.send({ type: "add", n: 1 });
    driver.send({ type: "add", n: 1 });
    expect(errors).toBe(2);
    const strict = make(() => {
      throw new Error("broken effect");
    });
    expect(() => strict.send({ type: "add", n: 1 })).toThrow("broken effect");
    strict.send({ type: "add", n: 0 });
    expect(strict.state.seen).toEqual([1, 0]);
  });
});

describe("Promises and logs", () => {
  test("an aborted sleep ends at once", async () => {
    const controller = new AbortController();
    const sleeping = sleep(systemTimers, 1_000_000, controller.signal);
    controller.abort();
    await sleeping;
    await sleep(systemTimers, 1_000_000, controller.signal);
  });

  test("what follows an abort happens once, at once where it has happened, and not when it was taken back", () => {
    const controller = new AbortController();
    const happened: string[] = [];
    whenAborted(undefined, () => happened.push("without a signal"));
    whenAborted(controller.signal, () => happened.push("before"));
    whenAborted(controller.signal, () => happened.push("taken back"))();
    controller.abort();
    whenAborted(controller.signal, () => happened.push("after"));
    expect(happened).toEqual(["before", "after"]);
  });

  test("withTimeout settles with the promise's outcome or the timeout error", async () => {
    await expect(withTimeout(systemTimers, Promise.resolve(1), 1000, () => new Error("late"))).resolves.toBe(1);
    const never = new Promise(() => {});
    await expect(withTimeout(systemTimers, never, 1, () => new Error("late"))).rejects.toThrow("late");
  });

  test("console-like and pino-like loggers get text and data in the order that they expect", () => {
    const calls: unknown[][] = [];
    const logger = Object.fromEntries(
      LOG_LEVELS.map((level) => [level, (...args: unknown[]) => calls.push([level, ...args])]),
    ) as unknown as LoggerLike;
    logTo(logger, { level: "info", message: "text" });
    logTo(logger, { level: "warn", message: "text", data: { a: 1 } });
    expect(calls).toEqual([
      ["info", "text"],
      ["warn", { a: 1 }, "text"],
    ]);
  });

  test("a logger that throws does not disturb its caller", () => {
    const logger = {
      ...console,
      warn: () => Promise.reject,
      error: (): never => {
        throw new Error("no");
      },
    };
    logTo(logger, { level: "error", message: "x", data: { a: 1 } });
  });
});
