import { expect, test } from "vitest";
import { readSnapshot } from "../../src/definition/snapshot.ts";
import { type GraphProblem, validateGraph, validateSnapshot } from "../../src/definition.ts";

const graphWith = (...conditions: readonly string[]) => ({
  id: "g",
  title: "g",
  nodes: [
    { id: "start", type: "start" },
    { id: "if", type: "condition", config: { branches: conditions.map((each, at) => ({ id: `b${at}`, if: each })) } },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "if" },
    { from: "if", handle: "b0", to: "end" },
  ],
});
const problemsOf = (...conditions: readonly string[]): GraphProblem[] => validateGraph(graphWith(...conditions));

test("each branch that cannot be used is named", () => {
  const found = problemsOf("ctx.input.x == 1", "ctx.input.x === 2", "ctx.input.x &&", "7");
  expect(found.map(({ code, path }) => [code, path])).toEqual(
    [1, 2, 3].map((at) => ["EXPRESSION_INVALID", `nodes[1].config.branches[${at}].if`]),
  );
  expect(found[0]?.message).toContain('`branches[1].if` of node "if" (condition) cannot be used');
});

test.each([
  ["ctx.input.x === 2", "Write `==` and `!=`"],
  ["ctx.input.x !== 'a'", "Write `==` and `!=`"],
  ["ctx.input.x = 2", "Write `==`, not `=`"],
  ["len(ctx.input.x) > 2", "Write `size(ctx.a)`"],
  ["ctx.input.x.length() > 2", "Write `size(ctx.a)`"],
  ["ctx.input.x.includes('=')", "Write `ctx.text.contains('x')`"],
  ["ctx.input.x.some(x => x > 1)", "`ctx.list.exists(x, x > 1)`"],
  ["ctx.input.x.every(1)", "`ctx.list.all(x, x > 1)`"],
  ["ctx.input.x.toLowerCase() == 'a'", "Write `lowercase(ctx.a)`"],
  ["ctx.input?.x == 1", "What is missing is null"],
  ["(ctx.input.x ?? 1) == 1", "What is missing is null"],
  ["ctx.input.x == undefined", "Write `null`"],
  ["typeof ctx.input.x == 'string'", "Write `type(ctx.a) == string`"],
  ["ctx.input.x and ctx.input.y", "Write `&&`, `||` and `!`"],
  ["not ctx.input.x", "Write `&&`, `||` and `!`"],
  ["ctx.input.x & true", "Write `&&` and `||`"],
  ["ctx.input.x == `a`", "Write texts in quotes"],
  ["ctx.input.x == 1;", "Write one expression"],
  ["{{ctx.input.x}} == 1", "has no templates"],
  ["input.x == 1", "Read values through `ctx`"],
  ["ctx.input.x &&", "it ends where more is expected"],
  ["ctx.input.x == '==='; 1", "Write one expression"],
  ["ctx.input.x ) 1", "an example is"],
])("the fix for %s says how to write it", (condition, fix) => {
  const [problem] = problemsOf(condition);
  expect(problem).toMatchObject({ code: "EXPRESSION_INVALID", path: "nodes[1].config.branches[0].if" });
  expect(problem?.fix).toContain(fix);
  expect(problem?.fix).toContain("https://cel.dev");
});

test("what the fixes say can be used", () => {
  const forms = [
    ...["size(ctx.input) > 0", "ctx.input.contains('x')", "'x' in ctx.input", "ctx.input.exists(x, x > 1)"],
    ...["ctx.input.all(x, x > 1)", "lowercase(ctx.input) == 'a'", "uppercase(ctx.input) == 'A'", "ctx.input == null"],
    ...[
      "type(ctx.input) == string",
      "!(ctx.input.a && ctx.input.b || ctx.input.c)",
      "size(ctx.input.filter(x, x > 1)) > 0",
    ],
    "ctx.input.x == 1 && size(ctx.input.list) > 0",
  ];
  expect(problemsOf(...forms)).toEqual([]);
});

test.each([
  ["5", "a number"],
  ["'yes'", "a text"],
  ["'a (b)'", "a text"],
  ["null", "null"],
  ["[true]", "a list"],
  ["1 + 2", "a number"],
])("a condition that is always %s is refused, but not in runs of what was stored before", (condition, what) => {
  const [problem, ...others] = problemsOf(condition);
  expect(problem?.message).toBe(
    `\`branches[0].if\` of node "if" (condition) is always ${what}, neither true nor false.`,
  );
  expect(others).toEqual([]);
  const snapshot = { graph: graphWith(condition), graphId: "g" };
  expect(validateSnapshot(snapshot)).toHaveLength(1);
  expect(readSnapshot(snapshot, {}).graphId).toBe("g");
});

test.each(["true", "1 > 2", "1 / 0 == 1", "ctx.input.x", "size('abc')"])(
  "the condition %s is left to the run",
  (condition) => {
    expect(problemsOf(condition)).toEqual([]);
  },
);

test("a graph that is too deep says where", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(80)}1${"}".repeat(80)}`) as unknown;
  const graph = graphWith("true");
  const nodes = [...graph.nodes, { id: "deep", type: "work", config: { input: deep } }];
  expect(validateGraph({ ...graph, nodes })).toEqual([
    {
      code: "TOO_LARGE",
      nodeId: "deep",
      fix: expect.any(String),
      message: "At `nodes[3].config.input.a.a…` the graph has more than 68 levels.",
    },
  ]);
  expect(validateGraph({ ...graph, input: deep })[0]?.message).toContain("At `input.a.a.a.a.a…`");
});
