import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "@holdfast/testing";
import { afterAll, describe, expect, test } from "vitest";
import { type Cluster, inCluster } from "./cluster.ts";
import { bodies, duplicates } from "./effects.ts";
import { findDebianPostgres, MISSING, type Pair, startPair } from "./replicated.ts";
import { table } from "./throughput.ts";

const debian = findDebianPostgres();
if (debian === null) console.log(MISSING);

const rows: Record<string, string | number>[] = [];
const runs = 60;
const steps = 29;
const takesMs = 40;

afterAll(() => {
  if (debian !== null) table(`Two gateways, ${runs} runs of ${steps} steps, Postgres ${debian.major} fails over`, rows);
});

interface Metrics {
  readonly store: Record<"lostBatches" | "lostWrites" | "restoredWrites" | "incompleteRuns", number>;
}

interface Ready {
  readonly ready: boolean;
  readonly commitsLost?: { readonly batches: number; readonly isOver: boolean };
}

async function inPair(
  { synchronous, args = [], allEnd = true }: { synchronous: boolean; args?: readonly string[]; allEnd?: boolean },
  body: (cluster: Cluster, pair: Pair) => Promise<void>,
): Promise<void> {
  if (debian === null) throw new Error(MISSING);
  const pair = await startPair(debian, { synchronous });
  try {
    await inCluster({ gateways: 2, serverUrl: pair.url, args, allEnd }, (cluster) => body(cluster, pair));
  } finally {
    await pair.stop();
  }
}

/** Every gateway has an app, and all runs are under way. */
async function underLoad(cluster: Cluster): Promise<void> {
  for (const { url } of cluster.members) await cluster.startApp({ functions: "chaos", url });
  await cluster.send(Array.from({ length: runs }, () => ({ name: "test/chain", data: { steps, takesMs } })));
  await waitFor(() => bodies(cluster.journal) >= runs * 5, { what: "the runs to be under way" });
}

async function readyOf(cluster: Cluster): Promise<readonly Ready[]> {
  return Promise.all(
    cluster.members.map(async ({ url }) => {
      const response = await fetch(new URL("/ready", url), { signal: AbortSignal.timeout(5_000) });
      return (await response.json()) as Ready;
    }),
  );
}

const allReady = (cluster: Cluster): Promise<unknown> =>
  waitFor(async () => (await readyOf(cluster)).every(({ ready }) => ready), {
    what: "every gateway to be ready",
    timeoutMs: 60_000,
  });

async function losses(cluster: Cluster): Promise<Metrics["store"]> {
  const sum = { lostBatches: 0, lostWrites: 0, restoredWrites: 0, incompleteRuns: 0 };
  for (const { url } of cluster.members) {
    const { store } = (await (await fetch(new URL("/v1/metrics", url))).json()) as Metrics;
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += store[name];
  }
  return sum;
}

/** Results that are on record, of all runs. */
async function onRecord(cluster: Cluster): Promise<number> {
  return cluster.logged("STEP_COMPLETED");
}

