import { foldRun, sha1Hex } from "@holdfast/engine";
import { validateGraph } from "@holdfast/graph/definition";
import { HANDLER_END_ID, parseJsonBytes, WIRE_LIMITS } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { sweepGraphTests } from "../../src/gateway-graph-tests.ts";
import type { Gateway } from "../../src/server.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { call, did, ended, failed, plan, runDetail, send, start, useGateway } from "./harness.ts";
import type { Payload, RawWorker } from "./raw-worker.ts";
import { graphOf } from "./small-graph.ts";

const bench = useGateway();
const HOUR_MS = 3_600_000;

interface Body {
  readonly [name: string]: unknown;
  readonly code?: string;
  readonly runId: string;
}

const runner = [{ id: "graphs", event: "" }];

const on = (event: string, more: object = {}) => ({ trigger: { events: [{ event, ...more }] } });

async function ask(gateway: Gateway, method: string, path: string, body?: object): Promise<Body> {
  return (await call(gateway, path, { method, ...(body ? { body: JSON.stringify(body) } : {}) })) as Body;
}

const put = (gateway: Gateway, graph: { readonly id: string }, more: object = {}) =>
  ask(gateway, "PUT", `/v1/graphs/${graph.id}`, { graph, ...more });

async function published(gateway: Gateway, graph: { readonly id: string }): Promise<Body> {
  expect(await put(gateway, graph)).toMatchObject({ problems: [] });
  return ask(gateway, "POST", `/v1/graphs/${graph.id}/publish`);
}

/** Ends every run, with the data of its event as the result. */
function echoes(worker: RawWorker): void {
  worker.answer((_, { event }) => ({ status: "DONE", value: event.data }));
}

async function runsOf(gateway: Gateway, query: string): Promise<string[]> {
  const { runs } = (await call(gateway, `/v1/runs?${query}`)) as { runs: { id: string }[] };
  return runs.map(({ id }) => id);
}

