import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { expectedOf, programOf } from "../fixtures/programs.mjs";
import { randomFrom } from "../support/random.mjs";
import type { App } from "../test/world.ts";
import { type Cluster, inCluster } from "./cluster.ts";
import { redoneAfterAcknowledgement } from "./effects.ts";
import { feed, table } from "./throughput.ts";

/** Names the whole set of programs: HOLDFAST_TEST_SEED=n runs another one, HOLDFAST_TEST_PROGRAMS=n more or fewer. */
const seed = Number(process.env.HOLDFAST_TEST_SEED ?? 1);
const programs = Number(process.env.HOLDFAST_TEST_PROGRAMS ?? 500);
const MOST_KILLS = 60;
const DEATHS = ["exit", "throw", "reject"] as const;
const rows: Record<string, string | number>[] = [];
const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];

afterAll(() => table(`Random programs, HOLDFAST_TEST_SEED=${seed}`, rows));

const seedOf = (index: number): number => seed * 100_000 + index;

interface Found {
  readonly runId: string;
  readonly seed: number;
  readonly status: string;
  readonly output: unknown;
  readonly message: string;
  readonly settled: number;
  /** The log, a word for each row. */
  readonly log: string;
}

async function runsOf({ sql }: Cluster): Promise<Found[]> {
  const found = await sql`
    SELECT run.id, run.status, run.output, run.error, event.payload,
      (SELECT count(*)::int FROM holdfast.run_facts
       WHERE run_id = run.id AND kind IN ('STEP_COMPLETED', 'STEP_FAILED')) AS settled,
      (SELECT string_agg(kind || coalesce(' ' || (data::jsonb #>> '{step,name}'), '') || ' ' || attempt || '.' || iteration, ', ' ORDER BY seq, place)
       FROM holdfast.run_facts WHERE run_id = run.id) AS log
    FROM holdfast.runs AS run JOIN holdfast.whole_events AS event ON event.id = run.event_id`;
  return found.map(({ id, status, output, error, payload, settled, log }) => ({
    runId: id,
    seed: JSON.parse(payload).data.seed,
    status,
    output: JSON.parse(output ?? "null"),
    message: JSON.parse(error ?? "{}").message ?? "",
    settled,
    log,
  }));
}

/** What is wrong with a run, compared with the oracle. With kills a body may run again, until its result is stored. */
function wrongOf(found: Found, noted: readonly string[], kills: boolean): string[] {
  const program = programOf(found.seed);
  const expected = expectedOf(program);
  const wrong: string[] = [];
  const text = JSON.stringify(expected.output);
  if (program.ends === "well") {
    if (found.status !== "COMPLETED") wrong.push(`is ${found.status}: ${found.message}`);
    if (JSON.stringify(found.output) !== text) wrong.push(`gave ${JSON.stringify(found.output)} instead of ${text}`);
  } else if (found.status !== "FAILED" || found.message !== `Ends badly after ${text}`) {
    wrong.push(`is ${found.status} with "${found.message}" instead of failing after ${text}`);
  }
  const counts = new Map<string, number>();
  for (const what of noted) {
    const name = what.split(" ")[0] ?? "";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [name, times] of expected.bodies) {
    const ran = counts.get(name) ?? 0;
    if (kills ? ran < times : ran !== times) wrong.push(`${name} ran ${ran} times instead of ${times}`);
    counts.delete(name);
  }
  for (const [name, ran] of counts) {
    if (!expected.losers.has(name)) wrong.push(`${name} ran and is not in the program`);
    else if (!kills && ran > 1) wrong.push(`${name} of a race ran ${ran} times`);
  }
  const most = expected.settled + expected.losers.size;
  if (found.settled < expected.settled || found.settled > most) {
    wrong.push(`${found.settled} steps are settled instead of ${expected.settled} to ${most}`);
  }
  return wrong.map((what) => `program ${found.seed} (run ${found.runId}): ${what}; its log: ${found.log}`);
}

/** Sends what programs wait for, again and again: an event that comes before its wait is no one's. */
async function sendWhatIsWaitedFor(cluster: Cluster, over: () => boolean): Promise<void> {
  while (!over()) {
    const live = await cluster.sql`
      SELECT event.payload FROM holdfast.runs AS run JOIN holdfast.whole_events AS event ON event.id = run.event_id
      WHERE run.ended_at IS NULL`;
    const seeds = live.map(({ payload }): number => JSON.parse(payload).data.seed);
    const events = seeds
      .filter((each) => expectedOf(programOf(each)).waits)
      .map((each) => ({ name: "program/go", data: { seed: each } }));
    if (events.length > 0) await cluster.api.send(events).catch(() => {});
    await sleep(1000);
  }
}

