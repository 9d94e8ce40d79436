/**
 * Steps that a function leaves behind as it returns: awaited by a helper that it does not await itself. They are cut
 * short, which nothing else would say.
 */
import type { Log } from "@holdfast/core";
import { nameOf, type StepCall } from "../steps/step-call.ts";
import type { PassOptions } from "./pass-options.ts";
import type { StepRecord } from "./step-record.ts";

/** Ids of steps may be made of data. */
const MAX_WARNINGS = 100;
const MAX_NAMED = 5;
const warned = new Set<string>();

function isFirst(what: string): boolean {
  if (warned.size >= MAX_WARNINGS || warned.has(what)) return false;
  warned.add(what);
  return true;
}

/** Where steps are raced, those that have lost are left behind on purpose. */
const mayRace = (records: readonly StepRecord[]): boolean => records.some(({ promise }) => promise.isCombined);

export function warnOfUnfinished(records: readonly StepRecord[], functionSlug: string, log: Log): void {
  const left = records.filter(
    ({ call, promise, progress }) => progress === "open" && promise.isAwaited && call.body !== undefined,
  );
  if (left.length === 0 || mayRace(records) || !isFirst(functionSlug)) return;
  const names = left.slice(0, MAX_NAMED).map(({ identity }) => `"${identity.fullId}"`);
  const more = left.length > names.length ? ` and ${left.length - names.length} more` : "";
  const what = left.length === 1 ? "a step" : `${left.length} steps`;
  log(
    "warn",
    `Function "${functionSlug}" returned before ${what} had finished: ${names.join(", ")}${more}. What has not finished is cut short, and its result is not stored. Is an \`await\` missing where a helper is called, or an async function given to \`forEach\`? A helper that has lost a race may be left like that. This is said once.`,
  );
}

/** A step is called after the function has returned: it does not run, and what awaits it never goes on. */
export function warnOfLateCall(
  { id }: StepCall,
  records: Iterable<StepRecord>,
  { log, request: { functionSlug } }: Pick<PassOptions, "log" | "request">,
): void {
  if (mayRace([...records]) || !isFirst(`${functionSlug} after`)) return;
  log(
    "warn",
    `Step ${nameOf(id)} was called after function "${functionSlug}" had returned, so it does not run. Is an \`await\` missing where a helper is called? This is said once.`,
  );
}
