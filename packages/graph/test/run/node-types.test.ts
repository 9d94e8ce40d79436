import * as v from "valibot";
import { expect, test } from "vitest";
import { nodeType, takeHandle } from "../../src/index.ts";
import { app, graphOf, runGraph } from "./run-graph.ts";

const attempts = new Map<string, number>();
const work = nodeType({
  type: "work",
  config: v.object({ say: v.optional(v.unknown()), fail: v.optional(v.number()) }),
  run: ({ config, nodeId }) => {
    const count = (attempts.get(nodeId) ?? 0) + 1;
    attempts.set(nodeId, count);
    if (count <= (config.fail ?? 0)) throw new TypeError(`attempt ${count} of ${nodeId}`);
    return config.say ?? nodeId;
  },
});
const say = (id: string, value: unknown) => ({ id, type: "work", config: { say: value } });
const end = (outputParameters: Record<string, unknown>) => ({ id: "end", type: "end", config: { outputParameters } });
const code = (error: unknown): unknown => Object(error).code;

test("values go from node to node with their types, and as text within text", async () => {
  const graph = graphOf(
    [
      { id: "load", type: "work", outputVariable: "user", config: { say: { name: "Ada", ids: [7, 8] } } },
      say("greet", "Hello {{ctx.user.name}}, {{ctx.user.ids}}"),
      end({
        id: "{{ctx.user.ids[1]}}",
        text: "{{ctx.greet}}",
        none: "{{ctx.user.age ?? 'unknown'}}",
        input: "{{ctx.input.x}}",
      }),
    ],
    "start -> load -> greet -> end",
  );
  const run = await runGraph(graph, { nodeTypes: [work], input: { x: true } });
  expect(run.error).toBeUndefined();
  expect(run.output).toEqual({ id: 8, text: "Hello Ada, [7,8]", none: "unknown", input: true });
  expect(run.steps.map(({ id }) => id)).toEqual(["load", "greet"]);
});

test("a path that leads nowhere fails the run with its name", async () => {
  const run = await runGraph(graphOf([end({ a: "{{ctx.input.b.c}}" })], "start -> end"), { input: {} });
  expect(code(run.error)).toBe("GRAPH_NODE_FAILED");
  expect(String(run.error)).toContain("ctx.input.b.c");
});

test("the first branch that is true is taken, and a join fires though the others are not", async () => {
  const branches = [
    { id: "big", if: "ctx.input.total > 100" },
    { id: "some", if: "ctx.input.total > 10" },
  ];
  const graph = graphOf(
    [
      { id: "size", type: "condition", config: { branches } },
      say("a", 1),
      say("b", 2),
      say("c", 3),
      end({ taken: "{{ctx.a ?? ctx.b ?? ctx.c}}" }),
    ],
    "start -> size; size.big -> a -> end; size.some -> b -> end; size.else -> c -> end",
  );
  for (const [total, taken] of [
    [500, 1],
    [50, 2],
    [5, 3],
  ] as const) {
    const run = await runGraph(graph, { nodeTypes: [work], input: { total }, replay: true });
    expect(run.output).toEqual({ taken });
    expect(run.steps).toHaveLength(2);
  }
});

test("an error goes on at its handle, with what it was as output", async () => {
  const graph = graphOf(
    [
      { id: "bad", type: "work", config: { fail: 9 } },
      say("after", 1),
      end({ error: "{{ctx.bad.message}}", name: "{{ctx.bad.name}}" }),
    ],
    "start -> bad -> after; bad.error -> end",
  );
  attempts.clear();
  const run = await runGraph(graph, { nodeTypes: [work], retries: 1 });
  expect(run.output).toEqual({ error: "attempt 2 of bad", name: "TypeError" });
  expect(attempts.get("bad")).toBe(2);
  expect(attempts.get("after")).toBeUndefined();
});

