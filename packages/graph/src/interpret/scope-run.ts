/** One pass through a scope: the graph itself, a subgraph, or one iteration of a loop's body. The rules are in `graph-run.ts`. */

import { ERROR_HANDLE } from "../definition/graph.ts";
import { isBuiltIn } from "../definition/node-types.ts";
import { FillBudget, fillTemplates, MAX_FILLED_CHARS } from "../templates/fill-template.ts";
import { LoopRun } from "./loop-run.ts";
import { nodeErrorOf, type Outcome } from "./outcome.ts";
import type { PlanNode } from "./plan.ts";
import type { EndNode, NodeRecord, RunContext, Scope, ScopeOptions } from "./run-types.ts";
import { subgraphOf } from "./subgraph.ts";
import { addBit, addBits, type Bits, ctxOf, lookUp, noBits } from "./visible.ts";

interface Place {
  open: number;
  readonly bits: Bits;
  taken: boolean;
  settled: boolean;
}

/** A node that has begun. */
interface Started {
  readonly key: string;
  readonly bits: Bits;
  readonly end: EndNode;
}

interface Ended {
  readonly record: NodeRecord;
  readonly bits: Bits;
  readonly outcome: Outcome;
  readonly thrown: unknown;
}

interface Token {
  readonly to: PlanNode;
  /** What is seen along the edge; undefined: the edge is dead. */
  readonly bits?: Bits;
}

export class ScopeRun implements Scope {
  readonly #context: RunContext;
  readonly options: ScopeOptions;
  readonly #places = new Map<number, Place>();
  readonly #tokens: Token[] = [];
  /** By the number of the node: what is seen behind it, and its way on. */
  readonly #ends = new Map<number, { readonly bits: Bits; readonly handle: string }>();
  #left: number;
  #isSettling = false;
  #hasEnded = false;

  constructor(context: RunContext, options: ScopeOptions) {
    this.#context = context;
    this.options = options;
    this.#left = options.scope.nodes.length;
  }

  begin(): void {
    const { plan, bits } = this.options;
    this.#run(plan.start, bits);
    this.#settle();
  }

  /** Edges that lead in from a loop. */
  enter(targets: readonly PlanNode[]): void {
    for (const to of targets) this.#tokens.push({ to, bits: this.options.bits });
    this.#settle();
  }

  /** Nothing of it counts any more, nor of what is within it. */
  abandon(): void {
    this.#hasEnded = true;
  }

  get isOver(): boolean {
    return this.#hasEnded || (this.options.outer?.isOver ?? false);
  }

  keyOf(node: PlanNode): string {
    const { prefix, iteration } = this.options;
    const id = `${prefix}${node.node.id}`;
    return iteration.length === 0 ? id : `${id}${iteration.map((index) => `[${index}]`).join("")}`;
  }

  /** What is seen once all has ended: by what an iteration collects. */
  seenAtEnd(): Bits {
    const all = this.options.bits.slice();
    for (const { bits } of this.#ends.values()) addBits(all, bits);
    return all;
  }

  handleOf(node: PlanNode): string | undefined {
    return this.#ends.get(node.index)?.handle;
  }

  lookup(bits: Bits): (name: string) => unknown {
    const { plan, values } = this.options;
    return (name) => lookUp(plan, values, bits, name);
  }

  /** Settles edges until none is left; nodes that end at once lead to more of them. */
  #settle(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    for (let token = this.#tokens.shift(); token !== undefined; token = this.#tokens.shift()) {
      if (this.isOver) break;
      this.#settleEdge(token);
    }
    this.#isSettling = false;
    if (this.#left > 0 || this.isOver) return;
    this.#hasEnded = true;
    this.options.onEnd(this.#output());
  }

  #settleEdge({ to, bits }: Token): void {
    // Most nodes have one edge, and nothing to wait for.
    if (to.incoming === 1 && bits !== undefined) return this.#run(to, bits);
    const place = this.#placeOf(to);
    place.open -= 1;
    if (place.settled) return;
    if (bits !== undefined) {
      place.taken = true;
      addBits(place.bits, bits);
      if (to.joinsAny) return this.#run(to, place.bits, place);
    }
    if (place.open > 0) return;
    if (place.taken) return this.#run(to, place.bits, place);
    place.settled = true;
    this.#record(to, "skipped");
    this.#leave(to, undefined, undefined);
  }

