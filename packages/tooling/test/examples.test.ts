import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { blocksOf, checkExamples, optionsOf, pagesOf } from "../src/examples.mjs";
import { run } from "../src/processes.mjs";
import { inRoot, root } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

const block = (code: string): string => `# A page\n\n\`\`\`ts\n${code}\n\`\`\`\n`;
const given = "export declare function charge(card: string): Promise<{ id: string }>;";
const options = (members: string): Record<string, string> => ({
  "packages/sdk/src/index.ts": 'export type { StepOptions } from "./steps.ts";',
  "packages/sdk/src/steps.ts": `export interface StepOptions {\n${members}\n}`,
});

test("a page whose blocks compile passes, with what the page is given", async () => {
  const folder = fixture({
    "docs/shop.md": block('const { id } = await charge("4242");\nconst text: string = id;'),
    "packages/tooling/src/example-givens/docs-shop.ts": given,
  });
  expect(await checkExamples(folder)).toEqual({ blocks: 1, options: 0, problems: [] });
});

test.each([
  ["a name that it does not have", "await charge(1);", /docs\/shop\.md:4: TS2304/],
  ["a parameter without a type", "export const all = (items: any) => items.map((item) => item);", /TS7006/],
  ["a value of another type", 'const n: number = "1";\nvoid n;', /docs\/shop\.md:4: TS2322/],
])("a block with %s is reported with its line", async (_what, code, problem) => {
  const { problems } = await checkExamples(fixture({ "docs/shop.md": block(code) }));
  expect(problems).toEqual([expect.stringMatching(problem)]);
});

test("the first block of the README is given nothing", async () => {
  const files = { "README.md": block('await charge("4242");'), "packages/tooling/src/example-givens/readme.ts": given };
  expect((await checkExamples(fixture(files))).problems).toEqual([expect.stringContaining("README.md:4: TS2304")]);
});

test("a block may be a file that another block of its page imports", async () => {
  const page = `${block("// pages.ts\nexport const n = 1;")}\n${block('import { n } from "./pages.js";\nconst one: 1 = n;\nvoid one;')}`;
  expect(await checkExamples(fixture({ "docs/shop.md": page }))).toEqual({ blocks: 2, options: 0, problems: [] });
});

test("blocks of the page about frameworks are checked as their projects are: without .ts in imports", async () => {
  const page = (from: string): string =>
    `${block("// pages.ts\nexport const n = 1;")}\n${block(`export const two = (await import("${from}")).n;\ncharge("4242");`)}`;
  const files = { "packages/tooling/src/example-givens/docs-frameworks.ts": given };
  const check = (from: string) => checkExamples(fixture({ ...files, "docs/frameworks.md": page(from) }));
  expect((await check("./pages")).problems).toEqual([]);
  expect((await check("./pages.ts")).problems).toEqual([expect.stringMatching(/frameworks\.md:\d+: TS5097/)]);
});

const program = {
  "e2e/examples/shop/shop.ts": "const a = 1;\n\nif (a) {\n  const b = 2;\n  void b;\n\n  const c = 3;\n}\n",
};
const quote = (code: string) => block(`// e2e/examples/shop/shop.ts\n${code}`);

test.each([
  ["as it is", "const a = 1;\n\nif (a) {"],
  ["in parts", "const a = 1;\n// ...\n  void b;"],
  ["farther out", "const b = 2;\nvoid b;\n\nconst c = 3;"],
])("a block may quote a program %s", async (_how, code) => {
  const { problems } = await checkExamples(fixture({ ...program, "docs/shop.md": quote(code) }));
  expect(problems).toEqual([]);
});

test.each([
  ["other code", "const a = 2;"],
  ["lines in another order", "  void b;\n// ...\nconst a = 1;"],
  ["lines that are moved against each other", "const b = 2;\n  void b;"],
  ["more than there is", "}\nconst d = 4;"],
])("a block that quotes %s is reported", async (_what, code) => {
  const { problems } = await checkExamples(fixture({ ...program, "docs/shop.md": quote(code) }));
  expect(problems).toEqual([expect.stringMatching(/^docs\/shop\.md:4: the block is not what e2e\/examples\/shop/)]);
});

test("a block that quotes a program that is not there is reported", async () => {
  const { problems } = await checkExamples(fixture({ "docs/shop.md": quote("const a = 1;") }));
  expect(problems).toEqual([expect.stringContaining("which is not there")]);
});

test.each([
  ["no comment", "readonly retries?: number;", ["no sentence", "no @example"]],
  ["no example", "/** How often. */\nreadonly retries?: number;", ["no @example"]],
  [
    "an example of another type",
    '/**\n * How often.\n * @example retries: "2"\n */\nreadonly retries?: number;',
    ["TS2322"],
  ],
  [
    "an example of another option",
    "/**\n * How often.\n * @example tries: 2\n */\nreadonly retries?: number;",
    ["tries"],
  ],
  [
    "a part without a sentence",
    "/**\n * How often.\n * @example retries: { max: 2 }\n */\nreadonly retries?: { readonly max: number };",
    ["StepOptions.retries.max has no sentence"],
  ],
])("an option with %s is reported", async (_what, members, wanted) => {
  const { problems } = await checkExamples(fixture(options(members)));
  expect(problems).toEqual(wanted.map((one) => expect.stringContaining(one)));
});

test("all pages and options of this repository are looked at", () => {
  expect(pagesOf(root)).toEqual(expect.arrayContaining(["README.md", "docs/functions.md", "packages/sdk/README.md"]));
  const names = optionsOf(root).map(({ name, option }) => `${name}.${option}`);
  expect(names).toEqual(
    expect.arrayContaining([
      "FunctionOptions.debounce",
      "ConnectOptions.queues",
      "StepRunOptions.compensate",
      "BulkFilter.all",
    ]),
  );
  expect(blocksOf("README.md", readFileSync(inRoot("README.md"), "utf8")).length).toBeGreaterThan(1);
});

test("the examples gate fails on a planted violation and names it", async () => {
  const gate = (folder: string) =>
    run(process.execPath, [inRoot("packages/tooling/src/examples.mjs"), folder], { output: "collect" });
  expect(await gate(fixture({ "docs/a.md": block("export {};") }))).toMatchObject({ code: 0 });
  const bad = await gate(fixture({ "docs/a.md": block("nothing();") }));
  expect(bad).toMatchObject({ code: 1, output: expect.stringContaining("docs/a.md:4") });
});
