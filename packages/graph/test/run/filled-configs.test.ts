import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { statusOfGraph } from "../../src/index.ts";
import { graphOf, runGraph } from "./run-graph.ts";

/** Configs that are invalid once templates are filled in: a failure of the node, on record, shown, and taken. */

const digest = (key: string): string => createHash("sha1").update(key).digest("hex");
const input = { bad: "neither", star: "shop/*", header: "a\nb", list: [1] };
const configs = [
  ["http", { url: "{{ctx.input.bad}}" }, "url"],
  ["http", { url: "https://example.com", headers: { "x-a": "{{ctx.input.header}}" } }, "headers"],
  ["until", { time: "{{ctx.input.bad}}" }, "time"],
  ["delay", { duration: "{{ctx.input.bad}}" }, "duration"],
  ["function", { function: "{{ctx.input.list}}" }, "function"],
  ["function", { function: "shop-a", input: "{{ctx.input.bad}}" }, "input"],
  ["javascript", { code: "return 1;", timeout: "{{ctx.input.bad}}" }, "timeout"],
  ["approval", { timeout: "{{ctx.input.bad}}" }, "timeout"],
  ["waitForEvent", { event: "{{ctx.input.star}}", timeout: "1h" }, "event"],
] as const;

test.each(configs)("%s: the node has failed, with its error, which is taken (%o)", async (type, config, field) => {
  for (const inLoop of [false, true]) {
    const bad = { id: "bad", type, config };
    const end = {
      id: "end",
      type: "end",
      config: { outputParameters: { code: inLoop ? "{{ctx.each}}" : "{{ctx.bad.code}}" } },
    };
    const each = { id: "each", type: "loop", config: { items: [1, 2], collect: "{{ctx.bad.code}}" } };
    const graph = inLoop
      ? graphOf([each, bad, end], "start -> each; each.loop -> bad; bad.error -> each; each.done -> end")
      : graphOf([bad, end], "start -> bad; bad.error -> end");
    for (const replay of [false, true]) {
      const run = await runGraph(graph, { input, replay });
      expect(run.error).toBeUndefined();
      const code = "GRAPH_CONFIG_INVALID";
      expect(run.output).toEqual({ code: inLoop ? [code, code] : code });
      expect(run.steps).toEqual([]);
      const record = { runId: "r", createdMs: 0, endedMs: 1, output: run.output, error: null, digest };
      const snapshot = { graph, graphId: "g", version: 1, input };
      const { nodes } = statusOfGraph({ ...record, snapshot, steps: [], status: "COMPLETED" });
      expect(nodes.filter(({ status }) => status === "dead")).toEqual([]);
      for (const node of nodes.filter(({ id }) => id === "bad")) {
        expect(node).toMatchObject({ status: "failed", handle: "error", error: { code: "GRAPH_CONFIG_INVALID" } });
        expect(node.error?.message).toContain(`\`${field}\` of node "bad"`);
      }
    }
  }
});

test.each([["true"], [1], [{}], [null], ["missing"]])(
  "an approval that is answered %o has failed, and decides nothing",
  async (approved) => {
    const graph = graphOf(
      [
        { id: "ask", type: "approval", config: { timeout: "1h" } },
        { id: "end", type: "end", config: { outputParameters: { said: "{{ctx.ask.code}}" } } },
      ],
      "start -> ask; ask.error -> end",
    );
    const data = approved === "missing" ? {} : { approved };
    const run = await runGraph(graph, { steps: [{ id: "ask", handler: () => ({ signal: "s", data }) }] });
    expect(run.output).toEqual({ said: "GRAPH_ANSWER_INVALID" });
  },
);
