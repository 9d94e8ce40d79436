/**
 * Which files of the repository are pages of the site, and in which order they are read: that of the section
 * "Documentation" of the README. A page that is not reached from there is an error.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";

/**
 * @typedef {object} Page
 * @property {string} file in the repository, with `/`
 * @property {string} path on the site, without a slash before and `.md` after it
 * @property {string} title in the navigation
 */
/** @typedef {{ title: string, pages: Page[], collapsed: boolean }} Group */

/** Of packages that are published. */
const READMES = ["packages/sdk/README.md", "packages/graph/README.md", "packages/testing/README.md"];

const FOLDERS = [
  { folder: "docs/how-to", title: "To change it" },
  { folder: "docs/decisions", title: "Decisions" },
];

/**
 * Where a file is on the site; null when it is no page.
 * @param {string} file
 */
export function pathOf(file) {
  if (file === "README.md") return "index";
  if (/^(CONTRIBUTING|SECURITY|CHANGELOG)\.md$/.test(file)) return file.slice(0, -3).toLowerCase();
  const readme = /^(?:packages\/)?([a-z-]+)\/README\.md$/.exec(file);
  if (readme) return readme[1] === "gateway-mock" ? "gateway" : `packages/${readme[1]}`;
  const doc = /^docs\/(.+)\.md$/.exec(file);
  return doc?.[1] ? doc[1].replace(/(^|\/)README$/, "$1index") : null;
}

/**
 * The file that a link leads to; a folder stands for its README.
 * @param {string} from the file with the link
 * @param {string} link without `#`
 * @param {string} root
 */
export function target(from, link, root) {
  const file = posix.normalize(posix.join(posix.dirname(from), decodeURI(link))).replace(/\/$/, "");
  const readme = posix.join(file, "README.md");
  return !file.endsWith(".md") && existsSync(join(root, readme)) ? readme : file;
}

/**
 * @param {string} root the repository
 * @returns {Group[]}
 */
export function readGroups(root) {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const section = /\n## Documentation\n([\s\S]*?)(?=\n## |$)/.exec(readme)?.[1];
  if (section === undefined) throw new Error('README.md has no section "Documentation"');
  /** @type {Group[]} */
  const groups = [
    { title: "Begin", pages: [{ file: "README.md", path: "index", title: "Holdfast" }], collapsed: false },
  ];
  const seen = new Set(["README.md"]);
  /** @param {Group} group @param {string} file @param {string} title */
  const add = (group, file, title) => {
    const path = pathOf(file);
    if (path === null || seen.has(file) || !existsSync(join(root, file))) return;
    seen.add(file);
    // Within a sentence names of pages begin small.
    group.pages.push({ file, path, title: `${title.charAt(0).toUpperCase()}${title.slice(1)}` });
  };
  for (const block of section.split(/\n(?=\S[^\n]*:\n\n)/)) {
    const title = /^\s*([^\n]+):\n\n/.exec(block)?.[1];
    if (title === undefined) continue;
    const group = { title, pages: [], collapsed: false };
    for (const [, text = "", link = ""] of block.matchAll(/\[([^\]]+)\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      add(group, target("README.md", link, root), text.replaceAll("`", ""));
    if (group.pages.length > 0) groups.push(group);
  }
  /** @type {Group} */
  const packages = { title: "Packages", pages: [], collapsed: false };
  for (const file of READMES) if (existsSync(join(root, file))) add(packages, file, titleOf(join(root, file)));
  groups.push(packages);
  for (const { folder, title } of FOLDERS) {
    /** @type {Group} */
    const group = { title, pages: [], collapsed: true };
    for (const name of readdirSync(join(root, folder)).sort())
      if (name.endsWith(".md")) add(group, `${folder}/${name}`, titleOf(join(root, folder, name)));
    groups.push(group);
  }
  const lost = markdownIn(join(root, "docs"))
    .map((file) => relative(root, file).replaceAll("\\", "/"))
    .filter((file) => !seen.has(file));
  if (lost.length > 0)
    throw new Error(`The section "Documentation" of README.md leads to no ${lost.join(", ")}; add a link for each.`);
  return groups.filter(({ pages }) => pages.length > 0);
}

/** @param {string} file */
function titleOf(file) {
  const title = /^# (.+)$/m.exec(readFileSync(file, "utf8"))?.[1];
  if (title === undefined) throw new Error(`${file} has no title`);
  // Decisions have their number before their title, each in its way.
  const [, number, rest = title] = /^(?:0*(\d+)[:.]) (.+)$/.exec(title) ?? [];
  const text = rest.replaceAll("`", "");
  return number === undefined ? text : `${number}: ${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** @param {string} folder @returns {string[]} */
function markdownIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? markdownIn(path) : entry.name.endsWith(".md") ? [path] : [];
  });
}

/** Files beside pages that they show. @param {string} file */
export const isShown = (file) => /\.(svg|png|jpg|webp)$/.test(file);
