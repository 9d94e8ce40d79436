/** `llms.txt`: what the site has, for programs that read it. */

/**
 * @param {import("./pages.mjs").Group[]} groups
 * @param {(file: string) => string} read
 */
export function llmsText(groups, read) {
  const [first] = groups[0]?.pages ?? [];
  const lines = ["# Holdfast", "", `> ${first === undefined ? "" : summary(read(first.file))}`, ""];
  for (const { title, pages } of groups) {
    lines.push(`## ${title}`, "");
    for (const { file, path, title: name } of pages) lines.push(`- [${name}](/${path}.md): ${summary(read(file))}`);
    lines.push("");
  }
  return lines.join("\n");
}

/**
 * The first paragraph of a page, its first sentence alone when it is long.
 * @param {string} text
 */
export function summary(text) {
  const paragraph = text
    .replace(/^---\n[\s\S]*?\n---\n/, "")
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .find((block) => block !== "" && !/^[#|`<>![-]/.test(block));
  const line = (paragraph ?? "")
    .replace(/\s+/g, " ")
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "");
  return line.length <= 200 ? line : (/^.{20,}?[.:](?= )/.exec(line)?.[0] ?? line.slice(0, 200));
}
