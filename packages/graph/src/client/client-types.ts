/** What the client of graphs takes and gives. */
import type { HoldfastFunction, RunHandle } from "holdfast";
import type { Graph } from "../definition/graph.ts";
import type { GraphProblem } from "../definition/problems.ts";
import type { GraphStatus } from "../status/graph-status.ts";

/** A stored graph. Times are ISO 8601, and milliseconds since 1970. */
export interface GraphDefinition {
  readonly id: string;
  readonly tenant: string;
  readonly title: string;
  /** The function that runs it: `<app>-<function>`. */
  readonly runner: string | null;
  /** Of the draft; rises with each `put`. */
  readonly revision: number;
  /** That is published; null: none. */
  readonly version: number | null;
  readonly lastVersion: number;
  readonly createdAt: string;
  readonly createdMs: number;
  readonly updatedAt: string;
  readonly updatedMs: number;
  readonly publishedAt: string | null;
  readonly publishedMs: number | null;
}

export interface StoredGraph extends GraphDefinition {
  readonly graph: Graph;
}

export interface PutGraph extends StoredGraph {
  /** What keeps it from being published. */
  readonly problems: readonly GraphProblem[];
}

export interface GraphPage {
  readonly graphs: readonly GraphDefinition[];
  readonly nextCursor: string | null;
}

export interface ExecuteOptions {
  /** Default: the one that is published. */
  readonly version?: number;
  /** Makes it idempotent: the same id again is the same run. */
  readonly id?: string;
}

export interface GraphRunHandle extends RunHandle {
  /** False: `id` stands for a run that an earlier call has started. */
  readonly isNew: boolean;
}

/**
 * Graphs of one app and tenant. All calls reject with a `HoldfastError`: when the gateway refuses, it has the `status` of
 * its answer (404: there is no such graph), and with `GRAPH_INVALID` the `problems`.
 */
export interface Graphs {
  /** The function that runs graphs; connect it with the others: `app.connect({ functions: [flows.runner] })`. */
  readonly runner: HoldfastFunction;
  /** The same client for another tenant. */
  forTenant(tenant: string): Graphs;
  /**
   * All problems of a graph, with the configs of the app's types as far as they have no templates. Calls nothing, so what
   * graphs `subgraph` nodes name is left to `put`; all else both find alike.
   */
  validate(graph: unknown): Promise<GraphProblem[]>;
  /** Stores the draft. `expectedRevision`: only if the draft still has this revision; 0: only if there is none. */
  put(graph: Graph, options?: { readonly expectedRevision?: number }): Promise<PutGraph>;
  /** Makes a version of the draft and publishes it, or publishes an earlier `version` again. */
  publish(
    id: string,
    options?: { readonly expectedRevision?: number; readonly version?: number },
  ): Promise<GraphDefinition>;
  /** The draft, or a version, or what is published. */
  get(id: string, options?: { readonly version?: number | "published" }): Promise<StoredGraph>;
  list(options?: { readonly limit?: number; readonly cursor?: string }): Promise<GraphPage>;
  /** Rejects with `GRAPH_IN_USE` while runs of it go on, unless forced; they go on all the same. */
  delete(id: string, options?: { readonly force?: boolean }): Promise<void>;
  /** Starts a run and gives its handle at once. */
  execute(id: string, input?: unknown, options?: ExecuteOptions): Promise<GraphRunHandle>;
  /** Runs a graph that is not stored. Its rows are removed by `stopTest`, or after a day. */
  test(graph: Graph, input?: unknown): Promise<GraphRunHandle>;
  /** Cancels a test and removes all its rows. */
  stopTest(runId: string): Promise<void>;
  /** What became of each node of a run so far. */
  status(runId: string): Promise<GraphStatus>;
  /** The same, again whenever something has changed, until the run has ended. */
  follow(runId: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<GraphStatus, void>;
}
