/** What the blocks of docs/graphs.md use and do not show. */
import type { Graph } from "@holdfast/graph";

export declare const graph: Graph;
export declare const queries: {
  execute(query: string, args: object, options: { readonly signal: AbortSignal }): Promise<unknown>;
};