describe("Definitions of graphs", () => {
  test("a draft is stored, shown, listed and written over by who has read it; its problems are listed", async () => {
    const gateway = await bench.gateway();
    const first = await put(gateway, graphOf("a"), { expectedRevision: 0, app: "shop" });
    expect(first).toMatchObject({
      id: "a",
      tenant: "",
      revision: 1,
      version: null,
      runner: "shop-graphs",
      problems: [],
    });
    expect(await put(gateway, graphOf("a"), { expectedRevision: 0 })).toMatchObject({
      code: "GRAPH_CONFLICT",
      status: 409,
      revision: 1,
    });
    const broken = { ...graphOf("a"), edges: [{ from: "start", to: "nowhere" }] };
    expect(await put(gateway, broken, { expectedRevision: 1 })).toMatchObject({
      revision: 2,
      problems: [{ code: "EDGE_DANGLING", edge: 0 }, { code: "NOTHING_REACHABLE" }, { code: "NODE_UNREACHABLE" }],
    });
    const refused = await ask(gateway, "POST", "/v1/graphs/a/publish");
    expect(refused).toMatchObject({ code: "GRAPH_INVALID", status: 400 });
    expect(refused.problems).toContainEqual(expect.objectContaining({ code: "EDGE_DANGLING", edge: 0 }));
    expect(await call(gateway, "/v1/graphs/a")).toMatchObject({ revision: 2, graph: broken });
    await put(gateway, graphOf("b"));
    await ask(gateway, "PUT", "/v1/graphs/a?tenant=acme", { graph: graphOf("a") });
    const page = (await call(gateway, "/v1/graphs?limit=2")) as { graphs: Body[]; nextCursor: string };
    expect(page.graphs).toMatchObject([{ id: "a", tenant: "" }, { id: "b" }]);
    expect(await call(gateway, `/v1/graphs?limit=2&cursor=${page.nextCursor}`)).toMatchObject({
      graphs: [{ id: "a", tenant: "acme" }],
      nextCursor: null,
    });
    expect(await call(gateway, "/v1/graphs?cursor=x")).toMatchObject({ code: "BODY_INVALID" });
  });

  test("what is no graph is refused with everything that is wrong", async () => {
    const gateway = await bench.gateway();
    for (const graph of [null, 7, [], { id: "b", title: 1 }]) {
      expect(await ask(gateway, "PUT", "/v1/graphs/a", { graph })).toMatchObject({
        code: "GRAPH_INVALID",
        status: 400,
      });
    }
    expect(await ask(gateway, "PUT", "/v1/graphs/a", { grap: {} })).toMatchObject({ code: "BODY_INVALID" });
    expect(await ask(gateway, "PUT", "/v1/graphs/a", { graph: graphOf("b") })).toMatchObject({
      problems: [{ code: "ID_INVALID", path: "id" }],
    });
    expect(await ask(gateway, "POST", "/v1/graphs/a/publish")).toMatchObject({ code: "NOT_FOUND" });
    const events = [{ event: "shop/paid" }, { event: "a*b", if: "1 +" }, { event: "inngest/function.failed" }];
    const cron = [{ cron: "0 9 * * *" }, { cron: "61 * * * *" }, { cron: "0 9 * * *", timezone: "Moon/Sea" }];
    const { problems } = await put(gateway, graphOf("t", { trigger: { events, cron } }));
    const places = (problems as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`);
    expect(places).toEqual(
      [...["events[1]", "events[1]", "events[2]"], ...["cron[1]", "cron[2]"]].map(
        (at) => `TRIGGER_INVALID trigger.${at}`,
      ),
    );
    for (const trigger of [{ event: [] }, { events: Array(21).fill({ event: "e" }) }]) {
      expect((await put(gateway, graphOf("s", { trigger }))).problems).toContainEqual(
        expect.objectContaining({ code: expect.stringMatching(/TRIGGER_INVALID|TOO_LARGE/), path: "trigger" }),
      );
    }
    const own = await put(gateway, graphOf("o", on("inngest/function.failed")));
    expect(own.problems).toMatchObject([{ code: "TRIGGER_INVALID" }]);
  });

  test("a draft whose parts have another form than those of graphs is refused, and what it lacks is listed", async () => {
    const gateway = await bench.gateway();
    const [start, end] = graphOf("a").nodes;
    const malformed: [path: string, more: object][] = [
      ["edges", { edges: 7 }],
      ["edges", { edges: {} }],
      ["edges", { edges: null }],
      ["edges", { edges: undefined }],
      ["edges[1]", { edges: [{ from: "start", to: "end" }, "start"] }],
      ["edges[0].to", { edges: [{ from: "start", to: ["end"] }] }],
      ["edges[0].handle", { edges: [{ from: "start", to: "end", handle: 1 }] }],
      ["nodes", { nodes: "start" }],
      ["nodes[2]", { nodes: [start, end, null] }],
      ["nodes[0].id", { nodes: [{ ...start, id: 7 }] }],
      ["nodes[0].type", { nodes: [{ ...start, type: {} }] }],
      ["nodes[1].config", { nodes: [start, { ...end, config: "x" }] }],
      ["input", { input: 7 }],
      ["trigger", { trigger: 7 }],
      ["trigger.events", { trigger: { events: 7 } }],
      ["trigger.cron[0]", { trigger: { cron: ["0 9 * * *"] } }],
    ];
    for (const [path, more] of malformed) {
      const refused = await put(gateway, graphOf("a", more));
      expect(refused, path).toMatchObject({
        code: "GRAPH_INVALID",
        status: 400,
        error: expect.stringContaining(`\`${path}\` is `),
        problems: [{ code: "SHAPE_INVALID", path }],
      });
    }
    expect(await call(gateway, "/v1/graphs/a"), "nothing was stored").toMatchObject({ code: "NOT_FOUND" });
    const begun = { id: "a", title: "A", nodes: [{ id: "start" }, {}], edges: [{ from: "start" }] };
    const { problems } = await put(gateway, begun);
    expect(problems).toContainEqual(expect.objectContaining({ code: "SHAPE_INVALID", path: "edges[0]" }));
    expect(await put(gateway, graphOf("b", { nodes: [], edges: [] }))).toMatchObject({ revision: 1 });
    expect(await call(gateway, "/v1/graphs/a")).toMatchObject({ revision: 1, graph: begun });
    const many = await put(gateway, graphOf("c", { nodes: Array(5_000).fill(7) }));
    expect(many).toMatchObject({ code: "GRAPH_INVALID", status: 400 });
  });

  test("a draft has the problems that `validateGraph` finds, to the letter", async () => {
    const gateway = await bench.gateway();
    const name = (length: number) => ({ event: "e".repeat(length) });
    const { maxEventNameLength } = WIRE_LIMITS;
    const graphs = [
      { trigger: { events: [name(maxEventNameLength), name(maxEventNameLength + 1), { event: "a", if: "async.b" }] } },
      {
        trigger: {
          cron: [{ cron: "61 * * * *" }, { cron: "0 9 * * *", timezone: "Moon/Sea" }, { cron: "0 0 30 2 *" }],
        },
      },
      {
        nodes: [
          { id: "start", type: "start" },
          { id: "js", type: "javascript", config: { code: "return 1 +;\n" } },
        ],
      },
      {
        nodes: [
          { id: "start", type: "start" },
          { id: "if", type: "condition", config: { branches: [{ id: "a", if: "(" }] } },
        ],
      },
      { nodes: [] },
    ].map((more) => graphOf("same", more));
    for (const graph of graphs) {
      const found = validateGraph(graph, { nodeTypes: "any" });
      expect(found).not.toEqual([]);
      expect((await put(gateway, graph)).problems).toEqual(found);
    }
    expect(await ask(gateway, "POST", "/v1/graphs/same/publish")).toMatchObject({ code: "GRAPH_INVALID" });
    const code = await put(gateway, graphs[2] as ReturnType<typeof graphOf>);
    expect(code.problems).toContainEqual(
      expect.objectContaining({ code: "CODE_INVALID", nodeId: "js", line: 1, column: 11 }),
    );
  });

  test("versions never change; one is published again, or none", async () => {
    const gateway = await bench.gateway();
    expect(await published(gateway, graphOf("a", { title: "One" }))).toMatchObject({ version: 1, revision: 1 });
    expect(await published(gateway, graphOf("a", { title: "Two" }))).toMatchObject({ version: 2, revision: 2 });
    expect(await call(gateway, "/v1/graphs/a?version=1")).toMatchObject({ version: 1, graph: { title: "One" } });
    expect(await call(gateway, "/v1/graphs/a?version=published")).toMatchObject({
      version: 2,
      graph: { title: "Two" },
    });
    expect(await call(gateway, "/v1/graphs/a?version=3")).toMatchObject({ code: "NOT_FOUND" });
    expect(await call(gateway, "/v1/graphs/a/versions")).toMatchObject({ versions: [{ version: 2 }, { version: 1 }] });
    expect(await ask(gateway, "POST", "/v1/graphs/a/publish", { version: 1 })).toMatchObject({
      version: 1,
      lastVersion: 2,
    });
    expect(await ask(gateway, "POST", "/v1/graphs/a/publish", { expectedRevision: 1 })).toMatchObject({
      code: "GRAPH_CONFLICT",
      revision: 2,
    });
    expect(await ask(gateway, "POST", "/v1/graphs/a/unpublish")).toMatchObject({ version: null });
    expect(await call(gateway, "/v1/graphs/a?version=published")).toMatchObject({ code: "GRAPH_NOT_PUBLISHED" });
    expect(await ask(gateway, "POST", "/v1/graphs/a/runs")).toMatchObject({ code: "GRAPH_NOT_PUBLISHED", status: 409 });
  });

  test("environments and tenants do not see each other's graphs", async () => {
    const gateway = await bench.gateway();
    await put(gateway, graphOf("a"));
    const there = { headers: { "x-inngest-env": "preview" } };
    expect(await call(gateway, "/v1/graphs/a", there)).toMatchObject({ code: "NOT_FOUND" });
    expect(await call(gateway, "/v1/graphs", there)).toEqual({ graphs: [], nextCursor: null });
    expect(await call(gateway, "/v1/graphs/a?tenant=acme")).toMatchObject({ code: "NOT_FOUND" });
    expect(await call(gateway, "/v1/graphs?tenant=acme")).toMatchObject({ graphs: [] });
  });

  test("subgraphs are pinned and taken along; missing ones and circles are refused", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions: runner });
    echoes(worker);
    const within = (id: string, graph: string, version: number) =>
      graphOf(id, {
        nodes: [
          { id: "start", type: "start" },
          { id: "inner", type: "subgraph", config: { graph, version } },
          { id: "end", type: "end" },
        ],
        edges: [
          { from: "start", to: "inner" },
          { from: "inner", to: "end" },
        ],
      });
    expect(await put(gateway, within("outer", "mid", 1))).toMatchObject({ problems: [{ code: "SUBGRAPH_UNKNOWN" }] });
    await published(gateway, graphOf("leaf", { title: "Old" }));
    await published(gateway, within("mid", "leaf", 1));
    await published(gateway, within("outer", "mid", 1));
    await published(gateway, graphOf("leaf", { title: "New" }));
    expect(await ask(gateway, "DELETE", "/v1/graphs/leaf")).toMatchObject({ deleted: true });
    const { runId } = await ask(gateway, "POST", "/v1/graphs/outer/runs");
    const { output } = await ended(gateway, runId);
    const { graphs } = output as unknown as { graphs: Record<string, { title: string }> };
    expect(Object.keys(graphs).sort()).toEqual(["leaf@1", "mid@1"]);
    expect(graphs["leaf@1"]?.title).toBe("Old");
    expect(await put(gateway, within("mid", "outer", 1))).toMatchObject({ problems: [{ code: "SUBGRAPH_RECURSION" }] });
    expect(await ask(gateway, "POST", "/v1/graphs/mid/publish")).toMatchObject({ code: "GRAPH_INVALID" });
  });
});

