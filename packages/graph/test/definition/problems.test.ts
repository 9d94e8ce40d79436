import { expect, test } from "vitest";
import {
  GRAPH_LIMITS,
  type Graph,
  type GraphNode,
  type GraphProblem,
  inputProblems,
  type JsonSchema,
  validateGraph,
  validateSnapshot,
} from "../../src/definition.ts";

/** A graph of one node between start and end, with more of it. */
const around = (node: object, more: object = {}): unknown => ({
  id: "g",
  title: "g",
  nodes: [
    { id: "start", type: "start" },
    { id: "x", ...node },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "x" },
    { from: "x", to: "end" },
  ],
  ...more,
});
const problemsOf = (graph: unknown): [code: string, path: string | undefined][] =>
  validateGraph(graph, { nodeTypes: [{ type: "work" }] }).map(({ code, path }) => [code, path]);
const config = (type: string, value: object): unknown => around({ type, config: value });
const branch = (condition: string): object => ({ branches: [{ id: "out", if: condition }] });

test.each<[code: string, path: string, what: string, graph: unknown]>([
  ["CONFIG_INVALID", "nodes[1].config.url", "a request without an address", config("http", {})],
  ["CONFIG_INVALID", "nodes[1].config.url", "a request to a path", config("http", { url: "/orders" })],
  [
    "CONFIG_INVALID",
    "nodes[1].config.url",
    "a request by another protocol",
    config("http", { url: "file:///etc/hosts" }),
  ],
  [
    "CONFIG_INVALID",
    "nodes[1].config.method",
    "a method that there is not",
    config("http", { url: "https://a.b", method: "SEND" }),
  ],
  [
    "FIELD_UNKNOWN",
    "nodes[1].config.uri",
    "a field of a config that there is not",
    config("http", { url: "https://a.b", uri: "" }),
  ],
  [
    "DURATION_INVALID",
    "nodes[1].config.duration",
    "a duration that cannot be read",
    config("delay", { duration: "soon" }),
  ],
  [
    "DURATION_INVALID",
    "nodes[1].config.timeout",
    "code that may take an hour",
    config("javascript", { code: "1", timeout: "1h" }),
  ],
  ["CONFIG_INVALID", "nodes[1].config.time", "a time that cannot be read", config("until", { time: "tomorrow" })],
  [
    "CONFIG_INVALID",
    "nodes[1].config.memoryMb",
    "memory beyond the limit",
    config("javascript", { code: "1", memoryMb: 4_096 }),
  ],
  ["CONFIG_INVALID", "nodes[1].config.code", "no code", config("javascript", { code: " " })],
  ["CONFIG_INVALID", "nodes[1].config.version", "a subgraph without a version", config("subgraph", { graph: "other" })],
  [
    "CONFIG_INVALID",
    "nodes[1].config.branches[0].id",
    "a branch called else",
    config("condition", { branches: [{ id: "else", if: "true" }] }),
  ],
  [
    "EXPRESSION_INVALID",
    "nodes[1].config.branches[0].if",
    "a condition that is no CEL",
    config("condition", branch("ctx.input >")),
  ],
  [
    "EXPRESSION_INVALID",
    "nodes[1].config.branches[0].if",
    "a condition over another variable",
    config("condition", branch("event.data.a == 1")),
  ],
  [
    "EXPRESSION_INVALID",
    "nodes[1].config.branches[0].if",
    "a condition that reads the clock",
    config("condition", branch("now() > date(ctx.input)")),
  ],
  [
    "EXPRESSION_INVALID",
    "nodes[1].config.if",
    "a wait's condition over ctx",
    config("waitForEvent", { event: "e", timeout: 1, if: "ctx.a == 1" }),
  ],
  [
    "READS_UNKNOWN",
    "nodes[1].config.branches[0].if",
    "a condition that reads a name that there is not",
    config("condition", branch("ctx.nothing == 1")),
  ],
  [
    "READS_UNKNOWN",
    "nodes[1].config.a.b[0]",
    "a template that reads a name that there is not",
    config("work", { a: { b: ["{{ctx.nothing}}"] } }),
  ],
  [
    "READS_UNKNOWN",
    "nodes[1].config.a",
    "a template that reads a name of prototypes",
    config("work", { a: "{{ctx.constructor}}" }),
  ],
  [
    "READS_NO_ANCESTOR",
    "nodes[1].config.a",
    "a template that reads what comes later",
    config("work", { a: "{{ctx.end}}" }),
  ],
  ["READS_NO_ANCESTOR", "nodes[1].config.a", "a template that reads its own node", config("work", { a: "{{ctx.x}}" })],
  ["TEMPLATE_INVALID", "nodes[1].config.a", "a template that has no end", config("work", { a: "{{ctx.input" })],
  ["TEMPLATE_INVALID", "nodes[1].config.a", "a template that computes", config("work", { a: "{{ctx.input + 1}}" })],
  [
    "COMPENSATE_INVALID",
    "nodes[1].compensate",
    "a pause that is to be undone",
    around({ type: "delay", config: { duration: 1 }, compensate: { type: "work" } }),
  ],
  [
    "COMPENSATE_INVALID",
    "nodes[1].compensate",
    "what cannot undo",
    around({ type: "work", compensate: { type: "delay" } }),
  ],
  [
    "COMPENSATE_INVALID",
    "nodes[1].compensate",
    "a field of what undoes that there is not",
    around({ type: "work", compensate: { type: "work", cfg: {} } }),
  ],
  [
    "COMPENSATE_INVALID",
    "nodes[1].compensate",
    "a large config of what undoes",
    around({ type: "work", compensate: { type: "work", config: { a: "x".repeat(GRAPH_LIMITS.maxConfigChars) } } }),
  ],
  [
    "CONFIG_INVALID",
    "nodes[1].compensate.config.code",
    "code that undoes and is not there",
    around({ type: "work", compensate: { type: "javascript" } }),
  ],
  [
    "FIELD_UNKNOWN",
    "nodes[1].compensate.config.cod",
    "a field of the config of what undoes that there is not",
    around({ type: "work", compensate: { type: "javascript", config: { code: "1", cod: "" } } }),
  ],
  [
    "READS_UNKNOWN",
    "nodes[1].compensate.config.timeout",
    "code that undoes for a time that nothing gives",
    around({ type: "work", compensate: { type: "javascript", config: { code: "1", timeout: "{{ctx.nothing}}" } } }),
  ],
  [
    "CONFIG_INVALID",
    "nodes[1].config.match",
    "a match by what is no path",
    config("waitForEvent", { event: "e", timeout: 1, match: { "data.a == 1 || true": 1 } }),
  ],
  [
    "CONFIG_INVALID",
    "nodes[1].config.match",
    "a match by what is no field of an event",
    config("waitForEvent", { event: "e", timeout: 1, match: { orderId: 1 } }),
  ],
  [
    "CONFIG_INVALID",
    "nodes[1].config.match",
    "a match by null, which events without the field have, too",
    config("waitForEvent", { event: "e", timeout: 1, match: { "data.orderId": null } }),
  ],
  ["RETRIES_INVALID", "nodes[1].retries", "too many retries", around({ type: "work", retries: 21 })],
  ["SCHEMA_INVALID", "input", "a schema with references", around({ type: "work" }, { input: { $ref: "#" } })],
  [
    "SCHEMA_INVALID",
    "input",
    "a schema of an unknown type",
    around({ type: "work" }, { input: { properties: { a: { type: "text" } } } }),
  ],
  [
    "SCHEMA_INVALID",
    "input",
    "a pattern that cannot be matched in linear time",
    around({ type: "work" }, { input: { pattern: "(a)\\1" } }),
  ],
  ["TRIGGER_INVALID", "trigger", "a trigger that is none", around({ type: "work" }, { trigger: { event: "e" } })],
  [
    "TRIGGER_INVALID",
    "trigger.events[0]",
    "a trigger's condition that is no CEL",
    around({ type: "work" }, { trigger: { events: [{ event: "e", if: "ctx.a" }] } }),
  ],
  [
    "TRIGGER_INVALID",
    "trigger.cron[0]",
    "a schedule of four fields",
    around({ type: "work" }, { trigger: { cron: [{ cron: "* * * *" }] } }),
  ],
  [
    "TRIGGER_INVALID",
    "trigger.cron[1]",
    "a minute that there is not",
    around({ type: "work" }, { trigger: { cron: [{ cron: "0 9 * * *" }, { cron: "61 * * * *" }] } }),
  ],
  [
    "TRIGGER_INVALID",
    "trigger.cron[0]",
    "a time zone that there is not",
    around({ type: "work" }, { trigger: { cron: [{ cron: "0 9 * * *", timezone: "Moon/Sea" }] } }),
  ],
  [
    "TRIGGER_INVALID",
    "trigger.cron[0]",
    "a day that never comes",
    around({ type: "work" }, { trigger: { cron: [{ cron: "0 0 30 2 *" }] } }),
  ],
  ...["a*b", "inngest/function.failed", "holdfast/graph.requested", "e".repeat(256), "a\0"].map(
    (event): [string, string, string, unknown] => [
      "TRIGGER_INVALID",
      "trigger.events[0]",
      `the event ${JSON.stringify(event).slice(0, 30)}`,
      around({ type: "work" }, { trigger: { events: [{ event }] } }),
    ],
  ),
  ["CODE_INVALID", "nodes[1].config.code", "code that has no end", config("javascript", { code: "return (" })],
  [
    "CODE_INVALID",
    "nodes[1].compensate.config.code",
    "code that undoes and cannot be read",
    around({ type: "work", compensate: { type: "javascript", config: { code: "return ] 1" } } }),
  ],
])("%s at %s is reported for %s", (code, path, _what, graph) => {
  expect(problemsOf(graph)).toContainEqual([code, path]);
});

