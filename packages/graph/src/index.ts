/** `@holdfast/graph`: workflows as data, made of nodes and edges, run as durably as code. */

export type {
  ExecuteOptions,
  GraphDefinition,
  GraphPage,
  GraphRunHandle,
  Graphs,
  PutGraph,
  StoredGraph,
} from "./client/client-types.ts";
export { type GraphsOptions, graphs } from "./client/graphs.ts";
export * from "./definition.ts";
export { type NodeContext, type NodeType, type NodeTypeOptions, nodeType, takeHandle } from "./nodes/node-type.ts";
