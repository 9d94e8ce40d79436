/** How large a graph may be. `validateGraph` names the limit that is exceeded. */
export const GRAPH_LIMITS = {
  /** Nodes of one graph. */
  maxNodes: 1_000,
  maxEdges: 5_000,
  /** The whole graph as JSON, in characters. */
  maxGraphChars: 4 * 1024 * 1024,
  /** The `config` of one node as JSON, in characters: 64 KiB. */
  maxConfigChars: 64 * 1024,
  /** `input` as JSON, in characters. */
  maxInputSchemaChars: 64 * 1024,
  /** Levels of lists and objects in one config. */
  maxDepth: 64,
  maxIdChars: 64,
  maxTitleChars: 200,
  /** Branches of one condition. */
  maxBranches: 100,
  /** Branches of all conditions: each is an expression that has to be compiled. */
  maxExpressions: 1_000,
  /** Code of all nodes, in characters: it has to be read. */
  maxCodeChars: 1024 * 1024,
  /** Loops within loops. */
  maxLoopDepth: 5,
  /** Iterations of one loop that run at once. */
  maxLoopConcurrency: 100,
  /** Items that one loop goes through; checked when it runs. */
  maxLoopItems: 10_000,
  /** Steps of one run, as of any: a loop that needs more does not begin. */
  maxRunSteps: 1_000,
  /** Nodes that one run goes through, in every iteration of every loop, those that are skipped as well. */
  maxRunNodes: 100_000,
  /** Characters that outputs of `end`, inputs of `subgraph` and what loops collect come to, in one run. */
  maxRunChars: 32 * 1024 * 1024,
  /** Retries of one node. */
  maxRetries: 20,
  /** Subgraphs within subgraphs. */
  maxSubgraphDepth: 4,
  /** Graphs that one snapshot carries. */
  maxSubgraphs: 50,
  maxTriggers: 20,
  /** Of the name of an event that triggers. */
  maxEventNameChars: 255,
  /** Problems that are returned; more are counted in the last one. */
  maxProblems: 1_000,
} as const;
