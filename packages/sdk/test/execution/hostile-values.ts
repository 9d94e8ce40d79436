import fc from "fast-check";
import { NonRetriableError, RetryAfterError } from "../../src/steps/errors.ts";

/** A value that throws, lies or never ends when it is looked at; made anew for each use. */
export interface HostileValue {
  readonly name: string;
  make(): unknown;
}

const boom = (): never => {
  throw new Error("boom");
};

/** Throws something that is itself hostile. */
const bomb = (): never => {
  throw new Proxy({}, Object.fromEntries(TRAPS.map((trap) => [trap, boom])));
};

const TRAPS = [
  "get",
  "has",
  "getPrototypeOf",
  "ownKeys",
  "getOwnPropertyDescriptor",
  "set",
  "apply",
  "construct",
  "isExtensible",
] as const;

const KEYS = [
  "then",
  "toJSON",
  "toString",
  "valueOf",
  "constructor",
  "message",
  "name",
  "stack",
  "cause",
  "code",
  "errors",
  "retryAfter",
  "data",
  "id",
  "ts",
  "length",
  "compensation",
  "getTime",
  "toISOString",
  "epochMilliseconds",
  Symbol.toPrimitive,
  Symbol.toStringTag,
  Symbol.iterator,
  Symbol.hasInstance,
  Symbol.species,
  Symbol.for("holdfast.error"),
  Symbol.for("holdfast.nonRetriable"),
  Symbol.for("holdfast.retryAfter"),
  Symbol.for("holdfast.stepError"),
  Symbol.for("holdfast.eventSchema"),
] as const;

const BASES: Readonly<Record<string, () => object>> = {
  "an object": () => ({ a: 1 }),
  "an object without a prototype": () => Object.create(null) as object,
  "an array": () => [1, 2],
  "a function": () => () => 1,
  "an error": () => written(new TypeError("base", { cause: new Error("inner") })),
  "a final error": () => written(new NonRetriableError("base")),
  "an error with a time": () => written(new RetryAfterError("base", "5s")),
  "a promise": () => Promise.resolve(1),
  "a date": () => new Date(0),
  "a map": () => new Map([[1, 2]]),
};

/** Its stack is written when it is first looked at, from its name: before that is made to throw. */
function written(error: Error): Error {
  return error.stack === undefined ? new Error("base") : error;
}

/** What a key holds. */
const CONTENTS: Readonly<Record<string, (key: PropertyKey) => PropertyDescriptor>> = {
  "a getter that throws": () => ({ get: boom }),
  "a getter that throws something hostile": () => ({ get: bomb }),
  "a getter that throws the second time": () => {
    let looks = 0;
    return { get: () => (++looks > 1 ? boom() : undefined) };
  },
  "a getter that throws from the third time on": () => {
    let looks = 0;
    return { get: () => (++looks > 2 ? boom() : looks === 1 ? "text" : () => 1) };
  },
  "a method that throws": () => ({ value: boom }),
  "a method that throws something hostile": () => ({ value: bomb }),
  "a method that gives itself": () => ({
    value(this: unknown) {
      return this;
    },
  }),
  true: () => ({ value: true }),
  "a symbol": () => ({ value: Symbol("s") }),
  "a BigInt": () => ({ value: 10n }),
  "a revoked proxy": () => ({ value: revoked() }),
  "an object whose toJSON throws": () => ({ value: { toJSON: boom } }),
  "text of a megabyte": () => ({ value: "x".repeat(1_000_000) }),
};

function revoked(target: object = {}): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** What never calls back is waited for, rightly. */
const NEVER_SETTLES: ReadonlySet<string> = new Set([
  "a method that gives itself",
  "a getter that throws from the third time on",
]);

const keyed = fc
  .record({
    base: fc.constantFrom(...Object.keys(BASES)),
    keys: fc.uniqueArray(
      fc.record({ key: fc.constantFrom(...KEYS), content: fc.constantFrom(...Object.keys(CONTENTS)) }),
      { minLength: 1, maxLength: 3, selector: ({ key }) => key },
    ),
    enumerable: fc.boolean(),
  })
  .filter(({ keys }) => !keys.some(({ key, content }) => key === "then" && NEVER_SETTLES.has(content)))
  .map(({ base, keys, enumerable }): HostileValue => {
    const parts = keys.map(({ key, content }) => `${String(key)}: ${content}`);
    return {
      name: `${base} with ${enumerable ? "" : "hidden "}${parts.join(", ")}`,
      make: () => {
        const value = (BASES[base] as () => object)();
        for (const { key, content } of keys) {
          const descriptor = (CONTENTS[content] as (key: PropertyKey) => PropertyDescriptor)(key);
          // Some keys of some bases are fixed.
          const isFixed = Object.getOwnPropertyDescriptor(value, key)?.configurable === false;
          if (!isFixed) Object.defineProperty(value, key, { ...descriptor, enumerable, configurable: true });
        }
        return value;
      },
    };
  });

