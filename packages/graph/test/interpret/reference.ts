/**
 * What a run of a graph comes to, worked out in another way than the product does: without order and without time. A node
 * runs when an edge to it is taken, whatever its join, and what it sees are the nodes on ways to it that were taken.
 */
import { type Graph, handlesOf } from "../../src/definition.ts";

/** How a node ends, by the key of its call; loops and ends are not asked. */
export type Fate = (key: string, id: string) => string;

export interface Expected {
  /** Keys of all calls. */
  readonly ran: ReadonlySet<string>;
  /** Of each of them: names that it may see. With `any` joins it sees one of several sets. */
  readonly sees: ReadonlyMap<string, readonly ReadonlySet<string>[]>;
  readonly ends: ReadonlySet<string>;
}

type Sets = readonly ReadonlySet<string>[];
const MAX_SETS = 64;
const joined = (a: Sets, b: Sets): Sets => a.flatMap((one) => b.map((other) => new Set([...one, ...other])));
const unique = (sets: Sets): Sets => [...new Map(sets.map((set) => [[...set].sort().join(), set])).values()];

/** Nodes in the order of the list have their parents before them. */
export function expectedOf(graph: Graph, items: (id: string) => number, fate: Fate): Expected {
  const ran = new Set<string>();
  const sees = new Map<string, Sets>();
  const ends = new Set<string>();
  const bodyOf = (loop: string): Set<string> => {
    const body = new Set<string>();
    const visit = (id: string): void => {
      if (id === loop || body.has(id)) return;
      body.add(id);
      for (const edge of graph.edges) if (edge.from === id) visit(edge.to);
    };
    for (const edge of graph.edges) if (edge.from === loop && edge.handle === "loop") visit(edge.to);
    return body;
  };
  const evaluate = (within: ReadonlySet<string>, entered: string | null, suffix: string, base: Sets): void => {
    const taken = new Map<string, { readonly handle: string; readonly sets: Sets }>();
    const inner = new Set<string>();
    for (const node of graph.nodes) {
      if (!within.has(node.id) || inner.has(node.id)) continue;
      const arriving = graph.edges.flatMap(({ from, handle = "out", to }): Sets[] => {
        if (to !== node.id) return [];
        if (from === entered) return handle === "loop" ? [base] : [];
        const parent = taken.get(from);
        return parent?.handle === handle ? [parent.sets] : [];
      });
      if (node.type === "loop") for (const id of bodyOf(node.id)) inner.add(id);
      if (node.type !== "start" && arriving.length === 0) continue;
      const seen: Sets =
        node.type === "start"
          ? [new Set<string>()]
          : node.joinMode === "any"
            ? arriving.flat()
            : arriving.reduce((all, one) => unique(joined(all, one)).slice(0, MAX_SETS));
      const key = `${node.id}${suffix}`;
      let handle = "out";
      if (node.type === "loop") {
        for (let index = 0; index < items(node.id); index += 1) {
          evaluate(bodyOf(node.id), node.id, `${suffix}[${index}]`, seen);
        }
        handle = "done";
      } else if (node.type === "end") ends.add(key);
      else if (node.type !== "start") {
        ran.add(key);
        sees.set(key, unique(seen));
        handle = fate(key, node.id);
      }
      taken.set(node.id, { handle, sets: unique(seen.map((set) => new Set([...set, node.id]))) });
    }
  };
  evaluate(new Set(graph.nodes.map(({ id }) => id)), null, "", []);
  return { ran, sees, ends };
}

/** A number that depends on the text alone. */
export function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** One of the ways out of a node, chosen by the seed. */
export function fateOf(graph: Graph, seed: number): Fate {
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  return (key, id) => {
    const node = byId.get(id);
    const handles = node ? (handlesOf(node, [{ type: "work" }]) ?? ["out"]) : ["out"];
    const hash = hashOf(`${seed} ${key}`);
    // Errors are rarer than other ends, and need an edge that takes them.
    const takesErrors = graph.edges.some(({ from, handle }) => from === id && handle === "error");
    const usual = handles.filter((handle) => handle !== "error");
    if (takesErrors && hash % 4 === 0) return "error";
    return usual[hash % usual.length] ?? "out";
  };
}
