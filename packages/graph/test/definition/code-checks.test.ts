import { expect, test } from "vitest";
import { readSnapshot } from "../../src/definition/snapshot.ts";
import { GRAPH_LIMITS, type GraphProblem, validateGraph, validateSnapshot } from "../../src/definition.ts";
import { runCode } from "../../src/sandbox/run-code.ts";

const graphOf = (...codes: readonly string[]): unknown => ({
  id: "g",
  title: "g",
  nodes: [
    { id: "start", type: "start" },
    ...codes.map((code, at) => ({ id: `js${at}`, type: "javascript", config: { code } })),
  ],
  edges: codes.map((_, at) => ({ from: "start", to: `js${at}` })),
});
const problemsOf = (...codes: readonly string[]): GraphProblem[] => validateGraph(graphOf(...codes));
const run = (code: string): Promise<unknown> => runCode({ code, ctx: {}, timeoutMs: 60_000, memoryMb: 64 });

test.each<[code: string, line: number, column: number, what: string]>([
  ["const a = ;\nreturn a;", 1, 11, "Unexpected token"],
  ["const a = 1;\nreturn a +* 2;", 2, 11, "Unexpected token"],
  ["return a b", 1, 10, "Unexpected token"],
  ["if (ctx.a) {\n  return 1;", 2, 12, "it ends where more is expected, such as a closing bracket"],
  ["return {\r\n  a: 1,\r\n", 3, 1, "it ends where more is expected, such as a closing bracket"],
  ["return 1 +", 1, 11, "it ends where more is expected, such as a closing bracket"],
  ["return 1;\n}", 2, 1, "Unexpected token"],
  ["return 1; // end\n)", 2, 1, "Unexpected token"],
  ["return 'a\nb'", 1, 8, "Unterminated string constant"],
  ["return `a", 1, 9, "Unterminated template"],
  ["return 1; /* and", 1, 11, "Unterminated comment"],
  ["return /(/", 1, 9, "Invalid regular expression: /(/: Unterminated group"],
  ["let ctx = 1", 1, 5, "Identifier 'ctx' has already been declared"],
  ["let a;\nlet a;", 2, 5, "Identifier 'a' has already been declared"],
  ["import fs from 'fs'", 1, 1, "'import' and 'export' may only appear at the top level"],
  ["with (ctx) {}", 1, 1, "'with' in strict mode"],
])("%j is refused at line %i, column %i, as the sandbox refuses it", async (code, line, column, what) => {
  const message = `The code of node "js0" is no JavaScript: ${what} (line ${line}, column ${column}).`;
  expect(problemsOf(code)).toEqual([
    {
      ...{ code: "CODE_INVALID", nodeId: "js0", path: "nodes[1].config.code", line, column, message },
      fix: expect.stringContaining("body of an async function"),
    },
  ]);
  await expect(run(code)).rejects.toMatchObject({ code: "GRAPH_CODE_FAILED" });
});

test.each([
  "return 1",
  "return 1 // done",
  "const { a = 1, ...more } = ctx; return more?.b ?? a ?? null",
  "return await Promise.all([1, 2].map(async (n) => n ** 2))",
  "for await (const a of [1]) console.log(a); return 1_000n > 1n",
  "class A { #a = 1; static { this.b = 2 } get a() { return this.#a } }\nreturn new A().a",
  "label: for (;;) { break label }",
  "async function* f() { yield* [1] }\nreturn [...(await (async () => [1])())]",
  "return /(?<year>\\d{4})/u.exec('2026')?.groups.year",
  `return \`a\${\`b\${1}\`}\``,
  "let a = null; a ??= 1; a ||= 2; return a",
  "try { throw 1 } catch { return 2 }",
  "return '\u2028'.length",
  "return '{{ctx.a}}'",
])("%j is read, and the sandbox runs it", async (code) => {
  expect(problemsOf(code)).toEqual([]);
  await expect(run(code)).resolves.toBeDefined();
});

test("each node's own code is named, and nesting without end is refused", () => {
  const found = problemsOf("return 1", "return (", "return 2", "[".repeat(60_000));
  expect(found.map(({ code, nodeId }) => [code, nodeId])).toEqual([
    ["CODE_INVALID", "js1"],
    ["CODE_INVALID", "js3"],
  ]);
});

test("the code of all nodes has a limit, before any of it is read", () => {
  const code = `return ( /*${" ".repeat(60_000)}`;
  const count = Math.ceil(GRAPH_LIMITS.maxCodeChars / code.length);
  expect(problemsOf(...Array<string>(count).fill(code))).toEqual([
    expect.objectContaining({ code: "TOO_LARGE", message: expect.stringContaining("The code of all nodes has") }),
  ]);
});

test("a run is not refused for code or triggers that an earlier release has stored", () => {
  const graph = { ...(graphOf("return (") as object), trigger: { cron: [{ cron: "61 * * * *" }] } };
  const snapshot = { graph, graphId: "g", version: 1 };
  expect(validateSnapshot(snapshot).map(({ code }) => code)).toEqual(["CODE_INVALID", "TRIGGER_INVALID"]);
  expect(readSnapshot(snapshot, {})).toMatchObject({ graphId: "g" });
});
