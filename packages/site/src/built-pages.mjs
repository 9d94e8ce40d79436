/** What is wrong with built pages: empty ones, links that lead nowhere (VitePress looks at pages, this at headings too). */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/**
 * @param {string} folder of the built site
 * @param {string} base the path that it is served under, with a slash at its end
 * @returns {string[]} a line each
 */
export function faultsOf(folder, base) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/"));
  const pages = new Map(
    files.filter((file) => file.endsWith(".html")).map((file) => [file, readFileSync(join(folder, file), "utf8")]),
  );
  const idsOf = new Map([...pages].map(([file, html]) => [file, new Set(html.match(/(?<=\sid=")[^"]+/g))]));
  /** @type {string[]} */
  const dead = [];
  for (const [file, html] of pages) {
    // What fails while a page is rendered leaves it empty.
    if (file !== "404.html" && !html.includes("<h1")) dead.push(`${file}: it is empty`);
    const links = new Set([...html.matchAll(/\s(?:href|src)="([^"]+)"/g)].map(([, link = ""]) => link));
    for (const link of links) {
      if (/^(https?:|mailto:|data:|\/\/)/.test(link)) continue;
      const [path = "", hash = ""] = link.replaceAll("&amp;", "&").split("#");
      const from = path.startsWith(base) ? path.slice(base.length) : posix.join(posix.dirname(file), path);
      let to = path === "" ? file : decodeURI(from);
      if (to === "" || to.endsWith("/")) to += "index.html";
      if (!existsSync(join(folder, to))) dead.push(`${file}: ${link}: there is no such page`);
      else if (hash !== "" && pages.has(to) && !idsOf.get(to)?.has(decodeURIComponent(hash)))
        dead.push(`${file}: ${link}: that page has no such heading`);
    }
  }
  return dead;
}
