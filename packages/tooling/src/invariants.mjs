/**
 * Invariants are numbered sentences above the code that keeps them: ` * LEDGER-1. An entry lives ...`. A label belongs to one
 * sentence in the whole repository, and at least one test has it in its title: the one that fails when it is broken.
 *
 *     node invariants.mjs [folder]
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";
import { fail, filesBelow, isProgram, root } from "./workspace.mjs";

/** @typedef {{ path: string, text: string }} File */

/**
 * What is not cited yet. The list may only get shorter: a label on it that a test cites fails, too.
 * @type {ReadonlySet<string>}
 */
export const UNCITED = new Set([]);

const definition = /^\s*\*\s+([A-Z]+-\d+)\. /;
/** Written so that other lists in comments, which are indented or have words before their numbers, are none. */
const unlabelled = /^\s*\*\s+[A-Z]?\d+\. /;
const label = /\b([A-Z]+)-(\d+)\b/g;
const range = /\b([A-Z]+)-(\d+) to \1-(\d+)\b/g;

/**
 * @param {readonly File[]} sources
 * @returns {{ where: ReadonlyMap<string, string>, problems: string[] }}
 */
export function definedInvariants(sources) {
  /** @type {Map<string, string>} */
  const where = new Map();
  /** @type {string[]} */
  const problems = [];
  for (const { path, text } of sources) {
    for (const [index, line] of text.split("\n").entries()) {
      const place = `${path}:${index + 1}`;
      if (unlabelled.test(line)) problems.push(`${place} has a number without a label: ${line.trim().slice(0, 60)}`);
      const name = definition.exec(line)?.[1];
      if (name === undefined) continue;
      const before = where.get(name);
      if (before === undefined) where.set(name, place);
      else problems.push(`${place} defines ${name}, which ${before} has already.`);
    }
  }
  return { where, problems };
}

/**
 * Labels in the titles of a file's tests; of `A-1 to A-3` all three.
 * @param {File} file
 * @returns {Set<string>}
 */
export function citedIn({ path, text }) {
  /** @type {Set<string>} */
  const cited = new Set();
  /** @param {ts.Node} node */
  const visit = (node) => {
    // Of `test.each(rows)(title, body)` the rows count, too: they are parts of titles.
    const isTitled = ts.isCallExpression(node) && isTest(node.expression);
    const title = isTitled ? node.arguments[0]?.getText() : undefined;
    for (const [, set, from, to] of title?.matchAll(range) ?? []) {
      for (let number = Number(from); number <= Number(to); number += 1) cited.add(`${set}-${number}`);
    }
    for (const [name] of title?.matchAll(label) ?? []) cited.add(name);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true));
  return cited;
}

/**
 * `test`, `it`, and what is made of them: `test.each(rows)`.
 * @param {ts.Expression} callee
 * @returns {boolean}
 */
function isTest(callee) {
  if (ts.isIdentifier(callee)) return callee.text === "test" || callee.text === "it";
  return (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) && isTest(callee.expression);
}

/**
 * @param {readonly File[]} sources
 * @param {readonly File[]} tests
 * @param {ReadonlySet<string>} [uncited]
 * @returns {string[]} what is wrong
 */
export function checkInvariants(sources, tests, uncited = UNCITED) {
  const { where, problems } = definedInvariants(sources);
  const sets = new Set([...where.keys()].map((name) => name.split("-")[0]));
  const cited = new Set(tests.flatMap((file) => [...citedIn(file)]));
  for (const [name, place] of where) {
    if (!cited.has(name) && !uncited.has(name)) problems.push(`${name} (${place}) is in the title of no test.`);
    if (cited.has(name) && uncited.has(name))
      problems.push(`${name} is cited: take it off the list in invariants.mjs.`);
  }
  for (const name of cited) {
    if (sets.has(name.split("-")[0]) && !where.has(name)) problems.push(`A test cites ${name}, which is not there.`);
  }
  for (const name of uncited) {
    if (!where.has(name)) problems.push(`${name} is on the list in invariants.mjs and nowhere else.`);
  }
  return problems;
}

if (isProgram(import.meta.url)) {
  const base = resolve(process.argv[2] ?? root);
  const files = filesBelow(["packages", "gateway-mock", "e2e"], base)
    .filter((path) => /\.[cm]?ts$/.test(path))
    .map((path) => ({ path, text: readFileSync(resolve(base, path), "utf8") }));
  const problems = checkInvariants(
    files.filter(({ path }) => path.includes("/src/")),
    files.filter(({ path }) => path.endsWith(".test.ts") || path.includes("/test/contract/")),
    base === root ? UNCITED : new Set(),
  );
  if (files.length === 0) fail("No files were found.");
  if (problems.length > 0) fail(problems.join("\n"));
}
