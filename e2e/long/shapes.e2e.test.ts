import { afterAll, describe, expect, test } from "vitest";
import { type Shape, shapes } from "../fixtures/shapes.mjs";
import { type Cluster, inCluster } from "./cluster.ts";
import { table } from "./throughput.ts";

const times = 100;
const rows: Record<string, string | number>[] = [];

const protocols = [
  { protocol: "extensions", plain: false },
  { protocol: "plain", plain: true },
];
const cases = [1, 3].flatMap((gateways) => protocols.map((each) => ({ gateways, ...each })));

afterAll(() => table(`Every shape ${times} times, all at once`, rows));

interface Run {
  readonly id: string;
  readonly shape: string;
  readonly status: string;
  readonly output: unknown;
  readonly passes: number;
  readonly targeted: number;
}

async function runsOf({ sql }: Cluster): Promise<Run[]> {
  const found = await sql`
    SELECT run.id, run.function_id, run.status, run.output,
      (SELECT count(*)::int FROM holdfast.run_facts WHERE run_id = run.id AND kind = 'DISPATCHED' AND key = '') AS passes,
      (SELECT count(*)::int FROM holdfast.run_facts WHERE run_id = run.id AND kind = 'DISPATCHED' AND key <> ''
        AND data::jsonb ->> 'kind' = 'step') AS targeted
    FROM holdfast.runs AS run`;
  return found.map(({ id, function_id, status, output, passes, targeted }) => ({
    id,
    shape: String(function_id).replace(/^long-/, ""),
    status,
    output: JSON.parse(output ?? "null"),
    passes,
    targeted,
  }));
}

/** What is wrong with a run's step bodies: each of `steps` ran exactly once, each of `losers` at most once, nothing else. */
function wrongBodies(shape: Shape, noted: readonly string[]): string[] {
  const left = [...noted];
  const take = (name: string): boolean => {
    const index = left.indexOf(name);
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  };
  const missing = shape.steps.filter((name) => !take(name));
  for (const name of shape.losers ?? []) take(name);
  return [...missing.map((name) => `${name} did not run`), ...left.map((name) => `${name} ran once more`)];
}

describe.each(cases)("$gateways gateway(s), $protocol", ({ gateways, protocol, plain }) => {
  test(`in every shape of steps, run ${times} times at once, each join decides once and no step is dispatched twice`, async () => {
    await inCluster({ gateways, plain }, async (cluster) => {
      for (const member of cluster.members) await cluster.startApp({ functions: "shapes", url: member.url });
      const events = Array.from({ length: times }, () => shapes.map(({ id }) => ({ name: `shape/${id}` }))).flat();
      const startedMs = performance.now();
      await cluster.ended(await cluster.send(events));
      const took = performance.now() - startedMs;

      const runs = await runsOf(cluster);
      const bodies = new Map<string, string[]>(runs.map(({ id }) => [id, []]));
      for (const { runId, what } of cluster.journal.entries()) bodies.get(runId)?.push(what);
      for (const shape of shapes) {
        const own = runs.filter((run) => run.shape === shape.id);
        expect(own, shape.id).toHaveLength(times);
        const wrong = own.flatMap(({ id, status, output }) => [
          ...(status === "COMPLETED" ? [] : [`${id} is ${status}`]),
          ...(JSON.stringify(output) === JSON.stringify(shape.output) ? [] : [`${id} gave ${JSON.stringify(output)}`]),
          ...wrongBodies(shape, bodies.get(id) ?? []).map((what) => `${id}: ${what}`),
        ]);
        expect(wrong, shape.id).toEqual([]);
        const passes = plain ? shape.passes.plain : shape.passes.inPlace;
        const targeted = plain ? shape.targeted : 0;
        const dispatched = own.map((run) => `${run.passes} and ${run.targeted}`);
        expect(new Set(dispatched), `${shape.id}: passes and targeted requests`).toEqual(
          new Set([`${passes} and ${targeted}`]),
        );
        rows.push({
          shape: shape.id,
          gateways,
          protocol,
          "passes a run": passes,
          "targeted requests a run": targeted,
          "bodies a run": shape.steps.length,
        });
      }
      await checkDispatches(cluster, runs);
      rows.push({
        shape: `all ${events.length} runs`,
        gateways,
        protocol,
        "passes a run": `took ${Math.round(took)} ms`,
      });
    });
  });
});

/** What was sent to apps is what the log says was to be sent: nothing more, and every lease was good for one dispatch. */
async function checkDispatches(cluster: Cluster, runs: readonly Run[]): Promise<void> {
  const planned = runs.reduce((total, { passes, targeted }) => total + passes + targeted, 0);
  let sent = 0;
  for (const { url } of cluster.members) {
    const response = await fetch(new URL("/v1/metrics", url));
    const { dispatcher } = (await response.json()) as { dispatcher: { dispatches: number } };
    sent += dispatcher.dispatches;
  }
  expect(sent).toBe(planned);
  expect(await cluster.logged("LEASE_LOST")).toBe(0);
}