test.each([
  [4, undefined, 5],
  [4, 0, 5],
  [0, 3, 1],
  [undefined, 3, 4],
])("a node with %s retries in a runner with %s is tried %i times", async (own, retries, tries) => {
  const bad = { id: "bad", type: "work", config: { fail: 99 }, ...(own === undefined ? {} : { retries: own }) };
  attempts.clear();
  await runGraph(graphOf([bad], "start -> bad"), {
    nodeTypes: [work],
    ...(retries === undefined ? {} : { retries }),
  });
  expect(attempts.get("bad")).toBe(tries);
});

test("an error that nothing takes fails the run, and undoes what can be undone", async () => {
  const undone: unknown[] = [];
  const undo = nodeType({
    type: "undo",
    config: v.object({ id: v.string(), why: v.string() }),
    run: ({ config }) => undone.push(config),
  });
  const compensate = (id: string) => ({
    type: "undo",
    config: { id: `${id} {{ctx.output}}`, why: "{{ctx.error.message}}" },
  });
  const graph = graphOf(
    [
      { ...say("one", 1), compensate: compensate("one") },
      { id: "two", type: "function", config: { function: "shop-ship" }, compensate: compensate("two") },
      { id: "bad", type: "work", config: { fail: 9 }, retries: 0 },
    ],
    "start -> one -> two -> bad",
  );
  attempts.clear();
  const run = await runGraph(graph, {
    nodeTypes: [work, undo],
    steps: [{ id: "two", handler: () => "parcel" }],
    retries: 3,
  });
  expect(code(run.error)).toBe("GRAPH_NODE_FAILED");
  expect(attempts.get("bad")).toBe(1);
  const why = 'Node "bad" failed: attempt 1 of bad';
  expect(undone).toEqual([
    { id: "two parcel", why },
    { id: "one 1", why },
  ]);
});

test("a loop goes through its items, so many at once, and collects what its body gives", async () => {
  const graph = graphOf(
    [
      { id: "each", type: "loop", config: { items: "{{ctx.input.orders}}", item: "order", concurrency: 2 } },
      {
        id: "lines",
        type: "loop",
        config: { items: "{{ctx.order.lines}}", item: "line", index: "at", collect: "{{ctx.order.id}}/{{ctx.price}}" },
      },
      say("price", "{{ctx.line}}@{{ctx.index}}.{{ctx.at}}"),
      end({ all: "{{ctx.each}}" }),
    ],
    "start -> each; each.loop -> lines; lines.loop -> price; lines.done -> each; each.done -> end",
  );
  const orders = [
    { id: "a", lines: ["x", "y"] },
    { id: "b", lines: [] },
    { id: "c", lines: ["z"] },
  ];
  const run = await runGraph(graph, { nodeTypes: [work], input: { orders }, replay: true });
  expect(run.output).toEqual({ all: [["a/x@0.0", "a/y@0.1"], [], ["c/z@2.0"]] });
  expect(run.steps.map(({ id }) => id).sort()).toEqual(["price[0][0]", "price[0][1]", "price[2][0]"]);
});

test("an error in the body of a loop goes on at the error handle of the loop", async () => {
  const graph = graphOf(
    [
      { id: "each", type: "loop", config: { items: [1, 2, 3] } },
      { id: "bad", type: "work", config: { fail: 9 } },
      say("next", "{{ctx.bad}}"),
      end({ why: "{{ctx.each.message}}" }),
    ],
    "start -> each; each.loop -> bad -> next; each.error -> end",
  );
  attempts.clear();
  const run = await runGraph(graph, { nodeTypes: [work] });
  expect(run.output).toEqual({ why: "attempt 1 of bad[0]" });
  expect([...attempts.keys()]).toEqual(["bad[0]"]);
});

