/**
 * Builds the documentation as a site into `dist`, for any web server: `npm run docs`. Ends with an error when a link leads
 * nowhere, also one to a heading. `--serve` shows it at a port of this machine until it is stopped.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { faultsOf } from "./built-pages.mjs";
import { llmsText } from "./llms-text.mjs";
import { isShown, readGroups } from "./pages.mjs";

const packageDir = fileURLToPath(new URL("..", import.meta.url));
const root = fileURLToPath(new URL("../../..", import.meta.url));
const staged = join(packageDir, ".staged");
const dist = join(packageDir, "dist");

/** The pages where the site has them, and what they show. Copies: the site's tools write beside what they read. */
function stage() {
  rmSync(staged, { recursive: true, force: true });
  const groups = readGroups(root);
  for (const { file, path } of groups.flatMap(({ pages }) => pages)) copy(file, join(staged, `${path}.md`));
  for (const file of readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }))
    if (isShown(file)) copy(`docs/${file}`, join(staged, "public/docs", file));
  const text = llmsText(groups, (file) => readFileSync(join(root, file), "utf8"));
  writeFileSync(join(staged, "public/llms.txt"), text);
  // Programs read Markdown rather than HTML.
  for (const { file, path } of groups.flatMap(({ pages }) => pages)) copy(file, join(staged, "public", `${path}.md`));
}

/** Comments of pages are for those who write them. @param {string} file in the repository @param {string} to */
function copy(file, to) {
  mkdirSync(dirname(to), { recursive: true });
  if (!file.endsWith(".md")) cpSync(join(root, file), to);
  else writeFileSync(to, readFileSync(join(root, file), "utf8").replaceAll(/^<!--.*-->\n/gm, ""));
}

/** @param {{ serve?: boolean }} options */
export async function buildSite({ serve: served = false } = {}) {
  const { build, serve } = await import("vitepress");
  stage();
  try {
    await build(packageDir);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
  const faults = faultsOf(dist, process.env.HOLDFAST_SITE_BASE ?? "/");
  if (faults.length > 0) throw new Error(`The site has faults:\n  ${faults.join("\n  ")}`);
  if (served) await serve({ root: packageDir });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await buildSite({ serve: process.argv.includes("--serve") });
