/**
 * Types equal run time: what the declarations of a published entry export as a value is what the built module has, as an
 * ES module and as a CommonJS module. A class that is exported as a type only easily becomes a value in bundled
 * declarations: code that uses it compiles then, and fails at its first import.
 *
 *     node entries.mjs [folder of a built package ...]
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { build } from "./build.mjs";
import { endWithChildren } from "./processes.mjs";
import { fail, inRoot, isProgram, publishedPackages } from "./workspace.mjs";

/** @typedef {{ entry: string, format: "import" | "require", types: string, module: string }} Form */

/**
 * Every typed entry of a package, in each form that it has.
 * @param {string} folder
 * @returns {Form[]}
 */
function formsOf(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return Object.entries(exports).flatMap(([path, target]) =>
    /** @type {const} */ (["import", "require"]).flatMap((format) => {
      const { types, default: module } = target?.[format] ?? {};
      if (types === undefined) return [];
      return [{ entry: join(name, path), format, types: join(folder, types), module: join(folder, module) }];
    }),
  );
}

/**
 * Names that the declarations export as values.
 * @param {ts.Program} program
 * @param {string} file
 */
function declaredValues(program, file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${file} is not there, or is no module.`);
  return checker.getExportsOfModule(module).flatMap((symbol) => {
    if (isTypeOnly(symbol)) return [];
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return target.flags & ts.SymbolFlags.Value ? [symbol.name] : [];
  });
}

/** @param {ts.Symbol} symbol */
function isTypeOnly(symbol) {
  return (symbol.declarations ?? []).some(
    (each) => ts.isExportSpecifier(each) && (each.isTypeOnly || each.parent.parent.isTypeOnly),
  );
}

/**
 * @param {Form} form
 * @returns {Promise<string[]>}
 */
async function valuesAtRunTime({ format, module }) {
  const loaded = format === "import" ? await import(pathToFileURL(module).href) : createRequire(module)(module);
  return Object.keys(loaded);
}

/**
 * What differs between the types and the modules of built packages.
 * @param {readonly string[]} folders
 * @returns {Promise<{ checked: number, problems: string[] }>}
 */
export async function checkEntries(folders) {
  const forms = folders.flatMap(formsOf);
  const program = ts.createProgram(
    forms.map(({ types }) => types),
    {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      skipLibCheck: true,
      types: [],
    },
  );
  /** @type {string[]} */
  const problems = [];
  for (const form of forms) {
    const declared = new Set(declaredValues(program, form.types));
    const real = new Set(await valuesAtRunTime(form));
    const how = `${form.entry} (${form.format})`;
    for (const name of declared) {
      if (!real.has(name)) problems.push(`${how}: the types have the value ${name}, the module does not.`);
    }
    for (const name of real) {
      if (!declared.has(name)) problems.push(`${how}: the module has ${name}, the types do not.`);
    }
  }
  return { checked: forms.length, problems };
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    const given = process.argv.slice(2);
    if (given.length === 0) await build();
    const { checked, problems } = await checkEntries(given.length > 0 ? given : publishedPackages.map(inRoot));
    if (checked === 0) fail("No typed entries were found.");
    if (problems.length > 0) fail(problems.join("\n"));
  } catch (error) {
    fail(error);
  }
}
