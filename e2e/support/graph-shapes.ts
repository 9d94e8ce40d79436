/** The shapes of workflows as graphs: published, counted, and what is wrong with their runs. */
import { readFileSync } from "node:fs";
import type { Graph } from "@holdfast/graph";
import type postgres from "postgres";
import { LIMIT_MS } from "./limits.mjs";

export interface GraphShape {
  readonly id: string;
  /** An event `graph/<id>` triggers it. */
  readonly graph: Graph;
  /** Nodes that note themselves, each exactly once; those of a loop with the iteration. */
  readonly steps: readonly string[];
  readonly output: unknown;
}

export const graphShapes = JSON.parse(
  readFileSync(new URL("../fixtures/graph-shapes.json", import.meta.url), "utf8"),
) as readonly GraphShape[];

export async function callJson(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, url), {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** Stores and publishes the graphs; an app that runs graphs has to be connected. */
export async function publishShapes(url: string, more: object = {}): Promise<void> {
  for (const { id, graph } of graphShapes) {
    const { problems } = (await callJson(url, "PUT", `/v1/graphs/${id}`, { graph })) as { problems: unknown[] };
    if (problems.length > 0) throw new Error(`${id}: ${JSON.stringify(problems)}`);
    await callJson(url, "POST", `/v1/graphs/${id}/publish`, more);
  }
}

export interface ShapeRun {
  readonly id: string;
  readonly shape: string;
  readonly status: string;
  readonly output: unknown;
  /** Of one that failed: the error as it is stored. */
  readonly error: string | null;
}

export async function shapeRuns(sql: postgres.Sql): Promise<ShapeRun[]> {
  const rows = await sql`
    SELECT run.id, graph.id AS shape, run.status, run.output, run.error
    FROM holdfast.runs AS run
    JOIN holdfast.graph_runs AS mark ON mark.run_id = run.id
    JOIN holdfast.graphs AS graph ON graph.uid = mark.uid`;
  return rows.map(({ id, shape, status, output, error }) => {
    return { id, shape, status, output: JSON.parse(output ?? "null"), error };
  });
}

/** Ends and outputs that are not those of the shape. */
export function wrongEnds(shape: GraphShape, runs: readonly ShapeRun[]): string[] {
  return runs.flatMap(({ id, status, output, error }) => [
    ...(status === "COMPLETED" ? [] : [`${id} is ${status}: ${error}`]),
    ...(JSON.stringify(output) === JSON.stringify(shape.output) ? [] : [`${id} gave ${JSON.stringify(output)}`]),
  ]);
}

/** Nodes that ran less or more often than once. */
export function wrongBodies(shape: Pick<GraphShape, "steps">, noted: readonly string[]): string[] {
  const left = [...noted];
  const missing = shape.steps.filter((name) => {
    const index = left.indexOf(name);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
  return [...missing.map((name) => `${name} did not run`), ...left.map((name) => `${name} ran once more`)];
}

/** Facts that one node's end is decided with, and jobs that were made for one node: more than one is one too many. */
export async function decidedTwice(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql`
    SELECT run_id, key, kind, count(*)::int AS count FROM (
      SELECT run_id, key, 'ended' AS kind FROM holdfast.run_facts WHERE kind IN ('STEP_COMPLETED', 'STEP_FAILED')
      UNION ALL
      SELECT run_id, key, 'dispatched' FROM holdfast.run_facts
        WHERE kind = 'DISPATCHED' AND data::jsonb ->> 'kind' = 'step' AND attempt = 0) AS fact
    GROUP BY run_id, key, kind HAVING count(*) > 1`;
  return rows.map(({ run_id, key, kind, count }) => `${run_id}: ${key} was ${kind} ${count} times`);
}
