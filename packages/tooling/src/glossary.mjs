/**
 * Keeps the words that docs/glossary.md bans out of names, messages and documents: its last table is the list.
 * Sources and documents are searched as they are, tests for names only: their data may say what it likes.
 *
 *     node glossary.mjs [folder]
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { projectFiles } from "./hygiene.mjs";
import { fail, isProgram, root } from "./workspace.mjs";

/** @typedef {{ word: string, instead: string, pattern: RegExp, inNames: RegExp }} Banned */

const sources = /^(packages\/(?!tooling\/|runtimes\/)[^/]+|gateway-mock)\/src\/(?!generated\/).*\.ts$/;
const tests = /^(packages\/(?!tooling\/)[^/]+|gateway-mock|e2e)\/(test|long|sim)\/.*\.ts$/;
const documents =
  /^(README\.md|SECURITY\.md|CONTRIBUTING\.md|docs\/(?!decisions\/)[\w/-]+\.md|(packages\/[^/]+|gateway-mock)\/README\.md)$/;

/** Lines in which a banned word is another project's, or data. */
const exceptions = [
  {
    word: "agent",
    line: /undici|node:http|user-?agent|HttpAgent|MockAgent|: Agent \{|agent: false|agent\.destroy|new Agent\(/i,
  },
  { word: "agent", line: /AI agents?|ai-agents?/ },
  { word: "nobody", line: /`nobody` on Linux/ },
  { word: "nobody", line: /by: "nobody"|\?\? "nobody"/ },
];

/**
 * The words of the table under the last heading of the glossary.
 * @param {string} glossary
 * @returns {Banned[]}
 */
export function bannedWords(glossary) {
  const table = glossary.slice(glossary.lastIndexOf("\n## "));
  return [...table.matchAll(/^\| `([a-z ]+)` \| (.+) \|$/gm)].map(([, word = "", instead = ""]) => {
    const capital = `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
    return {
      word,
      instead,
      pattern: new RegExp(`(?<![A-Za-z])${word.replaceAll(" ", "\\s+")}(s|'s)?(?![A-Za-z])`, "i"),
      // Parts of a camelCase name; a phrase is no part of one.
      inNames: word.includes(" ") ? /(?!)/ : new RegExp(`[a-z#]${capital}s?(?![a-z])|(?<![A-Za-z])${word}s?[A-Z]`),
    };
  });
}

/**
 * @param {readonly { path: string, text: string }[]} files
 * @param {readonly Banned[]} banned
 * @returns {string[]} `path:line word (instead)`
 */
export function bannedUses(files, banned) {
  return files.flatMap(({ path, text }) => {
    const isText = (sources.test(path) || documents.test(path)) && path !== "docs/glossary.md";
    if (!isText && !tests.test(path)) return [];
    return text.split("\n").flatMap((line, index) =>
      banned.flatMap(({ word, instead, pattern, inNames }) => {
        const used = inNames.test(line) || (isText && pattern.test(line));
        if (!used || exceptions.some((one) => one.word === word && one.line.test(line))) return [];
        return [`${path}:${index + 1} "${word}": say ${instead}`];
      }),
    );
  });
}

if (isProgram(import.meta.url)) {
  const base = resolve(process.argv[2] ?? root);
  const banned = bannedWords(readFileSync(resolve(base, "docs/glossary.md"), "utf8"));
  if (banned.length === 0) fail("docs/glossary.md names no words that are not used.");
  const found = bannedUses(projectFiles(base), banned);
  if (found.length > 0) fail(`docs/glossary.md has other words for these:\n  ${found.join("\n  ")}`);
}
