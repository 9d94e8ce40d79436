/**
 * What the types of an entry give can be named by whoever imports it. TypeScript writes types that it has inferred into a
 * project's own declarations (`declaration`, `composite`): a type that no entry exports stops it there (TS4023, TS2742),
 * since the files that bundled declarations share have names of no one's choosing. For each entry a module is made that
 * exports every member of every type, what it returns, and every function.
 *
 *     node nameable.mjs [folder of a built package ...]
 */
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { build } from "./build.mjs";
import { endWithChildren, temporaryFolder } from "./processes.mjs";
import { fail, inRoot, isProgram, publishedPackages } from "./workspace.mjs";

/** @type {ts.CompilerOptions} */
const options = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
  strict: true,
  declaration: true,
  skipLibCheck: true,
  types: ["node"],
  typeRoots: [inRoot("node_modules/@types")],
};

/**
 * The name of a package, and its typed entries.
 * @param {string} folder
 */
function packageAt(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const typed = Object.entries(exports).filter(([, target]) => target?.import?.types !== undefined);
  return { name, entries: typed.map(([path]) => join(name, path)) };
}

/**
 * A program of modules that are not on the disk.
 * @param {ReadonlyMap<string, string>} modules
 */
function programOf(modules) {
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (file) => modules.has(file) || fileExists(file);
  host.getSourceFile = (file, ...rest) => {
    const text = modules.get(file);
    return text === undefined ? getSourceFile(file, ...rest) : ts.createSourceFile(file, text, rest[0], true);
  };
  return ts.createProgram([...modules.keys()], options, host);
}

/** @param {ts.Declaration} declaration */
function parametersOf(declaration) {
  const hasThem =
    ts.isClassDeclaration(declaration) ||
    ts.isInterfaceDeclaration(declaration) ||
    ts.isTypeAliasDeclaration(declaration);
  return hasThem ? (declaration.typeParameters ?? []) : [];
}

/**
 * Exports of one expression each.
 * @param {ts.TypeChecker} checker
 * @param {ts.Symbol} exported
 * @returns {string[]}
 */
function expressionsOf(checker, exported) {
  const name = `M.${exported.name}`;
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const expressions = [];
  if (symbol.flags & ts.SymbolFlags.Function) expressions.push(`() => ${name}`, `() => ${name}(...anything)`);
  if (symbol.flags & ts.SymbolFlags.Variable) expressions.push(`() => ${name}`);
  if (symbol.flags & ts.SymbolFlags.Type) {
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const parameters = symbol.declarations?.flatMap(parametersOf) ?? [];
    const unique = new Set(parameters.map((each) => each.name.text));
    const given = unique.size === 0 ? name : `${name}<${[...unique].map(() => "any").join(", ")}>`;
    // Of text and numbers it would be what all of them have.
    const members = type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection) ? type.getProperties() : [];
    for (const member of members.filter((each) => /^[A-Za-z]\w*$/.test(each.name))) {
      expressions.push(`(x: ${given}) => x.${member.name}`);
      const calls = checker.getNonNullableType(checker.getTypeOfSymbol(member)).getCallSignatures();
      if (calls.length > 0) expressions.push(`(x: ${given}) => x.${member.name}!(...anything)`);
    }
  }
  return expressions;
}

/**
 * What declarations of users could not name.
 * @param {readonly string[]} folders of built packages
 * @returns {{ checked: number, problems: string[] }}
 */
export function checkNameable(folders) {
  const { path: temp, remove } = temporaryFolder("holdfast-nameable-");
  try {
    const packages = folders.map((folder) => ({ folder, ...packageAt(folder) }));
    for (const { name, folder } of packages) {
      const link = join(temp, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(resolve(folder), link, "dir");
    }
    const entries = packages.flatMap((each) => each.entries);
    const fileOf = (/** @type {number} */ index) => join(temp, `entry-${index}.mts`);
    const importOf = (/** @type {string} */ entry) => `import * as M from ${JSON.stringify(entry)};`;
    const plain = programOf(new Map(entries.map((entry, index) => [fileOf(index), `${importOf(entry)} void M;`])));
    const modules = new Map(
      entries.map((entry, index) => {
        const lines = linesFor(plain, fileOf(index));
        return [fileOf(index), [importOf(entry), "declare const anything: [any];", ...lines].join("\n")];
      }),
    );
    const program = programOf(modules);
    const problems = program.getDeclarationDiagnostics().flatMap(({ file, start = 0, messageText }) => {
      const message = ts.flattenDiagnosticMessageText(messageText, " ");
      // What @types/node takes from there is no type of ours.
      if (message.includes("/undici-types/")) return [];
      const entry = entries.find((_, index) => fileOf(index) === file?.fileName);
      const line = file?.text
        .slice(start)
        .split("\n", 1)[0]
        ?.replace(/^k\d+ = /, "");
      return [`${entry}: ${line}\n  ${message}`];
    });
    return { checked: [...modules.values()].join("\n").split("\nexport const ").length - 1, problems };
  } finally {
    remove();
  }
}

/**
 * @param {ts.Program} program
 * @param {string} file
 */
function linesFor(program, file) {
  const checker = program.getTypeChecker();
  const first = program.getSourceFile(file)?.statements[0];
  const module = first && ts.isImportDeclaration(first) && checker.getSymbolAtLocation(first.moduleSpecifier);
  if (!module) throw new Error(`${first?.getText()} finds no module.`);
  const expressions = checker.getExportsOfModule(module).flatMap((exported) => expressionsOf(checker, exported));
  return expressions.map((expression, index) => `export const k${index} = ${expression};`);
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    const given = process.argv.slice(2);
    if (given.length === 0) await build();
    const { checked, problems } = checkNameable(given.length > 0 ? given : publishedPackages.map(inRoot));
    if (checked === 0) fail("No types were found.");
    if (problems.length > 0) fail([...problems, "Export each of these types from an entry."].join("\n"));
  } catch (error) {
    fail(error);
  }
}
