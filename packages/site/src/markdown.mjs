/**
 * How Markdown of the repository is read for the site. Links between files become links between pages; what is no page,
 * such as a source file, is named without a link.
 */
import { isShown, pathOf, target } from "./pages.mjs";

const OUTSIDE = /^([a-z][a-z+.-]*:|\/\/|#)/i;

/**
 * A plugin of markdown-it.
 * @param {import("markdown-it").default} md
 * @param {{ root: string, pages: ReadonlyMap<string, string>, fileOf: (relativePath: string) => string }} site
 *   pages: paths by files; fileOf: the file that a staged page comes from
 */
export function repositoryLinks(md, { root, pages, fileOf }) {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const from = fileOf(env.relativePath ?? "index.md");
    for (const token of tokens) {
      const children = token.children ?? [];
      for (const [index, child] of children.entries()) {
        if (child.type === "image") {
          const src = child.attrGet("src") ?? "";
          if (!OUTSIDE.test(src)) child.attrSet("src", `/${target(from, src, root)}`);
        }
        if (child.type !== "link_open") continue;
        const href = child.attrGet("href") ?? "";
        if (OUTSIDE.test(href)) continue;
        const [link = "", hash] = href.split("#");
        const file = target(from, link, root);
        const path = pages.get(file);
        if (path !== undefined) child.attrSet("href", `/${path}${hash === undefined ? "" : `#${hash}`}`);
        else if (isShown(file)) child.attrSet("href", `/${file}`);
        else if (pathOf(file) === null || !file.endsWith(".md")) unlink(children, index);
      }
    }
  });
}

/**
 * Two braces in a text are no expression of Vue: templates of graphs are written so.
 * @param {import("markdown-it").default} md
 */
export function literalBraces(md) {
  md.core.ruler.push("literal-braces", ({ tokens }) => {
    for (const token of tokens)
      for (const child of token.children ?? []) if (child.type === "code_inline") child.attrSet("v-pre", "");
  });
  md.renderer.rules.text = (tokens, index) =>
    md.utils.escapeHtml(tokens[index]?.content ?? "").replaceAll("{{", "<span v-pre>{{</span>");
}

/** @param {import("markdown-it").Token[]} tokens @param {number} index of the opening one */
function unlink(tokens, index) {
  const end = tokens.findIndex((token, at) => at > index && token.type === "link_close");
  for (const token of [tokens[index], tokens[end]]) {
    if (token === undefined) continue;
    token.type = "text";
    token.tag = "";
    token.content = "";
    token.nesting = 0;
  }
}