describe("Runs of graphs", () => {
  test("a run carries the version that was published when it was asked for, whatever comes after", async () => {
    const [one, two] = [await bench.gateway(), await bench.gateway()];
    const worker = await bench.worker(one, { functions: runner });
    await published(one, graphOf("a", { title: "One" }));
    const first = await ask(two, "POST", "/v1/graphs/a/runs", { input: { n: 1 }, id: "x" });
    expect(first).toMatchObject({ runId: expect.any(String), isNew: true, version: 1, functionId: "shop-graphs" });
    await published(two, graphOf("a", { title: "Two" }));
    expect(await ask(one, "POST", "/v1/graphs/a/runs", { input: { n: 2 }, id: "x" })).toMatchObject({
      runId: first.runId,
      isNew: false,
    });
    const other = await ask(one, "POST", "/v1/graphs/a/runs", { version: 1 });
    expect(await ask(one, "DELETE", "/v1/graphs/a")).toMatchObject({ code: "GRAPH_IN_USE", status: 409 });
    expect(await ask(one, "DELETE", "/v1/graphs/a?force=1")).toMatchObject({ deleted: true });
    // Both were sent before the worker answers by itself.
    for (const _ of [first, other]) {
      const { request, payload } = await worker.request();
      worker.reply(request, { status: "DONE", value: payload.event.data });
    }
    const run = await ended(one, first.runId);
    expect(run).toMatchObject({
      status: "COMPLETED",
      eventName: "holdfast/graph.requested",
      output: { graph: { title: "One" }, graphs: {}, graphId: "a", tenant: "", version: 1, input: { n: 1 } },
    });
    expect((await ended(one, other.runId)).output).toMatchObject({ graph: { title: "One" }, input: {} });
  });

  test("are listed by their graph, and say which one and in which version; a deleted graph leaves its runs", async () => {
    const gateway = await bench.gateway();
    echoes(await bench.worker(gateway, { functions: [...runner, { id: "plain", event: "shop/plain" }] }));
    await published(gateway, graphOf("a"));
    await published(gateway, graphOf("b"));
    await ask(gateway, "PUT", "/v1/graphs/a?tenant=acme", { graph: graphOf("a") });
    await ask(gateway, "POST", "/v1/graphs/a/publish?tenant=acme");
    await put(gateway, graphOf("a", { title: "Changed" }));
    await ask(gateway, "POST", "/v1/graphs/a/publish");
    const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs");
    const earlier = await ask(gateway, "POST", "/v1/graphs/b/runs");
    const acme = await ask(gateway, "POST", "/v1/graphs/a/runs?tenant=acme");
    const tried = await ask(gateway, "POST", "/v1/graph-tests", { graph: graphOf("draft") });
    await send(gateway, "shop/plain");
    await ended(gateway, runId);
    const listed = (await call(gateway, "/v1/runs")) as { runs: { id: string; functionId: string; graph: unknown }[] };
    const graphs = new Map(listed.runs.map((run) => [run.functionId === "shop-plain" ? "plain" : run.id, run.graph]));
    const ofA = { id: "a", tenant: "", version: 2, test: false };
    expect(graphs).toEqual(
      new Map<string, unknown>([
        ["plain", null],
        [tried.runId, { id: null, tenant: null, version: null, test: true }],
        [acme.runId, { id: "a", tenant: "acme", version: 1, test: false }],
        [earlier.runId, { id: "b", tenant: "", version: 1, test: false }],
        [runId, ofA],
      ]),
    );
    expect(await call(gateway, "/v1/runs?graph=a&waiting=1")).toMatchObject({ runs: [{ id: runId, graph: ofA }] });
    expect(await runDetail(gateway, runId)).toMatchObject({ graph: ofA });
    expect(await runsOf(gateway, "graph=a")).toEqual([runId]);
    expect(await runsOf(gateway, "graph=a&tenant=acme")).toEqual([acme.runId]);
    expect(await call(gateway, "/v1/runs?graph=c")).toMatchObject({ code: "NOT_FOUND" });
    expect(await call(gateway, "/v1/runs?tenant=acme")).toMatchObject({ code: "BODY_INVALID" });
    const bulk = (filter: object) => ask(gateway, "POST", "/v1/bulk", { action: "rerun", filter, dryRun: true });
    const completed = { status: ["COMPLETED"] };
    await ended(gateway, acme.runId);
    expect(await bulk({ ...completed, graph: "a", tenant: "acme" })).toMatchObject({ runIds: [acme.runId] });
    expect(await bulk({ ...completed, graph: "a" })).toMatchObject({ runIds: [runId] });
    expect(await bulk({ ...completed, graph: "c" })).toMatchObject({ code: "NOT_FOUND" });
    expect(await bulk({ ...completed, tenant: "acme" })).toMatchObject({ code: "BODY_INVALID" });
    expect(await ask(gateway, "DELETE", "/v1/graphs/a")).toMatchObject({ deleted: true });
    expect(await runDetail(gateway, runId)).toMatchObject({
      status: "COMPLETED",
      graph: { id: null, tenant: null, version: 2, test: false },
    });
  });

  test("need one app that runs graphs, or the name of one", async () => {
    const gateway = await bench.gateway();
    await published(gateway, graphOf("a"));
    expect(await ask(gateway, "POST", "/v1/graphs/a/runs")).toMatchObject({
      code: "GRAPH_RUNNER_UNKNOWN",
      status: 409,
    });
    echoes(await bench.worker(gateway, { functions: runner }));
    echoes(await bench.worker(gateway, { app: "crm", functions: runner }));
    const several = await ask(gateway, "POST", "/v1/graphs/a/runs");
    expect(several).toMatchObject({ code: "GRAPH_RUNNER_UNKNOWN" });
    expect(several.error).toMatch(/crm-graphs, shop-graphs|shop-graphs, crm-graphs/);
    const { runId, functionId } = await ask(gateway, "POST", "/v1/graphs/a/runs", { app: "crm" });
    expect(functionId).toBe("crm-graphs");
    await ended(gateway, runId);
  });

  test("go in place, or with their nodes as jobs of their own that any worker takes", async () => {
    const gateway = await bench.gateway();
    const options = { functions: runner, maxWorkerConcurrency: 1 };
    const workers = [await bench.worker(gateway, options), await bench.worker(gateway, options)];
    await published(gateway, graphOf("a"));
    await ask(gateway, "POST", "/v1/graphs/a/publish", { dispatch: "node" });
    const versions = [{ version: 1 }, { version: 2, dispatch: "run" }, {}, { version: 1, dispatch: "node" }];
    for (const [index, asked] of versions.entries()) {
      const isSpread = index >= 2;
      const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs", asked);
      const first = await takenBy(workers, "step");
      const { ctx } = parseJsonBytes(first.request.requestPayload, "payload") as Payload;
      expect(ctx.holdfast === undefined).toBe(isSpread);
      if (isSpread) {
        first.worker.reply(first.request, { value: [plan("left"), plan("right")] });
        const steps = await Promise.all(["left", "right"].map((id) => takenBy(workers, id)));
        expect(new Set(steps.map(({ worker }) => worker)).size).toBe(2);
        for (const { worker, request } of steps) worker.reply(request, { value: [did(request.stepId)] });
        const last = await takenBy(workers, "step");
        last.worker.reply(last.request, { status: "DONE", value: "spread" });
      } else first.worker.reply(first.request, { status: "DONE", value: "in place" });
      expect((await ended(gateway, runId)).output).toBe(isSpread ? "spread" : "in place");
    }
  });

  test("say what became of each node, from their own record; a run of no graph does not", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions: [...runner, { id: "order", event: "shop/order" }] });
    const nodes = [
      { id: "start", type: "start" },
      { id: "a", type: "work" },
      { id: "b", type: "work", config: { of: "{{ctx.a.n}}" } },
      { id: "end", type: "end" },
    ];
    const edges = [
      { from: "start", to: "a" },
      { from: "a", to: "b" },
      { from: "b", to: "end" },
    ];
    await published(gateway, graphOf("a", { nodes, edges }));
    const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs");
    const statesOf = async () => {
      const { nodes: all, ...run } = (await call(gateway, `/v1/runs/${runId}/graph`)) as unknown as {
        readonly nodes: readonly { readonly id: string; readonly status: string; readonly attempts: number }[];
      };
      return { ...run, nodes: all.map(({ id, status, attempts }) => `${id} ${status} ${attempts}`) };
    };
    const { request } = await worker.request();
    expect(await statesOf()).toMatchObject({ graphId: "a", version: 1, test: false, status: "RUNNING" });
    worker.checkpoint(request, 1, [did(sha1Hex("a"), { n: 7 })]);
    await worker.frame("GATEWAY_CHECKPOINT_ACK");
    expect((await statesOf()).nodes).toEqual(["start done 0", "a done 1", "b running 0", "end waiting 0"]);
    worker.reply(request, { value: [failed(sha1Hex("b"))] });
    await waitFor(async () => (await statesOf()).nodes.includes("b ready 1") || undefined, { what: "b to be retried" });
    const again = await worker.request();
    worker.reply(again.request, {
      value: [did(sha1Hex("b"), "done"), { id: HANDLER_END_ID, op: "RunComplete", data: {} }],
    });
    await ended(gateway, runId);
    expect((await statesOf()).nodes).toEqual(["start done 0", "a done 1", "b done 2", "end done 0"]);
    const shown = (await call(gateway, `/v1/runs/${runId}/graph`)) as { nodes: unknown[] };
    expect(shown.nodes).toContainEqual(expect.objectContaining({ id: "b", input: { of: 7 }, output: "done" }));
    const [other = ""] = await start(gateway);
    expect(await call(gateway, `/v1/runs/${other}/graph`)).toMatchObject({ code: "NOT_FOUND" });
    const last = await worker.request();
    worker.reply(last.request, { status: "DONE", value: 1 });
    await ended(gateway, other);
  });

  test("are of their graph also when they are run again", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions: runner });
    echoes(worker);
    await published(gateway, graphOf("a", { title: "One" }));
    const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs", { input: { n: 1 }, dispatch: "node" });
    await ended(gateway, runId);
    await published(gateway, graphOf("a", { title: "Two" }));
    const again = await ask(gateway, "POST", `/v1/runs/${runId}/rerun`);
    expect(await ended(gateway, again.runId)).toMatchObject({ output: { graph: { title: "One" }, input: { n: 1 } } });
    expect(await runsOf(gateway, "graph=a")).toEqual([again.runId, runId]);
    const [stored] = await bench.store.loadRuns([again.runId]);
    expect(foldRun(stored as NonNullable<typeof stored>).spreads).toBe(true);
  });
});

