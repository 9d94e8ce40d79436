/**
 * What a value is after it went through JSON: a Date is text, methods are gone, a Map is an empty object. `undefined` as
 * the whole result is kept; `any` and `unknown` stay what they are.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: bodies without a return statement give void
export type StepResult<T> = unknown extends T ? T : T extends undefined | void ? T : Jsonified<T>;

type JsonPrimitive = string | number | boolean | null;
type NoJson = bigint | symbol | ((...args: never[]) => unknown);

type Jsonified<T> = unknown extends T
  ? T
  : T extends JsonPrimitive
    ? T
    : T extends { toJSON(...args: never[]): infer Json }
      ? Jsonified<Json>
      : T extends NoJson
        ? never
        : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? Record<string, never>
          : T extends readonly unknown[]
            ? { [Index in keyof T]: InArray<T[Index]> }
            : T extends object
              ? { [Key in keyof T as IsKept<Key, T[Key]>]: InObject<T[Key]> }
              : never;

type IsKept<Key, Value> = Key extends symbol
  ? never
  : unknown extends Value
    ? Key
    : [Value] extends [NoJson | undefined]
      ? never
      : Key;
type InObject<T> = T extends undefined ? T : Jsonified<T>;
type InArray<T> = T extends undefined | NoJson ? null : Jsonified<T>;
