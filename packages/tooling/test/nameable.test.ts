import { expect, test } from "vitest";
import { checkNameable } from "../src/nameable.mjs";
import { run } from "../src/processes.mjs";
import { inRoot } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

/** A built package whose declarations share a file. */
function built(exported: string): string {
  return fixture({
    "package.json": JSON.stringify({
      name: "planted",
      type: "module",
      exports: { ".": { import: { types: "./a.d.ts", default: "./a.js" } }, "./package.json": "./package.json" },
    }),
    "shared-X1.d.ts": "interface State { readonly open: boolean }\nexport type { State as S };\n",
    "a.d.ts": `
import { S as State } from './shared-X1.js';
interface Place { readonly line: number }
interface Client<T> { readonly state: State; place(of: T): Place | undefined; readonly on?: (() => Place) | undefined }
declare function client(): Client<string>;
export { client, ${exported} };
`,
  });
}

const all = "type Client, type Place, type State";

test("types that every entry exports can be named", () => {
  expect(checkNameable([built(all)])).toEqual({ checked: 9, problems: [] });
});

test("a type that is not exported is reported with each expression that gives it", () => {
  const { problems } = checkNameable([built("type Client, type State")]);
  expect(problems.map((each) => each.split("\n", 1)[0])).toEqual([
    "planted: (x: M.Client<any>) => x.place;",
    "planted: (x: M.Client<any>) => x.place!(...anything);",
    "planted: (x: M.Client<any>) => x.on;",
    "planted: (x: M.Client<any>) => x.on!(...anything);",
  ]);
  expect(problems[0]).toContain("'Place'");
});

test("so is one of a file that declarations share", () => {
  const { problems } = checkNameable([built("type Client, type Place")]);
  expect(problems.map((each) => each.split("\n", 1)[0])).toEqual(["planted: (x: M.Client<any>) => x.state;"]);
});

test("the nameable gate fails on a planted violation and names it", async () => {
  const gate = (folder: string) =>
    run(process.execPath, [inRoot("packages/tooling/src/nameable.mjs"), folder], { output: "collect" });
  expect(await gate(built(all))).toMatchObject({ code: 0, output: "" });
  const bad = await gate(built("type Client, type State"));
  expect(bad.code).toBe(1);
  expect(bad.output).toContain("planted: (x: M.Client<any>) => x.place;");
});