test("waits go on at their handles, with what came or at the timeout", async () => {
  const graph = graphOf(
    [
      {
        id: "paid",
        type: "waitForEvent",
        config: { event: "shop/paid", timeout: "1h", match: { "data.id": "{{ctx.input.id}}" } },
      },
      { id: "ok", type: "approval", config: { timeout: "2d" } },
      say("yes", "{{ctx.paid.data.id}} by {{ctx.ok.by}}"),
      say("no", "no"),
      say("late", "late"),
      end({ how: "{{ctx.yes ?? ctx.no ?? ctx.late}}" }),
    ],
    "start -> paid -> ok; ok.approved -> yes -> end; ok.rejected -> no -> end; ok.timeout -> late; paid.timeout -> late -> end",
  );
  const answered = (paid: unknown, decision: unknown) =>
    runGraph(graph, {
      nodeTypes: [work],
      input: { id: 7 },
      steps: [
        { id: "paid", handler: () => paid },
        { id: "ok", handler: () => decision },
      ],
    });
  const paid = { name: "shop/paid", data: { id: 7 } };
  const run = await answered(paid, { approved: true, by: "Ada" });
  expect(run.output).toEqual({ how: "7 by Ada" });
  expect(run.steps[0]?.options).toMatchObject({ if: "async.data.id == 7" });
  expect((await answered(paid, { approved: false })).output).toEqual({ how: "no" });
  expect((await answered(paid, null)).output).toEqual({ how: "late" });
  expect((await answered(null, null)).output).toEqual({ how: "late" });
});

test("functions, requests, pauses and times are steps that the gateway does", async () => {
  const graph = graphOf(
    [
      {
        id: "ship",
        type: "function",
        config: { function: "shop-ship", input: { id: "{{ctx.input}}" }, timeout: "1m" },
      },
      {
        id: "ask",
        type: "http",
        config: { url: "https://example.com/{{ctx.ship}}", method: "POST", body: { a: "{{ctx.input}}" } },
      },
      { id: "pause", type: "delay", config: { duration: "{{ctx.ask.body.wait}}" } },
      { id: "then", type: "until", config: { time: "2026-01-01T00:00:00Z" } },
      end({ status: "{{ctx.ask.status}}" }),
    ],
    "start -> ship -> ask -> pause -> then -> end",
  );
  const run = await runGraph(graph, {
    input: 5,
    steps: [
      { id: "ship", handler: () => "parcel" },
      { id: "ask", handler: () => Response.json({ wait: "90s" }, { status: 201 }) },
    ],
  });
  expect(run.error).toBeUndefined();
  expect(run.output).toEqual({ status: 201 });
  expect(run.steps[0]?.options).toMatchObject({ function_id: "shop-ship", payload: { data: { id: 5 } } });
  expect(run.steps[1]?.options).toMatchObject({ url: "https://example.com/parcel", method: "POST", body: '{"a":5}' });
});

test("an answer with another status than 2xx is an error of its node", async () => {
  const ask = { id: "ask", type: "http", config: { url: "https://example.com" } };
  const steps = [{ id: "ask", handler: () => new Response("no", { status: 500 }) }];
  const taken = graphOf([ask, end({ code: "{{ctx.ask.code}}" })], "start -> ask; ask.error -> end");
  expect((await runGraph(taken, { steps })).output).toEqual({ code: "GRAPH_HTTP_STATUS" });
  expect(code((await runGraph(graphOf([ask], "start -> ask"), { steps })).error)).toBe("GRAPH_NODE_FAILED");
});

test("a subgraph runs in the place of its node, sees its input alone, and gives what its ends collect", async () => {
  const inner = graphOf(
    [say("double", "{{ctx.input.n}}{{ctx.input.n}}"), end({ out: "{{ctx.double}}" })],
    "start -> double -> end",
    {
      id: "inner",
      input: { type: "object", required: ["n"], properties: { n: { type: "integer" } } },
    },
  );
  const graph = graphOf(
    [
      { id: "sub", type: "subgraph", config: { graph: "inner", version: 2, input: { n: "{{ctx.input}}" } } },
      end({ out: "{{ctx.sub.out}}" }),
    ],
    "start -> sub -> end",
  );
  const graphs = { "inner@2": inner };
  const run = await runGraph(graph, { nodeTypes: [work], graphs, input: 4 });
  expect(run.output).toEqual({ out: "44" });
  expect(run.steps.map(({ id }) => id)).toEqual(["sub/double"]);
  expect(String((await runGraph(graph, { nodeTypes: [work], graphs, input: "x" })).error)).toContain("inner");
  expect(code((await runGraph(graph, { nodeTypes: [work] })).error)).toBe("GRAPH_INVALID");
});

