import fc from "fast-check";
import * as v from "valibot";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { type Graph, nodeType } from "../../src/index.ts";
import { itemsOf, randomGraphs } from "../interpret/random-graphs.ts";
import { expectedOf, fateOf } from "../interpret/reference.ts";
import { runGraph } from "./run-graph.ts";

/** Fails, or gives the names of the nodes that it sees. */
const workOf = (graph: Graph, seed: number) => {
  const ids = new Set(graph.nodes.map(({ id }) => id));
  const fate = fateOf(graph, seed);
  return nodeType({
    type: "work",
    config: v.object({}),
    run: ({ ctx, nodeId }) => {
      if (fate(nodeId, nodeId.replaceAll(/\[\d+\]/g, "")) === "error") throw new Error(nodeId);
      return Object.keys(ctx).filter((name) => ids.has(name));
    },
  });
};

const idOf = (key: string): string => key.replaceAll(/\[\d+\]/g, "");

test.each([false, true])(
  "random graphs run on the gateway's decisions as the reference says (replayed after each step: %s)",
  async (replay) => {
    await fc.assert(
      fc.asyncProperty(randomGraphs(14), async ({ graph, seed }) => {
        const fate = fateOf(graph, seed);
        const expected = expectedOf(graph, itemsOf, fate);
        const types = new Map(graph.nodes.map(({ id, type }) => [id, type]));
        const conditions = [...expected.ran].filter((key) => types.get(idOf(key)) === "condition");
        const steps = conditions.map((key) => ({ id: key, handler: () => ({ branch: fate(key, idOf(key)) }) }));
        const run = await runGraph(graph, { nodeTypes: [workOf(graph, seed)], steps, replay });
        expect(run.error).toBeUndefined();
        expect(run.steps.map(({ id }) => id).sort()).toEqual([...expected.ran].sort());
        const ends = [...expected.ends].filter((key) => !key.includes("["));
        expect(Object.keys(run.output ?? {}).sort()).toEqual(ends.sort());
        for (const { id, output, status } of run.steps) {
          if (status !== "completed" || types.get(idOf(id)) !== "work") continue;
          const allowed = (expected.sees.get(id) ?? []).map((set) => [...set].sort().join());
          if (allowed.length < 64) expect(allowed).toContain((output as string[]).sort().join());
        }
      }),
      { numRuns: runs(400) },
    );
  },
);
