/** Measures untrusted JSON in one pass that stops at the limits: depth, size, and what is no JSON at all. */

export interface JsonLimits {
  readonly maxChars: number;
  readonly maxDepth: number;
}

export type JsonSize =
  | { readonly ok: true; readonly chars: number }
  | {
      readonly ok: false;
      readonly reason: "size" | "depth" | "type";
      readonly what: string;
      /** Where that was found, from the value on. */
      readonly at: readonly string[];
    };

interface Found {
  readonly value: unknown;
  readonly depth: number;
  readonly key?: string;
  readonly parent?: Found;
}

/** About the length of the value's JSON text. Looks at own properties only, and no deeper than the limit. */
export function measureJson(value: unknown, { maxChars, maxDepth }: JsonLimits): JsonSize {
  const stack: Found[] = [{ value, depth: 0 }];
  let chars = 0;
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value: at, depth } = next;
    const wrong = (reason: "size" | "depth" | "type", what: string): JsonSize => ({
      ok: false,
      reason,
      what,
      at: pathTo(next),
    });
    if (depth > maxDepth) return wrong("depth", `more than ${maxDepth} levels`);
    if (typeof at === "object" && at !== null) {
      if (!isPlain(at)) return wrong("type", "an object that is no plain data");
      chars += 2;
      for (const key of Object.keys(at)) {
        if (!Array.isArray(at)) chars += key.length + 3;
        chars += 1;
        stack.push({ value: Reflect.get(at, key), depth: depth + 1, key, parent: next });
        if (chars > maxChars) break;
      }
    } else {
      const size = scalarChars(at);
      if (size === undefined) return wrong("type", whatIs(at));
      chars += size;
    }
    if (chars > maxChars) return wrong("size", `more than ${maxChars} characters`);
  }
  return { ok: true, chars };
}

function pathTo(found: Found): string[] {
  const path: string[] = [];
  for (let each: Found | undefined = found; each?.key !== undefined; each = each.parent) path.push(each.key);
  return path.reverse();
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** Of what is no JSON. */
const whatIs = (value: unknown): string =>
  typeof value === "number" ? `the number ${value}, which JSON does not have` : `a value of type ${typeof value}`;

function scalarChars(value: unknown): number | undefined {
  if (typeof value === "string") return value.length + 2;
  if (typeof value === "number") return Number.isFinite(value) ? String(value).length : undefined;
  if (typeof value === "boolean" || value === null) return 4;
  // A property without a value is not written.
  return value === undefined ? 0 : undefined;
}

/** An own property; what a prototype has is not there. */
export function own(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
