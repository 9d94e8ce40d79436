/** What a run carries: the graph in one version, and those that it has within it. It is in the event of the run. */
import { describeValue, HoldfastError } from "@holdfast/core";
import { isObject, own } from "../json/json-size.ts";
import type { Graph, GraphNode } from "./graph.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import { type GraphProblem, Problems } from "./problems.ts";
import { type LongestId, longestId, MAX_STEP_ID_CHARS } from "./step-ids.ts";
import { problemsOf, type ValidateOptions } from "./validate-graph.ts";

/** Name of the event that starts a run of a graph. */
export const GRAPH_RUN_EVENT = "holdfast/graph.requested";

export interface GraphSnapshot {
  readonly graph: Graph;
  /** Graphs that it names in `subgraph` nodes, and those that they name: by id, `@`, version. */
  readonly graphs?: Readonly<Record<string, Graph>>;
  readonly graphId: string;
  /** Null for a graph that is not stored. */
  readonly version: number | null;
  readonly input?: unknown;
  readonly test?: boolean;
}

export interface SubgraphReference {
  readonly id: string;
  readonly version: number;
}

/** Name of a graph's version in a snapshot. */
export const versionKey = (id: string, version: number): string => `${id}@${version}`;

/** The graphs that a graph names, each once. */
export function subgraphsOf(graph: Graph): SubgraphReference[] {
  const found = new Map<string, SubgraphReference>();
  for (const { type, config } of graph.nodes) {
    const [id, version] = [own(config, "graph"), own(config, "version")];
    if (type !== "subgraph" || typeof id !== "string" || typeof version !== "number") continue;
    found.set(versionKey(id, version), { id, version });
  }
  return [...found.values()];
}

/** All problems of a snapshot: of its graph, of those within it, and of how they are in each other. */
export function validateSnapshot(snapshot: unknown, options: ValidateOptions = {}): GraphProblem[] {
  return problemsIn(snapshot, options, "stored");
}

function problemsIn(snapshot: unknown, options: ValidateOptions, what: "stored" | "run"): GraphProblem[] {
  const graph = own(snapshot, "graph");
  const graphs = own(snapshot, "graphs") ?? {};
  const found = problemsOf(graph, options, what);
  const problems = new Problems();
  const entries = isObject(graphs) ? Object.entries(graphs) : [];
  if (!isObject(graphs) || entries.length > GRAPH_LIMITS.maxSubgraphs) {
    const message = `\`graphs\` of a snapshot is an object of at most ${GRAPH_LIMITS.maxSubgraphs} graphs.`;
    return [...found, { code: "TOO_LARGE", path: "graphs", message, fix: "Use fewer subgraphs." }];
  }
  const inner = entries.flatMap(([key, each]) =>
    problemsOf(each, options, what).map((problem) => ({
      ...problem,
      path: `graphs["${key}"].${problem.path ?? ""}`,
    })),
  );
  if (found.length === 0 && inner.length === 0)
    checkNesting(graph as Graph, new Map(entries as [string, Graph][]), problems);
  return [...found, ...inner, ...problems.list()];
}

function checkNesting(graph: Graph, graphs: ReadonlyMap<string, Graph>, problems: Problems): void {
  /** How many levels are below each graph; -1 while that is looked at. */
  const levels = new Map<string, number>();
  const below = (of: Graph): number => {
    const each = subgraphsOf(of).map(({ id, version }) => 1 + levelsOf(versionKey(id, version)));
    return Math.max(0, ...each);
  };
  const levelsOf = (key: string): number => {
    const known = levels.get(key);
    if (known === -1) {
      const fix = "Let it name another graph: this one would never end.";
      problems.add({ code: "SUBGRAPH_RECURSION", message: `The graph ${key} contains itself.`, fix });
    }
    if (known !== undefined) return Math.max(0, known);
    levels.set(key, -1);
    const found = graphs.get(key);
    if (found === undefined) {
      const fix = "Publish it, or name a version that there is.";
      problems.add({ code: "SUBGRAPH_UNKNOWN", message: `The graph ${key} is not there.`, fix });
    }
    const count = found === undefined ? 0 : below(found);
    levels.set(key, count);
    return count;
  };
  const count = below(graph);
  if (problems.list().length > 0) return;
  if (count <= GRAPH_LIMITS.maxSubgraphDepth) return checkStepIds(graph, graphs, problems);
  const message = `Subgraphs are nested ${count} deep; the limit is ${GRAPH_LIMITS.maxSubgraphDepth}.`;
  problems.add({ code: "SUBGRAPH_RECURSION", message, fix: "Put the nodes of some into the graphs that name them." });
}

function checkStepIds(graph: Graph, graphs: ReadonlyMap<string, Graph>, problems: Problems): void {
  const known = new Map<string, LongestId>();
  const longestIn = (node: GraphNode): LongestId | undefined => {
    const key = versionKey(String(own(node.config, "graph")), Number(own(node.config, "version")));
    const found = graphs.get(key);
    const longest = known.get(key) ?? (found && longestId(found, longestIn));
    if (longest) known.set(key, longest);
    return longest;
  };
  const { chars, path } = longestId(graph, longestIn);
  if (chars <= MAX_STEP_ID_CHARS) return;
  const step = path.join("/");
  const message = `The step "${step}" would have an id of up to ${chars} characters; the limit is ${MAX_STEP_ID_CHARS}.`;
  const fix =
    "Give the nodes shorter ids: a step's id has those of the subgraphs around it, and the iterations of loops.";
  problems.add({ code: "TOO_LARGE", nodeId: path[0] as string, message, fix });
}

const SHOWN_PROBLEMS = 5;

/**
 * A snapshot that can be run, from the data of an event. "checked": its graphs are known to be valid.
 * @throws HoldfastError `GRAPH_INVALID`
 */
export function readSnapshot(data: unknown, options: ValidateOptions, graphs?: "checked"): Required<GraphSnapshot> {
  const problems = graphs === "checked" ? [] : problemsIn(data, options, "run");
  if (problems.length > 0) {
    const shown = problems.slice(0, SHOWN_PROBLEMS).map(({ code, message }) => `${code}: ${message}`);
    const more = problems.length > SHOWN_PROBLEMS ? ` (and ${problems.length - SHOWN_PROBLEMS} more)` : "";
    throw new HoldfastError("GRAPH_INVALID", `The graph cannot be run. ${shown.join(" ")}${more}`);
  }
  const snapshot = completeSnapshot(data as GraphSnapshot);
  const { graphId, version } = snapshot;
  if (typeof graphId !== "string" || (version !== null && typeof version !== "number")) {
    const message = `A snapshot names graph and version, not ${describeValue(graphId)} and ${describeValue(version)}.`;
    throw new HoldfastError("GRAPH_INVALID", message);
  }
  return snapshot;
}

/** With what may be left out. */
export function completeSnapshot(snapshot: GraphSnapshot): Required<GraphSnapshot> {
  const { graph, graphs = {}, graphId, version = null, input = null, test = false } = snapshot;
  return { graph, graphs, graphId, version, input, test: test === true };
}