test("templates that cannot be read are reported also where nothing leads to them, and without a start", () => {
  const work = {
    id: "x",
    type: "work",
    config: { a: "{{ctx.", b: "{{ctx.nothing}}" },
    compensate: { type: "work", config: { c: "{{" } },
  };
  const problems = (nodes: readonly object[]) =>
    problemsOf({ id: "g", title: "g", nodes, edges: [] }).filter(([code]) => /TEMPLATE|READS/.test(code));
  const found = (index: number) => [
    ["TEMPLATE_INVALID", `nodes[${index}].config.a`],
    ["TEMPLATE_INVALID", `nodes[${index}].compensate.config.c`],
  ];
  expect(problems([work])).toEqual(found(0));
  expect(problems([{ id: "start", type: "start" }, work])).toEqual(found(1));
});

test("the branches of all conditions have a limit, before any of them is compiled", () => {
  const branches = Array.from({ length: 100 }, (_, index) => ({ id: `b${index}`, if: "not CEL (" }));
  const ids = Array.from({ length: 11 }, (_, index) => `c${index}`);
  const graph = {
    id: "g",
    title: "g",
    nodes: [{ id: "start", type: "start" }, ...ids.map((id) => ({ id, type: "condition", config: { branches } }))],
    edges: ids.map((id) => ({ from: "start", to: id })),
  };
  expect(problemsOf(graph)).toEqual([["TOO_LARGE", undefined]]);
});

