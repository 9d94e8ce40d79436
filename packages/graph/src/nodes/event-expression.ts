/** The condition of a `waitForEvent` node as one expression over the event, `async`. */
import { HoldfastError } from "@holdfast/core";
import { expressionProblem, matchPathProblem } from "@holdfast/engine";
import { isObject } from "../json/json-size.ts";
import { eventPathOf } from "../templates/event-path.ts";

/** Words of the expression language, which cannot follow a dot. */
const RESERVED = new Set(
  "as break const continue else false for function if import in let loop namespace null package return true var void while".split(
    " ",
  ),
);

const written = (step: string | number): string =>
  typeof step === "string" && /^[A-Za-z_]\w*$/.test(step) && !RESERVED.has(step)
    ? `.${step}`
    : `[${JSON.stringify(step)}]`;

/** Why there is no matching by null, to follow a path. */
export const MATCHES_NULL =
  "came to null, which every event without that field has as well; to match those, compare it in `if`";

/**
 * Undefined: any event. `match` has paths in the event, and the values that are to be there. Both may come from data, so
 * neither is taken as a part of the expression as it is.
 * @throws HoldfastError `GRAPH_CONFIG_INVALID`
 */
export function eventExpression(nodeId: string, condition: unknown, match: unknown): string | undefined {
  const refuse = (why: string): never => {
    throw new HoldfastError("GRAPH_CONFIG_INVALID", `\`match\` of node "${nodeId}" cannot be used: ${why}.`);
  };
  if (!isObject(match)) return refuse("it did not come to an object of values by their paths");
  const parts = Object.entries(match).map(([path, value]) => {
    const steps = eventPathOf(path) ?? refuse(`${JSON.stringify(path.slice(0, 100))} is no path in an event`);
    const problem = matchPathProblem(path);
    if (problem !== null) return refuse(`a path ${problem}`);
    if (value === null) return refuse(`${JSON.stringify(path)} ${MATCHES_NULL}`);
    return `async${steps.map(written).join("")} == ${JSON.stringify(value) ?? "null"}`;
  });
  if (typeof condition === "string") parts.push(`(${condition})`);
  if (parts.length === 0) return undefined;
  const expression = parts.join(" && ");
  const problem = expressionProblem(expression, "async");
  return problem === null ? expression : refuse(problem.replace(/\.$/, ""));
}