test("code sees what comes before it, frozen, and its result is JSON", async () => {
  const graph = graphOf(
    [
      { id: "sum", type: "javascript", config: { code: "let s = 0; for (const n of ctx.input) s += n; return { s }" } },
      end({ sum: "{{ctx.sum.s}}" }),
    ],
    "start -> sum -> end",
  );
  expect((await runGraph(graph, { input: [1, 2, 3], replay: true })).output).toEqual({ sum: 6 });
});

test("a type of the app may have handles of its own", async () => {
  const find = nodeType({
    type: "find",
    config: v.object({ key: v.string() }),
    handles: ["missing"],
    run: ({ config }) => (config.key === "a" ? { key: "a" } : takeHandle("missing", { looked: config.key })),
  });
  const graph = graphOf(
    [
      { id: "find", type: "find", config: { key: "{{ctx.input}}" } },
      say("no", "{{ctx.find.looked}}"),
      end({ a: "{{ctx.no ?? 'found'}}" }),
    ],
    "start -> find -> end; find.missing -> no -> end",
  );
  expect((await runGraph(graph, { nodeTypes: [work, find], input: "a" })).output).toEqual({ a: "found" });
  expect((await runGraph(graph, { nodeTypes: [work, find], input: "b" })).output).toEqual({ a: "b" });
});

test("input that does not fulfil the schema, and configs that do not fulfil theirs, are coded errors", async () => {
  const input = { type: "object", properties: { n: { type: "string", pattern: "^[a-z]+$" } }, required: ["n"] };
  const graph = graphOf([end({})], "start -> end", { input });
  expect(code((await runGraph(graph, { input: { n: "A" } })).error)).toBe("GRAPH_INPUT_INVALID");
  expect((await runGraph(graph, { input: { n: "a" } })).error).toBeUndefined();
  const bad = graphOf(
    [{ id: "bad", type: "work", config: { fail: "{{ctx.input}}" } }, end({ code: "{{ctx.bad.code}}" })],
    "start -> bad; bad.error -> end",
  );
  expect((await runGraph(bad, { nodeTypes: [work], input: "x", retries: 3 })).output).toEqual({
    code: "GRAPH_CONFIG_INVALID",
  });
});

test("a function of the app can be invoked", async () => {
  const double = app.createFunction({ id: "double", triggers: [] }, ({ event }) => Number(event.data.n) * 2);
  const graph = graphOf(
    [
      { id: "call", type: "function", config: { function: "shop-double", input: { n: "{{ctx.input}}" } } },
      end({ n: "{{ctx.call}}" }),
    ],
    "start -> call -> end",
  );
  expect((await runGraph(graph, { input: 21, functions: [double] })).output).toEqual({ n: 42 });
});

const waiting = (match: unknown, event = "shop/paid") =>
  graphOf(
    [
      { id: "paid", type: "waitForEvent", config: { event, timeout: "1h", match } },
      end({ code: "{{ctx.paid.code ?? 'came'}}" }),
    ],
    "start -> paid -> end; paid.error -> end; paid.timeout -> end",
  );

