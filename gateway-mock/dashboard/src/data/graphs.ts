/** Graphs as the API answers them, as far as the page reads them. */
import type { drawGraph, shownNodes } from "@holdfast/graph/render";

import type { GraphOfRun } from "./types.ts";

export type Graph = Parameters<typeof drawGraph>[0];
export type NodeState = NonNullable<Parameters<typeof shownNodes>[1]>["nodes"][number];

export interface ListedGraph {
  readonly id: string;
  readonly tenant: string;
  readonly title: string;
  readonly runner: string | null;
  readonly revision: number;
  /** The one that is published. */
  readonly version: number | null;
  readonly lastVersion: number;
  readonly updatedMs: number;
  readonly publishedMs: number | null;
}

/** What keeps a draft from being published. */
export interface GraphProblem {
  readonly code: string;
  readonly nodeId?: string;
  /** Its index. */
  readonly edge?: number;
  /** `nodes[3].config.url` */
  readonly path?: string;
  readonly message: string;
  readonly fix: string;
}

export interface GraphDefinition extends ListedGraph {
  readonly graph: Graph;
  /** Of a draft, if they were asked for. */
  readonly problems?: readonly GraphProblem[];
}

/** The node that a problem is about, by where it stands in the graph: drafts may have nodes without an id. */
export function nodeOfProblem({ nodes }: Graph, { nodeId, path }: GraphProblem): number | null {
  const [, index] = /^nodes\[(\d+)\]/.exec(path ?? "") ?? [];
  if (index !== undefined) return Number(index);
  const found = nodes.findIndex(({ id }) => id === nodeId);
  return nodeId === undefined || found < 0 ? null : found;
}

export interface GraphVersion {
  readonly version: number;
  readonly revision: number;
  readonly publishedMs: number;
}

export interface GraphStatus {
  readonly status: string;
  readonly graphId: string;
  readonly version: number | null;
  readonly test: boolean;
  readonly nodes: readonly NodeState[];
  readonly isCut: boolean;
}

/** All other types of nodes are the app's own. */
export const BUILT_IN_TYPES: ReadonlySet<string> = new Set(
  "start end function http condition delay until waitForEvent approval loop javascript subgraph".split(" "),
);

/** Runs of graphs, and their tests, come of these events. */
export const isOfGraph = (eventName: string): boolean => /^holdfast\/graph\.(requested|tested)$/.test(eventName);

/** The graph that a run carries in its event. */
export function graphOfRun(event: unknown): Graph | null {
  const graph = (event as { readonly data?: { readonly graph?: Graph } } | null)?.data?.graph;
  return graph && Array.isArray(graph.nodes) && Array.isArray(graph.edges) ? graph : null;
}

/** What the graph of a run was given. */
export const inputOfRun = (event: unknown): unknown =>
  (event as { readonly data?: { readonly input?: unknown } } | null)?.data?.input;

/** Whose graph a run is of. */
export const tenantOfRun = (event: unknown): string => {
  const tenant = (event as { readonly data?: { readonly tenant?: unknown } } | null)?.data?.tenant;
  return typeof tenant === "string" ? tenant : "";
};

/** What a list calls the graph of a run. */
export function graphOfRunText({ id, tenant, version, test }: GraphOfRun): string {
  if (id === null) return test ? "test of a graph" : "deleted graph";
  return `${tenant ? `${tenant} / ` : ""}${id}, version ${version}`;
}

/** Where the page of a graph is. */
export const graphHref = ({ id, tenant }: Pick<ListedGraph, "id" | "tenant">, version?: string): string => {
  const query = new URLSearchParams({
    ...(tenant === "" ? {} : { tenant }),
    ...(version ? { version } : {}),
  }).toString();
  return `/ui/graphs/${encodeURIComponent(id)}${query === "" ? "" : `?${query}`}`;
};

/** `unfinished`: it had begun when the run ended. */
export type ShownStatus = NodeState["status"] | "unfinished";

/** The state of a node as a status of runs, whose colour and shape it has. */
export const NODE_STATUS: Readonly<Record<ShownStatus, string>> = {
  waiting: "PENDING",
  ready: "PENDING",
  running: "RUNNING",
  done: "COMPLETED",
  failed: "FAILED",
  skipped: "CANCELLED",
  dead: "CANCELLED",
  unfinished: "CANCELLED",
};

export const NODE_WORDS: Readonly<Record<ShownStatus, string>> = {
  waiting: "not yet",
  ready: "ready",
  running: "running",
  done: "done",
  failed: "failed",
  skipped: "skipped",
  dead: "not reached",
  unfinished: "not finished when the run ended",
};