test("an error handle that is never taken is reported with its edge", () => {
  const graph = around({ type: "work", onError: "fail" }) as Graph;
  const edges = [...graph.edges, { from: "x", handle: "error", to: "end" }];
  expect(validateGraph({ ...graph, edges }, { nodeTypes: "any" })).toEqual([
    expect.objectContaining({ code: "ON_ERROR_INVALID", edge: 2, nodeId: "x" }),
  ]);
});

const loops = (read: string, where: "a" | "b" | "collect" | "after"): unknown => {
  const at = (name: string) => (where === name ? { config: { read } } : {});
  const collect = where === "collect" ? { collect: read } : {};
  return {
    id: "g",
    title: "g",
    nodes: [
      { id: "start", type: "start" },
      { id: "before", type: "work" },
      { id: "each", type: "loop", config: { items: "{{ctx.before}}", item: "order", ...collect } },
      { id: "a", type: "work", ...at("a") },
      { id: "b", type: "work", ...at("b") },
      { id: "after", type: "work", ...at("after") },
    ],
    edges: [
      { from: "start", to: "before" },
      { from: "before", to: "each" },
      { from: "each", handle: "loop", to: "a" },
      { from: "a", to: "b" },
      { from: "b", to: "each" },
      { from: "each", handle: "done", to: "after" },
    ],
  };
};

test("the body of a loop sees what is before the loop and its item; what comes after sees what the loop gives", () => {
  for (const read of ["{{ctx.before}}", "{{ctx.order}}", "{{ctx.index}}", "{{ctx.a}}"]) {
    expect(problemsOf(loops(read, "b"))).toEqual([]);
    expect(problemsOf(loops(read, "collect"))).toEqual([]);
  }
  expect(problemsOf(loops("{{ctx.b}}", "collect"))).toEqual([]);
  expect(problemsOf(loops("{{ctx.each}}", "after"))).toEqual([]);
  for (const [read, where] of [
    ["{{ctx.each}}", "b"],
    ["{{ctx.b}}", "a"],
    ["{{ctx.a}}", "after"],
  ] as const) {
    expect(problemsOf(loops(read, where)).map(([code]) => code)).toEqual(["READS_NO_ANCESTOR"]);
  }
  expect(problemsOf(loops("{{ctx.order}}", "after")).map(([code]) => code)).toEqual(["READS_UNKNOWN"]);
});

