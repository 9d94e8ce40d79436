/** How functions are named to a gateway's API. */
import { HoldfastError } from "@holdfast/core";

/**
 * `<app>-<function>`; what is given as text is taken as it is. `what` is asked for it.
 * @throws HoldfastError `OPTION_INVALID`
 */
export function functionNameOf(target: unknown, appId: string, what = "This"): string {
  if (typeof target === "string" && target !== "") return target;
  const { slug, functionId, appId: otherApp } = (target ?? {}) as Record<string, unknown>;
  if (typeof slug === "string" && slug !== "") return slug;
  if (typeof functionId === "string" && functionId !== "") {
    return `${typeof otherApp === "string" && otherApp !== "" ? otherApp : appId}-${functionId}`;
  }
  throw new HoldfastError(
    "OPTION_INVALID",
    `${what} needs a function: one of createFunction(), referenceFunction({ functionId }), or a name such as "shop-order".`,
  );
}
