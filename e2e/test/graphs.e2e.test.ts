import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { graphs } from "@holdfast/graph";
import { Holdfast } from "holdfast";
import { describe, expect, test } from "vitest";
import { inCluster } from "../long/cluster.ts";
import { gatewayBin } from "../support/gateway.mjs";
import {
  callJson,
  decidedTwice,
  graphShapes,
  publishShapes,
  shapeRuns,
  wrongBodies,
  wrongEnds,
} from "../support/graph-shapes.ts";
import {
  type EndedRun,
  endedRuns,
  type RandomRun,
  randomRuns,
  startRandom,
  wrongOf,
} from "../support/random-graph-runs.ts";
import { modes } from "./world.ts";

const times = 3;
const run = promisify(execFile);

describe.each(modes)("Graphs, $name", ({ plain = false }) => {
  test(`every shape of graph, ${times} times at once, ends as it should, each node once`, async () => {
    await inCluster({ gateways: 1, plain }, async (cluster) => {
      await cluster.startApp({ functions: "graphs" });
      await publishShapes(cluster.url);
      const events = Array.from({ length: times }, () => graphShapes.map(({ id }) => ({ name: `graph/${id}` }))).flat();
      await cluster.ended(await cluster.send(events));
      const runs = await shapeRuns(cluster.sql);
      for (const shape of graphShapes) {
        const own = runs.filter((one) => one.shape === shape.id);
        expect(own, shape.id).toHaveLength(times);
        expect(wrongEnds(shape, own), shape.id).toEqual([]);
        const noted = (id: string) =>
          cluster.journal.entries().flatMap(({ runId, what }) => (runId === id ? [what] : []));
        expect(
          own.flatMap(({ id }) => wrongBodies(shape, noted(id))),
          shape.id,
        ).toEqual([]);
      }
      expect(await decidedTwice(cluster.sql)).toEqual([]);
    });
  });

  test.each(["run", "node"])("random graphs run as the reference says, dispatch %s", async (dispatch) => {
    await inCluster({ gateways: 1, plain }, async (cluster) => {
      await cluster.startApp({ functions: "graphs" });
      const ids = new Map<string, RandomRun>();
      for (const one of randomRuns(20, 1)) ids.set(await startRandom(cluster.url, one, { dispatch }), one);
      await cluster.ended(ids.size);
      const ended = await endedRuns(cluster.sql);
      for (const [id, one] of ids) {
        const noted = cluster.journal.entries(id);
        expect(wrongOf(one, ended.get(id) as EndedRun, { noted, kills: false }), JSON.stringify(one.graph)).toEqual([]);
      }
    });
  });
});

