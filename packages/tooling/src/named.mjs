/**
 * What is named exists: every path and identifier in `docs/how-to`, every npm script, every file that another document
 * names, and every test file that a `vitest.config.ts` lists. A rename that forgets them fails here.
 *
 *     node named.mjs [folder]
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fail, filesBelow, isProgram, root } from "./workspace.mjs";

const SOURCES = ["packages", "gateway-mock", "e2e", "proto"];
const isSource = (/** @type {string} */ path) =>
  /\.(ts|mts|mjs|proto|sql)$/.test(path) && !path.includes("/generated/");

/**
 * What a page names without it being there. A list item that names files promises its identifiers in one of these files;
 * an identifier elsewhere has to be in some source.
 * @param {string} page
 * @param {string} text
 * @param {{ exists: (path: string) => boolean, read: (path: string) => string, sources: () => readonly string[],
 *   scripts: readonly string[] }} tree
 * @returns {string[]}
 */
export function missingFrom(page, text, tree) {
  const withoutCode = text.replaceAll(/^```[\s\S]*?^```/gm, "");
  // A paragraph, a row of a table, or a list item with the lines that belong to it.
  const blocks = withoutCode.split(/\n(?=- |\| |\n)/);
  return blocks.flatMap((block) => {
    const tokens = [...block.matchAll(/`([^`\n]+)`/g)].map(([, token = ""]) => token);
    const paths = tokens.filter((token) => /^[\w@.-]+(\/[\w@.-]+)+\/?$/.test(token));
    const lost = paths.filter((path) => !tree.exists(path));
    const files = paths.filter((path) => !lost.includes(path) && /\.\w+$/.test(path));
    const where = files.length > 0 ? files.map(tree.read) : tree.sources();
    const names = tokens.flatMap((token) => /^([A-Za-z_$][\w$]*)(\(\))?$/.exec(token)?.[1] ?? []);
    const unknown = names.filter((name) => !where.some((source) => new RegExp(`\\b${name}\\b`).test(source)));
    const scripts = tokens.flatMap((token) => /^npm run ([\w:-]+)/.exec(token)?.[1] ?? []);
    return [
      ...lost.map((path) => `${page}: there is no ${path}`),
      ...unknown.map((name) => `${page}: \`${name}\` is not in ${files.length > 0 ? files.join(", ") : "any source"}`),
      ...scripts.filter((name) => !tree.scripts.includes(name)).map((name) => `${page}: there is no script ${name}`),
    ];
  });
}

/**
 * Files that a document names, in full or by the end of their path (with or without `src/`), and that are not there.
 * @param {string} page
 * @param {string} text
 * @param {readonly string[]} files
 */
export function lostFiles(page, text, files) {
  const known = files.flatMap((file) => [`/${file}`, `/${file}`.replace("/src/", "/")]);
  const named = [...text.matchAll(/`(?:[^`\n]* )?([\w@.-]+(?:\/[\w@.-]+)+\.(?:ts|mjs|sql|proto|md))`/g)];
  const lost = named.flatMap(([, path = ""]) => (known.some((file) => file.endsWith(`/${path}`)) ? [] : [path]));
  return [...new Set(lost)].map((path) => `${page}: there is no ${path}`);
}

/**
 * The files that a Vitest configuration lists by name: `test/{a,b}.test.ts`, `test/!(a|b).test.ts`, `test/{a,b}/*.test.ts`.
 * @param {string} text
 * @returns {string[]} files, or folders where the name is a star
 */
export function listedTests(text) {
  const patterns = [...text.matchAll(/"(test\/[^"]+\.test\.ts)"/g)].map(([, pattern = ""]) => pattern);
  return patterns.flatMap((pattern) => {
    const [, before = pattern, names = "", after = ""] = /^(.*?)(?:\{|!\()([^})]+)[})](.*)$/.exec(pattern) ?? [];
    const all = names === "" ? [before] : names.split(/[,|]/).map((name) => `${before}${name}${after}`);
    return all.map((path) => path.replace(/\/\*.*$/, ""));
  });
}

/** @param {string} base */
export function checkNamed(base) {
  const read = (/** @type {string} */ path) => readFileSync(join(base, path), "utf8");
  /** @type {string[] | undefined} */
  let texts;
  const tree = {
    exists: (/** @type {string} */ path) => existsSync(join(base, path)),
    read,
    sources: () => (texts ??= filesBelow(SOURCES, base).filter(isSource).map(read)),
    scripts: Object.keys(JSON.parse(read("package.json")).scripts ?? {}),
  };
  const folder = "docs/how-to";
  const pages = existsSync(join(base, folder))
    ? readdirSync(join(base, folder)).filter((name) => name.endsWith(".md"))
    : [];
  const documents = filesBelow(
    ["docs", "packages", "gateway-mock", "e2e", "README.md", "CONTRIBUTING.md"],
    base,
  ).filter((path) => path.endsWith(".md") && !/^docs\/(decisions|how-to)\//.test(path) && !/\/etc\//.test(path));
  const files = filesBelow([...SOURCES, "docs"], base);
  const configs = filesBelow(SOURCES, base).filter((path) => path.endsWith("/vitest.config.ts"));
  const problems = [
    ...pages.flatMap((name) => missingFrom(`${folder}/${name}`, read(`${folder}/${name}`), tree)),
    ...documents.flatMap((path) => lostFiles(path, read(path), files)),
    ...configs.flatMap((config) => {
      const there = listedTests(read(config)).map((path) => join(config, "..", path));
      return there.filter((path) => !tree.exists(path)).map((path) => `${config}: there is no ${path}`);
    }),
  ];
  return { pages, configs, problems };
}

if (isProgram(import.meta.url)) {
  const { pages, configs, problems } = checkNamed(resolve(process.argv[2] ?? root));
  if (pages.length === 0 || configs.length === 0) fail("No pages or no Vitest configurations were found.");
  if (problems.length > 0) fail(`What is named must exist:\n  ${problems.join("\n  ")}`);
}
