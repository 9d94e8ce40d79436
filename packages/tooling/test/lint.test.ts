import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../src/processes.mjs";
import { inRoot, tool } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `  void ${i};`).join("\n");

async function size(path: string, text: string): Promise<string> {
  const folder = fixture({ [path]: text });
  const args = [tool("oxlint/bin/oxlint"), "--config", inRoot(".oxlintrc.json"), "--deny-warnings", "."];
  const { code, output } = await run(process.execPath, args, { cwd: folder, output: "collect" });
  return code === 0 ? "" : output;
}

test("a file over 300 lines of code and a function over 80 are rejected", async () => {
  expect(await size("src/a.ts", lines(301))).toContain("max-lines");
  expect(await size("src/a.ts", `export function f() {\n${lines(81)}\n}`)).toContain("max-lines-per-function");
  expect(await size("src/a.ts", `export function f() {\n${lines(60)}\n}\n${"// why\n\n".repeat(300)}`)).toBe("");
});

test.each([
  ["any", "export const a: any = 1;", "noExplicitAny"],
  ["a default export", "const a = 1;\nexport default a;", "noDefaultExport"],
  ["an enum", "export enum A {\n  B = 1,\n}", "noEnum"],
  ["a type imported as a value", 'import { A } from "./b.ts";\n\nexport const a: A = 1;', "useImportType"],
  [
    "a built-in module without node:",
    'import { join } from "path";\n\nexport const a = join;',
    "useNodejsImportProtocol",
  ],
  ["an unused import", 'import { b } from "./b.ts";\n\nexport const a = 1;', "noUnusedImports"],
  ["other formatting", "export const a = 'x'", "format"],
])("the linter rejects %s", async (_what, text, rule) => {
  const folder = fixture({ "src/a.ts": `${text}\n` });
  const args = [tool("@biomejs/biome/bin/biome"), "check", "--error-on-warnings", "--vcs-enabled=false"];
  const { code, output } = await run(
    process.execPath,
    [...args, `--config-path=${inRoot("biome.json")}`, join(folder, "src/a.ts")],
    { cwd: folder, output: "collect" },
  );
  expect(code).not.toBe(0);
  expect(output).toContain(rule);
});
