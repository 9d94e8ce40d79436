/** Reads an untrusted graph: what has the right shape goes on to the other checks, what has not is a problem each. */
import { describeValue } from "@holdfast/core";
import { isObject, measureJson, own } from "../json/json-size.ts";
import type { Graph, GraphEdge, GraphNode } from "./graph.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import type { Problems } from "./problems.ts";

/** A node whose id and type can be used. */
export interface ReadNode extends GraphNode {
  readonly config: Readonly<Record<string, unknown>>;
  /** Where it stands in `nodes`. */
  readonly index: number;
}

/** An edge whose ends are texts. */
export interface ReadEdge extends GraphEdge {
  /** Where it stands in `edges`. */
  readonly index: number;
}

/** The parts of a graph that can be looked at; not yet that they fit together. */
export interface ReadGraph extends Graph {
  readonly nodes: readonly ReadNode[];
  /** Nodes that are there and cannot be looked at, which is a problem each: edges may name them all the same. */
  readonly unread: readonly ReadNode[];
  readonly edges: readonly ReadEdge[];
}

const ID = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const NODE_FIELDS = new Set([
  ...["id", "type", "title", "config", "outputVariable", "joinMode", "onError", "retries", "compensate", "position"],
]);
const EDGE_FIELDS = new Set(["from", "handle", "to"]);
const GRAPH_FIELDS = new Set(["id", "title", "nodes", "edges", "input", "trigger"]);

export const isGraphId = (value: unknown): value is string =>
  typeof value === "string" && value.length <= GRAPH_LIMITS.maxIdChars && ID.test(value);

/**
 * "run": it was stored, perhaps by an earlier release that took other titles.
 * @returns undefined when there is nothing to look at
 */
export function readGraph(value: unknown, problems: Problems, what: "stored" | "run"): ReadGraph | undefined {
  const size = measureJson(value, { maxChars: GRAPH_LIMITS.maxGraphChars, maxDepth: GRAPH_LIMITS.maxDepth + 4 });
  if (!size.ok) {
    const code = size.reason === "type" ? "SHAPE_INVALID" : "TOO_LARGE";
    const place = size.reason === "size" || size.at.length === 0 ? undefined : placeOf(value, size.at);
    const message = `${place === undefined ? "The graph" : `At ${place.shown} the graph`} has ${size.what}.`;
    // A graph that is too large as a whole has no `path`: the gateway does not keep it.
    const { path, ...node } = place?.at ?? {};
    const at = code === "TOO_LARGE" || path === undefined ? node : { ...node, path };
    const fix = "Give plain JSON within the limits.";
    problems.add({ code, ...at, message, fix });
    return undefined;
  }
  if (!isObject(value)) {
    const message = `A graph is an object, not ${describeValue(value)}.`;
    problems.add({ code: "SHAPE_INVALID", message, fix: "Give an object with `id`, `title`, `nodes` and `edges`." });
    return undefined;
  }
  checkTitle(own(value, "title"), { path: "title" }, problems, "required");
  if (what === "stored") checkTitleText(value.title, problems);
  checkFields(value, GRAPH_FIELDS, { path: "" }, problems);
  const id = checkedId(own(value, "id"), { path: "id", what: "The graph's `id`" }, problems) ?? "";
  const nodes = listOf(own(value, "nodes"), "nodes", GRAPH_LIMITS.maxNodes, problems);
  const edges = listOf(own(value, "edges"), "edges", GRAPH_LIMITS.maxEdges, problems);
  if (nodes === undefined || edges === undefined) return undefined;
  return {
    ...(value as Partial<Graph>),
    id,
    title: typeof value.title === "string" ? value.title : "",
    ...readNodes(nodes, problems),
    edges: edges.flatMap((edge, index) => readEdge(edge, index, problems) ?? []),
  };
}

function listOf(value: unknown, name: string, max: number, problems: Problems): readonly unknown[] | undefined {
  if (!Array.isArray(value)) {
    const message = `\`${name}\` is a list, not ${describeValue(value)}.`;
    problems.add({ code: "SHAPE_INVALID", path: name, message, fix: `Give a list of ${name}; it may be empty.` });
    return undefined;
  }
  if (value.length <= max) return value;
  const message = `The graph has ${value.length} ${name}; the limit is ${max}.`;
  problems.add({
    code: "TOO_LARGE",
    path: name,
    message,
    fix: "Move a part of it into a graph of its own (`subgraph`).",
  });
  return undefined;
}

const SHOWN_STEPS = 6;
const PLACE_STEPS = 4;

/** A place deep within the graph, as people read it; `at` names the node that it is in, where it is in one. */
function placeOf(graph: unknown, steps: readonly string[]): { readonly shown: string; readonly at: Partial<Place> } {
  const path = (count: number): string =>
    steps
      .slice(0, count)
      .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step.slice(0, GRAPH_LIMITS.maxIdChars)}`))
      .join("")
      .replace(/^\./, "");
  const [list, index = ""] = steps;
  const id = list === "nodes" ? own(own(own(graph, "nodes"), index), "id") : undefined;
  const shown = `\`${path(SHOWN_STEPS)}${steps.length > SHOWN_STEPS ? "…" : ""}\``;
  return { shown, at: { path: path(PLACE_STEPS), ...(isGraphId(id) ? { nodeId: id } : {}) } };
}

interface Place {
  readonly path: string;
  readonly nodeId?: string;
  readonly edge?: number;
}

function checkFields(value: object, known: ReadonlySet<string>, place: Place, problems: Problems): void {
  for (const key of Object.keys(value)) {
    if (known.has(key)) continue;
    const message = `There is no field ${describeValue(key)} here.`;
    const fix = `Remove it; there are ${[...known].join(", ")}.`;
    problems.add({ code: "FIELD_UNKNOWN", ...place, message, fix });
  }
}

