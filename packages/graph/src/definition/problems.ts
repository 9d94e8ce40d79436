/** What may be wrong with a graph: a code, where it is, and how to fix it. Codes are stable. */
import { GRAPH_LIMITS } from "./limits.ts";

export const GRAPH_PROBLEM_CODES = {
  SHAPE_INVALID: "A part is missing, or has the wrong type.",
  FIELD_UNKNOWN: "A part has a field that there is not.",
  TOO_LARGE: "A limit of size or number is exceeded.",
  ID_INVALID: "An id has characters that ids do not have.",
  NODE_DUPLICATE: "Two nodes have the same id.",
  TYPE_UNKNOWN: "There is no node type of this name.",
  CONFIG_INVALID: "The config of a node is not what its type expects.",
  NO_START: "No node of type `start`.",
  START_DUPLICATE: "More than one node of type `start`.",
  EDGE_DANGLING: "An edge names a node that there is not.",
  EDGE_DUPLICATE: "Two edges are the same.",
  EDGE_INTO_START: "An edge leads into `start`.",
  HANDLE_UNKNOWN: "An edge begins at a handle that its node does not have.",
  HANDLE_MISSING: "An edge does not say at which handle of its node it begins.",
  HANDLE_UNCONNECTED: "A handle without which the node makes no sense has no edge.",
  NOTHING_REACHABLE: "No edge leads away from `start`.",
  NODE_UNREACHABLE: "No path leads from `start` to the node.",
  CYCLE: "Edges form a circle outside of a loop.",
  LOOP_CROSSED: "An edge leads into or out of the body of a loop.",
  LOOP_TOO_DEEP: "Too many loops within loops.",
  OUTPUT_NAME_INVALID: "The name of an output is reserved, or cannot be used.",
  OUTPUT_NAME_TAKEN: "Two nodes give their output the same name.",
  JOIN_INVALID: "`joinMode` is neither `all` nor `any`.",
  ON_ERROR_INVALID: "`onError` is neither `continue` nor `fail`, or the `error` handle contradicts it.",
  RETRIES_INVALID: "`retries` is no whole number within the limits, or the type takes none.",
  COMPENSATE_INVALID: "`compensate` names a type that cannot undo, or stands at a node that cannot be undone.",
  TEMPLATE_INVALID: "A template cannot be read.",
  READS_UNKNOWN: "A template or condition reads a name that nothing has.",
  READS_NO_ANCESTOR: "A template or condition reads a node that does not come before.",
  EXPRESSION_INVALID: "A condition is no CEL expression, or reads variables that there are not.",
  CODE_INVALID: "Code is no JavaScript; `line` and `column` say where.",
  DURATION_INVALID: "A duration cannot be read.",
  SCHEMA_INVALID: "`input` is no JSON Schema.",
  TRIGGER_INVALID: "A trigger cannot be used.",
  SUBGRAPH_UNKNOWN: "A subgraph is not among those of the snapshot.",
  SUBGRAPH_RECURSION: "A subgraph contains itself, or too many levels.",
} as const;

export type GraphProblemCode = keyof typeof GRAPH_PROBLEM_CODES;

export interface GraphProblem {
  readonly code: GraphProblemCode;
  /** The node that it is about. */
  readonly nodeId?: string;
  /** Index in `edges` of the edge that it is about. */
  readonly edge?: number;
  /** Path in the graph, such as `nodes[3].config.url`. */
  readonly path?: string;
  /** Where in the text at `path`, counted from 1: of code that cannot be read. */
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  readonly fix: string;
}

/** Collects problems up to the limit. */
export class Problems {
  readonly #found: GraphProblem[] = [];
  #more = 0;

  add(problem: GraphProblem): void {
    if (this.#found.length < GRAPH_LIMITS.maxProblems) this.#found.push(problem);
    else this.#more += 1;
  }

  get count(): number {
    return this.#found.length + this.#more;
  }

  list(): GraphProblem[] {
    if (this.#more === 0) return [...this.#found];
    const message = `There are ${this.#more} more problems.`;
    return [...this.#found, { code: "TOO_LARGE", message, fix: "Fix those above, then validate again." }];
  }
}
