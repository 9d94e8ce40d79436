/**
 * A thrown value as `toPlainError` can read all of it: where JSON refuses a value, for a BigInt or a circle in it, there is
 * text in that place, and the rest is kept. What JSON takes is passed on as it is. Each field is read when it is asked for,
 * so that what throws or has no end is as it was.
 */

/** Read by name, whether or not they are enumerable. */
const READ_BY_NAME = ["name", "message", "stack", "code", "cause", "errors"];
/** A circle leads mostly to something large, such as a socket, that says nothing of the error. */
const MAX_DEPTH = 4;
const MAX_VALUES = 200;

export function carriedError(thrown: unknown): unknown {
  try {
    return isErrorLike(thrown) ? viewOf(thrown) : asText(thrown);
  } catch {
    return thrown;
  }
}

function isErrorLike(value: unknown): value is object {
  if (value instanceof Error) return true;
  return typeof value === "object" && value !== null && "message" in value && "name" in value;
}

/** An object with the same fields. */
function viewOf(error: object): object {
  const fields = Object.keys(error);
  const view = {};
  for (const key of new Set([...READ_BY_NAME, ...fields])) {
    const get = (): unknown => fieldOf(error, key);
    Object.defineProperty(view, key, { get, enumerable: fields.includes(key) });
  }
  return view;
}

function fieldOf(error: object, key: string): unknown {
  const value: unknown = Reflect.get(error, key);
  try {
    return carriedField(value, key);
  } catch {
    // A proxy, say: what can be said of it is said where it is read.
    return value;
  }
}

function carriedField(value: unknown, key: string): unknown {
  if (key === "cause") return isErrorLike(value) ? viewOf(value) : carriedJson(value);
  const isErrors = key === "errors" && Array.isArray(value) && value.every(isErrorLike);
  return isErrors ? value.map(viewOf) : carriedJson(value);
}

/** Objects as JSON, since they have no message. */
function asText(thrown: unknown): unknown {
  if (typeof thrown === "bigint") return `${thrown}n`;
  if (typeof thrown !== "object" || thrown === null) return thrown;
  return jsonOf(thrown) ?? JSON.stringify(replaced(thrown));
}

function carriedJson(value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return value;
  return jsonOf(value) === undefined ? replaced(value) : value;
}

/** Undefined where JSON refuses it. */
function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A copy of plain data, with text in place of what JSON refuses, of instances of classes, and of what is too much. */
function replaced(value: unknown): unknown {
  let left = MAX_VALUES;
  const copy = (one: unknown, around: readonly object[]): unknown => {
    left -= 1;
    if (left < 0) return "[left out]";
    if (typeof one === "bigint") return `${one}n`;
    if (typeof one !== "object" || one === null) return one;
    if (around.includes(one)) return "[Circular]";
    // A Date, say; one that JSON refuses is an instance of a class all the same.
    const json = isPlain(one) && around.length < MAX_DEPTH ? undefined : jsonOf(one);
    if (json !== undefined) return JSON.parse(json);
    if (around.length > 0 && (!isPlain(one) || around.length >= MAX_DEPTH)) return `[${nameOf(one)}]`;
    const within = [...around, one];
    if (Array.isArray(one)) return one.slice(0, MAX_VALUES).map((each) => copy(each, within));
    return Object.fromEntries(Object.keys(one).map((key) => [key, copy(read(one, key), within)]));
  };
  return copy(value, []);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Array.isArray(value);
}

const nameOf = (value: object): string => value.constructor?.name || "Object";

function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return "[unreadable]";
  }
}
