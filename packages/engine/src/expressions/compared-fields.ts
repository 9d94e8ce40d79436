/** Fields of the run's own event that a condition compares with fields of the event that comes in, as `match` does. */
import { EVENT_FIELDS, noSuchField } from "@holdfast/protocol";
import type { ASTNode } from "@marcbachmann/cel-js";
import { conjunctsOf, type Path, pathOf } from "./tree.ts";

interface Comparison {
  /** Both from the variable on. */
  readonly own: Path;
  readonly incoming: Path;
}

/**
 * The paths in the run's own event, if the condition does nothing but compare them with the incoming one; null: it does
 * more. Where none of them has a value there, such a condition would hold for every event that lacks the same fields.
 */
export function comparedOnly(condition: ASTNode): readonly Path[] | null {
  const found = conjunctsOf(condition).map(comparisonOf);
  return found.every((each) => each !== null) ? found.map(({ own }) => own.slice(1)) : null;
}

/** Why a comparison of two events is a mistake; null when none is. */
export function comparedProblem(condition: ASTNode): string | null {
  for (const comparison of conjunctsOf(condition).map(comparisonOf)) {
    for (const path of comparison ? [comparison.own, comparison.incoming] : []) {
      const [variable, first = ""] = path;
      if (EVENT_FIELDS.some((field) => field === first)) continue;
      const written = `${variable}.data.${path.slice(1).join(".")}`;
      return `${noSuchField(first)}. Write \`${written}\` (as \`match\`: "${written.slice(6)}")`;
    }
  }
  return null;
}

/** `event.a == async.b`, either way round. */
function comparisonOf(node: ASTNode): Comparison | null {
  if (node.op !== "==") return null;
  const [left, right] = node.args.map(pathOf);
  if (!left || !right || left.length < 2 || right.length < 2) return null;
  if (left[0] === "event" && right[0] === "async") return { own: left, incoming: right };
  return left[0] === "async" && right[0] === "event" ? { own: right, incoming: left } : null;
}