/** The worker that has got this request, of several. */
async function takenBy(workers: readonly RawWorker[], stepId: string) {
  return waitFor(
    () => {
      for (const worker of workers) {
        const index = worker.frames.findIndex(
          (one) => one.kind === "GATEWAY_EXECUTOR_REQUEST" && one.stepId === stepId,
        );
        const [request] = index < 0 ? [] : worker.frames.splice(index, 1);
        if (request?.kind === "GATEWAY_EXECUTOR_REQUEST") return { worker, request };
      }
      return undefined;
    },
    { what: `a request for ${stepId}` },
  );
}

describe("Triggers of graphs", () => {
  test("an event starts the published version with its data; the registry that gateways have read may be old", async () => {
    const [one, two] = [await bench.gateway(), await bench.gateway()];
    echoes(await bench.worker(one, { functions: runner }));
    await published(one, graphOf("a", { title: "1", ...on("shop/joined", { if: "event.data.n > 0" }) }));
    await published(one, graphOf("b", on("shop/*")));
    const ids: string[] = [];
    for (let version = 1; version <= 4; version += 1) {
      if (version > 1)
        await published(one, graphOf("a", { title: `${version}`, ...on("shop/joined", { if: "event.data.n > 0" }) }));
      // Without a moment for the notice to come through.
      ids.push(await send(two, "shop/joined", { n: version }));
    }
    await send(two, "shop/joined", { n: 0 });
    for (const [index, eventId] of ids.entries()) {
      const { runIds } = (await call(two, `/v1/events/${eventId}`)) as { runIds: string[] };
      expect(runIds).toHaveLength(2);
      const runs = await Promise.all(runIds.map((id) => ended(two, id)));
      const outputs = runs.map(({ output }) => output as unknown as Body);
      const [run] = outputs.filter(({ graphId }) => graphId === "a");
      expect(run).toMatchObject({
        graph: { title: `${index + 1}` },
        version: index + 1,
        input: { n: index + 1 },
        trigger: { event: { id: eventId, name: "shop/joined" } },
      });
    }
    expect(await runsOf(one, "graph=a")).toHaveLength(4);
    expect(await runsOf(one, "graph=b")).toHaveLength(5);
    await ask(one, "POST", "/v1/graphs/a/unpublish");
    await ask(one, "DELETE", "/v1/graphs/b?force=1");
    const last = await send(two, "shop/joined", { n: 9 });
    expect(await call(two, `/v1/events/${last}`)).toMatchObject({ runIds: [] });
  });

  test("while versions are published all the time, each event starts exactly one run", async () => {
    const [one, two] = [await bench.gateway(), await bench.gateway()];
    echoes(await bench.worker(one, { functions: runner }));
    await published(one, graphOf("a", on("shop/joined")));
    let isOver = false;
    const publishing = (async () => {
      while (!isOver) await ask(one, "POST", "/v1/graphs/a/publish");
    })();
    const sent: string[] = [];
    for (let n = 0; n < 60; n += 1) sent.push(await send(n % 2 ? one : two, "shop/joined", { n }));
    isOver = true;
    await publishing;
    const runs = await Promise.all(
      sent.map(async (id) => ((await call(one, `/v1/events/${id}`)) as { runIds: string[] }).runIds),
    );
    expect(runs.map(({ length }) => length)).toEqual(sent.map(() => 1));
    const versions: number[] = [];
    for (const [runId = ""] of runs)
      versions.push(((await ended(one, runId)).output as unknown as { version: number }).version);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(Math.max(...versions)).toBeGreaterThan(1);
  });

  test("schedules tick once over two gateways, move with the version, and end with it", async () => {
    const options = { virtualTime: true };
    const [one, two] = [await bench.gateway(options), await bench.gateway(options)];
    echoes(await bench.worker(one, { functions: runner }));
    echoes(await bench.worker(two, { functions: runner }));
    const daily = (title: string) =>
      graphOf("a", { title, trigger: { cron: [{ cron: "0 12 * * *", timezone: "Europe/Paris" }] } });
    await published(one, daily("1"));
    const ticked = async (count: number) =>
      waitFor(async () => ((await runsOf(one, "graph=a")).length === count ? true : undefined), {
        what: `tick ${count}`,
      });
    await one.skipTime(24 * HOUR_MS);
    await ticked(1);
    await published(two, daily("2"));
    await one.skipTime(24 * HOUR_MS);
    await ticked(2);
    const outputs = await Promise.all((await runsOf(one, "graph=a")).map(async (id) => (await ended(one, id)).output));
    expect(outputs).toMatchObject([
      { graph: { title: "2" }, version: 2, trigger: { cron: "TZ=Europe/Paris 0 12 * * *" } },
      { graph: { title: "1" }, version: 1, input: { scheduledAt: expect.stringMatching(/T1[01]:00:00Z$/) } },
    ]);
    await ask(one, "POST", "/v1/graphs/a/unpublish");
    await one.skipTime(48 * HOUR_MS);
    const eventId = await send(two, "shop/other");
    expect(await call(two, `/v1/events/${eventId}`)).toMatchObject({ runIds: [] });
    expect(await runsOf(one, "graph=a")).toHaveLength(2);
    const { queue } = (await call(one, "/v1/metrics")) as { queue: object };
    expect(queue).toMatchObject({ due: 0, later: 0 });
  });

  test("need a function that runs them when they are published", async () => {
    const gateway = await bench.gateway();
    await put(gateway, graphOf("a", on("shop/joined")));
    expect(await ask(gateway, "POST", "/v1/graphs/a/publish")).toMatchObject({ code: "GRAPH_RUNNER_UNKNOWN" });
    expect(await call(gateway, "/v1/graphs/a")).toMatchObject({ version: null });
  });
});

