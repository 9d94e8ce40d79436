import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { startBadNetwork } from "../support/bad-network.mjs";
import { randomFrom } from "../support/random.mjs";
import { type Cluster, inCluster } from "./cluster.ts";
import { type Account, account } from "./outside/account.ts";
import { type Fault, SCENARIOS } from "./outside/faults.ts";
import { Field } from "./outside/field.ts";
import { Load, RUNS_PER_EVENTS } from "./outside/load.ts";
import { table } from "./throughput.ts";

/** HOLDFAST_TEST_EVENTS=n sends so many in each scenario, HOLDFAST_TEST_SEED=n chooses other moments and victims. */
const events = Number(process.env.HOLDFAST_TEST_EVENTS ?? 2_000);
const seed = Number(process.env.HOLDFAST_TEST_SEED ?? 1);
const EVENTS_PER_SECOND = 25;
/** Within so long everything ends once the faults are over. */
const PATIENCE_MS = 300_000;
const rows: Record<string, string | number>[] = [];

afterAll(() => table(`Two gateways, two apps of two workers each, ${events} events a scenario`, rows));

/** One fault after the other until `over`, each at least once. Returns how many there were of each. */
async function disturb(field: Field, faults: readonly Fault[], over: AbortSignal): Promise<Map<string, number>> {
  const done = new Map<string, number>();
  for (let count = 0; !over.aborted || count < faults.length; count++) {
    await sleep(field.between(800, 2_500));
    const fault = faults[count % faults.length] as Fault;
    await fault.act(field);
    done.set(fault.name, (done.get(fault.name) ?? 0) + 1);
  }
  return done;
}

async function play(cluster: Cluster, name: string): Promise<{ result: Account; faults: Map<string, number> }> {
  const random = randomFrom(seed);
  const network = await startBadNetwork(
    cluster.members.map(({ port }) => port),
    random,
  );
  const field = new Field(cluster, network, random);
  const load = new Load(field);
  try {
    await field.startWorkers();
    const over = new AbortController();
    const answering = load.answerWaits();
    const sent = load.send(events, EVENTS_PER_SECOND).finally(() => over.abort());
    const [faults] = await Promise.all([disturb(field, SCENARIOS[name] ?? [], over.signal), sent]);
    const runs = RUNS_PER_EVENTS(events);
    // What is stuck or lost is counted below.
    await cluster.ended(runs, PATIENCE_MS).catch(() => {});
    load.stop();
    await answering;
    return { result: await account(cluster, load.acknowledged), faults };
  } finally {
    load.stop();
    await network.stop();
  }
}

function report(name: string, result: Account, faults: ReadonlyMap<string, number>): void {
  rows.push({
    scenario: name,
    faults: [...faults].map(([what, times]) => `${times}x ${what}`).join(", "),
    runs: result.runs,
    status: Object.entries(result.statuses).join(", ").replaceAll(",", " "),
    "events lost": result.lost,
    stuck: result.stuck,
    "bodies done": result.bodies,
    "begun again after being stored": result.redone.length,
    "effects twice": result.twice,
    "stored without effect": result.withoutEffect.length,
  });
  if (result.redone.length > 0) console.log(`${name}, begun again:\n${result.redone.slice(0, 20).join("\n")}`);
}

const scenarios = [
  { protocol: "ext", plain: false },
  { protocol: "plain", plain: true },
].flatMap(({ protocol, plain }) =>
  Object.keys(SCENARIOS).map((scenario) => ({ name: `${scenario}-${protocol}`, scenario, plain })),
);

test.each(scenarios)(
  "no event is lost and no stored step repeated in the scenario $name",
  { timeout: 900_000 },
  async ({ name, scenario, plain }) => {
    const ownPostgres = { track_commit_timestamp: "on" };
    const times = { heartbeat: "3s", lease: "15s" };
    await inCluster({ gateways: 2, plain, ownPostgres, ...times }, async (cluster) => {
      const { result, faults } = await play(cluster, scenario);
      report(name, result, faults);
      const { lost, doubled, stuck, redone, withoutEffect } = result;
      expect({ lost, doubled, stuck, redone, withoutEffect }).toEqual({
        lost: 0,
        doubled: 0,
        stuck: 0,
        redone: [],
        withoutEffect: [],
      });
      expect(result.statuses).toEqual({ COMPLETED: RUNS_PER_EVENTS(events) });
      expect(result.bodies).toBeGreaterThanOrEqual(5 * RUNS_PER_EVENTS(events));
    });
  },
);