function checkedId(value: unknown, place: Place & { readonly what: string }, problems: Problems): string | undefined {
  if (isGraphId(value)) return value;
  const { what, ...at } = place;
  const fix = `Use 1 to ${GRAPH_LIMITS.maxIdChars} letters, digits, \`_\`, \`-\` or \`.\`, the first no \`-\` or \`.\`.`;
  problems.add({ code: "ID_INVALID", ...at, message: `${what} cannot be ${describeValue(value)}.`, fix });
  return undefined;
}

function checkTitle(value: unknown, place: Place, problems: Problems, need?: "required"): void {
  if (value === undefined && need === undefined) return;
  if (typeof value === "string" && value.length <= GRAPH_LIMITS.maxTitleChars) return;
  const fix = `Give a text of at most ${GRAPH_LIMITS.maxTitleChars} characters.`;
  const found =
    value === undefined
      ? "is missing"
      : typeof value === "string"
        ? `has ${value.length} characters`
        : `is a text, not ${describeValue(value)}`;
  problems.add({ code: "SHAPE_INVALID", ...place, message: `\`title\` ${found}.`, fix });
}

/** The title of a graph is stored as text of its own, which has neither. */
function checkTitleText(title: unknown, problems: Problems): void {
  if (typeof title !== "string") return;
  const add = (message: string, fix: string): void =>
    problems.add({ code: "SHAPE_INVALID", path: "title", message, fix });
  if (title.includes("\0")) add("`title` has a NUL character (U+0000), which cannot be stored.", "Remove it.");
  if (/\p{Surrogate}/u.test(title))
    add("`title` has one half of a surrogate pair, which is no character.", "Remove it, or add the other half.");
}

function readNodes(values: readonly unknown[], problems: Problems): Pick<ReadGraph, "nodes" | "unread"> {
  const [nodes, unread]: [ReadNode[], ReadNode[]] = [[], []];
  for (const [index, value] of values.entries()) {
    const node = readNode(value, index, problems);
    if (node !== undefined) nodes.push(node);
    else unread.push(...unreadNode(value, index));
  }
  return { nodes, unread };
}

/** What edges and templates need of it. Handles of a condition depend on its config, so they are not known. */
function unreadNode(value: unknown, index: number): ReadNode[] {
  const [id, type, name] = [own(value, "id"), own(value, "type"), own(value, "outputVariable")];
  if (typeof id !== "string") return [];
  const isKnown = typeof type === "string" && type !== "condition";
  const named = typeof name === "string" ? { outputVariable: name } : {};
  return [{ id, type: isKnown ? type : "", config: {}, index, ...named }];
}

function readNode(value: unknown, index: number, problems: Problems): ReadNode | undefined {
  const path = `nodes[${index}]`;
  if (!isObject(value)) {
    const message = `A node is an object, not ${describeValue(value)}.`;
    problems.add({ code: "SHAPE_INVALID", path, message, fix: "Give an object with `id`, `type` and `config`." });
    return undefined;
  }
  const id = checkedId(own(value, "id"), { path: `${path}.id`, what: "The `id` of a node" }, problems);
  if (id === undefined) return undefined;
  const place = { path, nodeId: id };
  checkFields(value, NODE_FIELDS, place, problems);
  checkTitle(own(value, "title"), { ...place, path: `${path}.title` }, problems);
  const type = own(value, "type");
  const config = own(value, "config") ?? {};
  if (typeof type !== "string" || type === "") {
    const message = `The type of node "${id}" is a text, not ${describeValue(type)}.`;
    problems.add({ code: "SHAPE_INVALID", ...place, path: `${path}.type`, message, fix: "Name a node type." });
    return undefined;
  }
  if (!isObject(config)) {
    const message = `The config of node "${id}" is an object, not ${describeValue(config)}.`;
    problems.add({ code: "SHAPE_INVALID", ...place, path: `${path}.config`, message, fix: "Give an object." });
    return undefined;
  }
  const size = measureJson(config, { maxChars: GRAPH_LIMITS.maxConfigChars, maxDepth: GRAPH_LIMITS.maxDepth });
  if (!size.ok) {
    const message = `The config of node "${id}" has ${size.what}.`;
    const fix = "Keep large data elsewhere, and let the node fetch it.";
    problems.add({ code: "TOO_LARGE", ...place, path: `${path}.config`, message, fix });
    return undefined;
  }
  return { ...(value as Partial<GraphNode>), id, type, config, index };
}

function readEdge(value: unknown, index: number, problems: Problems): ReadEdge | undefined {
  const place = { path: `edges[${index}]`, edge: index };
  const handle = own(value, "handle");
  const [from, to] = [own(value, "from"), own(value, "to")];
  if (!isObject(value) || typeof from !== "string" || typeof to !== "string") {
    const message = `An edge names two nodes, \`from\` and \`to\`; this one is ${describeValue(value)}.`;
    problems.add({ code: "SHAPE_INVALID", ...place, message, fix: 'Give { "from": "a", "to": "b" }.' });
    return undefined;
  }
  checkFields(value, EDGE_FIELDS, place, problems);
  if (handle !== undefined && typeof handle !== "string") {
    const message = `The handle of an edge is a text, not ${describeValue(handle)}.`;
    problems.add({ code: "SHAPE_INVALID", ...place, message, fix: 'Leave it out, or name a handle such as "error".' });
    return undefined;
  }
  return { from, to, ...(handle === undefined ? {} : { handle }), index };
}
