/**
 * TypeScript with tsx in a pool thread. Its preload registers its hooks in the main thread only where Node runs hooks in
 * a thread of their own (before 22.22.3 and 24.11.1); there they are registered by tsx's API, as its preload would.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** `import()`, as the thread's own script has it. */
export type ImportModule = (url: string) => Promise<unknown>;

/** The preload as the app's flags name it; undefined = it runs without. */
export function tsxPreload(flags: readonly string[]): string | undefined {
  return flags
    .map((flag) => flag.replace(/^--(import|loader|experimental-loader)=/, ""))
    .find((flag) => /^tsx(\/esm)?$|[\\/]tsx[\\/]dist[\\/](loader|esm[\\/]index)\.mjs$/.test(flag));
}

/** Before the first module: what could not be loaded once is not tried again by Node. Registered twice does no harm. */
export async function registerTsx(importModule: ImportModule): Promise<void> {
  const options = process.env.NODE_OPTIONS?.split(/\s+/) ?? [];
  const preload = tsxPreload([...process.execArgv, ...options]);
  if (preload === undefined) return;
  const { register } = (await importModule(apiOf(preload))) as { readonly register?: () => unknown };
  register?.();
}

/** Beside a preload that is named by its file, since nothing else is known to lead to tsx then. */
export function apiOf(preload: string): string {
  if (/\.mjs$/.test(preload)) {
    const url = preload.startsWith("file:") ? preload : pathToFileURL(preload).href;
    return url.replace(/(loader|esm\/index)\.mjs$/, "esm/api/index.mjs");
  }
  const require = createRequire(`${process.cwd()}/`);
  // What require() would take lies beside what import() would.
  return pathToFileURL(require.resolve("tsx/esm/api").replace(/\.cjs$/, ".mjs")).href;
}
