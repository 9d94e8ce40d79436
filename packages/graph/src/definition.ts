/**
 * `@holdfast/graph/definition`: graphs as data, and what may be wrong with them. Pure: it loads neither Node nor the SDK,
 * so editors in browsers use it, too.
 */

export { checkGraphInput, type InputProblem, inputProblems } from "./definition/check-input.ts";
export type {
  Compensation,
  Graph,
  GraphCronTrigger,
  GraphEdge,
  GraphEventTrigger,
  GraphNode,
  GraphTrigger,
  JoinMode,
  JsonSchema,
  NodeConfig,
  OnError,
  TemplateValue,
} from "./definition/graph.ts";
export { GRAPH_JSON_SCHEMA } from "./definition/graph-schema.ts";
export { GRAPH_LIMITS } from "./definition/limits.ts";
export type { BuiltInType, ConfigField, FieldKind, NodeTypeInfo } from "./definition/node-types.ts";
export { BUILT_IN_TYPES, handlesOf } from "./definition/node-types.ts";
export { GRAPH_PROBLEM_CODES, type GraphProblem, type GraphProblemCode } from "./definition/problems.ts";
export {
  GRAPH_RUN_EVENT,
  type GraphSnapshot,
  type SubgraphReference,
  subgraphsOf,
  validateSnapshot,
  versionKey,
} from "./definition/snapshot.ts";
export { type ValidateOptions, validateGraph } from "./definition/validate-graph.ts";
export type { NodeError } from "./interpret/outcome.ts";
export {
  type GraphStatus,
  type NodeStatus,
  type NodeStatusKind,
  nodeOfStep,
  type RunRecord,
  type StepFact,
  statusOfGraph,
} from "./status/graph-status.ts";
export { type Recorded, recordedOf } from "./status/recorded.ts";
