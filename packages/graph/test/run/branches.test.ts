import * as v from "valibot";
import { expect, test } from "vitest";
import { nodeType, takeHandle } from "../../src/index.ts";
import { graphOf, runGraph } from "./run-graph.ts";

const code = "return ctx.if.code + ': ' + ctx.if.message";
const branching = (condition: string) =>
  graphOf(
    [
      { id: "if", type: "condition", config: { branches: [{ id: "yes", if: condition }] } },
      { id: "why", type: "javascript", config: { code } },
      { id: "end", type: "end", config: { outputParameters: { branch: "{{ctx.if.branch ?? ctx.why}}" } } },
    ],
    "start -> if; if.yes -> end; if.else -> end; if.error -> why -> end",
  );
const input = { count: 5, name: "yes", list: [1], user: { secret: 1 }, flag: true, no: false, nothing: null };
const taken = async (condition: string): Promise<unknown> => {
  const { output } = await runGraph(branching(condition), { input, retries: 2 });
  return Object(output).branch;
};

test.each([
  ["ctx.input.count", "a number"],
  ["ctx.input.name", "a text"],
  ["ctx.input.list", "a list"],
  ["ctx.input.user", "an object"],
  ["size(ctx.input.list)", "a number"],
  ["'yes'", "a text"],
])(
  "a branch that comes to no boolean, as %s, fails its node, which says which branch came to what",
  async (source, what) => {
    const said = String(await taken(source));
    expect(said).toContain(`GRAPH_CONDITION_INVALID: The branch "yes" of node "if" came to ${what}`);
    expect(said).toContain(`\`${source}\``);
    expect(said).not.toContain("secret");
  },
);

test.each([
  ["ctx.input.flag", "yes"],
  ["ctx.input.no", "else"],
  // What is missing is null, and null is not true.
  ["ctx.input.missing", "else"],
  ["ctx.input.nothing", "else"],
])("the branch %s takes %s", async (source, branch) => {
  expect(await taken(source)).toBe(branch);
});

test.each([false, true])(
  "a handle that the type does not have fails the node with those that it has, later: %s",
  async (later) => {
    let tries = 0;
    const find = nodeType({
      type: "find",
      config: v.object({}),
      handles: ["missing"],
      run: () => {
        tries += 1;
        const taken = takeHandle("nowhere", 1);
        return later ? Promise.resolve(taken) : taken;
      },
    });
    const graph = graphOf(
      [
        { id: "find", type: "find" },
        { id: "after", type: "find" },
        {
          id: "end",
          type: "end",
          config: { outputParameters: { code: "{{ctx.find.code}}", why: "{{ctx.find.message}}" } },
        },
      ],
      "start -> find -> after; find.error -> end",
    );
    const run = await runGraph(graph, { nodeTypes: [find], retries: 2 });
    expect(run.output).toEqual({
      code: "GRAPH_HANDLE_UNKNOWN",
      why: 'Node "find" took the handle "nowhere", which its type "find" does not have; it has out, error, missing.',
    });
    expect(tries).toBe(1);
    const alone = await runGraph(graphOf([{ id: "find", type: "find" }], "start -> find"), { nodeTypes: [find] });
    expect(String(alone.error)).toContain("it has out, error, missing");
  },
);
