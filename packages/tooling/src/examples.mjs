/**
 * Examples compile: every TypeScript block of the READMEs and of docs/, and the `@example` of every option of the SDK,
 * which each of them must have, beside a sentence. Checked as a user would who pastes them into a strict project.
 *
 * A block is a module of its own. A name that it uses and does not have is imported from the page's *given*
 * (`src/example-givens/docs-operate.ts` for docs/operate.md), where the page's own functions are declared. A block whose
 * first line is a comment with a file's name is that file, beside the page's other ones. The first block of a README that
 * people paste into an empty file (`COMPLETE`) has no given. A block that quotes a program of `e2e/examples` is compared
 * with it instead (`quotes.mjs`). What blocks do is run by `e2e/test/doc-blocks.e2e.test.ts`.
 *
 *     node examples.mjs [root]
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { endWithChildren, run, temporaryFolder } from "./processes.mjs";
import { quotedFile, quoteProblem } from "./quotes.mjs";
import { cacheDir, fail, inRoot, isProgram, root } from "./workspace.mjs";

const compiler = inRoot("packages/tooling/node_modules/typescript-7-0/bin/tsc");
/** Pages whose blocks are shapes to read, not code to paste. */
export const SHAPES = ["docs/architecture.md"];
/** Pages whose first block needs nothing else. */
export const COMPLETE = ["README.md", "docs/getting-started.md"];
/** Pages whose blocks are for projects as frameworks make them: a bundler resolves imports, and `.ts` is left out. */
const BUNDLED = ["docs/frameworks.md"];
const BUNDLED_FOLDER = "bundled";
/** What users import options from. */
const ENTRIES = ["index", "client", "operate", "isolate"];
/** What options came to is none. */
const OPTION_NAME = /^(?!Resolved).*(Options?|Filter|Trigger)$/;

/** @typedef {{ page: string, line: number, file: string, text: string }} Block */
/** @typedef {{ file: string, line: number, page: string }} Origin where a line of a checked file comes from */

/** @param {string} folder */
export function pagesOf(folder) {
  const docs = join(folder, "docs");
  const own = existsSync(docs) ? readdirSync(docs).map((name) => `docs/${name}`) : [];
  const readmes = [
    "README.md",
    "gateway-mock/README.md",
    ...packagesOf(folder).map((name) => `packages/${name}/README.md`),
  ];
  return [...readmes, ...own].filter((page) => page.endsWith(".md") && existsSync(join(folder, page)));
}

/** @param {string} folder */
function packagesOf(folder) {
  const packages = join(folder, "packages");
  return existsSync(packages) ? readdirSync(packages) : [];
}

/**
 * @param {string} page
 * @param {string} text
 * @returns {Block[]}
 */
export function blocksOf(page, text) {
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((match, index) => {
    const code = match[1] ?? "";
    const line = text.slice(0, match.index).split("\n").length + 1;
    const named = /^\/\/ ([\w.-]+\.m?ts)\n/.exec(code)?.[1];
    return { page, line, file: named ?? `block-${index + 1}.ts`, text: code };
  });
}

/** @param {string} page */
export const givenOf = (page) => {
  const name = page.toLowerCase().replaceAll("/", "-").replace(/\.md$/, "");
  return `packages/tooling/src/example-givens/${name}.ts`;
};

/** Names that a module exports. @param {string} text */
export function exportedNames(text) {
  const source = ts.createSourceFile("given.ts", text, ts.ScriptTarget.Latest, true);
  const passedOn = source.statements
    .filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause && ts.isNamedExports(exportClause) ? exportClause.elements.map(({ name }) => name.text) : [],
    );
  return new Set([...passedOn, ...source.statements.filter(isExported).flatMap(namesOf)]);
}

/** @param {ts.Statement} statement */
const isExported = (statement) =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

/**
 * Names that a statement declares.
 * @param {ts.Statement} statement
 * @returns {string[]}
 */
function namesOf(statement) {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  }
  if (ts.isImportDeclaration(statement)) {
    const { name, namedBindings } = statement.importClause ?? {};
    const bound = namedBindings && ts.isNamedImports(namedBindings) ? [...namedBindings.elements] : [];
    const all = namedBindings && ts.isNamespaceImport(namedBindings) ? [namedBindings] : [];
    return [...(name ? [name.text] : []), ...[...bound, ...all].map((one) => one.name.text)];
  }
  const named = /** @type {{ name?: ts.Node }} */ (/** @type {unknown} */ (statement)).name;
  return named && ts.isIdentifier(named) ? [named.text] : [];
}

/** @param {ts.BindingName} name @returns {string[]} */
function boundNames(name) {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}

/**
 * Of what the given has, what the block uses and does not have.
 * @param {string} code
 * @param {ReadonlySet<string>} given
 */
