/** How a graph is laid out: in which loop's body each node is, an order in which each comes after its parents, circles. */
import { DEFAULT_HANDLE } from "./graph.ts";

export interface LayoutEdge {
  readonly from: string;
  readonly handle?: string;
  readonly to: string;
  /** Where it stands in the graph's `edges`. */
  readonly index: number;
}

/** The body of a loop, or the graph itself. */
export interface Scope {
  /** The loop's node; undefined for the graph itself. */
  readonly loop?: string;
  readonly parent?: Scope;
  /** 0 for the graph itself. */
  readonly depth: number;
}

export interface Layout {
  /** Of every node that can be reached. */
  readonly scopes: ReadonlyMap<string, Scope>;
  /** Loops that have a body. */
  readonly loops: ReadonlyMap<string, Scope>;
  /** Indexes of edges that lead back to the loop whose body they are in. */
  readonly back: ReadonlySet<number>;
  /** Indexes of edges that enter or leave a body elsewhere. */
  readonly crossing: readonly number[];
  /** Nodes that can be reached, each after all its parents; without those that are in circles, or behind them. */
  readonly order: readonly string[];
  /** Nodes in circles. */
  readonly cyclic: readonly string[];
}

interface LayoutGraph {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
  readonly edges: readonly LayoutEdge[];
}

/** Linear in nodes and edges. Edges must end at nodes that there are. */
export function layoutOf({ nodes, edges }: LayoutGraph, start: { readonly id: string }): Layout {
  const types = new Map(nodes.map(({ id, type }) => [id, type]));
  const outgoing = new Map<string, LayoutEdge[]>(nodes.map(({ id }) => [id, []]));
  for (const edge of edges) outgoing.get(edge.from)?.push(edge);
  const root: Scope = { depth: 0 };
  const scopes = new Map<string, Scope>([[start.id, root]]);
  const loops = new Map<string, Scope>();
  const back = new Set<number>();
  const crossing: number[] = [];
  const waiting = [start.id];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const scope = scopes.get(id) ?? root;
    for (const edge of outgoing.get(id) ?? []) {
      const inner = types.get(id) === "loop" && (edge.handle ?? DEFAULT_HANDLE) === "loop";
      if (inner && !loops.has(id)) loops.set(id, { loop: id, parent: scope, depth: scope.depth + 1 });
      const target = inner ? (loops.get(id) ?? scope) : scope;
      if (target.loop === edge.to) {
        back.add(edge.index);
        continue;
      }
      const known = scopes.get(edge.to);
      if (known === undefined) {
        scopes.set(edge.to, target);
        waiting.push(edge.to);
      } else if (known !== target) crossing.push(edge.index);
    }
  }
  const forward = edges.filter(({ from, index }) => scopes.has(from) && !back.has(index));
  const order = orderOf(scopes, forward);
  const placed = new Set(order);
  const left = [...scopes.keys()].filter((id) => !placed.has(id));
  return { scopes, loops, back, crossing, order, cyclic: left.length === 0 ? [] : circlesAmong(left, forward) };
}

/** Nodes that have all their parents before them, the rest left out. */
function orderOf(scopes: ReadonlyMap<string, Scope>, forward: readonly LayoutEdge[]): string[] {
  const open = new Map<string, number>([...scopes.keys()].map((id) => [id, 0]));
  const children = new Map<string, string[]>();
  for (const { from, to } of forward) {
    open.set(to, (open.get(to) ?? 0) + 1);
    const list = children.get(from);
    if (list) list.push(to);
    else children.set(from, [to]);
  }
  const order = [...open].flatMap(([id, count]) => (count === 0 ? [id] : []));
  for (let at = 0; at < order.length; at += 1) {
    for (const child of children.get(order[at] as string) ?? []) {
      const count = (open.get(child) ?? 0) - 1;
      open.set(child, count);
      if (count === 0) order.push(child);
    }
  }
  return order;
}

/** Of nodes with circles before them: those that lead on to others of them, until what is behind the circles is gone. */
function circlesAmong(left: readonly string[], forward: readonly LayoutEdge[]): string[] {
  const among = new Set(left);
  const inside = forward.filter(({ from, to }) => among.has(from) && among.has(to));
  const reversed = inside.map(({ from, to, index }) => ({ from: to, to: from, index }));
  const behind = new Set(orderOf(new Map(left.map((id) => [id, { depth: 0 }])), reversed));
  return left.filter((id) => !behind.has(id));
}
