/** Variables that look like options and are none: a slip that would otherwise go unnoticed. Pure. */
import { nearestName } from "@holdfast/core";
import type { Environment } from "./settings.ts";

/** Ours alone; other names that begin with HOLDFAST_ are those of apps. */
const PREFIX = "HOLDFAST_GATEWAY_";

/** A sentence for each; `known` are the variables of all commands. */
export function unknownVariables(env: Environment, known: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name) && env[name]?.trim())
    .map((name) => {
      const near = nearestName(name, known);
      const hint = near === undefined ? "" : ` Did you mean ${near}?`;
      return `The variable ${name} is set, but no option has that name; it is ignored.${hint}`;
    });
}