const proxied = fc
  .record({
    base: fc.constantFrom(...Object.keys(BASES)),
    traps: fc.uniqueArray(fc.constantFrom(...TRAPS), { minLength: 1 }),
    after: fc.nat(4),
    hostile: fc.boolean(),
  })
  .map(
    ({ base, traps, after, hostile }): HostileValue => ({
      name: `a proxy of ${base} whose ${traps.join(", ")} throw${hostile ? " something hostile" : ""} after ${after} looks`,
      make: () => {
        let looks = 0;
        const trapOf = (trap: string) => [
          trap,
          (...args: never[]): unknown => {
            looks += 1;
            if (looks > after) return hostile ? bomb() : boom();
            return (Reflect as unknown as Record<string, (...given: never[]) => unknown>)[trap]?.(...args);
          },
        ];
        return new Proxy((BASES[base] as () => object)(), Object.fromEntries(traps.map(trapOf)));
      },
    }),
  );

const cyclicAggregate = (): unknown => {
  const error = new AggregateError([], "cyclic");
  error.errors = Array.from({ length: 30 }, () => error);
  error.cause = error;
  return error;
};

type Callbacks = readonly [resolve: (value?: unknown) => void, reject: (reason?: unknown) => void];

/** Thenables that break the rules. */
const thenable = (name: string, then: (...callbacks: Callbacks) => void): HostileValue => ({
  name: `a thenable that ${name}`,
  make: () => ({ then }),
});

const promiseWithOwnThen = (): unknown =>
  // biome-ignore lint/suspicious/noThenProperty: that is what is tested
  Object.defineProperty(Promise.resolve(1), "then", { value: boom });

const throwingThen = (): unknown =>
  // biome-ignore lint/suspicious/noThenProperty: that is what is tested
  Object.defineProperty({}, "then", { get: boom });

const BY_HAND: readonly HostileValue[] = [
  thenable("calls both", (resolve, reject) => {
    resolve(1);
    reject(new Error("no"));
  }),
  thenable("throws after it resolved", (resolve) => {
    resolve(1);
    boom();
  }),
  thenable("throws", boom),
  thenable("throws something hostile", bomb),
  thenable("calls often", (resolve) => {
    for (let call = 0; call < 10; call += 1) resolve(call);
  }),
  thenable("rejects with a revoked proxy", (_resolve, reject) => reject(revoked())),
  thenable("gives a thenable that throws", (resolve) => resolve(throwingThen())),
  { name: "a promise whose own then throws", make: promiseWithOwnThen },
  { name: "a promise of a revoked proxy", make: () => Promise.resolve({ inner: revoked() }) },
  { name: "an object whose then cannot be read", make: throwingThen },
  { name: "a revoked proxy", make: () => revoked() },
  { name: "a revoked proxy of a function", make: () => revoked(() => 1) },
  { name: "a revoked proxy of an array", make: () => revoked([]) },
  { name: "an aggregate error of itself", make: cyclicAggregate },
  {
    name: "an error that is its own cause",
    make: () => {
      const error = new Error("loop");
      error.cause = error;
      return error;
    },
  },
  { name: "a circle", make: circle },
  {
    name: "an array that holds hostile values",
    make: () => [revoked(), Object.defineProperty({}, "x", { get: boom })],
  },
  {
    name: "nesting beyond the stack",
    make: () => {
      let value: unknown = 1;
      for (let level = 0; level < 100_000; level += 1) value = [value];
      return value;
    },
  },
  { name: "nesting beyond the wire", make: () => JSON.parse("[".repeat(300) + "]".repeat(300)) as unknown },
  { name: "a BigInt", make: () => 10n },
  { name: "a symbol", make: () => Symbol("s") },
  { name: "undefined", make: () => undefined },
  { name: "null", make: () => null },
  { name: "a function whose toString throws", make: () => Object.assign(() => 1, { toString: boom }) },
  { name: "text with half a pair and NUL", make: () => "\ud800\0" },
  { name: "a key __proto__", make: () => JSON.parse('{"__proto__":{"polluted":1},"constructor":1}') as unknown },
];

function circle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

export const hostileValue: fc.Arbitrary<HostileValue> = fc.oneof(
  { weight: 5, arbitrary: keyed },
  { weight: 3, arbitrary: proxied },
  { weight: 3, arbitrary: fc.constantFrom(...BY_HAND) },
);