export function wantedFrom(code, given) {
  const source = ts.createSourceFile("block.ts", code, ts.ScriptTarget.Latest, true);
  const own = new Set(source.statements.flatMap(namesOf));
  /** @type {Set<string>} */
  const used = new Set();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isIdentifier(node) && given.has(node.text) && !own.has(node.text)) used.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...used].sort();
}

/**
 * The options of the SDK, with what their comments say.
 * @param {string} folder
 */
export function optionsOf(folder) {
  const src = join(folder, "packages/sdk/src");
  if (!existsSync(src)) return [];
  const wanted = new Map(ENTRIES.flatMap((entry) => [...exportsOf(src, `${entry}.ts`)]));
  return [...wanted].flatMap(([name, file]) => {
    const source = ts.createSourceFile(file, readFileSync(join(src, file), "utf8"), ts.ScriptTarget.Latest, true);
    return source.statements.flatMap((statement) => {
      const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
      if (!isType || statement.name.text !== name) return [];
      const parameters = statement.typeParameters?.length ?? 0;
      const members = ts.isInterfaceDeclaration(statement) ? [...statement.members] : literalMembers(statement.type);
      return members.filter(ts.isPropertySignature).map((member) => {
        const line = source.getLineAndCharacterOfPosition(member.getStart()).line + 1;
        const option = member.name.getText();
        return { name, file: `packages/sdk/src/${file}`, line, option, parameters, member, ...commentOf(member) };
      });
    });
  });
}

/** @param {ts.TypeNode} type @returns {ts.TypeElement[]} */
function literalMembers(type) {
  if (ts.isTypeLiteralNode(type)) return [...type.members];
  return ts.isIntersectionTypeNode(type) ? type.types.flatMap(literalMembers) : [];
}

/** Names of options that an entry exports, with the files that have them. @param {string} src @param {string} entry */
function exportsOf(src, entry) {
  if (!existsSync(join(src, entry))) return [];
  const source = ts.createSourceFile(entry, readFileSync(join(src, entry), "utf8"), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || !statement.exportClause || !statement.moduleSpecifier) return [];
    if (!ts.isNamedExports(statement.exportClause)) return [];
    const file = /** @type {ts.StringLiteral} */ (statement.moduleSpecifier).text.replace("./", "");
    const names = statement.exportClause.elements.map(({ name }) => name.text).filter((name) => OPTION_NAME.test(name));
    return names.map((name) => /** @type {const} */ ([name, file]));
  });
}

/** @param {ts.Node} node */
function commentOf(node) {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const says = ts.getTextOfJSDocComment(comment?.comment)?.trim() ?? "";
  const tag = comment?.tags?.find(({ tagName }) => tagName.text === "example");
  return { says, example: ts.getTextOfJSDocComment(tag?.comment)?.trim() ?? "" };
}

/** Members of object types inside an option: each has a sentence. @param {ts.PropertySignature} member */
function innerOptions(member) {
  /** @type {string[]} */
  const silent = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isTypeLiteralNode(node)) {
      const inner = node.members.filter(ts.isPropertySignature);
      silent.push(...inner.filter((one) => commentOf(one).says === "").map((one) => one.name.getText()));
    }
    ts.forEachChild(node, visit);
  };
  if (member.type) visit(member.type);
  return silent;
}

/**
 * What is wrong with the examples below a folder.
 * @param {string} [folder]
 * @returns {Promise<{ blocks: number, options: number, problems: string[] }>}
 */
export async function checkExamples(folder = root) {
  const options = optionsOf(folder);
  const problems = options.flatMap(({ file, line, name, option, says, example, member }) => {
    const where = `${file}:${line}: ${name}.${option}`;
    return [
      ...(says === "" ? [`${where} has no sentence that says what it is.`] : []),
      ...(example === "" ? [`${where} has no @example.`] : []),
      ...innerOptions(member).map((inner) => `${where}.${inner} has no sentence that says what it is.`),
    ];
  });
  mkdirSync(cacheDir, { recursive: true });
  const temporary = temporaryFolder("examples-", cacheDir);
  /** @type {Map<string, Origin>} */
  const origins = new Map();
  let count = 0;
  for (const page of pagesOf(folder).filter((each) => !SHAPES.includes(each))) {
    const given = join(folder, givenOf(page));
    const names = existsSync(given) ? exportedNames(readFileSync(given, "utf8")) : new Set();
    for (const [index, block] of blocksOf(page, readFileSync(join(folder, page), "utf8")).entries()) {
      count += 1;
      if (quotedFile(block.text) !== null) {
        // The program itself is compiled, and run.
        const problem = quoteProblem(folder, block.text);
        if (problem !== null) problems.push(`${page}:${block.line}: the block ${problem}`);
        continue;
      }
      const wanted = index === 0 && COMPLETE.includes(page) ? [] : wantedFrom(block.text, names);
      const isBundled = BUNDLED.includes(page);
      const from = JSON.stringify(isBundled ? given.replace(/\.ts$/, "") : given);
      const head = wanted.length === 0 ? "" : `import { ${wanted.join(", ")} } from ${from};`;
      const parts = [...(isBundled ? [BUNDLED_FOLDER] : []), page.replaceAll(/[/.]/g, "-"), block.file];
      write(join(temporary.path, ...parts), `${head}\n${block.text}\nexport {};\n`, { page, line: block.line - 2 });
    }
  }
  const given = join(folder, givenOf("options.md"));
  const names = existsSync(given) ? exportedNames(readFileSync(given, "utf8")) : new Set();
  for (const [index, { file, line, name, option, parameters, example }] of options.entries()) {
    if (example === "") continue;
    const wanted = wantedFrom(`({ ${example} })`, names);
    const type = parameters === 0 ? name : `${name}<${Array(parameters).fill("any").join(", ")}>`;
    const text = [
      `import type { ${name} } from ${JSON.stringify(join(folder, file))};`,
      wanted.length === 0 ? "" : `import { ${wanted.join(", ")} } from ${JSON.stringify(given)};`,
      `export const example = { ${example} } satisfies Partial<${type}>;`,
    ];
    write(join(temporary.path, "options", `${index}-${option}.ts`), text.join("\n"), { page: file, line: line - 3 });
  }
  problems.push(...(await compile(folder, temporary.path, origins)));
  temporary.remove();
  return { blocks: count, options: options.length, problems };

  /** @param {string} file @param {string} text @param {Omit<Origin, "file">} origin */
  function write(file, text, origin) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    origins.set(relative(temporary.path, file), { file, ...origin });
  }
}

