import { type Graph, graphs } from "@holdfast/graph";
import { FunctionTest } from "@holdfast/testing/functions";
import { Holdfast } from "holdfast";
import { expect, test } from "vitest";

const app = new Holdfast({ id: "shop", isDev: true });
const { runner } = graphs(app, { sandbox: "pool", retries: 0 });

function graphWith(code: string, timeout = "60s"): Graph {
  return {
    id: "code",
    title: "Code",
    nodes: [
      { id: "start", type: "start" },
      { id: "js", type: "javascript", config: { code, timeout } },
      { id: "end", type: "end", config: { outputParameters: { out: "{{ctx.js}}" } } },
    ],
    edges: [
      { from: "start", to: "js" },
      { from: "js", to: "end" },
    ],
  };
}

const retried = graphs(app, { id: "retried", sandbox: "pool", retries: 2 }).runner;

const run = (graph: Graph, input: unknown = null, by = runner) =>
  new FunctionTest(by, {
    isolation: "real",
    event: { name: "holdfast/graph.requested", data: { graph, graphId: graph.id, version: 1, input } },
  }).run();

test("code of a graph runs in a thread of the pool, from the built package", async () => {
  const { status, output } = await run(graphWith("return (await ctx.input.n) * 2"), { n: 21 });
  expect([status, output]).toEqual(["completed", { out: 42 }]);
});

test("code sees tens of thousands of values, in a thread as well, and its step reports none of them", async () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}`, price: 1.5 }));
  const { output, steps } = await run(graphWith("return ctx.input.rows.length + ctx.start.rows.at(-1).id"), { rows });
  expect(output).toEqual({ out: 39_999 });
  expect(steps[0]?.options).toEqual({ input: [null] });
});

test("code that never ends is ended with its budget, and the main thread goes on meanwhile", async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 5);
  try {
    const { error } = await run(graphWith("for (;;) {}", "1s"));
    expect(String(error)).toContain("it took longer than 1000 ms");
    expect(turns).toBeGreaterThan(3);
  } finally {
    clearInterval(timer);
  }
});

test("code that exceeds its budget is not tried again: it would do so again", async () => {
  const { error, steps } = await run(graphWith("for (;;) {}", "300ms"), null, retried);
  expect(String(error)).toContain("it took longer than 300 ms");
  expect(steps.map(({ id, attempts }) => [id, attempts])).toContainEqual(["js", 1]);
});

/** What it says of its length is not what it is: it gets past the guards of the sandbox. */
const LIES = "{ getOwnPropertyDescriptor: () => ({ value: 1, configurable: true, writable: true, enumerable: true }) }";
const ENDLESS = `return Array.prototype.includes.call(new Proxy({ length: 2 ** 53 - 1 }, ${LIES}), 1)`;

/** A node that is undone by this code, and one that fails after it. */
function undoneBy(code: string): Graph {
  const graph = graphWith("return { n: 20 }");
  const nodes = graph.nodes.map((node) =>
    node.id === "js" ? { ...node, compensate: { type: "javascript", config: { code, timeout: "1s" } } } : node,
  );
  const fails = { id: "fails", type: "javascript", config: { code: "throw new Error('no')" } };
  return { ...graph, nodes: [...nodes, fails], edges: [...graph.edges, { from: "js", to: "fails" }] };
}

test("code that undoes a node runs in a thread as well, and is ended with it", async () => {
  const failedOf = async (code: string): Promise<string> => {
    const { error } = await run(undoneBy(code));
    return JSON.stringify((error as { compensation?: unknown }).compensation);
  };
  expect(await failedOf("if (ctx.output.n !== 20 || ctx.error.message === '') throw new Error('wrong')")).toContain(
    '"failed":[]',
  );
  expect(await failedOf("throw new Error('cannot be undone')")).toContain("cannot be undone");
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 5);
  // On the main thread it would never end; that had turns of its own meanwhile.
  expect(await failedOf(ENDLESS)).toContain("GRAPH_CODE_BUDGET");
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
});

test("code that the sandbox cannot end, as it is within the engine itself, is ended with its thread", async () => {
  const graph = graphWith(ENDLESS, "1s");
  const handled = { ...graph, edges: [...graph.edges, { from: "js", handle: "error", to: "end" }] };
  const { status, output } = await run(handled);
  expect([status, output]).toMatchObject(["completed", { out: { code: "GRAPH_CODE_BUDGET", nodeId: "js" } }]);
  expect((await run(graphWith("return 1"))).output).toEqual({ out: 1 });
});