  #placeOf(node: PlanNode): Place {
    const known = this.#places.get(node.index);
    if (known) return known;
    const made = { open: node.incoming, bits: noBits(this.options.plan.size), taken: false, settled: false };
    this.#places.set(node.index, made);
    return made;
  }

  #record(node: PlanNode, state: "running" | "skipped"): NodeRecord {
    const { path, iteration } = this.options;
    const record: NodeRecord = { key: this.keyOf(node), node: node.node, path, iteration, state };
    this.#context.record(record);
    return record;
  }

  /** What is seen is not changed any more: what comes later at a place that is settled is not looked at. */
  #run(node: PlanNode, bits: Bits, place?: Place): void {
    if (place) place.settled = true;
    const record = this.#record(node, "running");
    const end = (outcome: Outcome, thrown?: unknown): void => {
      if (this.isOver) return;
      this.#ended(node, { record, bits, outcome, thrown });
      this.#settle();
    };
    try {
      this.#start(node, { key: record.key, bits, end });
    } catch (thrown) {
      end({ ok: false, error: nodeErrorOf(node.node.id, thrown) }, thrown);
    }
  }

  #start(node: PlanNode, { key, bits, end }: Started): void {
    const { type, config = {} } = node.node;
    const fill = (value: unknown): unknown =>
      fillTemplates(value, this.lookup(bits), new FillBudget(MAX_FILLED_CHARS, this.#context.budget));
    const done = (output: unknown, handle = "out"): void => end({ ok: true, output, handle });
    switch (isBuiltIn(type) ? type : undefined) {
      case "start":
        return done(this.options.values.own.get("input") ?? null);
      case "end":
        return done(fill(config.outputParameters ?? {}));
      case "loop":
        return new LoopRun({ context: this.#context, scope: this, node, bits, end }).begin();
      case "subgraph": {
        const found = subgraphOf(this.#context, { node, input: fill(config.input ?? null) });
        const prefix = `${key}/`;
        const path = [...this.options.path, node.node.id];
        return this.#context
          .newScope({
            ...found,
            outer: this,
            prefix,
            path,
            iteration: [],
            onEnd: done,
            ...failing(end),
          })
          .begin();
      }
      default:
        return this.#call(node, { key, bits, end });
    }
  }

  #call(node: PlanNode, { key, bits, end }: Started): void {
    const { plan, values, path, iteration } = this.options;
    this.#context.open.set(key, end);
    const ctx = (): Record<string, unknown> => ctxOf(plan, values, bits);
    this.#context.call({ key, node: node.node, path, iteration, lookup: this.lookup(bits), ctx });
  }

  #ended(node: PlanNode, { record, bits: seen, outcome, thrown }: Ended): void {
    record.state = outcome.ok ? "done" : "failed";
    if (!outcome.ok) record.error = outcome.error;
    if (!outcome.ok && !node.continues) {
      this.#hasEnded = true;
      return this.options.onFailure(outcome.error, thrown);
    }
    const output = outcome.ok ? outcome.output : outcome.error;
    const handle = outcome.ok ? outcome.handle : ERROR_HANDLE;
    if (outcome.ok) record.output = output;
    record.handle = handle;
    this.options.values.outputs.set(node.index, output);
    const bits = addBit(seen, node.index);
    this.#ends.set(node.index, { bits, handle });
    this.#leave(node, handle, bits);
  }

  /** Settles the edges that leave a node, but those into the body of a loop. */
  #leave(node: PlanNode, handle: string | undefined, bits: Bits | undefined): void {
    this.#left -= 1;
    for (const edge of node.out) {
      if (node.node.type === "loop" && edge.handle === "loop") continue;
      this.#tokens.push(edge.handle === handle && bits ? { to: edge.to, bits } : { to: edge.to });
    }
  }

  /** The parameters of all ends that ran, in the order of the nodes. */
  #output(): unknown {
    const ends = this.options.scope.nodes.filter(({ node, index }) => node.type === "end" && this.#ends.has(index));
    if (ends.length === 0) return null;
    // A parameter may be called `__proto__`.
    return Object.fromEntries(
      ends.flatMap(({ index }) => Object.entries(this.options.values.outputs.get(index) ?? {})),
    );
  }
}

function failing(end: (outcome: Outcome, thrown?: unknown) => void): Pick<ScopeOptions, "onFailure"> {
  return { onFailure: (error, thrown) => end({ ok: false, error }, thrown) };
}
