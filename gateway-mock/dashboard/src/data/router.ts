/** Where the user is: path and query as signals, kept in the address. */
import { signal } from "@preact/signals";
import { chooseEnvironment, environment, opensSeveral } from "./api.ts";
import { ENVIRONMENT_PART, environmentIn, withEnvironment } from "./environment-link.ts";

export const path = signal(location.pathname);
export const query = signal(new URLSearchParams(location.search));

function readAddress(): void {
  path.value = location.pathname;
  query.value = new URLSearchParams(location.search);
  const named = environmentIn(location.search);
  if (named !== null && named !== environment.value) chooseEnvironment(named);
}

addEventListener("popstate", readAddress);

export function navigate(given: string, { replace = false } = {}): void {
  const to = opensSeveral() ? withEnvironment(given, environment.value) : given;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  const before = path.value;
  readAddress();
  if (path.value !== before) scrollTo(0, 0);
}

/** Changes parts of the query; an empty value takes one away. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  navigate(path.value + (text === "" ? "" : `?${text}`), { replace: true });
}

/** Looks at another environment, which the address names from then on; empty: the default one. */
export function showEnvironment(name: string): void {
  chooseEnvironment(name === "default" ? "" : name);
  setQuery({ [ENVIRONMENT_PART]: environment.value });
}

/** Follows links of the page without loading it again; whatever opens tabs and windows stays the browser's. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const to = link?.getAttribute("href");
  if (!link || to === null || to === undefined || link.target !== "" || link.hasAttribute("download")) return;
  if (to !== "/" && !to.startsWith("/ui/")) return;
  event.preventDefault();
  navigate(to);
}
