/** Says once for each step, and each function, that JSON keeps less of what it returned than it may seem. */
import type { Log } from "@holdfast/core";
import { findJsonLoss } from "../events/json-loss.ts";

/** A few microseconds. */
const RULES = { callables: false, numbers: true, maxValues: 200 };
/** Ids of steps may be made of data. */
const MAX_WARNINGS = 100;

const warned = new Set<string>();

/** @param what names the step or function: `step "load" of function "shop-order"` */
export function warnOfLoss(log: Log, what: string, value: unknown): void {
  if (typeof value !== "object" && typeof value !== "number") return;
  if (warned.size >= MAX_WARNINGS || warned.has(what)) return;
  const loss = lossOf(value);
  if (!loss) return;
  warned.add(what);
  const where = loss.path === "" ? "is" : `has at \`${loss.path}\``;
  const instead = INSTEAD[loss.what] ?? "Return plain data.";
  log(
    "warn",
    `The result of ${what} ${where} ${loss.what}, of which JSON makes ${loss.becomes}: that is what is stored, and what the code gets. ${instead} This is said once.`,
  );
}

const INSTEAD: Readonly<Record<string, string>> = {
  "a Map": "Return `Object.fromEntries(map)` or `[...map]`.",
  "a Set": "Return `[...set]`.",
  "a Promise": "Is an `await` missing?",
  "an Error": "Return its message, or throw it.",
};

/** Code of the author may run here, such as a getter that throws. */
function lossOf(value: unknown): ReturnType<typeof findJsonLoss> {
  try {
    return findJsonLoss(value, RULES);
  } catch {
    return null;
  }
}