async function runPrograms(cluster: Cluster, first: number, disturb: (over: () => boolean) => Promise<void>) {
  let over = false;
  let sent = 0;
  const event = (index: number) => {
    sent = Math.max(sent, index + 1);
    return { name: "program/run", data: { seed: seedOf(first + index) } };
  };
  const helpers = [sendWhatIsWaitedFor(cluster, () => over), disturb(() => over)];
  // Looked at when all is over; one that fails earlier is not unhandled until then.
  for (const helper of helpers) helper.catch(() => {});
  try {
    await feed(cluster, { inFlight: 500, total: programs, event });
    await cluster.ended(sent, 170_000);
  } finally {
    over = true;
    await Promise.all(helpers);
  }
}

async function check(cluster: Cluster, kills: boolean): Promise<void> {
  const runs = await runsOf(cluster);
  expect(runs).toHaveLength(programs);
  const noted = new Map<string, string[]>(runs.map(({ runId }) => [runId, []]));
  for (const { runId, what } of cluster.journal.entries()) if (!what.startsWith("got ")) noted.get(runId)?.push(what);
  const wrong = runs.flatMap((found) => wrongOf(found, noted.get(found.runId) ?? [], kills));
  expect(wrong.slice(0, 10), `${wrong.length} things are wrong; HOLDFAST_TEST_SEED=${seed}`).toEqual([]);
  expect(await redoneAfterAcknowledgement(cluster)).toEqual([]);
}

describe.each(protocols)("$protocol", ({ protocol, plain }) => {
  test(`${programs} random programs give the oracle's result and run each step body exactly as often`, async () => {
    // A machine that is busy elsewhere is no reason to lose anybody: each body runs exactly as often as it should.
    const patience = { heartbeat: "20s", lease: "120s", args: ["--reconnect-grace", "60s"] };
    await inCluster({ gateways: 2, plain, ...patience }, async (cluster) => {
      for (const { url } of cluster.members) await cluster.startApp({ functions: "programs", url });
      const startedMs = performance.now();
      await runPrograms(cluster, 0, async () => {});
      await check(cluster, false);
      rows.push({ protocol, kills: "none", programs, "took (ms)": Math.round(performance.now() - startedMs) });
    });
  });

  test(`${programs} random programs end while gateways, apps and threads are killed, and no stored step is repeated`, async () => {
    await inCluster({ gateways: 2, plain, lease: "5s", args: ["--reconnect-grace", "1s"] }, async (cluster) => {
      const apps: App[] = [];
      for (let app = 0; app < 3; app++) apps.push(await cluster.startApp({ functions: "programs" }));
      const startedMs = performance.now();
      const kills = { gateways: 0, apps: 0, threads: 0 };
      await runPrograms(cluster, programs, (over) => killAll(cluster, apps, kills, over));
      await check(cluster, true);
      const what = `${kills.gateways} gateways, ${kills.apps} apps, ${kills.threads} threads`;
      rows.push({ protocol, kills: what, programs, "took (ms)": Math.round(performance.now() - startedMs) });
    });
  });
});

/** Kills of each kind in turn, one after the other has come back, until all is over; in the end each has happened. */
async function killAll(
  cluster: Cluster,
  apps: App[],
  kills: { gateways: number; apps: number; threads: number },
  over: () => boolean,
): Promise<void> {
  const random = randomFrom(seed);
  for (let turn = 0; turn < 3 || (!over() && turn < MOST_KILLS); turn++) {
    await sleep(300 + random() * 900);
    if (turn % 3 === 0) {
      await apps.shift()?.kill();
      apps.push(await cluster.startApp({ functions: "programs" }));
      kills.apps += 1;
    } else if (turn % 3 === 1) {
      const member = cluster.member(Math.floor(random() * cluster.members.length));
      await member.kill();
      await member.start();
      kills.gateways += 1;
    } else {
      const how = DEATHS[Math.floor(random() * DEATHS.length)];
      await apps[Math.floor(random() * apps.length)]?.ask("killThread", { how });
      kills.threads += 1;
    }
  }
}
