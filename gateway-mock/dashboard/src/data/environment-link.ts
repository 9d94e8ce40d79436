/** The environment in addresses of the page: whoever opens one sees the same, whichever environment was chosen there. Pure. */

export const ENVIRONMENT_PART = "env";

/** The address of a page, with the environment; as it is where that is the default one, or the address names one. */
export function withEnvironment(href: string, environment: string): string {
  const isOwn = href === "/" || href.startsWith("/?") || href === "/ui" || href.startsWith("/ui/");
  if (environment === "" || !isOwn) return href;
  const [before = "", hash] = href.split("#", 2);
  const [path = "", query = ""] = before.split("?", 2);
  const parts = new URLSearchParams(query);
  if (parts.has(ENVIRONMENT_PART)) return href;
  parts.set(ENVIRONMENT_PART, environment);
  return `${path}?${parts}${hash === undefined ? "" : `#${hash}`}`;
}

/** The environment that an address names; null: none. */
export function environmentIn(query: string): string | null {
  const name = new URLSearchParams(query).get(ENVIRONMENT_PART);
  return name === null ? null : name === "default" ? "" : name;
}
