/** `@holdfast/graph/react-flow`: graphs to and from the JSON of React Flow. */
export {
  type Flow,
  type FlowData,
  type FlowEdge,
  type FlowNode,
  fromReactFlow,
  type ToReactFlowOptions,
  toReactFlow,
} from "./react-flow/convert.ts";
