/** What callers read when a graph is refused: it says what is wrong with it. */
import { validateGraph } from "@holdfast/graph/definition";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, useGateway } from "./harness.ts";

const bench = useGateway();
const graphOf = (more: object = {}) => ({
  id: "a",
  title: "A",
  nodes: [
    { id: "start", type: "start" },
    { id: "end", type: "end" },
  ],
  edges: [{ from: "start", to: "end" }],
  ...more,
});

const put = (gateway: Gateway, graph: object, path = "a") =>
  call(gateway, `/v1/graphs/${path}`, { method: "PUT", body: JSON.stringify({ graph }) });

test("a title that cannot be stored is refused with the problem that `validateGraph` finds", async () => {
  const gateway = await bench.gateway();
  for (const title of ["A\0B", "A\ud800", "\udc00", "x".repeat(201), 7, null, undefined]) {
    const problems = validateGraph(graphOf({ title }));
    expect(problems).toMatchObject([{ code: "SHAPE_INVALID", path: "title" }]);
    expect(await put(gateway, graphOf({ title }))).toMatchObject({ status: 400, code: "GRAPH_INVALID", problems });
    const test = { method: "POST", body: JSON.stringify({ graph: graphOf({ title }) }) };
    expect(await call(gateway, "/v1/graph-tests", test)).toMatchObject({
      status: 400,
      code: "GRAPH_INVALID",
      problems,
    });
  }
  expect(await put(gateway, graphOf({ title: "🎁" }))).toMatchObject({ title: "🎁", graph: { title: "🎁" } });
});

test("a title is refused also where a graph has more problems than are listed", async () => {
  const gateway = await bench.gateway();
  const fields = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`f${index}`, 1]));
  expect(await put(gateway, { ...fields, ...graphOf({ title: "A\0B" }) })).toMatchObject({ code: "GRAPH_INVALID" });
});

test.each([
  ["never published", 0, "but it has no version yet"],
  ["published once", 1, "but it has version 1 alone"],
  ["published twice", 2, "but it has versions 1 to 2"],
])("a subgraph of a version that there is not says which there are: %s", async (_, versions, said) => {
  const gateway = await bench.gateway();
  await put(gateway, graphOf({ id: "leaf" }), "leaf");
  for (let n = 0; n < versions; n += 1) await call(gateway, "/v1/graphs/leaf/publish", { method: "POST" });
  const nodes = [
    { id: "start", type: "start" },
    { id: "sub", type: "subgraph", config: { graph: "leaf", version: 9 } },
  ];
  expect(await put(gateway, graphOf({ nodes, edges: [{ from: "start", to: "sub" }] }))).toMatchObject({
    problems: [{ code: "SUBGRAPH_UNKNOWN", message: `Node "sub" runs "leaf" in version 9, ${said}.` }],
  });
});
