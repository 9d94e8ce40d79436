/** The words of a run: what it asks for, what it keeps of each node, what its scopes share. */
import type { Graph, GraphNode } from "../definition/graph.ts";
import type { FillBudget, Lookup } from "../templates/fill-template.ts";
import type { NodeError, Outcome } from "./outcome.ts";
import type { Plan, PlanNode, PlanScope } from "./plan.ts";
import type { Bits, Values } from "./visible.ts";

/** A node that is to run now. */
export interface NodeCall {
  /** Unique in the run; the id of its step. */
  readonly key: string;
  readonly node: GraphNode;
  /** Ids of the subgraph nodes that it is in. */
  readonly path: readonly string[];
  /** Index of the iteration of each loop around it, the outermost first. */
  readonly iteration: readonly number[];
  readonly lookup: Lookup;
  /** All that it sees. */
  ctx(): Record<string, unknown>;
}

export type NodeState = "waiting" | "running" | "done" | "failed" | "skipped" | "dead";

/** What became of one node in one pass through its scope. */
export interface NodeRecord {
  readonly key: string;
  readonly node: GraphNode;
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  state: NodeState;
  output?: unknown;
  error?: NodeError;
  /** The way on that was taken. */
  handle?: string;
}

export type RunAction =
  | { readonly type: "CALL"; readonly call: NodeCall }
  | { readonly type: "ENDED"; readonly output: unknown }
  | { readonly type: "FAILED"; readonly error: NodeError; readonly thrown: unknown };

export interface RunInfo {
  readonly id: string;
  readonly graphId: string;
  readonly version: number | null;
  readonly test: boolean;
}

export interface GraphRunOptions {
  readonly graph: Graph;
  readonly graphs: Readonly<Record<string, Graph>>;
  readonly input: unknown;
  readonly run: RunInfo;
  /** Plans of graphs that other runs have made; those that this one makes are added. */
  readonly plans?: Map<Graph, Plan>;
  /** What is wrong with the input of a subgraph; empty: nothing. */
  readonly checkInput: (graph: Graph, input: unknown) => void;
}

/** Says how a node ended. */
export type EndNode = (outcome: Outcome, thrown?: unknown) => void;

/** What the scopes of a run share. */
export interface RunContext {
  readonly options: GraphRunOptions;
  readonly records: Map<string, NodeRecord>;
  readonly open: Map<string, EndNode>;
  /** For what the run itself keeps of templates. */
  readonly budget: FillBudget;
  /** Notes what becomes of a node; ends the run when there are too many. */
  record(record: NodeRecord): void;
  newScope(options: ScopeOptions): Scope;
  call(call: NodeCall): void;
  planOf(graph: Graph): Plan;
}

/** One pass through a scope, as others see it. */
export interface Scope {
  readonly options: ScopeOptions;
  readonly isOver: boolean;
  begin(): void;
  /** Edges that lead in from a loop. */
  enter(targets: readonly PlanNode[]): void;
  /** Nothing of it counts any more, nor of what is within it. */
  abandon(): void;
  /** What is seen once all has ended: by what an iteration collects. */
  seenAtEnd(): Bits;
  /** The way on that a node took; undefined: it did not run. */
  handleOf(node: PlanNode): string | undefined;
  lookup(bits: Bits): Lookup;
}

export interface ScopeOptions {
  readonly plan: Plan;
  readonly scope: PlanScope;
  /** What is seen at its entry. */
  readonly bits: Bits;
  readonly values: Values;
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  /** Before the ids of its nodes: `sub/`. */
  readonly prefix: string;
  /** The pass through the scope around it. */
  readonly outer?: Scope;
  readonly onEnd: (output: unknown) => void;
  readonly onFailure: (error: NodeError, thrown: unknown) => void;
}
