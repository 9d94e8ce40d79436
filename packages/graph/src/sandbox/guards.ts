/**
 * Loops within the engine itself never ask whether the time is over: a list that claims to have 2^53 items would be
 * searched for years. So what is long without being large is refused before the engine begins. A part of the prelude, and
 * a program of its own: it is evaluated in QuickJS.
 */
export const GUARDS = `
  /** More items than the memory has room for can only be claimed. */
  const MAX_LENGTH = 2 ** 24;
  const MAX_SORTED = 2 ** 20;
  /** Characters that are compared when one text is searched for in another. */
  const MAX_COMPARED = 2 ** 30;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const tooLong = () => {
    throw new RangeError("it is too long for this operation");
  };
  /** Of a list, or what is treated as one. A length that is computed could be another one the next time. */
  const lengthOf = (list) => {
    const found = getOwnPropertyDescriptor(Object(list), "length");
    if (found === undefined) return 0;
    return "value" in found ? Number(found.value) : Infinity;
  };
  /** The engine looks at the time after ten thousand calls, however long each of them takes. */
  const LONG = 1_000;
  const { now } = Date;
  let endsAtMs = Infinity;
  const checkTime = (length) => {
    if (length > LONG && now() >= endsAtMs) throw new RangeError("its time is over");
  };
  const checkList = (max) => (list) => {
    const length = lengthOf(list);
    if (!(length <= max)) tooLong();
    checkTime(length);
  };
  const checkTyped = (list) => {
    const length = apply(typedLength, list, []);
    if (!(length <= MAX_LENGTH)) tooLong();
    checkTime(length);
  };
  const checkAll = (list, others) => {
    let sum = lengthOf(list);
    for (const each of others) if (typeof each === "object" && each !== null) sum += lengthOf(each);
    if (!(sum <= MAX_LENGTH)) tooLong();
    checkTime(sum);
  };
  const checkSearch = (text, [part]) => {
    const length = String(text).length;
    if (typeof part === "string" && length * part.length > MAX_COMPARED) tooLong();
    checkTime(length);
  };
  const guard = (target, names, check) => {
    for (const name of names) {
      const native = target[name];
      if (typeof native !== "function") continue;
      const guarded = {
        [name](...args) {
          check(this, args);
          return apply(native, this, args);
        },
      }[name];
      defineProperty(guarded, "length", { value: native.length, configurable: true });
      defineProperty(target, name, { value: guarded, writable: true, configurable: true, enumerable: false });
    }
  };
  const typed = getPrototypeOf(Uint8Array.prototype);
  const typedLength = getOwnPropertyDescriptor(typed, "length").get;
  guard(
    Array.prototype,
    [
      "includes", "indexOf", "lastIndexOf", "reverse", "toReversed", "copyWithin", "fill", "join", "toLocaleString",
      "slice", "splice", "toSpliced", "shift", "unshift", "with", "forEach", "map", "filter", "some", "every", "reduce",
      "reduceRight", "find", "findIndex", "findLast", "findLastIndex", "values", "keys", "entries",
    ],
    checkList(MAX_LENGTH),
  );
  guard(Array.prototype, ["sort", "toSorted"], checkList(MAX_SORTED));
  guard(typed, ["sort", "toSorted"], checkTyped);
  guard(Array.prototype, ["concat"], checkAll);
  guard(globalThis.Iterator?.prototype ?? {}, ["drop"], (_, [count]) => {
    if (!(Number(count) <= MAX_LENGTH)) tooLong();
  });
  guard(String, ["raw"], (_, [strings]) => checkList(MAX_LENGTH)(Object(strings).raw));
  guard(String.prototype, ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"], checkSearch);
  guard(
    String.prototype,
    [
      "concat", "localeCompare", "match", "matchAll", "normalize", "search", "slice", "substr", "substring",
      "toLocaleLowerCase", "toLocaleUpperCase", "toLowerCase", "toUpperCase", "trim", "trimEnd", "trimStart",
    ],
    (text) => checkTime(String(text).length),
  );
  guard(String.prototype, ["repeat"], (text, [count]) => checkTime(String(text).length * Number(count)));
  guard(String.prototype, ["padEnd", "padStart"], (text, [length]) => checkTime(Number(length)));
  guard(
    typed,
    [
      "copyWithin", "fill", "includes", "indexOf", "join", "lastIndexOf", "reverse", "set", "slice", "toReversed",
      "with",
    ],
    (list) => checkTime(apply(typedLength, list, [])),
  );
  /** How long these take shows only while they do. */
  const checkNow = () => checkTime(Infinity);
  guard(JSON, ["parse", "stringify"], checkNow);
  guard(Array, ["from"], checkNow);
  guard(Object, ["assign", "entries", "freeze", "fromEntries", "getOwnPropertyNames", "keys", "values"], checkNow);
  /** Lists within lists, in steps of this program: the engine's own goes through them at once. */
  const flat = (list, depth, into) => {
    checkList(MAX_LENGTH)(list);
    for (let index = 0; index < list.length; index += 1) {
      if (!(index in list)) continue;
      if (depth > 0 && Array.isArray(list[index])) flat(list[index], depth - 1, into);
      else into[into.length] = list[index];
    }
    return into;
  };
  const lists = {
    flat(depth = 1) {
      return flat(Object(this), Number(depth) || 0, []);
    },
    flatMap(make, self) {
      const made = [];
      checkList(MAX_LENGTH)(this);
      for (let index = 0; index < this.length; index += 1) {
        if (index in this) made[made.length] = apply(make, self, [this[index], index, this]);
      }
      return flat(made, 1, []);
    },
  };
  for (const name of ["flat", "flatMap"]) {
    defineProperty(Array.prototype, name, { value: lists[name], writable: true, configurable: true, enumerable: false });
  }
`;
