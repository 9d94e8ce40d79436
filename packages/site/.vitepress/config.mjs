/** The site's configuration: navigation, search without a server, nothing from other hosts. */
import { fileURLToPath } from "node:url";
import { literalBraces, repositoryLinks } from "../src/markdown.mjs";
import { readGroups } from "../src/pages.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const groups = readGroups(root);
const pages = groups.flatMap((group) => group.pages);
const byPath = new Map(pages.map(({ file, path }) => [path, file]));

/** @param {import("../src/pages.mjs").Page} page */
const item = ({ path, title }) => ({ text: title, link: path === "index" ? "/" : `/${path}` });

/** @type {import("vitepress").UserConfig} */
export default {
  title: "Holdfast",
  description: "Durable functions over a connection that busy code cannot drop.",
  lang: "en",
  base: process.env.HOLDFAST_SITE_BASE ?? "/",
  srcDir: ".staged",
  // Copies as they are, for programs.
  srcExclude: ["public/**"],
  outDir: "dist",
  cacheDir: "node_modules/.cache",
  cleanUrls: false,
  // They are looked for afterwards, with headings and files (`src/dead-links.mjs`).
  ignoreDeadLinks: true,
  markdown: {
    html: false,
    theme: { light: "github-light-high-contrast", dark: "github-dark" },
    config: (md) => {
      literalBraces(md);
      repositoryLinks(md, {
        root,
        pages: new Map(pages.map(({ file, path }) => [file, path])),
        fileOf: (relativePath) => byPath.get(relativePath.replace(/\.md$/, "")) ?? "README.md",
      });
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    sidebar: groups.map(({ title, pages: items, collapsed }) => ({
      text: title,
      collapsed,
      items: items.map(item),
    })),
    docFooter: { prev: "Before", next: "Next" },
  },
};
