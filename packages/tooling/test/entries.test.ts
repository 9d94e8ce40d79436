import { expect, test } from "vitest";
import { checkEntries } from "../src/entries.mjs";
import { run } from "../src/processes.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

/** A built package with one entry in both forms. */
function built(types: string, esm: string, cjs: string): string {
  return fixture({
    "package.json": JSON.stringify({
      name: "planted",
      exports: {
        ".": {
          import: { types: "./a.d.mts", default: "./a.mjs" },
          require: { types: "./a.d.cts", default: "./a.cjs" },
        },
        "./package.json": "./package.json",
      },
    }),
    "a.d.mts": types,
    "a.d.cts": types,
    "a.mjs": esm,
    "a.cjs": cjs,
  });
}

const types = `
declare class Client { #part; }
export interface Options { readonly one: number }
declare const VERSION: string;
export { VERSION, type Client, type Options as Settings };
export type { Client as Other };
`;
const esm = 'export const VERSION = "1";';
const cjs = 'exports.VERSION = "1";';

test("an entry passes when its types and module export the same values, whatever types it exports besides", async () => {
  expect(await checkEntries([built(types, esm, cjs)])).toEqual({ checked: 2, problems: [] });
});

test("a class that only the types export as a value is reported, in each format", async () => {
  const { problems } = await checkEntries([built(types.replace("type Client", "Client"), esm, cjs)]);
  expect(problems).toEqual([
    "planted (import): the types have the value Client, the module does not.",
    "planted (require): the types have the value Client, the module does not.",
  ]);
});

test("a value missing from the types is reported, in the format that exports it", async () => {
  const { problems } = await checkEntries([built(types, esm, `${cjs} exports.more = 1;`)]);
  expect(problems).toEqual(["planted (require): the module has more, the types do not."]);
});

test("the entries gate fails on a planted violation and names it", async () => {
  const gate = (folder: string) =>
    run(process.execPath, [inRoot("packages/tooling/src/entries.mjs"), folder], { output: "collect" });
  expect(await gate(built(types, esm, cjs))).toMatchObject({ code: 0, output: "" });
  const bad = await gate(built(types, "", cjs));
  expect(bad.code).toBe(1);
  expect(bad.output).toContain("planted (import): the types have the value VERSION");
});
