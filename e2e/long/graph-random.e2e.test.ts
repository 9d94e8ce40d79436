import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { decidedTwice } from "../support/graph-shapes.ts";
import { endedRuns, type RandomRun, randomRuns, startRandom, wrongOf } from "../support/random-graph-runs.ts";
import type { JournalEntry } from "../test/journal-reader.ts";
import { type Cluster, inCluster } from "./cluster.ts";
import { table } from "./throughput.ts";

/** Names the whole set: HOLDFAST_TEST_SEED=n runs another one, HOLDFAST_TEST_GRAPHS=n more or fewer. */
const seed = Number(process.env.HOLDFAST_TEST_SEED ?? 1);
const graphs = Number(process.env.HOLDFAST_TEST_GRAPHS ?? 500);
const KILLS = 6;
const AT_ONCE = 10;
/** Of what is wrong. */
const SHOWN = 5;
const rows: Record<string, string | number>[] = [];
const protocols = [
  { protocol: "extensions", plain: false, dispatch: "run" },
  { protocol: "extensions", plain: false, dispatch: "node" },
  { protocol: "plain", plain: true, dispatch: "run" },
];

afterAll(() => table(`Random graphs, HOLDFAST_TEST_SEED=${seed}`, rows));

/** Runs them all, each at the gateway whose turn it is, and says what is otherwise than the reference has it. */
async function play(cluster: Cluster, runs: readonly RandomRun[], dispatch: string, kills: boolean): Promise<string[]> {
  const ids = new Map<string, RandomRun>();
  const left = runs.map((run, index) => ({ run, index }));
  const starting = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const id = await started(cluster, next.run, { id: `random-${next.index}`, dispatch }, next.index);
      ids.set(id, next.run);
      // So that kills meet runs of every age.
      if (kills) await sleep(100);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, starting));
  await cluster.ended(runs.length, 150_000);
  const ended = await endedRuns(cluster.sql);
  const noted = new Map<string, JournalEntry[]>();
  for (const entry of cluster.journal.entries()) noted.set(entry.runId, [...(noted.get(entry.runId) ?? []), entry]);
  const wrong = [...ids].flatMap(([id, run]) => {
    const end = ended.get(id);
    const found = end ? wrongOf(run, end, { noted: noted.get(id) ?? [], kills }) : ["it is not there"];
    return found.map((what) => `${id}: ${what}\n${JSON.stringify(run.graph)}`);
  });
  expect(ids.size).toBe(runs.length);
  return [...wrong.slice(0, SHOWN), ...(await decidedTwice(cluster.sql))];
}

/** While a gateway is away another one takes it: the id makes it one run. */
async function started(cluster: Cluster, run: RandomRun, more: object, turn: number): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await startRandom(cluster.member((turn + attempt) % cluster.members.length).url, run, more);
    } catch (error) {
      if (attempt > 100) throw error;
      await sleep(100);
    }
  }
}

describe.each(protocols)("Random graphs, $protocol, dispatch $dispatch", ({ protocol, plain, dispatch }) => {
  test(`${graphs} of them run as the reference says, on one gateway`, async () => {
    await inCluster({ gateways: 1, plain }, async (cluster) => {
      await cluster.startApp({ functions: "graphs" });
      const startedMs = performance.now();
      expect(await play(cluster, randomRuns(graphs, seed), dispatch, false)).toEqual([]);
      const took = Math.round(performance.now() - startedMs);
      rows.push({ protocol, dispatch, graphs, gateways: 1, kills: 0, "took, ms": took });
    });
  });

  test(`${graphs} of them run as the reference says while three gateways and their apps are killed with -9`, async () => {
    await inCluster({ gateways: 3, plain, lease: "5s" }, async (cluster) => {
      const start = () => cluster.startApp({ functions: "graphs" });
      const apps = [await start(), await start(), await start()];
      const startedMs = performance.now();
      const playing = play(cluster, randomRuns(graphs, seed + 1), dispatch, true);
      for (let turn = 0; turn < KILLS; turn += 1) {
        await sleep(700);
        await cluster.member(turn % 3).kill();
        await apps[turn % 3]?.kill();
        await sleep(300);
        await cluster.member(turn % 3).start();
        apps[turn % 3] = await start();
      }
      expect(await playing).toEqual([]);
      const took = Math.round(performance.now() - startedMs);
      rows.push({ protocol, dispatch, graphs, gateways: 3, kills: 2 * KILLS, "took, ms": took });
    });
  });
});
