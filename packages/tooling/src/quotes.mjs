/**
 * Blocks of documents that quote a program of `e2e/examples`: the first line is a comment with the program's file, what
 * follows are lines of it. A line `// ...` stands for lines that are left out.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const QUOTE = /^\/\/ (e2e\/examples\/[\w./-]+)$/;

/**
 * The program that a block quotes; null when it is code of its own.
 * @param {string} code
 */
export const quotedFile = (code) => QUOTE.exec(code.split("\n", 1)[0] ?? "")?.[1] ?? null;

/**
 * @param {string} folder of the repository
 * @param {string} code of a block that quotes
 * @returns {string | null} what is wrong
 */
export function quoteProblem(folder, code) {
  const file = quotedFile(code) ?? "";
  if (!existsSync(join(folder, file))) return `quotes ${file}, which is not there.`;
  const lines = readFileSync(join(folder, file), "utf8").split("\n");
  let from = 0;
  for (const part of partsOf(code)) {
    const at = lines.findIndex((_line, index) => index >= from && isAt(lines.slice(index, index + part.length), part));
    if (at < 0) return `is not what ${file} has, from "${part.find((line) => line.trim() !== "") ?? ""}" on.`;
    from = at + part.length;
  }
  return null;
}

/** @param {string} code */
function partsOf(code) {
  /** @type {string[][]} */
  const parts = [[]];
  for (const line of code.trimEnd().split("\n").slice(1)) {
    if (line.trim() === "// ...") parts.push([]);
    else parts.at(-1)?.push(line);
  }
  return parts.map(withoutEnds).filter((part) => part.length > 0);
}

/** Without empty lines before and after. @param {string[]} part */
function withoutEnds(part) {
  const first = part.findIndex((line) => line.trim() !== "");
  return first < 0 ? [] : part.slice(first, part.findLastIndex((line) => line.trim() !== "") + 1);
}

/**
 * The same lines, all of them farther in by the same blanks or not at all.
 * @param {string[]} lines
 * @param {string[]} part
 */
function isAt(lines, part) {
  const [first = ""] = lines;
  const blanks = first.slice(0, first.length - first.trimStart().length);
  const [quoted = ""] = part;
  const removed = blanks.slice(quoted.length - quoted.trimStart().length);
  return (
    lines.length === part.length && part.every((line, index) => (line === "" ? "" : removed + line) === lines[index])
  );
}
