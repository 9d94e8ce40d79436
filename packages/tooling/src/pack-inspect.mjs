/** What must be true of an unpacked package, whatever it does. */
import { existsSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import ts from "typescript";
import { filesBelow } from "./workspace.mjs";

/** Packages of this workspace that are never published. */
const privateNames = /@holdfast\/(core|protocol|store|engine|postgres-server|tooling|e2e)\b/;

/**
 * @param {string} folder
 * @returns {{ what: string, problem: string }[]} an empty problem is a check that passed
 */
export function inspectPackage(folder) {
  // Read one level up: `filesBelow` leaves build results out.
  const files = [
    ...filesBelow(["."], folder),
    ...filesBelow(["."], join(folder, "dist")).map((name) => `dist/${name}`),
  ];
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = (/** @type {string} */ name) => readFileSync(join(folder, name), "utf8");
  const declarations = files.filter((name) => /\.d\.[cm]?ts$/.test(name));
  const scripts = files.filter((name) => /\.[cm]?js$/.test(name));
  return [
    check(
      "has what every package has",
      ["LICENSE", "README.md", "package.json", "dist/THIRD-PARTY-NOTICES.txt"].filter(
        (name) => !existsSync(join(folder, name)),
      ),
      "missing",
    ),
    check(
      "has a README whose links lead to what is in it, or on the web",
      linksOf(text("README.md")).filter((link) => !/^(https?:|#)/.test(link) && !existsSync(join(folder, link))),
      "leads nowhere",
    ),
    check(
      "has nothing else",
      files.filter((name) => /(^|\/)(src|test)\/|\.tsbuildinfo$|(^|\/)\.[^/]+$|\.map$/.test(name)),
      "not wanted",
    ),
    check(
      "has declarations that name no private package",
      declarations.filter(
        (name) => privateNames.test(text(name)) || modules(name, text(name)).includes("protobufjs/minimal.js"),
      ),
      "names one",
    ),
    check(
      "has no module that says it is AMD, which webpack would believe of the whole file",
      scripts.filter((name) => /\bdefine\.amd\b/.test(text(name))),
      "says it",
    ),
    check(
      "imports only what it declares",
      [...scripts, ...declarations].flatMap((name) =>
        modules(name, text(name))
          .filter((module) => !isDeclared(module, manifest, name.includes(".d.")))
          .map((module) => `${name} imports ${module}`),
      ),
      "not declared",
    ),
    check(
      "declares only what it uses",
      // Named in any way: some are only looked up by name.
      Object.keys(manifest.dependencies ?? {}).filter(
        (name) => ![...scripts, ...declarations].some((file) => new RegExp(`["']${name}["'/]`).test(text(file))),
      ),
      "not used",
    ),
    check(
      "declares exact or ranged versions of published packages",
      Object.entries(manifest.dependencies ?? {}).flatMap(([name, range]) =>
        /^(workspace|file|link):/.test(range) ? [`${name}: ${range}`] : [],
      ),
      "not installable",
    ),
  ];
}

/**
 * @param {string} what
 * @param {string[]} problems
 * @param {string} word
 */
const check = (what, problems, word) => ({ what, problem: problems.map((each) => `  ${word}: ${each}`).join("\n") });

/** @param {string} module */
const packageName = (module) => /^(@[^/]+\/)?[^/]+/.exec(module)?.[0] ?? module;

/**
 * @param {string} module
 * @param {{ name: string, dependencies?: Record<string, string>, peerDependencies?: Record<string, string> }} manifest
 * @param {boolean} types whether a package of types will do
 */
function isDeclared(module, manifest, types) {
  if (module.startsWith(".") || module.startsWith("node:") || builtinModules.includes(module)) return true;
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies, [manifest.name]: "" };
  const name = packageName(module);
  return name in declared || (types && `@types/${name.replace("@", "").replace("/", "__")}` in declared);
}

/**
 * The modules a file imports, requires or takes types from.
 * @param {string} name
 * @param {string} text
 * @returns {string[]}
 */
export function modules(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.ES2023, true);
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {ts.Node | undefined} node */
  const add = (node) => {
    if (node !== undefined && ts.isStringLiteral(node)) found.add(node.text);
  };
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal);
    else if (ts.isExternalModuleReference(node)) add(node.expression);
    else if (ts.isCallExpression(node) && isRequire(node.expression)) add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...found];
}

/** @param {ts.Expression} callee */
const isRequire = (callee) =>
  callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && /^(__)?require$/.test(callee.text));

/** @param {string} markdown */
function linksOf(markdown) {
  const links = [...markdown.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)/gm)];
  return links.map(([, inline, defined]) => inline ?? defined ?? "");
}
