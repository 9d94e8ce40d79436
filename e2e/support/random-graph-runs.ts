/** Random graphs on real gateways: started as tests of graphs, and held against the reference evaluator. */
import { createHash } from "node:crypto";
import type { Graph, GraphNode } from "@holdfast/graph";
import type postgres from "postgres";
import { itemsOf, type RandomGraph, sampleGraphs } from "../../packages/graph/test/interpret/random-graphs.ts";
import { type Expected, expectedOf } from "../../packages/graph/test/interpret/reference.ts";
import { branchOf, failsAt } from "../fixtures/fates.mjs";
import type { JournalEntry } from "../test/journal-reader.ts";
import { callJson } from "./graph-shapes.ts";

export interface RandomRun {
  readonly graph: Graph;
  readonly input: object;
  readonly expected: Expected;
  /** Keys of nodes whose body notes itself. */
  readonly bodies: ReadonlySet<string>;
}

const idOf = (key: string): string => key.replaceAll(/\[\d+\]/g, "");
const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex");

export function randomRuns(count: number, seed: number): RandomRun[] {
  return sampleGraphs({ count, seed, maxNodes: 16 }).map(randomRun);
}

/** Conditions read the input; nodes that work are of a type of the app, which fails as it is fated to. */
function randomRun({ graph: drawn, seed }: RandomGraph): RandomRun {
  const takesErrors = new Set(drawn.edges.flatMap(({ from, handle }) => (handle === "error" ? [from] : [])));
  const types = new Map(drawn.nodes.map(({ id, type }) => [id, type]));
  const nodes = drawn.nodes.map((node): GraphNode => {
    if (node.type === "work") return { ...node, type: "fate", config: { seed, fails: takesErrors.has(node.id) } };
    if (node.type !== "condition") return node;
    const branches = ["a", "b"].map((id) => ({ id, if: `ctx.input.ways.${node.id} == '${id}'` }));
    return { ...node, config: { branches } };
  });
  const ways = Object.fromEntries(
    drawn.nodes.flatMap(({ id, type }) => (type === "condition" ? [[id, branchOf(seed, id)]] : [])),
  );
  const fate = (key: string, id: string): string => {
    if (types.get(id) === "condition") return branchOf(seed, id);
    return takesErrors.has(id) && failsAt(seed, key) ? "error" : "out";
  };
  const expected = expectedOf(drawn, itemsOf, fate);
  const bodies = new Set([...expected.ran].filter((key) => types.get(idOf(key)) === "work"));
  return { graph: { ...drawn, nodes }, input: { ways }, expected, bodies };
}

/** Starts it once, whatever becomes of the answer. */
export async function startRandom(url: string, run: RandomRun, more: object): Promise<string> {
  const body = { graph: run.graph, input: run.input, app: "long", ...more };
  return ((await callJson(url, "POST", "/v1/graph-tests", body)) as { runId: string }).runId;
}

export interface EndedRun {
  readonly status: string;
  readonly output: unknown;
  readonly error: string | null;
  /** Digests of the steps that have ended, each as often as it is on record. */
  readonly steps: readonly string[];
}

export async function endedRuns(sql: postgres.Sql): Promise<ReadonlyMap<string, EndedRun>> {
  const rows = await sql`
    SELECT run.id, run.status, run.output, run.error,
      (SELECT string_agg(key, ',') FROM holdfast.run_facts
       WHERE run_id = run.id AND kind IN ('STEP_COMPLETED', 'STEP_FAILED')) AS steps
    FROM holdfast.runs AS run`;
  return new Map(
    rows.map(({ id, status, output, error, steps }) => [
      id,
      { status, output: JSON.parse(output ?? "null"), error, steps: steps === null ? [] : steps.split(",") },
    ]),
  );
}

/** What is otherwise than the reference says. With kills a body may run again, until its result is stored. */
export function wrongOf(
  { expected, bodies }: RandomRun,
  { status, output, error, steps }: EndedRun,
  { noted, kills }: { readonly noted: readonly JournalEntry[]; readonly kills: boolean },
): string[] {
  const wrong: string[] = [];
  const same = (what: string, is: readonly string[], asked: Iterable<string>): void => {
    const [one, other] = [[...is].sort().join(), [...asked].sort().join()];
    if (one !== other) wrong.push(`${what}: ${one} instead of ${other}`);
  };
  if (status !== "COMPLETED") wrong.push(`it is ${status}: ${error}`);
  same(
    "ends",
    Object.keys(output ?? {}),
    [...expected.ends].filter((key) => !key.includes("[")),
  );
  same("steps", steps, [...expected.ran].map(sha1));
  const seen = noted.map(({ what }) => JSON.parse(what) as { readonly key: string; readonly sees: readonly string[] });
  same("bodies", kills ? [...new Set(seen.map(({ key }) => key))] : seen.map(({ key }) => key), bodies);
  for (const { key, sees } of seen) {
    const allowed = (expected.sees.get(key) ?? []).map((set) => [...set].sort().join());
    // Where there are more sets than the reference follows, not all that are allowed are listed.
    if (allowed.length < 64 && !allowed.includes([...sees].sort().join())) wrong.push(`${key} saw ${sees.join()}`);
  }
  return wrong;
}
