/**
 * The TypeScript blocks of a page as JavaScript modules that can be run: with what the page's given has beside them, and a
 * block that is from within a handler in a function of its own. Blocks that quote a program are left out: it is run itself.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { blocksOf, COMPLETE, exportedNames, givenOf, wantedFrom } from "./examples.mjs";
import { quotedFile } from "./quotes.mjs";

/**
 * @typedef {object} ExampleModule
 * @property {string} name of its file, with `.js`
 * @property {number} line of the page
 * @property {"module" | "test"} kind a test is run by Vitest
 * @property {boolean} isPrepared the page's given prepares something for it
 * @property {string} code
 *
 * @typedef {object} ExamplePage
 * @property {ExampleModule[]} modules
 * @property {string | null} given code of `given.js` beside them
 */

const IMPORTS = /^import [^;]*;$/gm;

/**
 * @param {string} folder of the repository
 * @param {string} page
 * @returns {ExamplePage}
 */
export function exampleModules(folder, page) {
  const file = join(folder, givenOf(page));
  const given = existsSync(file) ? readFileSync(file, "utf8") : null;
  const names = given === null ? new Set() : exportedNames(given);
  const blocks = blocksOf(page, readFileSync(join(folder, page), "utf8"));
  const modules = blocks.flatMap(({ text, line, file: name }, index) => {
    if (quotedFile(text) !== null) return [];
    const wanted = index === 0 && COMPLETE.includes(page) ? [] : wantedFrom(text, names);
    /** @type {ExampleModule["kind"]} */
    const kind = / from "vitest";/.test(text) ? "test" : "module";
    const isPrepared = given !== null && names.has("prepare") && !text.includes("new Holdfast(");
    const values = wanted.filter((one) => one !== "step");
    const head = values.length === 0 ? "" : `import { ${values.join(", ")} } from "./given.js";\n`;
    const code = javaScript(head + (wanted.includes("step") ? inHandler(text) : text));
    const ending = kind === "test" ? ".test.js" : ".js";
    return [{ name: name.replace(/\.m?ts$/, ending), line, kind, isPrepared, code }];
  });
  return { modules, given: given === null ? null : javaScript(given) };
}

/** A block that is a part of a handler. Waits that nothing answers time out; what it invokes and waits for is answered. */
function inHandler(/** @type {string} */ text) {
  const imports = text.match(IMPORTS) ?? [];
  const answered = [...text.matchAll(/step\.(?:invoke|waitForEvent)\("([^"]+)"/g)].map(([, id]) => id);
  const answers = answered.map((id) => `{ id: ${JSON.stringify(id)}, handler: () => ({ data: {} }) }`);
  return `${imports.join("\n")}
import { FunctionTest } from "@holdfast/testing/functions";
import { Holdfast as App } from "holdfast";

const block = new App({ id: "docs", isDev: true }).createFunction(
  { id: "block", triggers: { event: "docs/block" }, retries: 0 },
  async ({ step }) => {
${text.replaceAll(IMPORTS, "")}
  },
);
const run = await new FunctionTest(block, { event: { name: "docs/block" }, steps: [${answers.join(", ")}] }).run();
if (run.error) throw new Error(run.error.message);
`;
}

/** Without what Node 20 does not know yet, such as `using`; names of modules are those of files beside it. */
export function javaScript(/** @type {string} */ text) {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const own = outputText.replace('"@nestjs/common"', '"./nestjs-common.js"');
  const named = own.replaceAll(/((?:from|import\() ?"\.\/[\w.-]+)\.ts"/g, '$1.js"');
  // As bundlers resolve it, without an extension.
  return named.replaceAll(/((?:from|import\() ?"\.\/[\w-]+)"/g, '$1.js"');
}
