/** Every link of the page to itself names the environment that is looked at, so that it can be copied and given on. */
import { options, type VNode } from "preact";
import { environment, opensSeveral } from "../data/api.ts";
import { withEnvironment } from "../data/environment-link.ts";

function nameEnvironment({ type, props }: VNode): void {
  if (type !== "a") return;
  const fields = props as Record<string, unknown>;
  if (typeof fields.href !== "string" || !opensSeveral()) return;
  fields.href = withEnvironment(fields.href, environment.value);
}

/** In every link that is made from here on. */
export function nameEnvironments(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    nameEnvironment(vnode);
    before?.(vnode);
  };
}
