import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import {
  decidedTwice,
  graphShapes,
  publishShapes,
  type ShapeRun,
  shapeRuns,
  wrongBodies,
  wrongEnds,
} from "../support/graph-shapes.ts";
import { type Cluster, inCluster } from "./cluster.ts";
import { table } from "./throughput.ts";

const times = 100;
/** Of gateways, each with an app; runs are started until then. */
const kills = 6;
const rows: Record<string, string | number>[] = [];

const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];
const cases = [1, 3].flatMap((gateways) => protocols.map((each) => ({ gateways, ...each })));
const ways = [...protocols.map((each) => ({ ...each, dispatch: "run" })), { ...protocols[0], dispatch: "node" }];

afterAll(() => table("Every shape as a graph, all at once", rows));

const events = (count: number): object[] =>
  Array.from({ length: count }, () => graphShapes.map(({ id }) => ({ name: `graph/${id}` }))).flat();

/** Every run has ended as its shape says, and no node's end was decided twice. */
async function checkRuns(cluster: Cluster, each: number): Promise<ShapeRun[]> {
  const runs = await shapeRuns(cluster.sql);
  for (const shape of graphShapes) {
    const own = runs.filter((run) => run.shape === shape.id);
    expect(own, shape.id).toHaveLength(each);
    expect(wrongEnds(shape, own), shape.id).toEqual([]);
  }
  expect(await decidedTwice(cluster.sql)).toEqual([]);
  return runs;
}

/** Each node ran exactly once, and what was sent to apps is what the log says was to be sent. */
async function checkOnce(cluster: Cluster, runs: readonly ShapeRun[]): Promise<void> {
  const bodies = new Map<string, string[]>(runs.map(({ id }) => [id, []]));
  for (const { runId, what } of cluster.journal.entries()) bodies.get(runId)?.push(what);
  for (const shape of graphShapes) {
    const own = runs.filter((run) => run.shape === shape.id);
    const wrong = own.flatMap(({ id }) => wrongBodies(shape, bodies.get(id) ?? []).map((what) => `${id}: ${what}`));
    expect(wrong, shape.id).toEqual([]);
  }
  const [row] = await cluster.sql`SELECT count(*)::int AS count FROM holdfast.run_facts
    WHERE kind = 'DISPATCHED' AND data::jsonb ->> 'kind' IN ('pass', 'step')`;
  let sent = 0;
  for (const { url } of cluster.members) {
    const response = await fetch(new URL("/v1/metrics", url));
    sent += ((await response.json()) as { dispatcher: { dispatches: number } }).dispatcher.dispatches;
  }
  expect(sent).toBe(row?.count);
  expect(await cluster.logged("LEASE_LOST")).toBe(0);
}

describe.each(cases)("$gateways gateway(s), $protocol", ({ gateways, protocol, plain }) => {
  test(`in every shape of graph, run ${times} times at once, each join decides once and no node is dispatched twice`, async () => {
    await inCluster({ gateways, plain }, async (cluster) => {
      for (const member of cluster.members) await cluster.startApp({ functions: "graphs", url: member.url });
      await publishShapes(cluster.url);
      const startedMs = performance.now();
      await cluster.ended(await cluster.send(events(times)));
      const took = Math.round(performance.now() - startedMs);
      await checkOnce(cluster, await checkRuns(cluster, times));
      rows.push({ gateways, protocol, runs: times * graphShapes.length, dispatch: "run", "took, ms": took });
    });
  });
});

describe.each(ways)("Three gateways, $protocol, dispatch $dispatch", ({ protocol = "", plain = false, dispatch }) => {
  test("every graph ends as it should while gateways and apps are killed with -9", async () => {
    await inCluster({ gateways: 3, plain, lease: "5s" }, async (cluster) => {
      const start = () => cluster.startApp({ functions: "graphs" });
      const apps = [await start(), await start(), await start()];
      await publishShapes(cluster.url, { dispatch });
      const startedMs = performance.now();
      let [isKilling, each] = [true, 0];
      const kill = async (): Promise<void> => {
        for (let turn = 0; turn < kills; turn += 1) {
          const member = cluster.member(turn % 3);
          await member.kill();
          await apps[turn % 3]?.kill();
          await sleep(500);
          await member.start();
          apps[turn % 3] = await start();
          await sleep(1500);
        }
      };
      const killing = kill().finally(() => {
        isKilling = false;
      });
      // Said below, also where it fails while events are sent.
      killing.catch(() => {});
      // While a gateway is away its share is sent to another one.
      for (; isKilling; each += 1) {
        await send(cluster, events(1));
        await sleep(50);
      }
      await killing;
      await cluster.ended(each * graphShapes.length, 120_000);
      await checkRuns(cluster, each);
      const took = Math.round(performance.now() - startedMs);
      const lost = await cluster.logged("LEASE_LOST");
      const runs = each * graphShapes.length;
      rows.push({
        gateways: 3,
        protocol,
        runs,
        dispatch: `${dispatch}, with kills`,
        "took, ms": took,
        "leases lost": lost,
      });
    });
  });
});

/** To any gateway that takes it, once: events have ids. */
async function send(cluster: Cluster, list: readonly object[]): Promise<void> {
  const named = list.map((event, index) => ({ ...event, id: `${Date.now()}-${index}-${Math.random()}` }));
  for (let attempt = 0; ; attempt += 1) {
    try {
      await cluster.member(attempt % 3).api.send(named);
      return;
    } catch (error) {
      if (attempt > 100) throw error;
      await sleep(100);
    }
  }
}