test("an event is found by any JSON at any path, and what stands there is never an expression", async () => {
  const cameFor = async (match: unknown, input: unknown, event?: string) => {
    const steps = [{ id: "paid", handler: () => ({ name: "shop/paid", data: {} }) }];
    const { steps: ran, output } = await runGraph(waiting(match, event), { input, steps });
    return [ran[0]?.options?.if, (output as { code: string } | undefined)?.code];
  };
  expect(await cameFor({ 'data.a["b c"][0]': "{{ctx.input}}" }, { n: [1, null] })).toEqual([
    'async.data.a["b c"][0] == {"n":[1,null]}',
    "came",
  ]);
  expect(await cameFor({ "data.in": "{{ctx.input}}" }, '" || true || "')).toEqual([
    'async.data["in"] == "\\" || true || \\""',
    "came",
  ]);
  expect(await cameFor("{{ctx.input}}", { "data.a == 1 || true || async.data": 1 })).toEqual([
    undefined,
    "GRAPH_CONFIG_INVALID",
  ]);
  expect(await cameFor("{{ctx.input}}", { a: 1 })).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
  expect(await cameFor({ "data.a": "{{ctx.input}}" }, null)).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
  expect(await cameFor("{{ctx.input}}", ["data.a"])).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
  expect(await cameFor({ "data.a": "{{ctx.input}}" }, "x".repeat(10_000))).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
  expect(await cameFor({ "data.a": "{{ctx.input}}" }, "\ud800")).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
  expect(await cameFor({}, "e".repeat(300), "{{ctx.input}}")).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
  expect(await cameFor({}, "a\0b", "{{ctx.input}}")).toEqual([undefined, "GRAPH_CONFIG_INVALID"]);
});

test("what comes from a template has the limits that the field has", async () => {
  const graph = graphOf(
    [
      { id: "js", type: "javascript", config: { code: "return 1", timeout: "{{ctx.input}}" } },
      end({ code: "{{ctx.js.code ?? 'done'}}" }),
    ],
    "start -> js -> end; js.error -> end",
  );
  expect((await runGraph(graph, { input: "1m" })).output).toEqual({ code: "done" });
  for (const input of ["6m", "10d", 0, -1, {}]) {
    expect((await runGraph(graph, { input })).output, String(input)).toEqual({ code: "GRAPH_CONFIG_INVALID" });
  }
});

test("code that undoes may take its time from a template", async () => {
  const graph = graphOf(
    [
      {
        id: "a",
        type: "work",
        config: { say: "5s" },
        compensate: {
          type: "javascript",
          config: { code: "console.log(ctx.output); throw new Error('undone')", timeout: "{{ctx.output}}" },
        },
      },
      { id: "b", type: "work", config: { fail: 9 } },
    ],
    "start -> a -> b",
  );
  const run = await runGraph(graph, { nodeTypes: [work] });
  expect(code(run.error)).toBe("GRAPH_NODE_FAILED");
  const { failed } = (run.error as { compensation?: { failed: readonly object[] } }).compensation ?? { failed: [] };
  // It ran, for as many milliseconds as the output says, and threw what it was to throw.
  expect(JSON.stringify(failed.map((each) => ({ ...each, text: String(Object(each).error?.message) })))).toContain(
    "undone",
  );
});

test("what undoes a node sees what the node gave, whatever else is on record of it", async () => {
  const seen: unknown[] = [];
  const undo = nodeType({
    type: "undo",
    config: v.object({ gave: v.unknown() }),
    run: ({ config }) => seen.push(config.gave),
  });
  const find = nodeType({
    type: "find",
    config: v.object({}),
    handles: ["missing"],
    run: () => takeHandle("missing", { looked: 1 }),
  });
  const compensate = { type: "undo", config: { gave: "{{ctx.output}}" } };
  const graph = graphOf(
    [
      { id: "js", type: "javascript", config: { code: "console.log('x'); return { n: 1 }" }, compensate },
      { id: "find", type: "find", compensate },
      { id: "bad", type: "work", config: { fail: 9 } },
    ],
    "start -> js -> find; find.missing -> bad",
  );
  attempts.clear();
  await runGraph(graph, { nodeTypes: [work, undo, find] });
  expect(seen).toEqual([{ looked: 1 }, { n: 1 }]);
});
