/** Says once for each step, and each function, that JSON keeps less of what it gave or was given than it may seem. */
import type { Log } from "@holdfast/core";
import { findJsonLoss, type JsonLoss } from "../events/json-loss.ts";
import { IsolatedValue } from "./isolated-body.ts";

/** A few microseconds. */
const RULES = { callables: false, numbers: true, bytes: true, maxValues: 200 };
/** Ids of steps may be made of data. */
const MAX_WARNINGS = 100;

const warned = new Set<string>();

/** @param what names the step or function, where that is needed: `step "load" of function "shop-order"` */
export function warnOfLoss(log: Log, what: () => string, value: unknown): void {
  // Each step comes through here.
  const isPlain = typeof value === "number" ? Number.isFinite(value) : typeof value !== "object" || value === null;
  if (isPlain) return;
  const loss = find(`The result of ${what()}`, value);
  if (!loss) return;
  const instead = INSTEAD[loss.becomes === "{}" ? loss.what : loss.becomes] ?? "Return plain data.";
  log("warn", `${loss.sentence}: that is what is stored, and what the code gets. ${instead} This is said once.`);
}

/** The same of what `step.invoke` sends. @param what names the step */
export function warnOfLossInData(log: Log, what: string, data: unknown): void {
  const loss = find(`The data of ${what}`, data);
  if (!loss) return;
  log("warn", `${loss.sentence}: that is what the invoked function gets. Send plain data. This is said once.`);
}

interface FoundLoss extends JsonLoss {
  readonly sentence: string;
}

function find(what: string, value: unknown): FoundLoss | null {
  if (warned.size >= MAX_WARNINGS || warned.has(what)) return null;
  const loss = IsolatedValue.is(value) ? value.json.loss : lossOfResult(value);
  if (!loss) return null;
  warned.add(what);
  const where = loss.path === "" ? "is" : `has at \`${loss.path}\``;
  return { ...loss, sentence: `${what} ${where} ${loss.what}, of which JSON makes ${loss.becomes}` };
}

const BYTES = 'Return `Buffer.from(bytes).toString("base64")`, or store them elsewhere.';
const INSTEAD: Readonly<Record<string, string>> = {
  "a Map": "Return `Object.fromEntries(map)` or `[...map]`.",
  "a Set": "Return `[...set]`.",
  "a Promise": "Is an `await` missing?",
  "an Error": "Return its message, or throw it.",
  "a Response": "Return `await response.json()`, or what else of it is needed.",
  "an ArrayBuffer": BYTES,
  '{"0":...}': BYTES,
};

/** Code of the author may run here, such as a getter that throws. */
export function lossOfResult(value: unknown): JsonLoss | null {
  if (typeof value !== "object" && typeof value !== "number") return null;
  try {
    return findJsonLoss(value, RULES);
  } catch {
    return null;
  }
}
