/** Paths in events, as `match` of a `waitForEvent` node has them: `data.orderId`, `data.items[0]`, `data["odd name"]`. */
import { parseTemplate } from "./parse-template.ts";

/** The steps of a path; undefined for what is none. */
export function eventPathOf(path: string): readonly (string | number)[] | undefined {
  try {
    const [only, ...others] = parseTemplate(`{{ctx.${path}}}`);
    if (others.length > 0 || typeof only !== "object") return undefined;
    const [operand, ...more] = only.operands;
    return more.length === 0 && operand?.kind === "path" && operand.steps.length > 0 ? operand.steps : undefined;
  } catch {
    return undefined;
  }
}
