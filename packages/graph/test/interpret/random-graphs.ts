/** Random graphs that are valid: layers of nodes, conditions, errors that are taken, joins of both kinds, nested loops. */
import fc from "fast-check";
import { type Graph, type GraphEdge, type GraphNode, handlesOf } from "../../src/definition.ts";
import { hashOf } from "./reference.ts";

export interface RandomGraph {
  readonly graph: Graph;
  readonly seed: number;
}

/** Items of each loop, by its id. */
export const itemsOf = (id: string): number => hashOf(id) % 4;

export function randomGraphs(maxNodes: number): fc.Arbitrary<RandomGraph> {
  return fc.record({ seed: fc.nat(), size: fc.integer({ min: 1, max: maxNodes }) }).map(({ seed, size }) => {
    const builder = new Builder(seed);
    builder.scope({ entry: { id: "start", handles: ["out"] }, size, depth: 0 });
    const nodes: GraphNode[] = [{ id: "start", type: "start" }, ...builder.nodes];
    return { seed, graph: { id: "random", title: "Random", nodes, edges: builder.edges } };
  });
}

/** So many of them, the same for the same seed. */
export function sampleGraphs(of: {
  readonly count: number;
  readonly seed: number;
  readonly maxNodes: number;
}): RandomGraph[] {
  return fc.sample(randomGraphs(of.maxNodes), { numRuns: of.count, seed: of.seed });
}

interface Way {
  readonly id: string;
  readonly handles: readonly string[];
}

class Builder {
  readonly nodes: GraphNode[] = [];
  readonly edges: GraphEdge[] = [];
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  #below(limit: number): number {
    this.#state = hashOf(`${this.#state}`);
    return this.#state % limit;
  }

  /** Nodes behind an entry, each with parents among those before it. */
  scope({ entry, size, depth }: { readonly entry: Way; readonly size: number; readonly depth: number }): void {
    const ways: Way[] = [entry];
    let left = size;
    while (left > 0) {
      left -= 1;
      const node = this.#node(depth);
      this.nodes.push(node);
      const parents = new Set(Array.from({ length: 1 + this.#below(3) }, () => ways[this.#below(ways.length)] as Way));
      for (const { id, handles } of parents) {
        const handle = handles[this.#below(handles.length)] as string;
        this.edges.push({ from: id, to: node.id, ...(handle === "out" ? {} : { handle }) });
      }
      if (node.type === "loop") {
        const inner = Math.min(left, 1 + this.#below(5));
        left -= inner;
        const first = this.nodes.length;
        this.scope({ entry: { id: node.id, handles: ["loop"] }, size: Math.max(1, inner), depth: depth + 1 });
        const last = this.nodes[first] as GraphNode;
        if (this.#below(2) === 0 && last.type === "work") this.edges.push({ from: last.id, to: node.id });
        ways.push({ id: node.id, handles: ["done"] });
      } else if (node.type !== "end") {
        ways.push({ id: node.id, handles: handlesOf(node, [{ type: "work" }]) ?? ["out"] });
      }
    }
  }

  #node(depth: number): GraphNode {
    const id = `n${this.nodes.length}`;
    const joinMode = this.#below(3) === 0 ? ("any" as const) : ("all" as const);
    const kind = this.#below(12);
    if (kind === 0 && depth < 3) {
      const items = Array.from({ length: itemsOf(id) }, (_, index) => index);
      const concurrency = 1 + this.#below(3);
      return { id, type: "loop", joinMode, config: { items, concurrency, item: `item${id}`, index: `index${id}` } };
    }
    if (kind <= 3) {
      const branches = ["a", "b"].map((branch) => ({ id: branch, if: `ctx.run.id == '${branch}'` }));
      return { id, type: "condition", joinMode, config: { branches } };
    }
    if (kind === 4) return { id, type: "end", joinMode, config: { outputParameters: { [id]: true } } };
    return { id, type: "work", joinMode };
  }
}
