/**
 * Forks and reruns of random programs, from every step that they met: what a fork keeps is not done again, the rest is
 * done as in any run.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { expectedOf, programOf } from "../fixtures/programs.mjs";
import type { App } from "../test/world.ts";
import { type Cluster, inCluster } from "./cluster.ts";
import { feed } from "./throughput.ts";

/** HOLDFAST_TEST_SEED=n runs another set, HOLDFAST_TEST_PROGRAMS=n more or fewer. */
const seed = Number(process.env.HOLDFAST_TEST_SEED ?? 1);
const programs = Number(process.env.HOLDFAST_TEST_PROGRAMS ?? 60);
const AT_ONCE = 20;
const CONFLICTS: readonly string[] = ["RUN_UNDONE"];

const program = (of: number) => programOf(of, { rich: true });

interface Made {
  readonly runId: string;
  readonly of: number;
  readonly from: string;
  /** Names of the steps that it keeps, as the log has them. */
  readonly kept: ReadonlySet<string>;
  readonly isEdited: boolean;
}

interface Row {
  readonly kind: string;
  readonly key: string;
  readonly name: string | null;
  /** JSON. */
  readonly result: string | null;
}

const isStep = ({ kind, name }: Row): boolean =>
  kind.startsWith("STEP_") && name !== null && !name.startsWith("holdfast/") && !name.startsWith("compensate ");
const isResult = ({ kind }: Row): boolean => kind === "STEP_COMPLETED" || kind === "STEP_FAILED";

async function logOf({ sql }: Cluster, runId: string): Promise<Row[]> {
  return sql<Row[]>`SELECT kind, key, coalesce(data::jsonb #>> '{step,name}', data::jsonb ->> 'name') AS name,
      (data::jsonb -> 'data')::text AS result
    FROM holdfast.run_facts WHERE run_id = ${runId} ORDER BY seq, place`;
}

/** Sends what runs wait for until it is over: to forks as to other runs. */
async function answerWaits(cluster: Cluster, over: () => boolean): Promise<void> {
  const { sql, api } = cluster;
  const headers = { "content-type": "application/json" };
  while (!over()) {
    const rows = await sql<{ run_id: string; name: string; seed: number }[]>`
      SELECT w.run_id, f.data::jsonb ->> 'name' AS name, (e.payload::jsonb #>> '{data,seed}')::int AS seed
      FROM holdfast.waits w JOIN holdfast.runs r ON r.id = w.run_id JOIN holdfast.whole_events e ON e.id = r.event_id
      JOIN holdfast.run_facts f ON f.run_id = w.run_id AND f.key = w.key AND f.kind = 'STEP_WAITING'`;
    const events = [...new Set(rows.map((row) => row.seed))].map((of) => ({ name: "program/go", data: { seed: of } }));
    if (events.length > 0) await api.send(events).catch(() => {});
    const signal = (row: (typeof rows)[number]): Promise<unknown> =>
      fetch(new URL("/v1/signals", api.url), {
        method: "POST",
        headers,
        body: JSON.stringify({ signal: `${row.run_id} ${row.name}`, data: `signalled ${row.name}` }),
      }).catch(() => {});
    await Promise.all(rows.map(signal));
    await sleep(500);
  }
}