/**
 * @param {string} folder
 * @param {string} temporary
 * @param {ReadonlyMap<string, Origin>} origins
 */
async function compile(folder, temporary, origins) {
  if (origins.size === 0) return [];
  const { compilerOptions } = JSON.parse(readFileSync(inRoot("tsconfig.json"), "utf8"));
  const paths = Object.entries(/** @type {Record<string, string[]>} */ (compilerOptions.paths));
  const options = {
    ...{ target: "es2023", lib: ["es2023", "esnext.disposable"], module: "nodenext", moduleResolution: "nodenext" },
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: ["node"], typeRoots: [inRoot("node_modules/@types")] },
    ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true },
    paths: {
      ...Object.fromEntries(paths.map(([name, targets]) => [name, targets.map((target) => inRoot(target))])),
      "holdfast/isolate": [inRoot("packages/sdk/src/isolate.ts")],
      "@nestjs/common": [inRoot("packages/tooling/src/example-givens/nestjs-common.ts")],
      valibot: [inRoot("packages/sdk/node_modules/valibot/dist/index.d.mts")],
      zod: [inRoot("packages/sdk/node_modules/zod/index.d.ts")],
    },
  };
  // As Next generates them, but strict.
  const bundled = {
    ...{ ...options, target: "es2017", lib: ["dom", "dom.iterable", "esnext"], isolatedModules: true, allowJs: true },
    ...{ module: "esnext", moduleResolution: "bundler", esModuleInterop: true, resolveJsonModule: true },
    ...{ allowImportingTsExtensions: false, erasableSyntaxOnly: false },
  };
  writeFileSync(join(temporary, "package.json"), '{ "type": "module" }');
  const outputs = [
    await outputOf("tsconfig.json", options, ["**/*.ts"], [BUNDLED_FOLDER]),
    await outputOf("tsconfig-bundled.json", bundled, [`${BUNDLED_FOLDER}/**/*.ts`], []),
  ];
  return outputs.flat().flatMap((text) => {
    const [, file = "", line = "0", problem = ""] = /^(.*?)\((\d+),\d+\): error (.*)$/.exec(text) ?? [];
    if (problem === "") return [];
    const origin = origins.get(file);
    // Sources are checked by the gate `types`; here they have other settings.
    if (!origin)
      return file.startsWith("..") && !file.includes("example-givens") ? [] : [`${file}:${line}: ${problem}`];
    return [`${relative(folder, join(folder, origin.page))}:${Number(line) + origin.line}: ${problem}`];
  });

  /**
   * The lines that the compiler prints.
   * @param {string} config
   * @param {object} compilerOptions
   * @param {string[]} include
   * @param {string[]} exclude
   */
  async function outputOf(config, compilerOptions, include, exclude) {
    writeFileSync(join(temporary, config), JSON.stringify({ compilerOptions, include, exclude }));
    const args = [compiler, "-p", config, "--pretty", "false"];
    const { output } = await run(process.execPath, args, { cwd: temporary, output: "collect", timeoutMs: 120_000 });
    return output.split("\n");
  }
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    const { blocks, options, problems } = await checkExamples(process.argv[2]);
    if (problems.length > 0) fail(`Examples that do not hold:\n  ${problems.join("\n  ")}`);
    else console.log(`${blocks} blocks and the examples of ${options} options compile.`);
  } catch (error) {
    fail(error);
  }
}
