import { type Graph, graphs, nodeType } from "@holdfast/graph";
import { startTestGateway } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import * as v from "valibot";
import { describe, expect, test } from "vitest";

/** What is undone of a run that fails while one of its functions ends. */

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const compensate = { type: "undo", config: { what: "{{ctx.output.n}}" } };

const graphOf = (isAlone: boolean): Graph => {
  const others = isAlone ? [] : ["other"];
  const all = ["called", "failing", ...others];
  return {
    id: "g",
    title: "g",
    nodes: [
      { id: "start", type: "start" },
      ...others.map((id) => ({ id, type: "other", compensate })),
      { id: "called", type: "function", config: { function: "shop-called" }, compensate },
      { id: "failing", type: "failing", retries: 0 },
      { id: "end", type: "end" },
    ],
    edges: all.flatMap((id) => [
      { from: "start", to: id },
      { from: id, to: "end" },
    ]),
  };
};

describe.each(["run", "node"] as const)("With the dispatch %s", (dispatch) => {
  test.each([true, false])("a function that ended before the run failed is undone, alone: %s", async (isAlone) => {
    await using gateway = await startTestGateway({ store: "memory" });
    const undone: unknown[] = [];
    /** The run has the end of the call on record; that the function has ended is not enough. */
    const hasEnded = async (runId: string): Promise<boolean> => {
      const { steps } = (await (await fetch(`${gateway.url}/v1/runs/${runId}`)).json()) as {
        readonly steps: readonly { readonly name: string | null; readonly status: string }[];
      };
      return steps.some(({ name, status }) => name === "called" && status === "completed");
    };
    const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logger: silent });
    const called = app.createFunction({ id: "called", triggers: [] }, () => ({ n: "called" }));
    const nodeTypes = [
      nodeType({ type: "undo", config: v.object({ what: v.string() }), run: ({ config }) => undone.push(config.what) }),
      nodeType({ type: "other", config: v.object({}), run: () => ({ n: "other" }) }),
      nodeType({
        type: "failing",
        config: v.object({}),
        run: async ({ runId }) => {
          while (!(await hasEnded(runId))) await new Promise((resolve) => setTimeout(resolve, 1));
          throw new Error("no");
        },
      }),
    ];
    const flows = graphs(app, { nodeTypes, retries: 0, dispatch });
    await using _connection = await app.connect({ functions: [flows.runner, called] });
    await flows.put(graphOf(isAlone));
    await flows.publish("g");
    const run = await flows.execute("g", {});
    const error: unknown = await run.result({ timeout: "30s" }).catch((thrown: unknown) => thrown);
    const { compensation } = error as { readonly compensation: { readonly undone: readonly string[] } };
    const others = isAlone ? [] : ["other"];
    expect({ ...compensation, undone: compensation.undone.toSorted() }).toEqual({
      undone: ["called~undo", ...others],
      failed: [],
      notRun: [],
    });
    expect(undone.toSorted()).toEqual(["called", ...others]);
  });
});

test("a function that ends while no worker of the graph is there is undone when the run misses its deadline", async () => {
  await using gateway = await startTestGateway({ store: "memory" });
  const undone: unknown[] = [];
  let end = (): void => {};
  const ending = new Promise<void>((resolve) => {
    end = resolve;
  });
  const options = { isDev: true, baseUrl: gateway.url, logger: silent } as const;
  const shop = new Holdfast({ id: "shop", ...options });
  const called = shop.createFunction({ id: "called", triggers: [] }, async () => {
    await ending;
    return { n: "called" };
  });
  const app = new Holdfast({ id: "flows", ...options });
  const undo = nodeType({
    type: "undo",
    config: v.object({ what: v.string() }),
    run: ({ config }) => undone.push(config.what),
  });
  const flows = graphs(app, { nodeTypes: [undo], retries: 0 });
  await using _shop = await shop.connect({ functions: [called] });
  const first = await app.connect({ functions: [flows.runner] });
  await flows.put({
    id: "g",
    title: "g",
    nodes: [
      { id: "start", type: "start" },
      { id: "called", type: "function", config: { function: "shop-called" }, compensate },
      { id: "end", type: "end" },
    ],
    edges: [
      { from: "start", to: "called" },
      { from: "called", to: "end" },
    ],
  });
  await flows.publish("g");
  const deadline = new Date(Date.now() + 3_600_000).toISOString();
  const started = await fetch(`${gateway.url}/v1/graphs/g/runs`, {
    method: "POST",
    body: JSON.stringify({ deadline }),
  });
  const { runId } = (await started.json()) as { readonly runId: string };
  const until = async (name: string, status: string): Promise<void> => {
    for (;;) {
      const { steps } = (await (await fetch(`${gateway.url}/v1/runs/${runId}`)).json()) as {
        readonly steps: readonly { readonly name: string | null; readonly status: string }[];
      };
      if (steps.some((step) => step.name === name && step.status === status)) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await until("called", "waiting");
  await first.close();
  end();
  await until("called", "completed");
  await gateway.skipTime("2h");
  await using _second = await app.connect({ functions: [flows.runner] });
  const ended = (await (await fetch(`${gateway.url}/v1/runs/${runId}?wait=30s`)).json()) as object;
  expect(ended).toMatchObject({
    status: "FAILED",
    error: { code: "RUN_DEADLINE_EXCEEDED", compensation: { undone: ["called~undo"], failed: [], notRun: [] } },
  });
  expect(undone).toEqual(["called"]);
});