test("graphs within graphs are checked as a whole", () => {
  const sub = (graph: string, version = 1): Graph => around({ type: "subgraph", config: { graph, version } }) as Graph;
  const plain = around({ type: "work" }) as Graph;
  const codes = (graph: Graph, graphs: Record<string, Graph>): string[] =>
    validateSnapshot({ graph, graphs, graphId: "g" }, { nodeTypes: "any" }).map(({ code }) => code);
  expect(codes(sub("a"), { "a@1": sub("b"), "b@1": plain })).toEqual([]);
  expect(codes(sub("a", 2), { "a@1": plain })).toEqual(["SUBGRAPH_UNKNOWN"]);
  expect(codes(sub("a"), { "a@1": sub("b"), "b@1": sub("a") })).toEqual(["SUBGRAPH_RECURSION"]);
  const ids = Array.from({ length: GRAPH_LIMITS.maxSubgraphDepth + 1 }, (_, at) => `g${at}`);
  const chain = Object.fromEntries(
    ids.map((id, at) => [`${id}@1`, ids[at + 1] === undefined ? plain : sub(ids[at + 1] as string)]),
  );
  expect(codes(sub("g0"), chain)).toEqual(["SUBGRAPH_RECURSION"]);
});

test("nodes within subgraphs whose steps would have ids that are too long are refused", () => {
  const within = (id: string, node: Omit<GraphNode, "id">, inLoop = false): Graph => {
    const start = { id: "start", type: "start" };
    const loop = { id: "each", type: "loop", config: { items: "{{ctx.input}}" } };
    const inner = { ...node, id };
    const [nodes, edges] = inLoop
      ? [
          [start, loop, inner],
          [
            { from: "start", to: "each" },
            { from: "each", to: id, handle: "loop" },
          ],
        ]
      : [[start, inner], [{ from: "start", to: id }]];
    return { id: "within", title: "Within", nodes, edges };
  };
  const sub = (graph: string): Omit<GraphNode, "id"> => ({ type: "subgraph", config: { graph, version: 1 } });
  const check = (chars: number, inLoop?: boolean): GraphProblem[] => {
    const graphs = {
      "a@1": within("a".repeat(64), sub("b")),
      "b@1": within("b".repeat(64), sub("c")),
      "c@1": within("c".repeat(chars), { type: "work" }, inLoop),
    };
    const graph = within("r".repeat(61), sub("a"));
    return validateSnapshot({ graph, graphs, graphId: "g" }, { nodeTypes: "any" });
  };
  // With three slashes.
  expect(check(64)).toEqual([]);
  expect(check(58, true)).toEqual([]);
  expect(check(59, true)).toMatchObject([{ code: "TOO_LARGE", nodeId: "r".repeat(61) }]);
  expect(check(64, true)[0]?.message).toContain("up to 262 characters");
});

test("input that takes long to be checked is refused before it is, however small input and schema are", () => {
  const numbers = Array.from({ length: 10_000 }, (_, index) => index);
  const most = (schema: Exclude<JsonSchema, boolean>, input: unknown = numbers): string =>
    inputProblems(schema, input)[0]?.message ?? "none";
  const any = numbers.slice(0, 200).map((index) => ({ minimum: index - 200 }));
  const tooLarge = expect.stringContaining("too large for its schema");
  expect(most({ items: { type: "integer", minimum: 0 } })).toBe("none");
  expect(most({ items: { anyOf: any } })).toEqual(tooLarge);
  expect(most({ anyOf: any.map((each) => ({ items: each })) })).toEqual(tooLarge);
  expect(most({ properties: { a: { items: { not: { allOf: any } } } } }, { a: numbers })).toEqual(tooLarge);
  expect(most({ items: { enum: numbers } })).toEqual(tooLarge);
  expect(most({ contains: { oneOf: any } })).toEqual(tooLarge);
  const byName = Object.fromEntries(numbers.map((index) => [`k${index}`, index]));
  expect(most({ additionalProperties: { anyOf: any } }, byName)).toEqual(tooLarge);
  expect(most({ propertyNames: { allOf: any } }, byName)).toEqual(tooLarge);
  expect(most({ items: true }, Array(600_000).fill(1))).toEqual(tooLarge);
  expect(inputProblems({ items: { type: "string" } }, numbers).length).toBeGreaterThan(0);
});

test("input is checked by its schema, patterns in linear time", () => {
  const schema = {
    type: "object",
    required: ["name"],
    additionalProperties: false,
    properties: {
      name: { type: "string", pattern: "^(a+)+$", minLength: 2 },
      at: { type: "string", format: "date-time" },
    },
  };
  expect(inputProblems(schema, { name: "aaa", at: "2026-01-01T00:00:00Z" })).toEqual([]);
  expect(inputProblems(schema, { name: `${"a".repeat(100_000)}b` })).toEqual([
    { path: "/name", message: "String does not match the pattern." },
  ]);
  expect(inputProblems(schema, {}).length).toBeGreaterThan(0);
  expect(inputProblems(schema, { name: "aa", more: 1 }).length).toBeGreaterThan(0);
  expect(inputProblems(true, 1)).toEqual([]);
  expect(inputProblems(false, 1)).toHaveLength(1);
});
