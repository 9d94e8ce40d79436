/** Which events cancel a run (`cancelOn`), and the waits that they become. */
import { isRecord } from "@holdfast/protocol";
import { environmentOf, type NewWait, qualify } from "@holdfast/store";

import { compileExpression } from "../expressions/expression.ts";
import type { ConditionPlace } from "../expressions/expressions.ts";
import { parseDue } from "../parse-due.ts";
import { type Fields, SettingsChecks } from "./settings-checks.ts";

export type { ConditionPlace };

/** An event that cancels a function's runs, as the function's configuration has it. */
export interface CancelRule {
  readonly event: string;
  /** With `event` = what triggered the run, `async` = what came in. */
  readonly expression: string | null;
  /** Duration or instant after which it no longer counts; null = a year. */
  readonly timeout: string | null;
}

const A_YEAR_MS = 366 * 86_400_000;

export function readCancelRules(config: unknown): CancelRule[] {
  const list = isRecord(config) && Array.isArray(config.cancel) ? config.cancel : [];
  return list.filter(isRecord).flatMap((rule) => {
    if (typeof rule.event !== "string" || rule.event === "") return [];
    const match = textOf(rule.match);
    const expression = textOf(rule.if) ?? textOf(rule.expression) ?? (match && `event.${match} == async.${match}`);
    return [{ event: rule.event, expression, timeout: textOf(rule.timeout) }];
  });
}

/**
 * What is refused where an app registers a function; functions that older gateways took stay as they are.
 * @throws HoldfastError `FUNCTION_INVALID`
 */
export function checkCancelPaths(slug: string, config: Fields): void {
  const check = new SettingsChecks(slug);
  for (const [index, { event, expression }] of readCancelRules(config).entries()) {
    if (expression === null) continue;
    const problem = compileExpression(check.expression(expression, `cancel[${index}]`)).comparedProblem;
    if (problem === null) continue;
    check.fail(`\`cancel[${index}]\` would end runs that the event "${event}" has nothing to do with: ${problem}.`);
  }
}

export const cancelKey = (index: number | ""): string => `cancel:${index}`;

/** `matchOf` gives the value by which a wait with a condition is found. */
export function cancelWaits(
  { runId, functionId }: { readonly runId: string; readonly functionId: string },
  rules: readonly CancelRule[],
  matchOf: (expression: string, of: ConditionPlace) => string,
  nowMs: number,
): NewWait[] {
  return rules.map(({ event, expression, timeout }, index) => {
    const due = timeout === null ? undefined : parseDue(timeout, nowMs);
    const expiresInMs = due ? Math.max(due.delayMs ?? 0, (due.untilMs ?? 0) - nowMs) : A_YEAR_MS;
    const ofRule = () => ({ functionId, runId, place: `\`cancelOn[${index}]\` on "${event}"` });
    const match = expression === null ? "" : matchOf(expression, ofRule());
    return {
      runId,
      key: cancelKey(index),
      kind: "cancel",
      name: qualify(environmentOf(functionId), event),
      expression,
      match,
      expiresInMs,
    };
  });
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