describe("Graphs", () => {
  test("nodes that are jobs of their own go to several workers", async () => {
    await inCluster({ gateways: 1 }, async (cluster) => {
      for (let app = 0; app < 2; app += 1) await cluster.startApp({ functions: "graphs", concurrency: 2 });
      await publishShapes(cluster.url, { dispatch: "node" });
      await cluster.ended(await cluster.send(Array.from({ length: 10 }, () => ({ name: "graph/fan-out" }))));
      const [shape] = graphShapes.filter(({ id }) => id === "fan-out");
      const runs = await shapeRuns(cluster.sql);
      expect(shape && wrongEnds(shape, runs)).toEqual([]);
      const workers = runs.map(
        ({ id }) => new Set(cluster.journal.entries().flatMap((one) => (one.runId === id ? [one.pid] : []))),
      );
      expect(Math.max(...workers.map(({ size }) => size))).toBe(2);
    });
  });

  test("a run that is followed goes on at another gateway when one is killed, and nothing of it is missed", async () => {
    await inCluster({ gateways: 2 }, async (cluster) => {
      await cluster.startApp({ functions: "graphs" });
      await publishShapes(cluster.url);
      const app = new Holdfast({ id: "long", baseUrl: cluster.url, isDev: true });
      const flows = graphs(app);
      const handle = await flows.execute("delay");
      const seen: string[][] = [];
      let killed = false;
      for await (const { nodes } of flows.follow(handle.id)) {
        seen.push(nodes.map(({ id, status }) => `${id} ${status}`));
        if (killed) continue;
        killed = true;
        // One after the other, so that the one that is asked is among them.
        for (const member of cluster.members) {
          await member.kill();
          await member.start();
        }
      }
      const last = (await flows.status(handle.id)).nodes.map(({ id, status }) => `${id} ${status}`);
      expect(seen.at(-1)).toEqual(last);
      expect(last.every((text) => text.endsWith(" done"))).toBe(true);
      expect(seen.length).toBeGreaterThan(1);
    });
  });

  test.each([
    ["run", 998],
    ["node", 200],
  ])("a graph of many nodes runs, dispatch %s, and its state is shown whole", async (dispatch, count) => {
    await inCluster({ gateways: 1 }, async (cluster) => {
      await cluster.startApp({ functions: "graphs" });
      const ids = Array.from({ length: count }, (_, index) => `n${index}`);
      const nodes = [
        { id: "start", type: "start" },
        ...ids.map((id) => ({ id, type: "note" })),
        { id: "end", type: "end", config: { outputParameters: { last: `{{ctx.n${count - 1}}}` } } },
      ];
      const edges = ids.flatMap((id) => [
        { from: "start", to: id },
        { from: id, to: "end" },
      ]);
      const body = { graph: { id: "large", title: "Large", nodes, edges }, app: "long", dispatch };
      const { runId } = (await callJson(cluster.url, "POST", "/v1/graph-tests", body)) as { runId: string };
      await cluster.ended(1);
      const flows = graphs(new Holdfast({ id: "long", baseUrl: cluster.url, isDev: true }));
      const { status, output, nodes: shown, isCut } = await flows.status(runId);
      expect([status, output, isCut]).toEqual(["COMPLETED", { last: `n${count - 1}` }, false]);
      expect(shown.map((one) => one.status)).toEqual(nodes.map(() => "done"));
      expect(
        wrongBodies(
          { steps: ids },
          cluster.journal.entries(runId).map(({ what }) => what),
        ),
      ).toEqual([]);
    });
  });

  test("the demo: a run that waits for approval ends by its version while the graph is edited and published", async () => {
    const demo = fileURLToPath(new URL("../demo/onboarding/run.mjs", import.meta.url));
    const { stdout } = await run(process.execPath, [demo, "--json"], { timeout: 100_000 });
    const outcome = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}") as { readonly states: readonly string[] };
    expect(outcome).toMatchObject({
      versions: [1, 2],
      ofLarge: { text: "Welcome, Acme: ann, bo, cy" },
      ofSmall: { text: "Hello Tiny!" },
      ofTest: { text: "Hello Tiny!" },
      conflict: "GRAPH_CONFLICT",
      left: "NOT_FOUND",
    });
    const states = ["approval done", "invite[0] done", "invite[2] done", "welcome done", "declined skipped"];
    expect(outcome.states).toEqual(expect.arrayContaining(states));
  });

  test("the commands store, publish, run, print and delete a graph", async () => {
    await inCluster({ gateways: 1 }, async (cluster) => {
      await cluster.startApp({ functions: "graphs" });
      const folder = await mkdtemp(join(tmpdir(), "holdfast-graphs-"));
      try {
        const file = join(folder, "linear.json");
        const [{ graph } = { graph: {} }] = graphShapes;
        writeFileSync(file, JSON.stringify(graph));
        const command = async (...args: string[]) =>
          (await run(process.execPath, [gatewayBin, "graphs", ...args, "--url", cluster.url])).stdout;
        expect(await command("put", file, "--publish")).toBe("linear  revision 1, published as version 1\n");
        expect(await command()).toMatch(/linear +- +1 +1 /);
        const runId = (await command("run", "linear", "--id", "a")).trim();
        expect(await command("run", "linear", "--id", "a")).toBe(`${runId}  was there already\n`);
        await cluster.ended(1);
        expect(JSON.parse(await command("get", "linear", "--graph-version", "published"))).toEqual(graph);
        expect(await command("publish", "linear")).toBe("linear  version 2 is published\n");
        expect(await command("publish", "linear", "--graph-version", "1")).toBe("linear  version 1 is published\n");
        expect(await command("unpublish", "linear")).toBe("linear  no version is published\n");
        const removal = (...args: string[]) =>
          run(process.execPath, [gatewayBin, "delete", ...args, "--dry-run", "--url", cluster.url]);
        expect((await removal("--graph", "linear")).stdout).toBe("1 run would be deleted.\n");
        await expect(removal("--graph", "linaer")).rejects.toMatchObject({ code: 3 });
        await expect(removal("--tenant", "acme")).rejects.toMatchObject({ code: 2, stderr: /whose `graph`/ });
        writeFileSync(file, JSON.stringify({ ...graph, edges: [] }));
        expect(await command("put", file, "--revision", "1")).toMatch(/revision 2\n {2}NOTHING_REACHABLE/);
        await expect(command("put", file, "--revision", "1")).rejects.toMatchObject({
          code: 1,
          stderr: /GRAPH_CONFLICT|revision/,
        });
        expect(await command("delete", "linear")).toBe("linear  deleted\n");
        await expect(command("get", "linear")).rejects.toMatchObject({ code: 3 });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  });
});
