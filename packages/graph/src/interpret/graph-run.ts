/**
 * Runs a graph, purely: it says which nodes are to run, and is told how each ended. It waits for nothing and keeps no
 * time, so the same ends in the same order always lead to the same calls. That is what lets a run be replayed, and its
 * state be worked out from its record.
 *
 * RUN-1. Every edge is settled once: taken, or dead. A node runs at most once in each pass through its scope.
 * RUN-2. `all`: a node runs when all its edges are settled and one is taken; when all are dead, it is skipped, and the
 *     edges that leave it are dead.
 * RUN-3. `any`: a node runs when the first of its edges is taken; what comes later changes nothing.
 * RUN-4. A node sees what was on the ways that were taken to it, and nothing else.
 * RUN-5. A scope has ended when all its nodes have ended or are skipped.
 * RUN-6. An error that no `error` handle takes ends its scope: the iteration and its loop, the subgraph, or the run.
 */
import { HoldfastError } from "@holdfast/core";
import type { Graph } from "../definition/graph.ts";
import { GRAPH_LIMITS } from "../definition/limits.ts";
import { FillBudget } from "../templates/fill-template.ts";
import { type NodeError, nodeErrorOf, outcomeOf } from "./outcome.ts";
import { type Plan, planOf } from "./plan.ts";
import type { GraphRunOptions, NodeRecord, RunAction, RunContext, Scope } from "./run-types.ts";
import { ScopeRun } from "./scope-run.ts";
import { noBits } from "./visible.ts";

export class GraphRun {
  readonly #context: RunContext;
  #actions: RunAction[] = [];
  #root: Scope | undefined;
  #isOver = false;

  constructor(options: GraphRunOptions) {
    const plans = options.plans ?? new Map<Graph, Plan>();
    this.#context = {
      options,
      records: new Map(),
      open: new Map(),
      budget: new FillBudget(GRAPH_LIMITS.maxRunChars),
      record: (record) => this.#record(record),
      newScope: (scope) => new ScopeRun(this.#context, scope),
      call: (call) => this.#actions.push({ type: "CALL", call }),
      planOf: (graph) => {
        const plan = plans.get(graph) ?? planOf(graph);
        plans.set(graph, plan);
        return plan;
      },
    };
  }

  /** What became of each node so far, in the order in which they began or were skipped. */
  get records(): ReadonlyMap<string, NodeRecord> {
    return this.#context.records;
  }

  begin(): RunAction[] {
    const { options } = this.#context;
    const plan = this.#context.planOf(options.graph);
    this.#root = new ScopeRun(this.#context, {
      plan,
      scope: plan.root,
      bits: noBits(plan.size),
      values: {
        own: new Map<string, unknown>([
          ["input", options.input],
          ["run", options.run],
        ]),
        outputs: new Map(),
      },
      path: [],
      iteration: [],
      prefix: "",
      onEnd: (output) => this.#end({ type: "ENDED", output }),
      onFailure: (error, thrown) => this.#end({ type: "FAILED", error, thrown }),
    });
    this.#root.begin();
    return this.#taken();
  }

  /** The step of a call has given this. A call that is not open, as of an iteration that was given up, is not looked at. */
  complete(key: string, given: unknown): RunAction[] {
    const record = this.#context.records.get(key);
    const end = this.#context.open.get(key);
    if (record === undefined || end === undefined || this.#isOver) return [];
    this.#context.open.delete(key);
    end(outcomeOf(record.node, given));
    return this.#taken();
  }

  /** The call has failed permanently. */
  fail(key: string, error: NodeError, thrown: unknown): RunAction[] {
    const end = this.#context.open.get(key);
    if (end === undefined || this.#isOver) return [];
    this.#context.open.delete(key);
    end({ ok: false, error }, thrown);
    return this.#taken();
  }

  /** Loops within loops come to any number, and those whose bodies are no steps never wait. */
  #record(record: NodeRecord): void {
    const { records } = this.#context;
    records.set(record.key, record);
    if (records.size <= GRAPH_LIMITS.maxRunNodes || this.#isOver) return;
    const thrown = new HoldfastError(
      "GRAPH_VALUE_TOO_LARGE",
      `The run goes through more than ${GRAPH_LIMITS.maxRunNodes} nodes.`,
    );
    this.#root?.abandon();
    this.#end({ type: "FAILED", error: nodeErrorOf(record.node.id, thrown), thrown });
  }

  #end(action: RunAction): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#actions.push(action);
  }

  #taken(): RunAction[] {
    const actions = this.#actions;
    this.#actions = [];
    // Nothing begins once the end is decided.
    return this.#isOver ? actions.filter(({ type }) => type !== "CALL") : actions;
  }
}
