/** What the blocks of packages/graph/README.md use and do not show. */
import type { Graph, NodeType } from "@holdfast/graph";
import type { Holdfast } from "holdfast";

export declare const app: Holdfast;
export declare const dataQuery: NodeType;
export declare const graph: Graph;
