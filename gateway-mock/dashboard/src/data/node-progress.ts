/** What a graph's run says of nodes only by what lies within them: how far loops are, what had begun when it ended. Pure. */
import type { Graph, NodeState, ShownStatus } from "./graphs.ts";

/** Of iterations. */
export interface LoopProgress {
  readonly ended: number;
  readonly begun: number;
  /** Null: how many there are to be is not known. */
  readonly total: number | null;
}

export interface NodeProgress {
  /** By the key of the loop; only those of the graph itself, not of its subgraphs. */
  readonly loops: ReadonlyMap<string, LoopProgress>;
  /** By the id of a node: the loops around it, the outermost first. */
  readonly around: ReadonlyMap<string, readonly string[]>;
  /** Keys of nodes that had begun when the run ended without them. */
  readonly unfinished: ReadonlySet<string>;
}

const ENDED: ReadonlySet<string> = new Set(["done", "failed", "skipped"]);

export function progressOf(graph: Graph, nodes: readonly NodeState[], input: unknown): NodeProgress {
  const around = loopsAround(graph);
  const own = nodes.filter(({ path }) => path.length === 0);
  /** Of each loop that has begun: whether its iterations have ended. */
  const iterations = new Map<string, Map<number, boolean>>();
  for (const { id, iteration, status } of own) {
    for (const [depth, loop] of (around.get(id) ?? []).entries()) {
      const index = iteration[depth];
      if (index === undefined) continue;
      const place = placeOf(loop, iteration.slice(0, depth));
      const found = iterations.get(place) ?? new Map<number, boolean>();
      found.set(index, (found.get(index) ?? true) && ENDED.has(status));
      iterations.set(place, found);
    }
  }
  const loops = new Map<string, LoopProgress>();
  for (const loop of own) {
    const found = iterations.get(placeOf(loop.id, loop.iteration));
    if (loop.type !== "loop" || (found === undefined && loop.status === "waiting")) continue;
    const ended = [...(found?.values() ?? [])].filter(Boolean).length;
    loops.set(loop.key, { ended, begun: found?.size ?? 0, total: totalOf(graph, loop, own, input) });
  }
  const hasBegun = (node: NodeState): boolean =>
    node.stepId !== null ||
    (loops.get(node.key)?.begun ?? 0) > 0 ||
    (node.type === "subgraph" && nodes.some((other) => isWithin(other, node)));
  const unfinished = nodes.filter((node) => node.status === "dead" && hasBegun(node)).map(({ key }) => key);
  return { loops, around, unfinished: new Set(unfinished) };
}

export const statusIn = ({ unfinished }: NodeProgress, { key, status }: NodeState): ShownStatus =>
  unfinished.has(key) ? "unfinished" : status;

/** `1,038 of 1,500 iterations`. */
export const endedText = ({ ended, begun, total }: LoopProgress, count: (value: number) => string): string =>
  total === null
    ? `${count(ended)} of ${count(begun)} iterations that have begun`
    : `${count(ended)} of ${count(total)} iterations`;

const placeOf = (id: string, iteration: readonly number[]): string => `${iteration.join(" ")} ${id}`;

const beginsWith = <T>(list: readonly T[], start: readonly T[]): boolean =>
  start.every((one, index) => list[index] === one);

/** Whether a node is of the subgraph that the other one runs. */
const isWithin = (node: NodeState, { id, path, iteration }: NodeState): boolean =>
  beginsWith(node.path, [...path, id]) && beginsWith(node.iteration, iteration);

function loopsAround(graph: Graph): Map<string, string[]> {
  const bodies = graph.nodes
    .filter(({ type }) => type === "loop")
    .map(({ id }) => ({ id, body: bodyOf(graph, id) }))
    // A loop within another one has less.
    .sort((a, b) => b.body.size - a.body.size);
  const around = new Map<string, string[]>();
  for (const { id, body } of bodies) {
    for (const inner of body) around.set(inner, [...(around.get(inner) ?? []), id]);
  }
  return around;
}

/** Where the `loop` handle leads to, until it comes back. */
function bodyOf({ edges }: Graph, loop: string): Set<string> {
  const body = new Set<string>();
  const left = edges.filter(({ from, handle }) => from === loop && handle === "loop").map(({ to }) => to);
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (id === loop || body.has(id)) continue;
    body.add(id);
    left.push(...edges.filter(({ from }) => from === id).map(({ to }) => to));
  }
  return body;
}

/** Of a list, or of what a template names that is the run's input or the output of a node. */
function totalOf(graph: Graph, loop: NodeState, nodes: readonly NodeState[], input: unknown): number | null {
  const items = graph.nodes.find(({ id }) => id === loop.id)?.config?.items;
  if (Array.isArray(items)) return items.length;
  const [, name, rest = ""] = /^\s*\{\{\s*ctx\.([\w-]+)((?:\.[\w-]+)*)\s*\}\}\s*$/.exec(String(items)) ?? [];
  if (name === undefined) return null;
  const outputs = nodes.filter(({ id, iteration }) => id === name && iteration.length === 0);
  let value = name === "input" ? input : outputs[0]?.output;
  for (const key of rest.split(".").slice(1))
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
  return Array.isArray(value) ? value.length : null;
}
