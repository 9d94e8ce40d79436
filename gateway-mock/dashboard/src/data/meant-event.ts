/** Which event was probably meant by a name that starts nothing. Pure. */
import { nearestName } from "@holdfast/core";

/** As the gateway compares them: exact, or all that begin with what stands before the `*`. */
const fits = (pattern: string, name: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;

/**
 * Undefined: some function is triggered by events of the name.
 * @param patterns names by which functions are triggered, those with a `*` too
 */
export function unheard(name: string, patterns: readonly string[]): { readonly near: string | undefined } | undefined {
  if (name === "" || patterns.length === 0 || patterns.some((pattern) => fits(pattern, name))) return undefined;
  return {
    near: nearestName(
      name,
      patterns.filter((pattern) => !pattern.endsWith("*")),
    ),
  };
}
