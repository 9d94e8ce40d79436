/**
 * Everything that may be wrong with a graph, as the gateway sees it: what `validateGraph` finds, and subgraphs that are
 * not there, which only the gateway can know. What is right becomes a snapshot: all that a run needs.
 */
import {
  GRAPH_LIMITS,
  type Graph,
  type GraphCronTrigger,
  type GraphEventTrigger,
  type GraphProblem,
  type NodeTypeInfo,
  validateGraph,
} from "@holdfast/graph/definition";
import { isRecord } from "@holdfast/protocol";
import type { GraphName, GraphTriggers, Store } from "@holdfast/store";
import { hasVersions } from "./graph-errors.ts";

/** A graph and all that it names, in characters. */
const MAX_SNAPSHOT_CHARS = 2 * GRAPH_LIMITS.maxGraphChars;

const UNREADABLE: ReadonlySet<string> = new Set(["SHAPE_INVALID", "TOO_LARGE"]);
const NO_TRIGGERS: GraphTriggers = { events: [], crons: [] };

export interface CheckedGraph {
  readonly problems: readonly GraphProblem[];
  /** What runs of it are given; null where there are problems. */
  readonly snapshotJson: string | null;
  readonly triggers: GraphTriggers;
}

export interface CheckOptions {
  /** Of the app; default: any name is a type. */
  readonly nodeTypes?: readonly NodeTypeInfo[];
}

export async function checkGraph(
  store: Pick<Store, "getGraph" | "getGraphVersion">,
  name: GraphName,
  graph: Graph,
  { nodeTypes }: CheckOptions,
): Promise<CheckedGraph> {
  const found = validateGraph(graph, { nodeTypes: nodeTypes ?? "any" });
  // What has no right shape is not looked at further.
  if (found.some(({ code }) => UNREADABLE.has(code)))
    return { problems: found, snapshotJson: null, triggers: NO_TRIGGERS };
  const triggers = triggersOf(graph);
  const { graphs, problems: missing } = await subgraphsOf(store, name, graph);
  const problems = [...found, ...missing];
  if (problems.length > 0) return { problems, snapshotJson: null, triggers };
  const snapshotJson = JSON.stringify({ graph, graphs: Object.fromEntries(graphs) });
  if (snapshotJson.length <= MAX_SNAPSHOT_CHARS) return { problems, snapshotJson, triggers };
  const message = `With its subgraphs it has ${snapshotJson.length} characters; the limit is ${MAX_SNAPSHOT_CHARS}.`;
  const fix = "Run some of them with `function` nodes, as runs of their own.";
  return { problems: [{ code: "TOO_LARGE", message, fix }], snapshotJson: null, triggers };
}

/** What is a trigger of it; what is none is a problem. A zone is written as functions write it. */
export function triggersOf({ trigger }: Graph): GraphTriggers {
  if (!isRecord(trigger)) return NO_TRIGGERS;
  const events = listOf(trigger.events).filter(isEventTrigger);
  const crons = listOf(trigger.cron).filter(isCronTrigger);
  const texts = crons.map(cronText);
  return {
    events: events.map((one) => ({ pattern: one.event, condition: one.if ?? null })),
    crons: [...new Set(texts)],
  };
}

const cronText = ({ cron, timezone }: GraphCronTrigger): string => (timezone ? `TZ=${timezone} ${cron}` : cron);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isText = (value: unknown): value is string => typeof value === "string";
const isEventTrigger = (value: unknown): value is GraphEventTrigger =>
  isRecord(value) && isText(value.event) && (value.if === undefined || isText(value.if));
const isCronTrigger = (value: unknown): value is GraphCronTrigger =>
  isRecord(value) && isText(value.cron) && (value.timezone === undefined || isText(value.timezone));

interface Subgraphs {
  /** By `id@version`, with those that they name in turn. */
  readonly graphs: ReadonlyMap<string, Graph>;
  readonly problems: readonly GraphProblem[];
}

/** Published versions never change, and each was complete when it was published: theirs are taken along as they are. */
async function subgraphsOf(
  store: Pick<Store, "getGraph" | "getGraphVersion">,
  { environment, tenant, id: own }: GraphName,
  graph: Graph,
): Promise<Subgraphs> {
  const graphs = new Map<string, Graph>();
  const problems: GraphProblem[] = [];
  for (const { id: nodeId, type, config } of graph.nodes) {
    const { graph: id, version } = config ?? {};
    if (type !== "subgraph" || typeof id !== "string" || typeof version !== "number") continue;
    const key = `${id}@${version}`;
    if (graphs.has(key)) continue;
    const named = await store.getGraph({ environment, tenant, id });
    const stored = named && (await store.getGraphVersion(named.uid, version));
    if (!stored) {
      const has = named ? `it ${hasVersions(named.lastVersion)}` : "there is no such graph";
      const message = `Node "${nodeId}" runs "${id}" in version ${version}, but ${has}.`;
      problems.push({
        code: "SUBGRAPH_UNKNOWN",
        nodeId,
        message,
        fix: "Publish it first, or name a version that there is.",
      });
      continue;
    }
    const snapshot = readSnapshot(stored.snapshotJson);
    graphs.set(key, snapshot.graph);
    for (const [inner, value] of Object.entries(snapshot.graphs)) graphs.set(inner, value);
    if ([id, ...Object.keys(snapshot.graphs).map((one) => one.slice(0, one.lastIndexOf("@")))].includes(own)) {
      const message = `Node "${nodeId}" runs "${id}" in version ${version}, which contains "${own}" itself.`;
      problems.push({
        code: "SUBGRAPH_RECURSION",
        nodeId,
        message,
        fix: "Use a loop, or start it as a run of its own.",
      });
    }
  }
  if (graphs.size > GRAPH_LIMITS.maxSubgraphs) {
    const message = `It contains ${graphs.size} graphs; the limit is ${GRAPH_LIMITS.maxSubgraphs}.`;
    problems.push({ code: "TOO_LARGE", message, fix: "Run some of them with `function` nodes, as runs of their own." });
  }
  if (levelsOf(graph, graphs) > GRAPH_LIMITS.maxSubgraphDepth) {
    const message = `Subgraphs stand in each other deeper than ${GRAPH_LIMITS.maxSubgraphDepth} levels.`;
    problems.push({ code: "SUBGRAPH_RECURSION", message, fix: "Put some of them side by side." });
  }
  return { graphs, problems };
}

/** Versions name only versions that were there before them, so there are no circles. */
function levelsOf(graph: Graph, graphs: ReadonlyMap<string, Graph>, known = new Map<Graph, number>()): number {
  const before = known.get(graph);
  if (before !== undefined) return before;
  const inner = graph.nodes.flatMap(({ type, config }) =>
    type === "subgraph" ? (graphs.get(`${String(config?.graph)}@${String(config?.version)}`) ?? []) : [],
  );
  const levels = inner.length === 0 ? 0 : 1 + Math.max(...inner.map((one) => levelsOf(one, graphs, known)));
  known.set(graph, levels);
  return levels;
}

export interface Snapshot {
  readonly graph: Graph;
  readonly graphs: Readonly<Record<string, Graph>>;
}

/** What `checkGraph` has written. */
export const readSnapshot = (text: string): Snapshot => JSON.parse(text) as Snapshot;
