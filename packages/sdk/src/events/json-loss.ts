/**
 * Finds what JSON loses without an error: a Map becomes {}, a function disappears, NaN becomes null. Events refuse what is
 * surely a mistake, results of steps are stored as JSON has them, with a warning (`execution/lossy-results.ts`).
 */

/** What JSON makes of a value in place of the value. */
export interface JsonLoss {
  /** Such as "a Map". */
  readonly what: string;
  /** Where it is, such as `items[0].price`; empty: it is the value itself. */
  readonly path: string;
  /** What JSON has there: `{}`, `null`, nothing, or an object of numbers. */
  readonly becomes: Becomes;
}

type Becomes = "{}" | "null" | "nothing" | typeof NUMBERS;
const NUMBERS = '{"0":...}';

/** Of which values is looked for: what becomes `{}` always. */
export interface LossRules {
  readonly callables: boolean;
  /** Also dates that are none. */
  readonly numbers: boolean;
  /** Typed arrays, of which JSON keeps the numbers. */
  readonly bytes: boolean;
  /** No more values than these are looked at. */
  readonly maxValues: number;
}

/** The tags of classes whose state is in no field. `Emptied` of `steps/step-result.ts` is what their types become. */
const EMPTIED =
  /^(.*(Map|Set|Stream|Generator|ArrayBuffer|Params)|Weak.*|Promise|Error|DOMException|RegExp|DataView|Abort.*|Request|Response|Headers|FormData|Blob|File)$/;

/** The first loss in a value that JSON could take, so it has no circles; null = none was found. */
export function findJsonLoss(value: unknown, rules: LossRules): JsonLoss | null {
  let left = rules.maxValues;
  const lossIn = (one: unknown, path: string): JsonLoss | null => {
    if (left <= 0) return null;
    left -= 1;
    switch (typeof one) {
      case "function":
      case "symbol":
        return rules.callables ? { what: `a ${typeof one}`, path, becomes: "nothing" } : null;
      case "number":
        return rules.numbers && !Number.isFinite(one) ? { what: String(one), path, becomes: "null" } : null;
      case "object":
        return one === null ? null : inObject(one, path);
      default:
        return null;
    }
  };
  const inObject = (one: object, path: string): JsonLoss | null => {
    if (rules.numbers && one instanceof Date && Number.isNaN(+one)) {
      return { what: "an invalid Date", path, becomes: "null" };
    }
    // What has it says itself what is kept, as a Buffer does.
    if (typeof (one as { toJSON?: unknown }).toJSON === "function") return null;
    // "[object Map]"
    const tag = Object.prototype.toString.call(one).slice(8, -1);
    const loss = (becomes: Becomes): JsonLoss => ({ what: `${/^[AE]/.test(tag) ? "an" : "a"} ${tag}`, path, becomes });
    if (/.Array$/.test(tag)) return rules.bytes && (one as Uint8Array).byteLength > 0 ? loss(NUMBERS) : null;
    if (Array.isArray(one)) {
      for (let index = 0; index < one.length && left > 0; index += 1) {
        const inside = lossIn(one[index], `${path}[${index}]`);
        if (inside) return inside;
      }
      return null;
    }
    const entries = Object.entries(one);
    if (EMPTIED.test(tag) && entries.length === 0) return loss("{}");
    for (const [name, field] of entries) {
      const inside = lossIn(field, path === "" ? name : `${path}.${name}`);
      if (inside) return inside;
    }
    return null;
  };
  return lossIn(value, "");
}

const EVENT_RULES = { callables: true, numbers: false, bytes: false, maxValues: 1_000_000 };

/**
 * What events may not have, in words: JSON would leave it out, or make {} of it. Undefined = nothing of the kind.
 * @param data of which JSON can make text
 */
export function lossOfData(data: unknown): string | undefined {
  const loss = findJsonLoss(data, EVENT_RULES);
  if (!loss) return undefined;
  const lost = loss.becomes === "nothing" ? "JSON leaves it out" : `JSON makes ${loss.becomes} of it`;
  const where = loss.path === "" ? "It is" : `It has at \`${loss.path}\``;
  return `${where} ${loss.what}: ${lost}. Send plain data.`;
}