describe("Tests of graphs", () => {
  test("an unsaved graph runs on the same path, marked, without its triggers, and leaves nothing behind", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions: runner });
    const graph = graphOf("draft", on("shop/joined"));
    const { runId, eventId } = await ask(gateway, "POST", "/v1/graph-tests", { graph, input: { n: 1 } });
    const { payload } = await worker.request();
    expect(payload.event.data).toMatchObject({ graph, graphId: "draft", version: null, input: { n: 1 }, test: true });
    expect(await runDetail(gateway, runId)).toMatchObject({ eventName: "holdfast/graph.tested" });
    expect(await runsOf(gateway, "test=1")).toEqual([runId]);
    expect(await runsOf(gateway, "test=0")).toEqual([]);
    const joined = await send(gateway, "shop/joined");
    expect(await call(gateway, `/v1/events/${joined}`)).toMatchObject({ runIds: [] });
    expect(await ask(gateway, "DELETE", `/v1/graph-tests/${runId}`)).toEqual({ stopped: true, runId });
    expect(await call(gateway, `/v1/runs/${runId}`)).toMatchObject({ code: "NOT_FOUND" });
    expect(await call(gateway, `/v1/events/${eventId}`)).toMatchObject({ code: "NOT_FOUND" });
    expect(await bench.store.graphRuns([runId])).toEqual(new Map());
    expect(await ask(gateway, "DELETE", `/v1/graph-tests/${runId}`)).toMatchObject({ code: "NOT_FOUND" });
  });

  test("a graph with problems is not run; a run that is no test is not removed as one", async () => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, { functions: runner });
    const wrong = { ...graphOf("a"), edges: [] };
    expect(await ask(gateway, "POST", "/v1/graph-tests", { graph: wrong })).toMatchObject({ code: "GRAPH_INVALID" });
    expect(await ask(gateway, "POST", "/v1/graph-tests", {})).toMatchObject({ code: "GRAPH_INVALID" });
    echoes(worker);
    await published(gateway, graphOf("a"));
    const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs");
    await ended(gateway, runId);
    expect(await ask(gateway, "DELETE", `/v1/graph-tests/${runId}`)).toMatchObject({ code: "GRAPH_TEST_UNKNOWN" });
    expect(await runDetail(gateway, runId)).toMatchObject({ status: "COMPLETED" });
  });

  test("tests that no caller has stopped are removed after a day, also those that go on", async () => {
    const gateway = await bench.gateway({ virtualTime: true });
    const worker = await bench.worker(gateway, { functions: runner });
    const { runId } = await ask(gateway, "POST", "/v1/graph-tests", { graph: graphOf("a") });
    const { request } = await worker.request();
    await published(gateway, graphOf("b"));
    const other = await ask(gateway, "POST", "/v1/graphs/b/runs");
    const store = openPostgresStore({ url: bench.db.url, maxConnections: 3, virtualTime: true });
    onTestFinished(() => store.close());
    const sweep = async () => {
      const deletions = { delete: async (id: string) => void (await ask(gateway, "DELETE", `/v1/graph-tests/${id}`)) };
      const repairs = { deletions };
      return sweepGraphTests({ dispatcher: { repairs } as never, store });
    };
    expect(await sweep()).toBe(0);
    await gateway.skipTime(25 * HOUR_MS);
    expect(await sweep()).toBe(1);
    expect(await call(gateway, `/v1/runs/${runId}`)).toMatchObject({ code: "NOT_FOUND" });
    expect(await runDetail(gateway, other.runId)).not.toMatchObject({ code: "NOT_FOUND" });
    await worker.frame("GATEWAY_CANCEL", (frame) => frame.requestId === request.requestId);
  });
});
