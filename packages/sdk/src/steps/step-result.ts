/**
 * What a value is after it went through JSON: a Date is text, methods are gone, a Map is an empty object, and so is an
 * Error, of which only fields of its own class are left; bytes are an object of numbers. `undefined` as the whole result is
 * kept; `any` and `unknown` stay what they are. What JSON has nothing for at all is `NotJson`, which fits nowhere.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: bodies without a return statement give void
export type StepResult<T> = unknown extends T ? T : T extends undefined | void ? T : Jsonified<T>;

type JsonPrimitive = string | number | boolean | null;
/** What JSON leaves out of an object. */
type LeftOut = symbol | ((...args: never[]) => unknown);
type NoJson = bigint | LeftOut;
/** A value that cannot be a result: with `never` in its place the mistake would fit everywhere. */
type NotJson<Value> = { readonly "is not JSON": Value };

type Jsonified<T> = unknown extends T
  ? T
  : T extends JsonPrimitive
    ? T
    : T extends { toJSON(...args: never[]): infer Json }
      ? Jsonified<Json>
      : T extends NoJson
        ? NotJson<T>
        : T extends readonly unknown[]
          ? { [Index in keyof T]: InArray<T[Index]> }
          : T extends TypedArray<infer Element>
            ? Element extends bigint
              ? NotJson<T>
              : Record<number, number>
            : T extends Emptied
              ? Empty
              : IsError<T> extends true
                ? OrEmpty<Fields<Omit<T, keyof Error>>>
                : T extends object
                  ? Fields<T>
                  : never;

type Empty = Record<string, never>;
type OrEmpty<T> = [keyof T] extends [never] ? Empty : T;
type Fields<T> = { [Key in keyof T as IsKept<Key, T[Key]>]: InObject<T[Key]> };

/** By its shape: which of these classes there are, and of which parameters, depends on the app's `lib`. */
interface TypedArray<Element> {
  readonly BYTES_PER_ELEMENT: number;
  readonly byteLength: number;
  readonly [index: number]: Element;
}

/**
 * Instances whose state is in no field, so that JSON has `{}` of them. What not every `lib` has is named by a shape that
 * data cannot have; a name that is missing would match everything.
 */
type Emptied =
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<object, unknown>
  | WeakSet<object>
  | PromiseLike<unknown>
  | RegExp
  | DataView
  | Iterator<unknown, unknown, never>
  /** ArrayBuffer, SharedArrayBuffer. */
  | { readonly byteLength: number; slice(begin?: number, end?: number): unknown }
  /** A DOMException, whose fields are getters. */
  | { readonly code: number; readonly INDEX_SIZE_ERR: number }
  | AbortSignalShape
  | { abort(reason?: unknown): void; readonly signal: AbortSignalShape }
  /** Response, Request, Blob. */
  | { arrayBuffer(): Promise<unknown>; text(): Promise<string> }
  /** Headers, FormData, URLSearchParams. */
  | { append(name: string, value: string): void; delete(name: string): void; has(name: string): boolean }
  /** ReadableStream, WritableStream. */
  | { readonly locked: boolean; cancel(reason?: unknown): Promise<void> }
  | { readonly locked: boolean; abort(reason?: unknown): Promise<void> };

interface AbortSignalShape {
  readonly aborted: boolean;
  throwIfAborted(): void;
}

/**
 * Data that has an error's fields, as one that was read from JSON, is told apart by what it lacks, always has, or has as
 * read-only.
 */
type IsError<T> = T extends Error
  ? [keyof Error] extends [keyof T]
    ? Record<never, never> extends Pick<T, "stack" & keyof T>
      ? "message" extends WritableKeys<T>
        ? true
        : false
      : false
    : false
  : false;
type WritableKeys<T> = {
  [Key in keyof T]-?: IsSame<{ [Name in Key]: T[Name] }, { -readonly [Name in Key]: T[Name] }> extends true
    ? Key
    : never;
}[keyof T];
type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

type IsKept<Key, Value> = Key extends symbol
  ? never
  : unknown extends Value
    ? Key
    : [Value] extends [NoJson | undefined]
      ? never
      : Key;
type InObject<T> = T extends undefined ? T : T extends LeftOut ? never : Jsonified<T>;
type InArray<T> = T extends undefined | LeftOut ? null : Jsonified<T>;
