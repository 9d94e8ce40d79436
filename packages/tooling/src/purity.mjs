/**
 * Pure files take time, randomness and the outside world through ports: none of their code may name the globals that
 * lead there. (That they import nothing impure is one of the import rules.) Declarations of types may name them.
 *
 *     node purity.mjs [folder]
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";
import { fail, filesBelow, isProgram, root } from "./workspace.mjs";

/** Which files are pure; `.dependency-cruiser.cjs` has the same list. */
const pure = [
  /^packages\/core\/src\//,
  /^packages\/sdk\/src\/(connection|isolation)\/machines\//,
  /^packages\/(store|engine)\/src\//,
  /^packages\/graph\/src\/(definition|templates|interpret|status)\//,
  /^gateway-mock\/src\/dispatch\/admission\//,
  /^gateway-mock\/src\/faults\/rules\//,
  /\/src\/.*-machine\.ts$/,
];
const ports = [
  "packages/core/src/clock.ts",
  "packages/core/src/turns.ts",
  "packages/core/src/random.ts",
  "packages/engine/src/digest.ts",
];

const globals = new Set(
  `setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate queueMicrotask performance process
  crypto fetch console globalThis global require eval WebSocket Worker MessageChannel BroadcastChannel Buffer navigator`
    .split(/\s+/)
    .filter((name) => name !== ""),
);
const members = new Set(["Date.now", "Math.random", "import.meta"]);

/** @param {string} path relative to the workspace */
export const isPure = (path) => pure.some((pattern) => pattern.test(path)) && !ports.includes(path);

/**
 * Every place in a pure file that reaches for the outside, as `path:line name`.
 * @param {string} path
 * @param {string} text
 * @returns {string[]}
 */
export function impurities(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  /** @type {string[]} */
  const found = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    const name = impureName(node);
    if (name !== undefined) {
      found.push(`${path}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${name}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** @param {ts.Node} node */
function impureName(node) {
  if (ts.isPropertyAccessExpression(node) || ts.isMetaProperty(node)) {
    const name = node.getText().replaceAll(/[\s?]/g, "");
    return members.has(name) ? name : undefined;
  }
  if (!ts.isIdentifier(node) || !isReference(node)) return undefined;
  if (globals.has(node.text)) return node.text;
  if (node.text !== "Date" && node.text !== "Math") return undefined;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return undefined;
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword) return undefined;
  // A date made from a number or text is a value like any other.
  if (ts.isNewExpression(parent) && (parent.arguments?.length ?? 0) > 0) return undefined;
  return ts.isNewExpression(parent) ? `new ${node.text}()` : node.text;
}

/**
 * Whether an identifier stands for a value, and is not the name of a property, a parameter or the like.
 * @param {ts.Identifier} node
 */
function isReference(node) {
  const { parent } = node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return false;
  return !("name" in parent && parent.name === node);
}

/** @param {string} base */
export function checkPurity(base) {
  const files = filesBelow(["packages", "gateway-mock"], base).filter((path) => path.endsWith(".ts") && isPure(path));
  return { files, found: files.flatMap((path) => impurities(path, readFileSync(resolve(base, path), "utf8"))) };
}

if (isProgram(import.meta.url)) {
  const { files, found } = checkPurity(resolve(process.argv[2] ?? root));
  if (files.length === 0) fail("No pure files were found: the patterns in purity.mjs are out of date.");
  if (found.length > 0) fail(`Pure files must use the ports of @holdfast/core instead of:\n  ${found.join("\n  ")}`);
}