async function post(cluster: Cluster, path: string, body: object): Promise<{ status: number; body: Answer }> {
  for (let tries = 0; ; tries += 1) {
    try {
      const response = await fetch(new URL(path, cluster.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (response.status < 500) return { status: response.status, body: (await response.json()) as Answer };
    } catch (error) {
      if (tries === 100) throw error;
    }
    await sleep(100);
  }
}

interface Answer {
  readonly id?: string;
  readonly run?: { readonly id: string };
  readonly code?: string;
  readonly error?: string;
}

const idIn = ({ id, run }: Answer): string => id ?? run?.id ?? "";

/** A rerun, a fork from each step that the run met, and one that is told another result. */
async function makeAll(cluster: Cluster, runId: string, of: number): Promise<Made[]> {
  const log = await logOf(cluster, runId);
  const made: Made[] = [];
  const again = await post(cluster, `/v1/runs/${runId}/rerun`, {});
  expect(again.status, JSON.stringify(again.body)).toBeLessThan(300);
  made.push({ runId: idIn(again.body), of, from: "the beginning", kept: new Set(), isEdited: false });
  const keys = [...new Set(log.filter(isStep).map(({ key }) => key))];
  // Of those whose result the program only hands on.
  const plain = log.filter((row) => isStep(row) && row.result === JSON.stringify(row.name));
  const edited = plain[Math.floor(plain.length / 2)]?.key;
  for (const key of keys) {
    const first = log.findIndex((row) => row.key === key && isStep(row));
    const before = log.slice(0, first).filter((row) => isStep(row) && isResult(row));
    const name = log[first]?.name ?? key;
    const isEdited = key === edited;
    const wanted = isEdited ? { step: key, result: "edited" } : { step: key };
    const { status, body } = await post(cluster, `/v1/runs/${runId}/fork`, wanted);
    if (CONFLICTS.includes(body.code ?? "")) {
      expect(
        log.some((row) => row.name?.startsWith("compensate ")),
        `${runId} from ${name}: ${body.error}`,
      ).toBe(true);
      continue;
    }
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    const kept = new Set(before.map((row) => row.name ?? ""));
    if (isEdited) kept.add(name);
    made.push({ runId: idIn(body), of, from: name, kept, isEdited });
  }
  return made;
}

const nameOf = (noted: string): string => noted.replace(/ round 0$/, "").replace(" round ", ":");

/** With kills a body may be begun again until its result is stored; one of a kept step never is. */
function wrongOf(
  one: Made,
  noted: readonly string[],
  end: { status: string; output: unknown; message: string },
  kills: boolean,
): string[] {
  const expected = expectedOf(program(one.of));
  const wrong: string[] = [];
  const bodies = noted.filter((what) => !what.startsWith("got ") && !what.startsWith("undo "));
  const counts = new Map<string, number>();
  for (const what of bodies) counts.set(nameOf(what), (counts.get(nameOf(what)) ?? 0) + 1);
  for (const name of one.kept) if (counts.has(name)) wrong.push(`${name} is kept, and ran ${counts.get(name)} times`);
  for (const [name, times] of perStep(expected.bodies, one.of)) {
    const ran = counts.get(name) ?? 0;
    if (one.kept.has(name)) continue;
    if (kills ? ran < times : ran !== times) wrong.push(`${name} ran ${ran} times instead of ${times}`);
  }
  for (const name of expected.losers)
    if (!kills && (counts.get(name) ?? 0) > 1) wrong.push(`${name} of a race ran twice`);
  if (!one.isEdited) {
    const text = JSON.stringify(expected.output);
    const isRight =
      program(one.of).ends === "well"
        ? end.status === "COMPLETED" && JSON.stringify(end.output) === text
        : end.status === "FAILED" && end.message === `Ends badly after ${text}`;
    if (!isRight) wrong.push(`is ${end.status} with ${JSON.stringify(end.output)} ${end.message}, not ${text}`);
  } else if (end.status !== "COMPLETED" && end.status !== "FAILED") wrong.push(`is ${end.status}`);
  return wrong.map((what) => `${one.runId} of program ${one.of} from ${one.from}: ${what}`);
}

/** A loop's body is a step for each of its rounds. */
function perStep(bodies: ReadonlyMap<string, number>, of: number): Map<string, number> {
  const loops = new Set(loopsIn(program(of).root));
  return new Map(
    [...bodies].flatMap(([name, times]) =>
      loops.has(name)
        ? Array.from({ length: times }, (_, round) => [round === 0 ? name : `${name}:${round}`, 1] as const)
        : [[name, times] as const],
    ),
  );
}

function loopsIn(node: ReturnType<typeof programOf>["root"]): string[] {
  if (node.kind === "loop") return [node.name];
  return node.kind === "sequence" || node.kind === "parallel" ? node.parts.flatMap(loopsIn) : [];
}

async function runAll(
  cluster: Cluster,
  first: number,
  disturb: (over: () => boolean) => Promise<void>,
): Promise<Made[]> {
  let over = false;
  const helpers = [answerWaits(cluster, () => over)];
  for (const helper of helpers) helper.catch((error) => console.log(error));
  try {
    const event = (index: number) => ({ name: "program/rich", data: { seed: seed * 100_000 + first + index } });
    await feed(cluster, { inFlight: 500, total: programs, event });
    await allEnded(cluster);
    const origins = await cluster.sql<{ id: string; seed: number }[]>`
      SELECT r.id, (e.payload::jsonb #>> '{data,seed}')::int AS seed FROM holdfast.runs r
      JOIN holdfast.whole_events e ON e.id = r.event_id WHERE r.event_name = 'program/rich'`;
    expect(origins).toHaveLength(programs);
    helpers.push(disturb(() => over));
    const made: Made[] = [];
    for (let at = 0; at < origins.length; at += AT_ONCE) {
      const some = origins.slice(at, at + AT_ONCE);
      made.push(...(await Promise.all(some.map((run) => makeAll(cluster, run.id, run.seed)))).flat());
    }
    await allEnded(cluster);
    return made;
  } finally {
    over = true;
    await Promise.all(helpers);
  }
}

async function allEnded({ sql, statuses }: Cluster): Promise<void> {
  const open = async (): Promise<string> => {
    const rows =
      await sql`SELECT f.run_id, string_agg(f.kind || ' ' || left(f.data, 80), ', ' ORDER BY f.seq, f.place) AS log
      FROM holdfast.run_facts f JOIN holdfast.runs r ON r.id = f.run_id WHERE r.ended_at IS NULL GROUP BY 1 LIMIT 2`;
    return `${JSON.stringify(await statuses())} ${JSON.stringify(rows)}`;
  };
  const isOver = async (): Promise<boolean> => {
    const [row] = await sql`SELECT count(*)::int AS count FROM holdfast.runs WHERE ended_at IS NULL`;
    return row?.count === 0;
  };
  await waitFor(isOver, { what: "all runs to end", timeoutMs: 40_000, intervalMs: 200, context: open });
}

async function check(cluster: Cluster, made: readonly Made[], kills: boolean): Promise<void> {
  const noted = new Map<string, string[]>();
  for (const { runId, what } of cluster.journal.entries()) noted.set(runId, [...(noted.get(runId) ?? []), what]);
  const ends = await cluster.sql<{ id: string; status: string; output: string | null; error: string | null }[]>`
    SELECT id, status, output, error FROM holdfast.runs`;
  const byId = new Map(
    ends.map(({ id, status, output, error }) => {
      return [id, { status, output: JSON.parse(output ?? "null"), message: JSON.parse(error ?? "{}").message ?? "" }];
    }),
  );
  const none = { status: "gone", output: null, message: "" };
  const wrong = made.flatMap((one) => wrongOf(one, noted.get(one.runId) ?? [], byId.get(one.runId) ?? none, kills));
  expect(wrong.slice(0, 10), `${wrong.length} things are wrong; HOLDFAST_TEST_SEED=${seed}`).toEqual([]);
  const keeping = made.filter(({ kept }) => kept.size > 0).length;
  console.log(`${made.length} runs of ${programs} programs, ${keeping} of them kept something`);
  expect(keeping).toBeGreaterThan(programs);
}

test.each([
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
])(
  "$protocol: forks of random programs from every step do what they keep not again, and the rest as often as any run",
  async ({ plain }) => {
    const patience = { heartbeat: "20s", lease: "120s", args: ["--reconnect-grace", "60s"] };
    await inCluster({ gateways: 2, plain, ...patience }, async (cluster) => {
      for (const { url } of cluster.members) await cluster.startApp({ functions: "programs", url });
      await check(cluster, await runAll(cluster, 0, async () => {}), false);
    });
  },
);

test("forks are made and run while gateways and apps are killed, and none does again what it keeps", async () => {
  await inCluster({ gateways: 2, lease: "5s", args: ["--reconnect-grace", "1s"] }, async (cluster) => {
    const apps: App[] = [];
    for (let app = 0; app < 2; app++) apps.push(await cluster.startApp({ functions: "programs" }));
    const disturb = async (over: () => boolean): Promise<void> => {
      for (let turn = 0; turn < 2 || (!over() && turn < 40); turn++) {
        await sleep(700);
        const member = cluster.member(turn % 4 === 1 ? 1 : 0);
        if (turn % 2 === 1) await member.kill();
        if (turn % 2 === 1) await member.start();
        if (turn % 2 === 0) await apps.shift()?.kill();
        if (turn % 2 === 0) apps.push(await cluster.startApp({ functions: "programs" }));
      }
    };
    await check(cluster, await runAll(cluster, programs, disturb), true);
  });
});