describe.skipIf(debian === null)("Debian's Postgres, primary and standby", () => {
  test("a synchronous standby that is promoted after a read-only window: nothing is lost, and nothing is redone", async () => {
    await inPair({ synchronous: true }, async (cluster, pair) => {
      await underLoad(cluster);
      await pair.primary.kill();
      const goneMs = performance.now();
      // The address is quicker than the promotion: reads are answered, writes are refused.
      await pair.moveAddress();
      await waitFor(async () => (await readyOf(cluster)).every(({ ready }) => !ready), {
        what: "the gateways to say that the standby takes no writes",
      });
      await sleep(1_000);
      await pair.promote();
      await allReady(cluster);
      const readyMs = performance.now() - goneMs;
      await cluster.ended(runs);
      expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
      expect(duplicates(cluster.journal)).toEqual([]);
      expect(await onRecord(cluster)).toBe(runs * steps);
      const lost = await losses(cluster);
      expect(lost).toEqual({ lostBatches: 0, lostWrites: 0, restoredWrites: 0, incompleteRuns: 0 });
      note("synchronous", cluster, readyMs, lost, await onRecord(cluster));
    });
  });

  test("an asynchronous standby that was a second behind: everything that was lost is named and sent again, and nothing is redone", async () => {
    await inPair({ synchronous: false }, async (cluster, pair) => {
      await underLoad(cluster);
      await pair.cutReplication();
      // Acknowledged, and gone with the primary: results, and events of senders.
      const late = await cluster.send([{ name: "test/chain", data: { steps, takesMs } }]);
      const before = bodies(cluster.journal);
      await waitFor(() => bodies(cluster.journal) >= before + runs * 10, { what: "more steps to end" });
      await pair.primary.kill();
      const goneMs = performance.now();
      await pair.promote();
      await pair.moveAddress();
      await allReady(cluster);
      const readyMs = performance.now() - goneMs;
      await cluster.ended(runs + late);
      expect(await cluster.statuses()).toEqual({ COMPLETED: runs + late });
      expect(duplicates(cluster.journal)).toEqual([]);
      expect(await onRecord(cluster)).toBe((runs + late) * steps);
      const lost = await losses(cluster);
      expect(lost.lostBatches).toBeGreaterThan(0);
      expect(lost.restoredWrites).toBe(lost.lostWrites);
      expect(lost.incompleteRuns).toBe(0);
      // Said by gateways and by the runs themselves.
      expect((await readyOf(cluster)).some(({ commitsLost }) => commitsLost?.isOver === true)).toBe(true);
      const [row] = await cluster.sql`SELECT run_id FROM holdfast.run_facts WHERE kind = 'COMMITS_LOST' LIMIT 1`;
      const answer = await fetch(new URL(`/v1/runs/${String(row?.run_id)}`, cluster.url));
      const { commitsLost } = (await answer.json()) as { commitsLost: { writes: number; restored: number }[] };
      expect(commitsLost.length).toBeGreaterThan(0);
      for (const { writes, restored } of commitsLost) expect(restored).toBe(writes);
      note("asynchronous, sent again", cluster, readyMs, lost, await onRecord(cluster));
    });
  });

  test("an asynchronous standby and gateways that remember nothing: every run of which something is lost is named", async () => {
    await inPair({ synchronous: false, args: ["--resend-memory", "0"] }, async (cluster, pair) => {
      await underLoad(cluster);
      await pair.cutReplication();
      const before = bodies(cluster.journal);
      await waitFor(() => bodies(cluster.journal) >= before + runs * 10, { what: "more steps to end" });
      await pair.primary.kill();
      const goneMs = performance.now();
      await pair.promote();
      await pair.moveAddress();
      await allReady(cluster);
      const readyMs = performance.now() - goneMs;
      await cluster.ended(runs);
      expect(await cluster.statuses()).toEqual({ COMPLETED: runs });
      const lost = await losses(cluster);
      expect(lost.lostWrites).toBeGreaterThan(0);
      expect(lost.restoredWrites).toBe(0);
      // A run whose record lacks a step, or whose steps ran again, says so itself.
      const short = await cluster.sql`SELECT id FROM holdfast.runs r WHERE (SELECT count(*) FROM holdfast.run_facts f
        WHERE f.run_id = r.id AND f.kind = 'STEP_COMPLETED') < ${steps}`;
      const again = duplicates(cluster.journal).map((line) => line.split(" ")[0] ?? "");
      const named = await cluster.sql`SELECT DISTINCT run_id FROM holdfast.run_facts WHERE kind = 'COMMITS_LOST'`;
      const names = new Set(named.map(({ run_id }) => String(run_id)));
      expect([...short.map(({ id }) => String(id)), ...again].filter((id) => !names.has(id))).toEqual([]);
      note("asynchronous, nothing remembered", cluster, readyMs, lost, await onRecord(cluster));
    });
  });
});

function note(what: string, cluster: Cluster, readyMs: number, lost: Metrics["store"], recorded: number): void {
  rows.push({
    what,
    "ready after (ms)": Math.round(readyMs),
    "commits lost": lost.lostBatches,
    "writes lost": lost.lostWrites,
    "sent again": lost.restoredWrites,
    "runs incomplete": lost.incompleteRuns,
    "steps on record": recorded,
    "bodies run twice": duplicates(cluster.journal).length,
  });
}
